//! Reading a message piece by piece, for whoever answers it and for whoever checks its signature.

use dns::{Name, Rtype};

/// What is asked.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) name: Name,
    pub(crate) rtype: Rtype,
    pub(crate) class: u16,
    /// The question as it came, for the echo, the case of its letters kept.
    pub(crate) octets: &'a [u8],
}

/// A record behind the question.
pub(crate) struct Record<'a> {
    /// Whether it belongs to the root, written in one octet.
    pub(crate) at_root: bool,
    pub(crate) rtype: Rtype,
    pub(crate) class: u16,
    pub(crate) ttl: [u8; 4],
    pub(crate) data: &'a [u8],
    /// Where the record ends in the message, and with it the data.
    pub(crate) end: usize,
}

/// A message that ends too early or says what it must not.
#[derive(Debug)]
pub(crate) struct Malformed;

/// A place in a message.
pub(crate) struct Reader<'a> {
    pub(crate) octets: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let taken = self.octets.get(self.at..self.at + length).ok_or(Malformed)?;
        self.at += length;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn question(&mut self) -> Result<Question<'a>, Malformed> {
        let start = self.at;
        // Nothing stands before the question that a pointer could lead to.
        let name = self.plain_name()?;
        let (rtype, class) = (Rtype(self.u16()?), self.u16()?);
        Ok(Question { name, rtype, class, octets: &self.octets[start..self.at] })
    }

    pub(crate) fn record(&mut self) -> Result<Record<'a>, Malformed> {
        let at_root = self.skip_name()?;
        let (rtype, class, ttl, length) = (Rtype(self.u16()?), self.u16()?, self.array()?, self.u16()?);
        let data = self.take(usize::from(length))?;
        Ok(Record { at_root, rtype, class, ttl, data, end: self.at })
    }

    /// A name without pointers.
    pub(crate) fn plain_name(&mut self) -> Result<Name, Malformed> {
        let octets = self.octets.get(self.at..).ok_or(Malformed)?;
        let (name, length) = Name::from_wire(octets).map_err(|_| Malformed)?;
        self.at += length;
        Ok(name)
    }

    /// Passes a name, which may end in a pointer; says whether it is the root in one octet.
    pub(crate) fn skip_name(&mut self) -> Result<bool, Malformed> {
        let start = self.at;
        loop {
            match self.array()? {
                [0] => return Ok(self.at == start + 1),
                [length @ 1..=63] => self.take(usize::from(length))?,
                [0xc0..=0xff] => return self.take(1).map(|_| false),
                _ => return Err(Malformed),
            };
        }
    }
}
