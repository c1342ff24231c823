//! Class CHAOS: the names by which servers are asked who they are (RFC 4892).
//!
//! A server that was given no name to tell refuses, as it does for its version.

use std::sync::Arc;

use dns::{Rdata, RecordSet, Rtype};

use super::lookup::{Answer, ExtendedError};
use super::query::Question;
use crate::{Identity, Rcode};

const NAMES: [&[u8]; 2] = [b"\x02id\x06server\0", b"\x08hostname\x04bind\0"];
/// A text in record data is this long at most.
const LONGEST: usize = 255;

/// Says what the server is called, to those who ask in a way that has an answer.
pub(super) fn answer(question: &Question<'_>, identity: &Identity) -> Answer {
    let asked =
        NAMES.contains(&&question.name.to_wire()[..]) && matches!(question.rtype, Rtype::TXT | Rtype::ANY);
    match identity.nsid.as_deref().filter(|_| asked) {
        Some(nsid) => named(question, nsid),
        None => Answer::failed(Rcode::Refused, Some(ExtendedError::prohibited())),
    }
}

fn named(question: &Question<'_>, nsid: &[u8]) -> Answer {
    let nsid = &nsid[..nsid.len().min(LONGEST)];
    let wire = [&[nsid.len() as u8], nsid].concat();
    let mut answer = Answer::failed(Rcode::NoError, None);
    let Ok(data) = Rdata::from_wire(Rtype::TXT, &wire) else { return answer };
    let (name, data) = (question.name.clone(), Arc::new([data]));
    answer.authoritative = true;
    answer.answer = vec![RecordSet { name, rtype: Rtype::TXT, ttl: 0, data, steering: None }];
    answer
}
