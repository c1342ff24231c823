//! The forms that strings in our kinds may have.
//!
//! Each form stands here once: as an expression for the CEL rule in the CRD, as a matcher for
//! validation, and in the words that both say to the user.

use kube::core::{Message, Rule};

use crate::Problem;
use crate::country::is_country;

/// A form that a string must have.
pub(crate) struct Pattern {
    expression: &'static str,
    matches: fn(&str) -> bool,
    message: &'static str,
}

/// A part of a host name's label. Capitals are taken as lower case.
pub(crate) const LABEL: Pattern = Pattern {
    expression: "^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$",
    matches: |text| text.len() <= 63 && is_hyphenated(text, |octet| octet.is_ascii_alphanumeric()),
    message: "cannot be part of a DNS label: use at most 63 letters, digits and hyphens, with a letter or digit first and last",
};

/// The name of a Kubernetes object.
pub(crate) const OBJECT_NAME: Pattern = Pattern {
    expression: "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
    matches: |text| text.len() <= 253 && text.split('.').all(|label| is_hyphenated(label, is_lower)),
    message: "is not the name of an object: use lower-case letters, digits, hyphens and dots, with a letter or digit first and last",
};

/// The name of a namespace.
pub(crate) const NAMESPACE: Pattern = Pattern {
    expression: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    matches: |text| text.len() <= 63 && is_hyphenated(text, is_lower),
    message: "is not the name of a namespace: use at most 63 lower-case letters, digits and hyphens, with a letter or digit first and last",
};

/// The value of a Kubernetes label.
pub(crate) const LABEL_VALUE: Pattern = Pattern {
    expression: "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
    matches: |text| text.len() <= 63 && is_label_value(text),
    message: "cannot be the value of a label: use at most 63 letters, digits, hyphens, underscores and dots, with a letter or digit first and last",
};

/// The base domain of the router family, as strict as its first implementation.
pub(crate) const DOMAIN: Pattern = Pattern {
    expression: "^([a-z0-9]+(-[a-z0-9]+)*[.])+[a-z]{2,}$",
    matches: is_domain,
    message: "is not a base domain: use at least two labels of lower-case letters, digits and single hyphens without a final dot, such as `aks.example.org`",
};

/// The letter that stands for an environment.
pub(crate) const LETTER: Pattern = Pattern {
    expression: "^[a-z]$",
    matches: |text| matches!(text.as_bytes(), [b'a'..=b'z']),
    message: "is not an environment letter: use one letter from a to z, such as `p`",
};

/// The last part of a gateway's host label.
pub(crate) const POSTFIX: Pattern = Pattern {
    expression: "^[a-z0-9]+(-[a-z0-9]+)*$",
    matches: |text| text.len() <= 63 && is_single_hyphenated(text),
    message: "is not a postfix: use lower-case letters, digits and single hyphens between them, such as `internal`",
};

/// A country, or a continent with `GEO-` before it.
pub(crate) const GEO: Pattern = Pattern {
    expression: "^([A-Z]{2}|GEO-(AF|AN|AS|EU|NA|OC|SA))$",
    matches: is_geo,
    message: "is not a place: use a country code of two capitals such as `IE`, or a continent such as `GEO-EU`",
};

/// One status code of HTTP, or a range of them.
pub(crate) const STATUS_CODES: Pattern = Pattern {
    expression: "^[1-5][0-9]{2}(-[1-5][0-9]{2})?$",
    matches: is_status_codes,
    message: "is not a status code: use one such as `200` or a range such as `200-299`",
};

/// An absolute URL that a request can be sent to.
pub(crate) const URL: Pattern = Pattern {
    expression: "^https?://[^/?#@ ]+(/[^?# ]*)?$",
    matches: |text| crate::target::Target::from_url(text).is_some(),
    message: "is not a URL: use `http://` or `https://`, a host, and if need be a port and a path, such as `https://dns.example.org:8443`",
};

impl Pattern {
    /// Whether the text has this form.
    pub(crate) fn fits(&self, text: &str) -> bool {
        (self.matches)(text)
    }

    /// What to say about a field that does not have this form.
    pub(crate) fn problem(&self, field: &str, text: &str) -> Problem {
        match text {
            "" => Problem::new(field, "", "must not be empty"),
            text => Problem::new(field, text, self.message),
        }
    }

    /// The CEL rule for a string field.
    pub(crate) fn rule(&self, field: &str) -> Rule {
        let condition = format!("self.matches('{}')", self.expression);
        explained(&condition, &format!("'{field}: `' + self + '` {}'", self.message))
    }

    /// As [`Pattern::rule`] for a field whose value may hold a password before an `@`.
    pub(crate) fn rule_without_password(&self, field: &str) -> Rule {
        let condition = format!("self.matches('{}')", self.expression);
        let value = "(self.contains('@') ? '***' : self)";
        explained(&condition, &format!("'{field}: `' + {value} + '` {}'", self.message))
    }

    /// The CEL rule for an optional string field, where empty means unset.
    pub(crate) fn rule_or_empty(&self, field: &str) -> Rule {
        let condition = format!("self == '' || self.matches('{}')", self.expression);
        explained(&condition, &format!("'{field}: `' + self + '` {}'", self.message))
    }

    /// The CEL rule for a list of strings.
    pub(crate) fn rule_for_each(&self, field: &str) -> Rule {
        let condition = format!("self.all(item, item.matches('{}'))", self.expression);
        Rule::new(condition).message(format!("{field}: an entry {}", self.message).as_str())
    }
}

