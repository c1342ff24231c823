//! Record types by number, printed by mnemonic or as `TYPE65280` (RFC 3597).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A record type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rtype(pub u16);

/// A text that is not a record type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a record type; write a mnemonic such as A or CNAME, or TYPE and a number")]
pub struct RtypeError(pub String);

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
    /// Whether the type is for queries and messages only, so that no record has it
    /// (RFC 6895 section 3.1).
    pub fn is_meta(self) -> bool {
        matches!(self.0, 0 | 128..=255) || self == Rtype::OPT
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
