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

/// A question for a name that is not there, each of these another.
pub(super) fn missing(number: u16) -> Vec<u8> {
    question(number, format!("\x05{number:05}\x07example\x03org\x00").as_bytes(), 1)
}

fn question(id: u16, name: &[u8], rtype: u16) -> Vec<u8> {
    let head = [&id.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0]].concat();
    [&head[..], name, &rtype.to_be_bytes(), &[0, 1]].concat()
}

/// Hostile packets without end, the same for the same seed.
pub(super) struct Packets(u64);

impl Packets {
    pub(super) fn new(seed: u64) -> Packets {
        Packets(seed)
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Vec<u8> {
        match self.below(10) {
            0 => self.noise(),
            1 => self.cut_short(),
            2 => self.damaged(),
            3 => self.pointing(),
            4 => self.counting(),
            5 => self.options(),
            6 => self.response(),
            7 => question(self.number(), &self.name(), self.number()),
            8 => question(self.number(), &self.name(), 1),
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
