//! What a zone is transferred as.

use std::sync::Arc;

use dns::{Name, RecordSet};

use crate::Zone;

/// How many names are read at once: enough that finding the place again costs nothing.
const BATCH: usize = 256;

/// All record sets of a zone but its SOA, in canonical order; data that a zone cut occludes too.
///
/// It holds on to its version, however long the reader takes, and to one batch of its sets.
pub fn content(zone: Arc<Zone>) -> impl Iterator<Item = RecordSet> + Send {
    let mut last: Option<Name> = None;
    let batches = std::iter::from_fn(move || {
        let (mut batch, mut end) = (Vec::new(), None);
        for (name, sets) in zone.walk(last.as_ref()).take(BATCH) {
            batch.extend_from_slice(&sets);
            end = Some(name);
        }
        last = end.or(last.take());
        (!batch.is_empty()).then_some(batch)
    });
    batches.flatten()
}
