//! Objects that only wait for another one, folded into the finding about that one.
//!
//! One typo in a Zone keeps all of its Records waiting. What has to be mended is the Zone, so that finding names the
//! Records that wait. Where nothing was found about the cause, since it is in no folder, the first object that waits
//! stands for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use planner::{Cause, ClusterId, ObjectRef};

use super::finding::{Finding, Severity};
use crate::planned::Planned;

type Key = (ClusterId, ObjectRef);

/// The findings without those that follow from another one.
pub(super) fn folded(findings: Vec<Finding>, planned: &Planned) -> Vec<Finding> {
    let (mut kept, mut groups) = (Vec::new(), BTreeMap::<Cause, Vec<Finding>>::new());
    for finding in findings {
        match cause(&finding, planned) {
            Some(cause) => groups.entry(cause).or_default().push(finding),
            None => kept.push(finding),
        }
    }
    kept.sort();
    let causes = Causes::of(&kept);
    for (cause, mut waiting) in groups {
        waiting.sort();
        let of_cause = causes.find(&cause, planned).unwrap_or_else(|| {
            kept.push(waiting.remove(0));
            kept.len() - 1
        });
        kept[of_cause].waiting.extend(waiting.iter().filter_map(|finding| finding.object.clone()));
    }
    kept
}

/// What has to be mended first, where the finding is a warning that an object waits.
fn cause(finding: &Finding, planned: &Planned) -> Option<Cause> {
    let (cluster, object) = finding.key.as_ref().filter(|_| finding.severity == Severity::Warning)?;
    let mut cause = planned.planner.cause(*cluster, object).filter(|_| finding.is_ready)?;
    let mut seen = BTreeSet::<Key>::new();
    while let Cause::Object(cluster, object) = &cause
        && seen.insert((*cluster, object.clone()))
        && let Some(next) = planned.planner.cause(*cluster, object)
    {
        cause = next;
    }
    Some(cause)
}

/// The findings that others may wait for, by their places in the list; an error before a warning.
struct Causes {
    of_objects: BTreeMap<Key, usize>,
    /// Errors about a whole file or a part of it, and not about an object.
    of_files: BTreeMap<PathBuf, usize>,
}

impl Causes {
    /// Of sorted findings.
    fn of(findings: &[Finding]) -> Causes {
        let mut causes = Causes { of_objects: BTreeMap::new(), of_files: BTreeMap::new() };
        for (place, finding) in findings.iter().enumerate() {
            if let Some(key) = &finding.key {
                causes.of_objects.entry(key.clone()).or_insert(place);
            } else if finding.severity == Severity::Error {
                causes.of_files.entry(finding.file.clone()).or_insert(place);
            }
        }
        causes
    }

    fn find(&self, cause: &Cause, planned: &Planned) -> Option<usize> {
        match cause {
            Cause::Object(cluster, object) => {
                let own = self.of_objects.get(&(*cluster, object.clone())).copied();
                let file = || planned.source.locate(*cluster, object).map(|(file, _, _)| file);
                own.or_else(|| self.of_files.get(&file()?).copied())
            }
            Cause::File(_, path) => {
                let mut files = self.of_files.iter();
                files.find(|(file, _)| file.ends_with(Path::new(&**path))).map(|(_, place)| *place)
            }
        }
    }
}