/// A CEL rule with a message that is itself an expression.
pub(crate) fn explained(condition: &str, message: &str) -> Rule {
    Rule::new(condition).message(Message::Expression(message.to_owned()))
}

fn is_lower(octet: u8) -> bool {
    octet.is_ascii_lowercase() || octet.is_ascii_digit()
}

fn is_hyphenated(text: &str, letter: fn(u8) -> bool) -> bool {
    let octets = text.as_bytes();
    let ends = [octets.first(), octets.last()];
    ends.iter().all(|end| end.is_some_and(|octet| letter(*octet)))
        && octets.iter().all(|octet| letter(*octet) || *octet == b'-')
}

fn is_single_hyphenated(text: &str) -> bool {
    text.split('-').all(|part| !part.is_empty() && part.bytes().all(is_lower))
}

fn is_label_value(text: &str) -> bool {
    let octets = text.as_bytes();
    let ends = [octets.first(), octets.last()];
    ends.iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && octets.iter().all(|octet| octet.is_ascii_alphanumeric() || b"-_.".contains(octet))
}

fn is_domain(text: &str) -> bool {
    let Some((labels, top)) = text.rsplit_once('.') else { return false };
    top.len() >= 2
        && top.bytes().all(|octet| octet.is_ascii_lowercase())
        && labels.split('.').all(is_single_hyphenated)
}

/// Whether a text is the code of a country that there is, or of a continent with `GEO-` before it.
pub fn is_place(text: &str) -> bool {
    is_geo(text) && (text.starts_with("GEO-") || is_country(text))
}

fn is_geo(text: &str) -> bool {
    match text.strip_prefix("GEO-") {
        Some(continent) => ["AF", "AN", "AS", "EU", "NA", "OC", "SA"].contains(&continent),
        None => text.len() == 2 && text.bytes().all(|octet| octet.is_ascii_uppercase()),
    }
}

fn is_status_codes(text: &str) -> bool {
    status_codes(text).is_some()
}

/// The first and last status code that an entry of `expectedCodes` stands for.
pub(crate) fn status_codes(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let code = |text: &str| (text.len() == 3).then(|| text.parse().ok()).flatten();
    let (first, last) = (code(first)?, code(last)?);
    (first >= 100 && first <= last && last <= 599).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(LABEL, "weu")]
    #[case(LABEL, "a")]
    #[case(LABEL, "A--b1")]
    #[case(OBJECT_NAME, "a.b-c.1")]
    #[case(NAMESPACE, "istio-system")]
    #[case(LABEL_VALUE, "A_b.c-1")]
    #[case(DOMAIN, "aks.vecd.vczc.nl")]
    #[case(DOMAIN, "a-b.c1.de")]
    #[case(LETTER, "p")]
    #[case(POSTFIX, "internal")]
    #[case(POSTFIX, "a-1-b")]
    #[case(GEO, "IE")]
    #[case(GEO, "GEO-EU")]
    #[case(STATUS_CODES, "200")]
    #[case(STATUS_CODES, "200-299")]
    #[case(URL, "http://a")]
    #[case(URL, "https://a.example.org:8443/base/path")]
    #[case(URL, "http://[2001:db8::1]:80/")]
    #[case(URL, "http://192.0.2.1")]
    fn fits(#[case] pattern: Pattern, #[case] text: &str) {
        assert!(pattern.fits(text));
    }

    #[rstest]
    #[case(LABEL, "")]
    #[case(LABEL, "-a")]
    #[case(LABEL, "a-")]
    #[case(LABEL, "a.b")]
    #[case(LABEL, "a_b")]
    #[case(LABEL, "ü")]
    #[case(LABEL, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
    #[case(OBJECT_NAME, "A")]
    #[case(OBJECT_NAME, "a..b")]
    #[case(OBJECT_NAME, ".a")]
    #[case(NAMESPACE, "a.b")]
    #[case(LABEL_VALUE, "_a")]
    #[case(LABEL_VALUE, "a b")]
    #[case(DOMAIN, "org")]
    #[case(DOMAIN, ".org")]
    #[case(DOMAIN, "a.org.")]
    #[case(DOMAIN, "a.o")]
    #[case(DOMAIN, "a.or9")]
    #[case(DOMAIN, "A.org")]
    #[case(DOMAIN, "-a.org")]
    #[case(LETTER, "")]
    #[case(LETTER, "ab")]
    #[case(LETTER, "1")]
    #[case(POSTFIX, "a--b")]
    #[case(POSTFIX, "-a")]
    #[case(GEO, "ie")]
    #[case(GEO, "IRL")]
    #[case(GEO, "EU-GEO")]
    #[case(GEO, "GEO-XX")]
    #[case(STATUS_CODES, "2xx")]
    #[case(STATUS_CODES, "600")]
    #[case(STATUS_CODES, "99")]
    #[case(STATUS_CODES, "300-200")]
    #[case(STATUS_CODES, "+200")]
    #[case(URL, "a.example.org")]
    #[case(URL, "ftp://a")]
    #[case(URL, "http://")]
    #[case(URL, "http://u:p@a")]
    #[case(URL, "http://a?b")]
    #[case(URL, "http://a b")]
    #[case(URL, "http://a:0")]
    #[case(URL, "http://a:b")]
    #[case(URL, "http://[::1")]
    #[case(URL, "http://[::1]x")]
    fn does_not_fit(#[case] pattern: Pattern, #[case] text: &str) {
        assert!(!pattern.fits(text));
    }
}
