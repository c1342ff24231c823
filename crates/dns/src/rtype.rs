//! Record types by number, printed by mnemonic or as `TYPE65280` (RFC 3597).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A record type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rtype(pub u16);

/// A text that is not a record type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RtypeError(pub String);

/// Why no record that a user writes may have a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeRefusal {
    /// The type exists in queries and messages only (RFC 6895 section 3.1).
    #[error("is a type of queries and messages, not of records: use a type of data such as `A`")]
    Meta,
    /// The type is for private use (RFC 6895 section 3.1), so only one DNS server's software gives it
    /// a meaning: PowerDNS runs the data of 65402 (LUA) as a program.
    #[error(
        "is a type for private use (65280 to 65535), whose data a DNS server may execute, as PowerDNS does \
         with LUA: no record may have it; use a Placement where the answer is to depend on health or place"
    )]
    Private,
    /// A zone has one start of authority, and it is made from what the zone says of itself.
    #[error("records are made from the Zone's own fields: set refresh, retry, expire and the others there")]
    Authority,
    /// The records are made by signing a zone.
    #[error("records are made by signing: remove it")]
    Signing,
}

/// Types of private use by the names that DNS servers give them. They have no mnemonic in DNS, so they
/// are recognized for the message only.
const PRIVATE_NAMES: [&str; 9] = ["ADDR", "ALIAS", "ANAME", "APP", "ENT", "FWD", "LUA", "WINS", "WINSR"];

macro_rules! rtypes {
    ($($name:ident = $number:literal),* $(,)?) => {
        #[allow(missing_docs)]
        impl Rtype {
            $(pub const $name: Rtype = Rtype($number);)*
        }
        const MNEMONICS: &[(&str, Rtype)] = &[$((stringify!($name), Rtype($number)),)*];
    };
}

rtypes! {
    A = 1, NS = 2, CNAME = 5, SOA = 6, PTR = 12, HINFO = 13, MX = 15, TXT = 16, RP = 17, AFSDB = 18,
    AAAA = 28, LOC = 29, SRV = 33, NAPTR = 35, KX = 36, CERT = 37, DNAME = 39, OPT = 41, DS = 43,
    SSHFP = 44, IPSECKEY = 45, RRSIG = 46, NSEC = 47, DNSKEY = 48, NSEC3 = 50, NSEC3PARAM = 51,
    TLSA = 52, SMIMEA = 53, CDS = 59, CDNSKEY = 60, OPENPGPKEY = 61, CSYNC = 62, ZONEMD = 63,
    SVCB = 64, HTTPS = 65, SPF = 99, EUI48 = 108, EUI64 = 109, IXFR = 251, AXFR = 252, ANY = 255,
    URI = 256, CAA = 257,
}

impl Rtype {
    /// Why no record of a user may have this type; `None` for a type of data.
    ///
    /// This one rule holds for objects, zone files and both provider protocols. The whole range for
    /// private use is refused, and not only what is known today: which of its types a server executes is
    /// that server's choice.
    pub fn refusal(self) -> Option<TypeRefusal> {
        match self.0 {
            65_280..=u16::MAX => Some(TypeRefusal::Private),
            _ if self.is_meta() => Some(TypeRefusal::Meta),
            _ => None,
        }
    }

    /// Why no object and no request may have a record of this type beside the zone's own; `None` for a type of data.
    ///
    /// Zone files and servers have types besides that are made for a zone as a whole.
    pub fn refusal_as_data(self) -> Option<TypeRefusal> {
        match self {
            Rtype::SOA => Some(TypeRefusal::Authority),
            Rtype::RRSIG | Rtype::NSEC | Rtype::NSEC3 | Rtype::NSEC3PARAM => Some(TypeRefusal::Signing),
            _ => self.refusal(),
        }
    }

    /// Whether the type is for queries and messages only, so that no record has it
    /// (RFC 6895 section 3.1).
    pub fn is_meta(self) -> bool {
        matches!(self.0, 0 | 128..=255) || self == Rtype::OPT
    }
}

impl fmt::Display for RtypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RtypeError(text) = self;
        if PRIVATE_NAMES.iter().any(|name| name.eq_ignore_ascii_case(text)) {
            return write!(f, "`{text}` {}", TypeRefusal::Private);
        }
        write!(f, "`{text}` is not a record type; write a mnemonic such as A or CNAME, or TYPE and a number")
    }
}

impl fmt::Display for Rtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match MNEMONICS.iter().find(|(_, rtype)| rtype == self) {
            Some((mnemonic, _)) => f.pad(mnemonic),
            None => f.pad(&format!("TYPE{}", self.0)),
        }
    }
}

impl fmt::Debug for Rtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Rtype {
    type Err = RtypeError;

