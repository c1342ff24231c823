//! Questions about a zone: at, above, below and beside its names, for every type, with and without EDNS.

use super::chance::Chance;
use super::zone::{LONG, Zone};

/// Types that are asked for, by number: those that zones have, some that they have not, and question types.
const TYPES: [u16; 22] =
    [1, 28, 5, 39, 2, 6, 15, 16, 33, 12, 257, 52, 44, 13, 35, 43, 48, 65, 65000, 65280, 46, 47];
/// Those whose records lead to other names.
const LEADING: [u16; 3] = [2, 15, 33];
/// Types that are no record's.
const ODD_TYPES: [u16; 8] = [0, 41, 128, 249, 250, 253, 254, 255];

const TXT: u16 = 16;

/// What a client may ask for in its header: nothing, recursion, and what it thinks of validation.
const FLAGS: [[u8; 2]; 5] = [[0, 0], [0x01, 0], [0, 0x10], [0, 0x20], [0x01, 0x30]];

/// One question.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// As a zone file would have it, for people.
    pub(super) name: String,
    pub(super) rtype: u16,
    pub(super) class: u16,
    pub(super) edns: Edns,
    /// The third and fourth octet of the header.
    flags: [u8; 2],
    labels: Vec<Vec<u8>>,
}

/// What a question says about its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edns {
    None,
    Plain,
    DnssecOk,
    /// Version 1.
    Newer,
    /// An option that nobody knows.
    UnknownOption,
}

/// Questions about a zone.
pub(super) fn questions(zone: &Zone, seed: u64) -> Vec<Question> {
    let mut chance = Chance::new(seed);
    let mut questions = Vec::new();
    for name in names(zone, &mut chance) {
        let chosen = [&TYPES[..], &TYPES, &TYPES, &LEADING].map(|types| *chance.one(types));
        for rtype in [TYPES[0]].into_iter().chain(chosen) {
            let edns = *chance.one(&[Edns::None, Edns::Plain, Edns::DnssecOk]);
            questions.push(Question { flags: *chance.one(&FLAGS), ..Question::new(&name, rtype, 1, edns) });
        }
        if chance.percent(20) {
            questions.push(Question::new(&name, *chance.one(&ODD_TYPES), 1, Edns::Plain));
            questions.push(Question::new(&name, 1, *chance.one(&[3, 4, 254, 255]), Edns::Plain));
            questions.push(Question::new(&name, 1, 1, *chance.one(&[Edns::Newer, Edns::UnknownOption])));
        }
    }
    let long = [Edns::None, Edns::Plain, Edns::DnssecOk].into_iter().flat_map(|edns| {
        LONG.map(|(label, _)| Question::new(&format!("{label}.{}", zone.origin), TXT, 1, edns))
    });
    questions.extend(long);
    questions
}

/// The names to ask for: each of the zone, and what lies around it.
fn names(zone: &Zone, chance: &mut Chance) -> Vec<String> {
    let origin = &zone.origin;
    let mut names =
        vec![origin.clone(), format!("ns.{origin}"), "elsewhere.test".to_owned(), "test".to_owned()];
    for name in &zone.names {
        let own = name.join(".");
        names.push(format!("{own}.{origin}"));
        names.push(format!("{}.{own}.{origin}", chance.one(&["x", "*", "a", "ns0", "below"])));
        names.push(format!("x.y.{own}.{origin}"));
        names.extend((1..name.len()).map(|at| format!("{}.{origin}", name[at..].join("."))));
        names.push(format!("{}.{origin}", [&["beside"], &name[1..]].concat().join(".")));
    }
    names.sort();
    names.dedup();
    names
}

impl Question {
    fn new(name: &str, rtype: u16, class: u16, edns: Edns) -> Question {
        Question { name: name.to_owned(), rtype, class, edns, flags: [0, 0], labels: labels(name) }
    }

    /// The question as a message.
    pub(super) fn message(&self, id: u16) -> Vec<u8> {
        let additional = u8::from(self.edns != Edns::None);
        let mut octets = [&id.to_be_bytes()[..], &self.flags, &[0, 1, 0, 0, 0, 0, 0, additional]].concat();
        for label in &self.labels {
            octets.push(label.len() as u8);
            octets.extend_from_slice(label);
        }
        octets.push(0);
        octets.extend(self.rtype.to_be_bytes());
        octets.extend(self.class.to_be_bytes());
        octets.extend(self.opt());
        octets
    }

    fn opt(&self) -> Vec<u8> {
        let (version, flags, options): (u8, u8, &[u8]) = match self.edns {
            Edns::None => return Vec::new(),
            Edns::Plain => (0, 0, &[]),
            Edns::DnssecOk => (0, 0x80, &[]),
            Edns::Newer => (1, 0, &[]),
            Edns::UnknownOption => (0, 0, &[0xff, 0xf0, 0, 2, 1, 2]),
        };
        let head = [0, 0, 41, 0x04, 0xd0, 0, version, flags, 0, 0, options.len() as u8];
        [&head[..], options].concat()
    }
}

/// The labels of a name in the form of zone files.
fn labels(name: &str) -> Vec<Vec<u8>> {
    let (mut labels, mut label) = (Vec::new(), Vec::new());
    let octets = name.as_bytes();
    let mut at = 0;
    while let Some(octet) = octets.get(at) {
        at += 1;
        match (octet, octets.get(at..at + 3)) {
            (b'.', _) => labels.push(std::mem::take(&mut label)),
            (b'\\', Some(digits)) if digits.iter().all(u8::is_ascii_digit) => {
                label.push(std::str::from_utf8(digits).unwrap().parse().unwrap());
                at += 3;
            }
            (b'\\', _) => {
                label.push(octets[at]);
                at += 1;
            }
            (octet, _) => label.push(*octet),
        }
    }
    labels.push(label);
    labels
}
