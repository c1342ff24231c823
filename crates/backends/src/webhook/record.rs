//! Record sets as the protocol says them, and back.
//!
//! The document has one priority, weight and port for all values of MX and SRV, and plain text for TXT. What
//! does not fit (two mail servers of different priority, a text of several strings, a type that the document
//! does not have) travels in presentation format, between sides that both know that extension.

use std::collections::BTreeMap;

use api::dnsclass::{DNSRecordType, RecordMetadata};
use api::{DNSClassRef, DNSRecordSpec, Meta, Object, Problem, Spec};
use dns::{MAX_TTL, Name, Rdata, RecordSet, Rtype};

use super::protocol::{Code, Format, Identity, Record};

/// The most values that a record may have, as in a DNSRecord.
const MOST_VALUES: usize = 256;

/// Why a record of the protocol is not a record set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Invalid {
    /// The protocol's code for it.
    pub code: Code,
    /// What is wrong, for people.
    pub message: String,
}

impl Invalid {
    fn new(code: Code, message: impl Into<String>) -> Invalid {
        Invalid { code, message: message.into() }
    }
}

/// Which record set a name and type are, told relative to a domain that holds the name.
pub fn identity(name: &Name, rtype: Rtype, domain: &Name) -> Identity {
    Identity { r#type: rtype, domain: domain.undotted(), subdomain: relative(name, domain) }
}

/// A record set as the protocol says it; `None` where it takes presentation format and that is not allowed.
pub fn record(set: &RecordSet, domain: &Name, presentation: bool) -> Option<Record> {
    let plain = if is_documented(set.rtype) { plain_values(set) } else { None };
    let (values, metadata, format) = match plain {
        Some((values, metadata)) => (values, metadata, None),
        None if presentation => {
            (set.data.iter().map(ToString::to_string).collect(), None, Some(Format::Presentation))
        }
        None => return None,
    };
    let Identity { r#type, domain, subdomain } = identity(&set.name, set.rtype, domain);
    let provider_specific = BTreeMap::new();
    Some(Record {
        r#type,
        domain,
        subdomain,
        fqdn: None,
        values,
        ttl: Some(set.ttl),
        metadata,
        format,
        provider_specific,
    })
}

/// The domain and the full name of a record.
pub fn name_of(identity: &Identity) -> Result<(Name, Name), Invalid> {
    let wrong =
        |field: &str, message: String| Invalid::new(Code::InvalidDomain, format!("{field}: {message}"));
    let domain = Name::parse(&identity.domain).map_err(|error| wrong("domain", error.to_string()))?;
    if domain.is_root() || domain.is_wildcard() {
        return Err(wrong("domain", "must be a domain such as example.org".to_owned()));
    }
    if identity.subdomain.ends_with('.') {
        return Err(wrong("subdomain", "ends with a dot, which would make it absolute".to_owned()));
    }
    let name = Name::parse_relative(&identity.subdomain, &domain);
    let name = name.map_err(|error| wrong("subdomain", error.to_string()))?;
    check_type(identity.r#type)?;
    Ok((domain, name))
}

/// The record set that a record is, with the TTL where it has none of its own.
pub fn record_set(record: &Record, default_ttl: u32) -> Result<RecordSet, Invalid> {
    let (_, name) = name_of(&record.identity())?;
    let ttl = record.ttl.unwrap_or(default_ttl);
    if ttl > MAX_TTL {
        return Err(Invalid::new(Code::InvalidRecord, format!("ttl: may be at most {MAX_TTL}")));
    }
    let data = match (record.format, documented(record.r#type)) {
        (None, Some(documented)) => plain_data(record, documented)?,
        _ => presented_data(record)?,
    };
    Ok(RecordSet::new(name, record.r#type, ttl, data))
}

fn check_type(rtype: Rtype) -> Result<(), Invalid> {
    let message = format!("type: {rtype} is not one that a record of this protocol can have");
    let internal = rtype == Rtype::DNSKEY || rtype.refusal_as_data() != rtype.refusal();
    match (rtype.refusal(), internal) {
        (Some(refusal), _) => Err(Invalid::new(Code::InvalidRecord, format!("type: {rtype} {refusal}"))),
        (None, true) => Err(Invalid::new(Code::InvalidRecord, message)),
        (None, false) => Ok(()),
    }
}

/// A name within a domain that holds it; `@` for the domain itself.
fn relative(name: &Name, domain: &Name) -> String {
    let (text, below) = (name.undotted(), domain.undotted());
    if name == domain {
        return "@".to_owned();
    }
    let relative = text.strip_suffix(&below).and_then(|text| text.strip_suffix('.'));
    relative.filter(|_| name.is_below(domain)).map(str::to_owned).unwrap_or(text)
}

fn is_documented(rtype: Rtype) -> bool {
    documented(rtype).is_some()
}

/// The document's own type, where it has the type.
fn documented(rtype: Rtype) -> Option<DNSRecordType> {
    Some(match rtype {
        Rtype::A => DNSRecordType::A,
        Rtype::AAAA => DNSRecordType::Aaaa,
        Rtype::CNAME => DNSRecordType::Cname,
        Rtype::TXT => DNSRecordType::Txt,
        Rtype::MX => DNSRecordType::Mx,
        Rtype::SRV => DNSRecordType::Srv,
        Rtype::NS => DNSRecordType::Ns,
        Rtype::PTR => DNSRecordType::Ptr,
        Rtype::CAA => DNSRecordType::Caa,
        _ => return None,
    })
}

/// Values and metadata as the document has them, where the set can be said so.
fn plain_values(set: &RecordSet) -> Option<(Vec<String>, Option<RecordMetadata>)> {
    let metadata = metadata(set.data.first()?);
    let values = set.data.iter().map(|data| plain_value(data).filter(|_| self::metadata(data) == metadata));
    Some((values.collect::<Option<_>>()?, metadata))
}

fn plain_value(data: &Rdata) -> Option<String> {
    match data.rtype() {
        Rtype::TXT => text(data),
        Rtype::A | Rtype::AAAA | Rtype::CAA => Some(data.to_string()),
        _ => data.target().map(|name| name.undotted()),
    }
}

/// The text of TXT data, where it is what the text would become again.
fn text(data: &Rdata) -> Option<String> {
    let mut octets = Vec::new();
    let mut rest = data.wire();
    while let Some((length, after)) = rest.split_first() {
        let (string, after) = after.split_at_checked(usize::from(*length))?;
        octets.extend_from_slice(string);
        rest = after;
    }
    String::from_utf8(octets).ok().filter(|text| Rdata::txt(text) == *data)
}

fn metadata(data: &Rdata) -> Option<RecordMetadata> {
    let number = |at: usize| Some(u16::from_be_bytes([*data.wire().get(at)?, *data.wire().get(at + 1)?]));
    match data.rtype() {
        Rtype::MX => Some(RecordMetadata { priority: number(0), weight: None, port: None }),
        Rtype::SRV => Some(RecordMetadata { priority: number(0), weight: number(2), port: number(4) }),
        _ => None,
    }
}

/// The data of a record in the document's form, by the rules of a DNSRecord.
fn plain_data(record: &Record, documented: DNSRecordType) -> Result<Vec<Rdata>, Invalid> {
    let spec = DNSRecordSpec {
        r#type: documented,
        domain: record.domain.clone(),
        subdomain: record.subdomain.clone(),
        dns_class_ref: DNSClassRef { name: "provider".to_owned() },
        values: record.values.clone(),
        ttl: record.ttl,
        description: None,
        metadata: record.metadata.clone(),
    };
    let object = Object { meta: Meta::default(), spec: Spec::DNSRecord(Box::new(spec)), published: None };
    if let Some(problem) = api::validate(&object).first() {
        return Err(of_problem(problem));
    }
    let prefix = numbers(record.metadata.as_ref(), record.r#type);
    record.values.iter().map(|value| plain_datum(record.r#type, &prefix, value)).collect()
}

fn of_problem(problem: &Problem) -> Invalid {
    let field = problem.field.strip_prefix("spec.").unwrap_or(&problem.field);
    let code = match field {
        _ if field.starts_with("domain") || field.starts_with("subdomain") => Code::InvalidDomain,
        _ if field.starts_with("values") => Code::InvalidValue,
        _ => Code::InvalidRecord,
    };
    let shown = Problem { field: field.to_owned(), ..problem.clone() };
    Invalid::new(code, shown.to_string())
}

/// The numbers before the name in MX and SRV data.
fn numbers(metadata: Option<&RecordMetadata>, rtype: Rtype) -> String {
    let given = metadata.cloned().unwrap_or_default();
    let numbers: &[Option<u16>] = match rtype {
        Rtype::MX => &[given.priority],
        Rtype::SRV => &[given.priority, given.weight, given.port],
        _ => &[],
    };
    numbers.iter().flatten().map(|number| format!("{number} ")).collect()
}

fn plain_datum(rtype: Rtype, numbers: &str, value: &str) -> Result<Rdata, Invalid> {
    match rtype {
        Rtype::TXT => Ok(Rdata::txt(value)),
        _ => presented(rtype, &format!("{numbers}{value}")),
    }
}

fn presented_data(record: &Record) -> Result<Vec<Rdata>, Invalid> {
    if record.values.is_empty() || record.values.len() > MOST_VALUES {
        return Err(Invalid::new(Code::InvalidValue, format!("values: must be 1 to {MOST_VALUES}")));
    }
    if record.r#type == Rtype::CNAME && record.values.len() > 1 {
        return Err(Invalid::new(Code::InvalidValue, "values: a CNAME has exactly one value"));
    }
    record.values.iter().map(|value| presented(record.r#type, value)).collect()
}

fn presented(rtype: Rtype, value: &str) -> Result<Rdata, Invalid> {
    let wrong = |error: dns::RdataError| Invalid::new(Code::InvalidValue, format!("values: {error}"));
    Rdata::parse(rtype, value, &Name::root()).map_err(wrong)
}