    fn from_str(text: &str) -> Result<Rtype, RtypeError> {
        let upper = text.to_ascii_uppercase();
        let known = MNEMONICS.iter().find(|(mnemonic, _)| *mnemonic == upper).map(|(_, rtype)| *rtype);
        let digits = upper.strip_prefix("TYPE").filter(|digits| digits.bytes().all(|d| d.is_ascii_digit()));
        let by_number = || digits?.parse().ok().map(Rtype);
        known.or_else(by_number).ok_or_else(|| RtypeError(text.to_owned()))
    }
}

impl Serialize for Rtype {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rtype {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rtype, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rstest::rstest;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    #[rstest]
    #[case("A", Rtype::A, "A")]
    #[case("https", Rtype::HTTPS, "HTTPS")]
    #[case("TYPE1", Rtype::A, "A")]
    #[case("type65280", Rtype(65280), "TYPE65280")]
    fn reads_and_prints(#[case] text: &'static str, #[case] rtype: Rtype, #[case] shown: &str) {
        assert_eq!(text.parse(), Ok(rtype));
        assert_eq!((rtype.to_string(), format!("{rtype:?}")), (shown.to_owned(), shown.to_owned()));
        let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
        assert_eq!(Rtype::deserialize(deserializer).unwrap(), rtype);
    }

    #[rstest]
    #[case("")]
    #[case("ADDRESS")]
    #[case("TYPE")]
    #[case("TYPE+1")]
    #[case("TYPE65536")]
    fn refuses(#[case] text: &str) {
        assert_eq!(text.parse::<Rtype>(), Err(RtypeError(text.to_owned())));
    }

    #[rstest]
    #[case("SOA", Some(TypeRefusal::Authority))]
    #[case("TYPE6", Some(TypeRefusal::Authority))]
    #[case("RRSIG", Some(TypeRefusal::Signing))]
    #[case("NSEC", Some(TypeRefusal::Signing))]
    #[case("NSEC3", Some(TypeRefusal::Signing))]
    #[case("NSEC3PARAM", Some(TypeRefusal::Signing))]
    #[case("LUA", Some(TypeRefusal::Private))]
    #[case("ANY", Some(TypeRefusal::Meta))]
    #[case("DNSKEY", None)]
    #[case("NS", None)]
    fn types_that_a_zone_has_once_are_no_users_data(
        #[case] text: &str,
        #[case] refusal: Option<TypeRefusal>,
    ) {
        let rtype = text.parse().unwrap_or(Rtype(65402));
        assert_eq!(rtype.refusal_as_data(), refusal);
    }

    #[rstest]
    #[case("A", None)]
    #[case("TYPE1", None)]
    #[case("TYPE65279", None)]
    #[case("CAA", None)]
    #[case("TYPE65280", Some(TypeRefusal::Private))]
    #[case("TYPE65400", Some(TypeRefusal::Private))]
    #[case("TYPE65401", Some(TypeRefusal::Private))]
    #[case("TYPE65402", Some(TypeRefusal::Private))]
    #[case("type65402", Some(TypeRefusal::Private))]
    #[case("tYpE00065402", Some(TypeRefusal::Private))]
    #[case("TYPE65535", Some(TypeRefusal::Private))]
    #[case("OPT", Some(TypeRefusal::Meta))]
    #[case("TYPE249", Some(TypeRefusal::Meta))]
    #[case("TYPE250", Some(TypeRefusal::Meta))]
    #[case("AXFR", Some(TypeRefusal::Meta))]
    #[case("IXFR", Some(TypeRefusal::Meta))]
    #[case("ANY", Some(TypeRefusal::Meta))]
    #[case("TYPE0", Some(TypeRefusal::Meta))]
    fn no_record_of_a_user_has_a_private_or_meta_type(
        #[case] text: &str,
        #[case] refusal: Option<TypeRefusal>,
    ) {
        assert_eq!(text.parse::<Rtype>().unwrap().refusal(), refusal);
    }

    #[rstest]
    #[case("LUA")]
    #[case("lua")]
    #[case("ALIAS")]
    fn a_private_type_by_name_is_told_apart_from_a_typing_error(#[case] text: &str) {
        let message = text.parse::<Rtype>().unwrap_err().to_string();
        assert!(message.contains("private use"), "{message}");
    }

    #[rstest]
    #[case(Rtype::A, false)]
    #[case(Rtype::OPT, true)]
    #[case(Rtype::AXFR, true)]
    #[case(Rtype::ANY, true)]
    #[case(Rtype(0), true)]
    #[case(Rtype::CAA, false)]
    fn meta_types_have_no_records(#[case] rtype: Rtype, #[case] meta: bool) {
        assert_eq!(rtype.is_meta(), meta);
    }
}
