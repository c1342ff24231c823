//! Collects what is wrong with an object, field by field.

use std::collections::BTreeSet;

use dns::{Name, NameError, Reserved};

use crate::Problem;
use crate::pattern::{self, Pattern};

pub(crate) use dns::MAX_TTL;

/// The problems found so far.
#[derive(Default)]
pub(crate) struct Checks(Vec<Problem>);

impl Checks {
    /// What was found.
    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.0
    }

    /// Notes a problem.
    pub(crate) fn refuse(
        &mut self,
        field: impl Into<String>,
        value: impl ToString,
        message: impl Into<String>,
    ) {
        self.0.push(Problem::new(field, value, message));
    }

    /// Notes a problem unless the condition holds.
    pub(crate) fn require(&mut self, holds: bool, field: &str, value: impl ToString, message: &str) {
        if !holds {
            self.refuse(field, value, message);
        }
    }

    /// The text must have the form.
    pub(crate) fn fits(&mut self, pattern: &Pattern, field: &str, text: &str) {
        if !pattern.fits(text) {
            self.0.push(pattern.problem(field, text));
        }
    }

    /// The text, where there is one, must have the form.
    pub(crate) fn fits_if_set(&mut self, pattern: &Pattern, field: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.fits(pattern, field, text);
        }
    }

    /// The text must be a country or a continent.
    pub(crate) fn place(&mut self, field: &str, text: &str) {
        self.fits(&pattern::GEO, field, text);
        if pattern::GEO.fits(text) && !pattern::is_place(text) {
            let message = "is the code of no country: use one of ISO 3166, such as `IE`, or `GB` for the United Kingdom";
            self.refuse(field, text, message);
        }
    }

    /// The text must be a full domain name, which is returned.
    pub(crate) fn name(&mut self, field: &str, text: &str) -> Option<Name> {
        self.parsed(field, text, Name::parse(text))
    }

    /// The text must be a domain name that may be relative to a zone, and may be `@`.
    pub(crate) fn relative_name(&mut self, field: &str, text: &str) -> Option<Name> {
        self.parsed(field, text, Name::parse_relative(text, &Name::root()))
    }

    /// The text must be a name that records may have, which is returned; it may be relative to a zone.
    pub(crate) fn owner_name(&mut self, field: &str, text: &str) -> Option<Name> {
        let name = self.relative_name(field, text)?;
        self.not_reserved(field, text, dns::reserved_name(&name));
        Some(name)
    }

    /// The field must not hold what is reserved for ownership records.
    pub(crate) fn not_reserved(&mut self, field: &str, value: impl ToString, reserved: Option<Reserved>) {
        if let Some(reserved) = reserved {
            self.refuse(field, value, reserved.to_string());
        }
    }

    fn parsed(&mut self, field: &str, text: &str, name: Result<Name, NameError>) -> Option<Name> {
        match name {
            Ok(name) => Some(name),
            Err(error) => {
                self.refuse(field, text, format!("is not a domain name: {error}"));
                None
            }
        }
    }

    /// The TTL must be one that DNS has.
    pub(crate) fn ttl(&mut self, field: &str, ttl: Option<u32>) {
        let ttl = ttl.unwrap_or_default();
        self.require(ttl <= MAX_TTL, field, ttl, "is too long: a TTL is at most 2147483647 seconds");
    }

    /// No entry may stand twice.
    pub(crate) fn unique<'a>(&mut self, field: &str, entries: impl Iterator<Item = &'a str>) {
        self.unique_at(|index| format!("{field}[{index}]"), entries);
    }

    /// No entry may stand twice; `field` gives the field of an entry by its number.
    pub(crate) fn unique_at<'a>(
        &mut self,
        field: impl Fn(usize) -> String,
        entries: impl Iterator<Item = &'a str>,
    ) {
        let mut seen = BTreeSet::new();
        for (index, entry) in entries.enumerate() {
            if !seen.insert(entry) {
                self.refuse(field(index), entry, "stands twice: name each only once");
            }
        }
    }
}
