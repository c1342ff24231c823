//! Packets that a server should survive.

/// A question for an address.
pub(super) fn query() -> Vec<u8> {
    with_type(7, 1)
}

/// A question with this id and type.
pub(super) fn with_type(id: u16, rtype: u16) -> Vec<u8> {
    question(id, b"\x03www\x07example\x03org\x00", rtype)
}

/// A question whose answer is long.
pub(super) fn large() -> Vec<u8> {
    question(8, b"\x05large\x07example\x03org\x00", 16)
}

/// A question whose answer is several times as long and fits a datagram.
pub(super) fn loud() -> Vec<u8> {
    question(9, b"\x04loud\x07example\x03org\x00", 16)
}

/// The same for one of many names.
pub(super) fn loud_of(number: u16) -> Vec<u8> {
    question(number, format!("\x06loud{number:02}\x07example\x03org\x00").as_bytes(), 16)
}

/// A question for a name that is not there, each of these another.
pub(super) fn missing(number: u16) -> Vec<u8> {
    question(number, format!("\x05{number:05}\x07example\x03org\x00").as_bytes(), 1)
}

/// A question that ends early or goes on after its end, so that it has this length, which is its id too.
pub(super) fn of_length(length: usize) -> Vec<u8> {
    let mut octets = with_type(length as u16, 1);
    octets.resize(length, 0xc0);
    octets
}

/// A message as a stream has it, behind its length.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes(), message].concat()
}

fn question(id: u16, name: &[u8], rtype: u16) -> Vec<u8> {
    let head = [&id.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0]].concat();
    [&head[..], name, &rtype.to_be_bytes(), &[0, 1]].concat()
}

/// The query of a client that validates, with these options.
fn with_dnssec_ok(mut query: Vec<u8>, options: &[u8]) -> Vec<u8> {
    query[11] = 1;
    query.extend([0, 0, 41, 0x04, 0xd0, 0, 0, 0x80, 0, 0, options.len() as u8]);
    query.extend(options);
    query
}

/// Hostile packets without end, the same for the same seed.
pub(super) struct Packets(u64);

impl Packets {
    pub(super) fn new(seed: u64) -> Packets {
        Packets(seed)
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Vec<u8> {
        match self.below(13) {
            0 => self.noise(),
            1 => self.cut_short(),
            2 => self.damaged(),
            3 => self.pointing(),
            4 => self.counting(),
            5 => self.options(),
            6 => self.response(),
            7 => question(self.number(), &self.name(), self.number()),
            8 => question(self.number(), &self.name(), 1),
            9 => self.denied(),
            10 => self.signed(),
            11 => self.steered(),
            _ => with_type(self.number(), self.number()),
        }
    }

    fn below(&mut self, most: u64) -> u64 {
        // Xorshift: chance enough, and the same everywhere.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn number(&mut self) -> u16 {
        self.below(1 << 16) as u16
    }

    fn octets(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }

    fn noise(&mut self) -> Vec<u8> {
        let length = self.below(600);
        self.octets(length)
    }

    fn cut_short(&mut self) -> Vec<u8> {
        let mut octets = query();
        octets.truncate(self.below(octets.len() as u64) as usize);
        octets
    }

    fn damaged(&mut self) -> Vec<u8> {
        let mut octets = query();
        let at = self.below(octets.len() as u64) as usize;
        octets[at] = self.below(256) as u8;
        octets
    }

    /// Names that point at themselves, at each other, or past the end.
    fn pointing(&mut self) -> Vec<u8> {
        let place = 0xc000 | self.number() & 0x3f;
        question(self.number(), &[&[1, b'a'][..], &place.to_be_bytes()].concat(), 1)
    }

    /// Sections that promise more than there is.
    fn counting(&mut self) -> Vec<u8> {
        let mut octets = query();
        let counts = self.octets(8);
        octets[4..12].copy_from_slice(&counts);
        octets
    }

    /// OPT records with options that may not fit.
    fn options(&mut self) -> Vec<u8> {
        let mut octets = query();
        octets[11] = 1;
        octets.extend([0, 0, 41, 0x10, 0, 0, 0, 0x80, 0]);
        let length = self.below(40);
        let options = self.octets(length);
        octets.extend((self.below(50) as u16).to_be_bytes());
        octets.extend(options);
        octets
    }

    /// A name that is not there, by a client that wants that signed: nobody has asked for this signature before.
    fn denied(&mut self) -> Vec<u8> {
        let query = question(self.number(), &self.name(), 1);
        with_dnssec_ok(query, &[])
    }

    fn signed(&mut self) -> Vec<u8> {
        let query = with_type(self.number(), self.number());
        with_dnssec_ok(query, &[])
    }

    /// A name with several answers, by a client that says to be anywhere (RFC 7871 section 6).
    fn steered(&mut self) -> Vec<u8> {
        let query = question(self.number(), b"\x03web\x07example\x03org\x00", 1);
        let subnet = [&[0, 8, 0, 7, 0, 1, 24, 0], &self.octets(3)[..]].concat();
        with_dnssec_ok(query, &subnet)
    }

    fn response(&mut self) -> Vec<u8> {
        let mut octets = query();
        octets[2] |= 0x80;
        octets
    }

    /// Names that are not there, each another one, some of them elsewhere.
    fn name(&mut self) -> Vec<u8> {
        let length = 1 + self.below(63);
        let label = self.octets(length);
        let zone: &[u8] = if self.below(2) == 0 { b"\x07example\x03org\x00" } else { b"\x03net\x00" };
        [&[label.len() as u8][..], &label, zone].concat()
    }
}
