//! Queries as octets, and responses as text in one fixed form.

use dns::{Name, Rtype};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::opt::{EdnsCode, EdnsOption};
use hickory_proto::rr::{RData, Record};
use server::Transport;

pub(crate) const ID: u16 = 0x4d3a;

/// A query with everything that a scenario can say about it.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// The name in wire form, the case of its letters kept.
    pub(crate) name: Vec<u8>,
    pub(crate) rtype: u16,
    pub(crate) class: u16,
    pub(crate) opcode: u8,
    pub(crate) flags: [u8; 2],
    /// Size, version and DO of an OPT record.
    pub(crate) edns: Option<(u16, u8, bool)>,
    /// CO of that record (RFC 9824 section 5.1).
    pub(crate) compact_ok: bool,
    /// The options of that record, in wire form.
    pub(crate) options: Vec<u8>,
    pub(crate) transport: Transport,
}

impl Ask {
    pub(crate) fn new(name: &str, rtype: &str) -> Ask {
        Ask {
            name: wire_name(name),
            rtype: rtype.parse::<Rtype>().unwrap().0,
            class: 1,
            opcode: 0,
            flags: [0, 0],
            edns: None,
            compact_ok: false,
            options: Vec::new(),
            transport: Transport::Udp,
        }
    }

    /// A query as scenarios write it: name, type and options.
    pub(crate) fn parse(text: &str) -> Ask {
        let words: Vec<&str> = text.split(' ').collect();
        words[2..].iter().fold(Ask::new(words[0], words[1]), |ask, option| ask.with(option))
    }

    /// Sets one option as scenarios write it.
    pub(crate) fn with(mut self, option: &str) -> Ask {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let (size, version, dnssec_ok) = self.edns.unwrap_or((1232, 0, false));
        match key {
            "tcp" => self.transport = Transport::Tcp,
            "tls" => self.transport = Transport::Tls,
            "class" => self.class = value.parse().unwrap(),
            "opcode" => self.opcode = value.parse().unwrap(),
            "rd" => self.flags[0] |= 0x01,
            "cd" => self.flags[1] |= 0x10,
            "ad" => self.flags[1] |= 0x20,
            "edns" => self.edns = Some((size, version, dnssec_ok)),
            "size" => self.edns = Some((value.parse().unwrap(), version, dnssec_ok)),
            "version" => self.edns = Some((size, value.parse().unwrap(), dnssec_ok)),
            "do" => self.edns = Some((size, version, true)),
            "co" => (self.edns, self.compact_ok) = (Some((size, version, dnssec_ok)), true),
            "option" => {
                self.edns = Some((size, version, dnssec_ok));
                let (code, digits) = value.split_once(':').unwrap();
                let (code, data) = (code.parse::<u16>().unwrap(), octets(digits));
                self.options.extend([code, data.len() as u16].map(u16::to_be_bytes).concat());
                self.options.extend(data);
            }
            other => panic!("unknown option {other}"),
        }
        self
    }

    pub(crate) fn octets(&self) -> Vec<u8> {
        let mut out = ID.to_be_bytes().to_vec();
        out.extend([self.opcode << 3 | self.flags[0], self.flags[1], 0, 1, 0, 0, 0, 0, 0]);
        out.push(u8::from(self.edns.is_some()));
        out.extend(self.question());
        if let Some((size, version, dnssec_ok)) = self.edns {
            out.extend([0, 0, 41]);
            out.extend(size.to_be_bytes());
            out.extend([0, version, u8::from(dnssec_ok) << 7 | u8::from(self.compact_ok) << 6, 0]);
            out.extend((self.options.len() as u16).to_be_bytes());
            out.extend(&self.options);
        }
        out
    }

    pub(crate) fn question(&self) -> Vec<u8> {
        [&self.name[..], &self.rtype.to_be_bytes(), &self.class.to_be_bytes()].concat()
    }

    /// The most octets that the response may have.
    pub(crate) fn limit(&self) -> usize {
        match (self.transport, self.edns) {
            (Transport::Tcp | Transport::Tls, _) => 65535,
            (Transport::Udp, None) => 512,
            (Transport::Udp, Some((size, ..))) => usize::from(size.clamp(512, 1232)),
        }
    }
}

