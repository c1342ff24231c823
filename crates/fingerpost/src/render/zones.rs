//! The plan in master-file form: the zones of each view, one after another.

use std::collections::BTreeMap;

use dns::{Name, Rdata, RdataError, RecordSet, Rtype, visible};
use planner::document::{Document, DocumentRecordSet, DocumentView};

/// All zones of all views; comment lines say which view and zone follow.
pub fn master_files(plan: &Document) -> Result<String, RdataError> {
    let views = plan.views.iter().map(|view| view_text(plan, view));
    Ok(views.collect::<Result<Vec<String>, _>>()?.concat())
}

fn view_text(plan: &Document, view: &DocumentView) -> Result<String, RdataError> {
    let mut text = String::new();
    for (origin, sets) in plan.seen_in(view) {
        text.push_str(&format!("; ======== view {}, zone {origin}\n", visible(&view.name)));
        match unavailable(plan, origin) {
            Some(reason) => text.push_str(&format!("; not served: {}\n", visible(reason))),
            None => text.push_str(&dns::write_zone(origin, record_sets(&sets)?)),
        }
        text.push('\n');
    }
    Ok(text)
}

fn unavailable<'a>(plan: &'a Document, origin: &Name) -> Option<&'a String> {
    plan.zones.iter().find(|zone| zone.origin == *origin)?.unavailable.as_ref()
}

/// The sets as the view answers them: those of several scopes at one name and type are one.
fn record_sets(sets: &[&DocumentRecordSet]) -> Result<Vec<RecordSet>, RdataError> {
    let mut merged: BTreeMap<(&Name, Rtype), (u32, Vec<Rdata>)> = BTreeMap::new();
    for set in sets {
        let (ttl, data) = merged.entry((&set.name, set.rtype)).or_insert((set.ttl, Vec::new()));
        *ttl = set.ttl.min(*ttl);
        for text in &set.data {
            data.push(Rdata::parse(set.rtype, text, &Name::root())?);
        }
    }
    let set =
        |((name, rtype), (ttl, data)): ((&Name, Rtype), _)| RecordSet::new(name.clone(), rtype, ttl, data);
    Ok(merged.into_iter().map(set).collect())
}
