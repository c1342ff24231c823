//! `cargo xtask reference`: writes the API reference anew from the definitions in `deploy/crds`.
//!
//! ```text
//! deploy/crds ──► definitions ──pages (pure)──► docs/reference.md, docs/reference/FAMILY.md
//! ```
//!
//! Those files are what `crates/api` says, by a test there; so is the reference, by the test below.

mod fields;
mod kind;
mod rules;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// A family of kinds, which is a page.
struct Family {
    page: &'static str,
    groups: &'static [&'static str],
    about: &'static str,
}

const FAMILIES: [Family; 5] = [
    Family {
        page: "router",
        groups: &["cluster.router.io", "routing.router.io"],
        about: "Routes and gateways across regions: [how they work together](../router.md).",
    },
    Family {
        page: "kubizone",
        groups: &["kubi.zone"],
        about: "Zones, records and who may put what where: [how they work together](../kubizone.md).",
    },
    Family {
        page: "dnsclass",
        groups: &["dns.homelab.mortenolsen.pro"],
        about: "Back-ends that hold records, and single records: [how they work together](../records.md).",
    },
    Family {
        page: "kuadrant",
        groups: &["kuadrant.io"],
        about: "Load balancing of Gateway API gateways: [gateways in several clusters](../kuadrant.md).",
    },
    Family {
        page: "placement",
        groups: &["fingerpost.dev"],
        about: "A name that several regions answer for: [placement](../placement.md).",
    },
];

const INDEX: &str = "\
# API reference

Made by `cargo xtask reference` from the documentation of the fields in the CRDs; `kubectl explain` shows the same.
All kinds are in the category `fingerpost`: `kubectl get fingerpost -A`.

";

const CONDITIONS: &str = "
## Conditions

Every kind has `status.conditions`, a list by `type`, and `status.observedGeneration`, the `metadata.generation` that
the status is about (-1 before the first look).

| condition | says |
|---|---|
| `Ready` | whether the object has its effect; `Unknown`, reason `Pending`, before the first look |
| `Stalled` | `True` where only the object's owner can help: an invalid spec, a name that another holds, a missing delegation. Absent otherwise |
| `Published` | routes and gateways: what is known of the records' delivery ([external-dns.md](external-dns.md)); DNSRecords: what the world sees of them ([records.md](records.md)) |

Each has a `reason` in one word, a `message` for people that names what to do, `lastTransitionTime`, when `status` last
changed, and `observedGeneration`.
";

/// Writes the pages.
pub(crate) fn run() -> Result<()> {
    for (path, text) in pages(&definitions()?) {
        let path = root().join(path);
        fs::create_dir_all(path.parent().context("a page has no folder")?)?;
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    println!("docs/reference.md and docs/reference are up to date");
    Ok(())
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The definitions in the order of their files' names.
fn definitions() -> Result<Vec<Value>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root().join("deploy/crds"))? {
        paths.push(entry?.path());
    }
    paths.sort();
    let read = |path: &std::path::PathBuf| -> Result<Value> {
        serde_saphyr::from_str(&fs::read_to_string(path)?).with_context(|| path.display().to_string())
    };
    paths.iter().map(read).collect()
}

/// All pages by their paths.
fn pages(definitions: &[Value]) -> BTreeMap<String, String> {
    let of = |family: &Family| (format!("docs/reference/{}.md", family.page), page(family, definitions));
    let index = ("docs/reference.md".to_owned(), index(definitions));
    FAMILIES.iter().map(of).chain([index]).collect()
}

fn members<'a>(family: &Family, definitions: &'a [Value]) -> Vec<&'a Value> {
    let group =
        |one: &&Value| one["spec"]["group"].as_str().is_some_and(|group| family.groups.contains(&group));
    definitions.iter().filter(group).collect()
}

fn index(definitions: &[Value]) -> String {
    let mut text = INDEX.to_owned() + "| kind | API version | scope | short name |\n|---|---|---|---|\n";
    for family in &FAMILIES {
        for definition in members(family, definitions) {
            text += &kind::line(definition, family.page);
        }
    }
    text + CONDITIONS
}

fn page(family: &Family, definitions: &[Value]) -> String {
    let groups: Vec<String> = family.groups.iter().map(|group| format!("`{group}`")).collect();
    let mut text = format!("# {}\n\n{}\n", groups.join(", "), family.about);
    for definition in members(family, definitions) {
        text += &kind::section(definition);
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_reference_is_up_to_date() {
        for (path, text) in pages(&definitions().unwrap()) {
            let there = fs::read_to_string(root().join(&path)).unwrap_or_default();
            assert!(there == text, "{path} is stale: run `cargo xtask reference`");
        }
    }

    #[test]
    fn every_kind_and_every_field_has_its_place() {
        let definitions = definitions().unwrap();
        let all: String = pages(&definitions).into_values().collect();
        for definition in &definitions {
            let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
            assert!(all.contains(&format!("\n## {kind}\n")), "{kind}");
            let spec = &kind::schema(definition)["properties"]["spec"]["properties"];
            for field in spec.as_object().unwrap().keys() {
                assert!(all.contains(&format!("\n| `{field}` | ")), "{kind}.spec.{field}");
            }
        }
    }
}