/// Octets from hexadecimal digits.
pub(crate) fn octets(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// The wire form of a name with its case kept, which [`Name`] does not.
fn wire_name(text: &str) -> Vec<u8> {
    let mut wire = text.parse::<Name>().unwrap().to_wire();
    let letters: Vec<u8> = text.bytes().filter(|octet| *octet != b'.').collect();
    if !text.contains('\\') {
        let mut letters = letters.into_iter();
        let mut at = 0;
        while wire[at] != 0 {
            let end = at + 1 + usize::from(wire[at]);
            wire[at + 1..end].iter_mut().for_each(|octet| *octet = letters.next().unwrap());
            at = end;
        }
    }
    wire
}

/// A response as lines: code and flags, then the sections.
pub(crate) fn show(response: &[u8]) -> Vec<String> {
    let message = Message::from_vec(response).expect("another library reads the response");
    let mut lines = vec![show_header(&message)];
    let sections = [
        ("answer", &message.answers),
        ("authority", &message.authorities),
        ("additional", &message.additionals),
    ];
    for (section, records) in sections {
        lines.extend(records.iter().map(|record| format!("{section} {}", show_record(record))));
    }
    if let Some(edns) = &message.edns {
        let dnssec_ok = if edns.flags().dnssec_ok { " do" } else { "" };
        lines.push(format!("edns {}{dnssec_ok}", edns.max_payload()));
        lines.extend(
            OPTIONS.iter().filter_map(|code| show_option(*code, edns.option(EdnsCode::from(*code))?)),
        );
    }
    lines
}

/// The options that are shown, in this order.
const OPTIONS: [u16; 6] = [15, 3, 8, 10, 11, 12];

fn show_option(code: u16, option: &EdnsOption) -> Option<String> {
    let value = Vec::<u8>::try_from(option).unwrap();
    let digits: String = value.iter().map(|octet| format!("{octet:02x}")).collect();
    Some(match code {
        15 => format!("error {} {}", value[1], String::from_utf8_lossy(&value[2..])),
        3 => format!("nsid {}", String::from_utf8_lossy(&value)),
        8 => format!("subnet {digits}"),
        10 => format!("cookie {digits}"),
        11 => format!("keepalive {digits}"),
        12 => format!("padding {}", value.len()),
        _ => return None,
    })
}

fn show_header(message: &Message) -> String {
    let head = &message.metadata;
    let code = match head.response_code {
        ResponseCode::NoError => "NOERROR".to_owned(),
        ResponseCode::FormErr => "FORMERR".to_owned(),
        ResponseCode::ServFail => "SERVFAIL".to_owned(),
        ResponseCode::NXDomain => "NXDOMAIN".to_owned(),
        ResponseCode::NotImp => "NOTIMP".to_owned(),
        ResponseCode::Refused => "REFUSED".to_owned(),
        ResponseCode::YXDomain => "YXDOMAIN".to_owned(),
        // The number 16 has two names.
        ResponseCode::BADCOOKIE => "BADCOOKIE".to_owned(),
        ResponseCode::BADVERS | ResponseCode::BADSIG => "BADVERS".to_owned(),
        other => format!("{other:?}"),
    };
    let flags = [
        ("aa", head.authoritative),
        ("tc", head.truncation),
        ("rd", head.recursion_desired),
        ("ra", head.recursion_available),
        ("ad", head.authentic_data),
        ("cd", head.checking_disabled),
    ];
    let set = flags.iter().filter(|(_, set)| *set).map(|(name, _)| format!(" {name}"));
    format!("{code}{}", set.collect::<String>())
}

fn show_record(record: &Record) -> String {
    let rtype = Rtype(record.record_type().into());
    let text = format!("{} {} {rtype} {}", record.name, record.ttl, show_data(rtype, &record.data));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Data of a type that the library does not know is shown as RFC 3597 has it.
fn show_data(rtype: Rtype, data: &RData) -> String {
    match data {
        RData::Unknown { rdata, .. } if rtype == Rtype::DNAME => {
            Name::from_wire(&rdata.anything).unwrap().0.to_string()
        }
        RData::Unknown { rdata, .. } => {
            let digits: String = rdata.anything.iter().map(|octet| format!("{octet:02x}")).collect();
            format!("\\# {} {digits}", rdata.anything.len())
        }
        known => known.to_string(),
    }
}
