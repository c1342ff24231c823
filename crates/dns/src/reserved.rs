//! Names and texts that are reserved for ownership records, and so are not users' data.
//!
//! An ownership record says which instance manages a record at a provider. Whoever could write one could
//! take over or release another owner's records there, so users' objects may hold neither a name at or
//! below `_fingerpost` nor a TXT value that Fingerpost or ExternalDNS reads as an ownership record.

use crate::{Name, Rdata, Rtype};

/// The label at and below which a zone's ownership records are kept.
pub const OWNERSHIP_LABEL: &str = "_fingerpost";

/// What is reserved about a name or about record data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reserved {
    /// The name has the label of ownership records.
    #[error("is reserved: names at and below `_fingerpost` are for ownership records; use another name")]
    Name,
    /// The text has the form of an ownership record.
    #[error(
        "is reserved: the text has the form of an ownership record (`heritage=external-dns` or \
         `v=fingerpost`); write another text"
    )]
    Text,
}

/// Whether a name is reserved in whichever zone it is in.
pub fn reserved_name(name: &Name) -> Option<Reserved> {
    is_reserved_key(name.key()).then_some(Reserved::Name)
}

/// Whether the [`Name::key`] has the label of ownership records.
pub(crate) fn is_reserved_key(key: &[u8]) -> bool {
    // Nearly all names have no underscore.
    key.contains(&b'_') && Name::from_key(key).labels().any(|label| *label == *OWNERSHIP_LABEL.as_bytes())
}

/// Whether record data has the form of an ownership record.
pub fn reserved_data(data: &Rdata) -> Option<Reserved> {
    (data.rtype() == Rtype::TXT && is_reserved_text(data.wire())).then_some(Reserved::Text)
}

/// Whether the character strings of TXT data form an ownership record. Readers of such records differ in
/// how they join strings and strip quotation marks, so all of that is taken out before the comparison, and
/// case does not count.
pub(crate) fn is_reserved_text(wire: &[u8]) -> bool {
    let mut octets = Vec::with_capacity(wire.len());
    let mut rest = wire;
    while let Some((length, after)) = rest.split_first() {
        let Some((string, after)) = after.split_at_checked(usize::from(*length)) else { break };
        let counts = |octet: &u8| !octet.is_ascii_whitespace() && !b"\"'\\".contains(octet);
        octets.extend(string.iter().copied().filter(counts).map(|octet| octet.to_ascii_lowercase()));
        rest = after;
    }
    let is_heritage = |word: &[u8]| matches!(word, b"heritage=external-dns" | b"heritage=fingerpost");
    octets.starts_with(b"v=fingerpost") || octets.split(|octet| b",;".contains(octet)).any(is_heritage)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("_fingerpost.example.org", true)]
    #[case("a.b._fingerpost.example.org", true)]
    #[case("*._FingerPost.example.org", true)]
    #[case("\\095fingerpost.example.org", true)]
    #[case("x._fingerpost.sub.example.org", true)]
    #[case("_fingerpost", true)]
    #[case("fingerpost.example.org", false)]
    #[case("_fingerposts.example.org", false)]
    #[case("a_fingerpost.example.org", false)]
    #[case("www.example.org", false)]
    fn names_with_the_label_are_reserved(#[case] text: &str, #[case] reserved: bool) {
        assert_eq!(reserved_name(&Name::parse(text).unwrap()).is_some(), reserved);
    }

    #[rstest]
    #[case("\"heritage=external-dns,external-dns/owner=x\"", true)]
    #[case("heritage=external-dns", true)]
    #[case("\"HERITAGE=External-DNS,external-dns/owner=x\"", true)]
    #[case("\"\\\"heritage=external-dns,external-dns/owner=x\\\"\"", true)]
    #[case("\"heritage=\" \"external-dns,external-dns/owner=x\"", true)]
    #[case("\"external-dns/owner=x,heritage=external-dns\"", true)]
    #[case("\"a=b, heritage=external-dns\"", true)]
    #[case("\"\\104eritage=external-dns\"", true)]
    #[case("\"v=fingerpost1 owner=x generation=1 name=www.example.org. types=A\"", true)]
    #[case("\"v=fin\" \"gerpost1 owner=x generation=1 counter=2\"", true)]
    #[case("\"heritage=fingerpost,owner=x\"", true)]
    #[case("\"v=spf1 -all\"", false)]
    #[case("\"heritage=external-dns-like\"", false)]
    #[case("\"our heritage is external-dns\"", false)]
    #[case("\"\"", false)]
    fn texts_in_the_form_of_an_ownership_record_are_reserved(#[case] text: &str, #[case] reserved: bool) {
        let data = Rdata::parse(Rtype::TXT, text, &Name::root()).unwrap();
        assert_eq!(reserved_data(&data).is_some(), reserved);
    }

    #[test]
    fn only_txt_is_compared() {
        let data = Rdata::parse(Rtype::HINFO, "heritage=external-dns x", &Name::root()).unwrap();
        assert_eq!(reserved_data(&data), None);
    }
}
