//! Record data that is valid and probably means something else than its author thinks.

use std::fmt;

use super::Rdata;
use super::presentation::{name_fields, one_line};
use crate::token::Token;
use crate::{Name, Rtype};

/// What the presentation format makes of a text that looks as if something else was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ambiguity {
    /// Words without quotation marks are strings of their own, which readers of the record join without spaces.
    Split {
        /// How many strings there are.
        strings: usize,
        /// What their readers make of them, or how it begins.
        joined: String,
    },
    /// A host name with a dot and without the final one is relative.
    Relative {
        /// The name as written.
        written: String,
        /// What it stands for.
        name: Name,
    },
}

/// How many characters of a text a message shows.
const SHOWN: usize = 80;

impl Rdata {
    /// What is ambiguous about a text that [`Rdata::parse`] reads.
    pub fn ambiguity(rtype: Rtype, text: &str, origin: &Name) -> Option<Ambiguity> {
        Ambiguity::of(rtype, &one_line(text.trim()).ok()?, origin)
    }
}

impl Ambiguity {
    /// What is ambiguous about an owner name that is relative to a zone: it already ends with the zone's name.
    pub fn of_owner(written: &str, origin: &Name) -> Option<Ambiguity> {
        let is_whole = |name: &Name| name.is_in(origin) && !origin.is_root() && !written.ends_with('.');
        Name::parse(written).ok().filter(is_whole)?;
        let name = Name::parse_relative(written, origin).ok()?;
        Some(Ambiguity::Relative { written: written.to_owned(), name })
    }

    pub(crate) fn of(rtype: Rtype, tokens: &[Token<'_>], origin: &Name) -> Option<Ambiguity> {
        match rtype {
            _ if tokens.first().is_some_and(|token| token.text == "\\#") => None,
            Rtype::TXT | Rtype::SPF => split(tokens),
            Rtype::CNAME | Rtype::DNAME | Rtype::NS | Rtype::PTR => relative(tokens.first()?, origin),
            Rtype::MX => relative(tokens.get(1)?, origin),
            Rtype::SRV => relative(tokens.get(3)?, origin),
            _ => name_fields(rtype).iter().find_map(|field| relative(tokens.get(*field)?, origin)),
        }
    }
}

/// Several texts are meant where all but one of them are quoted.
fn split(tokens: &[Token<'_>]) -> Option<Ambiguity> {
    let bare = tokens.iter().filter(|token| !token.text.starts_with('"')).count();
    (bare >= 2).then(|| Ambiguity::Split { strings: tokens.len(), joined: joined(tokens) })
}

/// The texts without spaces between them; a long one is cut.
fn joined(tokens: &[Token<'_>]) -> String {
    let mut rest = tokens.iter().flat_map(|token| token.text.trim_matches('"').chars());
    let mut shown: String = rest.by_ref().take(SHOWN).collect();
    shown.extend(rest.next().map(|_| '…'));
    shown
}

fn relative(token: &Token<'_>, origin: &Name) -> Option<Ambiguity> {
    let written = token.text;
    if origin.is_root() || written.ends_with('.') || Name::parse(written).ok()?.labels().count() < 2 {
        return None;
    }
    let name = Name::parse_relative(written, origin).ok()?;
    Some(Ambiguity::Relative { written: written.to_owned(), name })
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ambiguity::Split { strings, joined } => write!(
                f,
                "the text is not quoted, so it is served as {strings} strings, which clients join without spaces: \
                 `{joined}`; put the whole text into quotation marks"
            ),
            Ambiguity::Relative { written, name } => write!(
                f,
                "`{written}` is a relative name with a dot, so it stands for `{name}`: add the final dot \
                 (`{written}.`), or write `{name}` if that is meant"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;

    use super::*;

    fn ambiguity(rtype: &str, text: &str, origin: &str) -> Option<Ambiguity> {
        Rdata::ambiguity(rtype.parse().unwrap(), text, &Name::parse(origin).unwrap())
    }

    #[rstest]
    #[case("v=spf1 include:a.example -all", Some((3, "v=spf1include:a.example-all")))]
    #[case("\"v=spf1\" include:a.example -all", Some((3, "v=spf1include:a.example-all")))]
    #[case("\"v=spf1 include:a.example -all\"", None)]
    #[case("\"two\" \"strings\"", None)]
    #[case("\"two\" strings", None)]
    #[case("one", None)]
    #[case("\\# 4 03 61 62 63", None)]
    fn a_text_without_quotation_marks_splits(#[case] text: &str, #[case] expected: Option<(usize, &str)>) {
        let split =
            |(strings, joined): (usize, &str)| Ambiguity::Split { strings, joined: joined.to_owned() };
        assert_eq!(ambiguity("TXT", text, "example.org"), expected.map(split));
    }

    #[rstest]
    #[case("www.acme.example", true)]
    #[case("acme.example", true)]
    #[case("www.acme.example.", false)]
    #[case("www.example", false)]
    #[case("a.b", false)]
    #[case("@", false)]
    fn an_owner_that_ends_with_the_zone_is_relative_too(#[case] written: &str, #[case] expected: bool) {
        let origin = Name::parse("acme.example").unwrap();
        assert_eq!(Ambiguity::of_owner(written, &origin).is_some(), expected);
        assert_eq!(Ambiguity::of_owner(written, &Name::root()), None);
    }

    #[rstest]
    #[case("CNAME", "lb.example.net", Some("lb.example.net.acme.example"))]
    #[case("MX", "10 mx.example.net", Some("mx.example.net.acme.example"))]
    #[case("SRV", "0 5 443 a.b", Some("a.b.acme.example"))]
    #[case("SVCB", "1 svc.example.net alpn=h2", Some("svc.example.net.acme.example"))]
    #[case("NAPTR", "100 10 \"S\" \"SIP+D2U\" \"\" a.b", Some("a.b.acme.example"))]
    #[case("CNAME", "lb.example.net.", None)]
    #[case("CNAME", "lb", None)]
    #[case("CNAME", "@", None)]
    #[case("HTTPS", "1 . alpn=h2", None)]
    #[case("A", "192.0.2.1", None)]
    fn a_dotted_target_without_the_final_dot_is_relative(
        #[case] rtype: &str,
        #[case] text: &str,
        #[case] expected: Option<&str>,
    ) {
        let found = ambiguity(rtype, text, "acme.example").map(|found| match found {
            Ambiguity::Relative { name, .. } => name,
            other => unreachable!("{other:?}"),
        });
        assert_eq!(found, expected.map(|name| Name::parse(name).unwrap()));
        assert_eq!(ambiguity(rtype, text, "."), None, "without a zone every name is absolute");
    }
}
