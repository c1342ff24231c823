//! What an import prints: a table, data or manifests, and what to do next.

use std::path::PathBuf;

use anyhow::Result;
use backends::Entry;
use dns::{RecordSet, Rtype};
use serde_json::{Value, json};

use super::origin::Origin;
use crate::cli::{ImportArguments, ImportOutput};
use crate::console;
use crate::import::manifests::{Form, Manifests, Target, manifests};
use crate::import::{self, Holder, Item, Verdict};
use crate::render::numbers::count;
use crate::render::{Palette, table};

/// What is shown of an import.
pub(super) struct Shown<'a> {
    pub(super) arguments: &'a ImportArguments,
    pub(super) origin: &'a Origin,
    pub(super) entries: &'a [Entry],
    pub(super) items: &'a [Item],
}

impl Shown<'_> {
    pub(super) fn text(&self, palette: Palette) -> Result<String> {
        let Manifests { documents, unwritable, .. } = self.manifests();
        unwritable.iter().for_each(|set| console::warning(&unwritten(set)));
        Ok(match self.arguments.output {
            ImportOutput::Text => self.table(palette),
            ImportOutput::Json => {
                serde_json::to_string_pretty(&self.items.iter().map(data).collect::<Vec<_>>())? + "\n"
            }
            ImportOutput::Yaml => {
                let documents: Result<Vec<String>, _> =
                    documents.iter().map(serde_saphyr::to_string).collect();
                // Each with its own start, so that they can be added to a file of others.
                documents?.into_iter().map(|document| format!("---\n{document}")).collect()
            }
        })
    }

    /// The manifests of what no object declares.
    fn manifests(&self) -> Manifests {
        let zone = &self.arguments.zone;
        let soa = self.entries.iter().find(|entry| entry.set.rtype == Rtype::SOA);
        let soa = soa.and_then(|entry| entry.set.data.first()?.as_soa());
        let declared = self.origin.declared_zone(zone);
        let namespace = self.arguments.namespace.as_deref();
        let namespace =
            namespace.or(declared.as_ref().map(|declared| &*declared.namespace)).unwrap_or("default");
        let target = Target { class: &self.arguments.class, zone, namespace, declared: declared.as_ref() };
        manifests(self.arguments.kind, target, soa.as_ref(), self.items)
    }

    fn table(&self, palette: Palette) -> String {
        // A record set that is ours and as declared needs no action.
        let rows = self.items.iter().filter(|item| !item.is_settled()).map(|item| row(item, palette));
        let mut lines = table::lines(rows);
        let of = |verdict: Verdict| self.items.iter().filter(|item| item.verdict == verdict).count() as u64;
        lines.push(format!(
            "{}: {} adopted, {} changed, {} ours already, {} left alone",
            self.arguments.zone,
            count(of(Verdict::Adopted), "record set"),
            of(Verdict::Changed),
            of(Verdict::Ours),
            of(Verdict::LeftAlone),
        ));
        lines.into_iter().map(|line| line + "\n").collect()
    }

    /// What was written, and how to have the rest.
    pub(super) fn written(&self, written: usize) -> String {
        let mut line =
            format!("{} written; nothing else was changed\n", count(written as u64, "ownership record"));
        let undeclared = self.manifests().sets;
        if undeclared > 0 {
            line += &format!(
                "{} left alone, because no manifest declares them. Print manifests, then repeat this command:\n  {}\n",
                count(undeclared as u64, "record set"),
                self.printing_command()
            );
        }
        match self.arguments.output {
            ImportOutput::Text => line,
            _ => {
                console::note(line.trim_end());
                String::new()
            }
        }
    }

    /// The command that puts the missing manifests where this one looks for them.
    fn printing_command(&self) -> String {
        let ImportArguments { class, zone, kind, .. } = self.arguments;
        let zone = zone.undotted();
        let mut words = vec!["fingerpost import --class".to_owned(), quoted(class)];
        words.extend(["--zone".to_owned(), quoted(&zone)]);
        words.extend((*kind == Form::Zone).then(|| "--kind Zone".to_owned()));
        let options = [
            ("--namespace", self.arguments.namespace.as_deref()),
            ("--adopt-owner", self.arguments.adopt_owner.as_deref()),
            ("--txt-prefix", Some(&*self.arguments.txt_prefix)),
            ("--txt-suffix", Some(&*self.arguments.txt_suffix)),
            ("--owner", self.arguments.owner.as_deref()),
            ("--state", path(self.arguments.state.as_ref())),
            ("--secrets", path(self.arguments.secrets.as_ref())),
        ];
        words.extend(given(&options));
        words.extend(given(&self.cluster_options()));
        let targets = self.arguments.targets.allow_target.iter();
        words.extend(targets.map(|network| format!("--allow-target {}", quoted(network))));
        words.extend(self.arguments.folders.folders.iter().map(|folder| quoted(folder)));
        words.push(match self.arguments.folders.folders.first() {
            Some(folder) if !self.arguments.kube => {
                let path = folder.split_once('=').map_or(&**folder, |(_, path)| path);
                let file = format!("{}/{}.yaml", path.trim_end_matches('/'), file_name(&zone));
                format!("-o yaml >> {}", quoted(&file))
            }
            _ => {
                let kubectl = [vec!["kubectl".to_owned()], given(&self.cluster_options())].concat().join(" ");
                format!("--kube -o yaml | {kubectl} apply -f -")
            }
        });
        words.join(" ")
    }

    /// Which cluster is meant, in the flags that kubectl has too.
    fn cluster_options(&self) -> [(&'static str, Option<&str>); 2] {
        let cluster = &self.arguments.cluster;
        [("--kubeconfig", path(cluster.kubeconfig.as_ref())), ("--context", cluster.context.as_deref())]
    }
}

/// The options that have a value, as a shell takes them.
fn given(options: &[(&str, Option<&str>)]) -> Vec<String> {
    let given = options.iter().filter_map(|(flag, value)| Some((flag, value.filter(|it| !it.is_empty())?)));
    given.map(|(flag, value)| format!("{flag} {}", quoted(value))).collect()
}

fn path(path: Option<&PathBuf>) -> Option<&str> {
    path.and_then(|path| path.to_str())
}

/// A zone as the name of a file.
fn file_name(zone: &str) -> String {
    let safe = |octet: &char| octet.is_ascii_alphanumeric() || matches!(octet, '.' | '-' | '_');
    zone.chars().filter(safe).collect()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Why a record set has no manifest.
fn unwritten(set: &RecordSet) -> String {
    let RecordSet { name, rtype, .. } = set;
    match import::is_executed(set) {
        true => format!(
            "{name} {rtype} cannot be written as a manifest: the server executes its content, {}; declare what \
             it does as a Placement or DNSRecord, and import again",
            shown(set).join(", ")
        ),
        false if set.data.iter().any(|data| dns::reserved_data(data).is_some()) => {
            format!("{name} {rtype} cannot be written as a manifest: it has the form of an ownership record")
        }
        false => format!("{name} {rtype} cannot be written as a DNSRecord: use --kind Zone"),
    }
}

/// The data for people; what a server executes with the name of its type.
fn shown(set: &RecordSet) -> Vec<String> {
    match import::is_executed(set) {
        true => set.data.iter().map(backends::powerdns::shown).collect(),
        false => set.data.iter().map(ToString::to_string).collect(),
    }
}

fn data(item: &Item) -> Value {
    json!({
        "name": item.set.name,
        "type": item.set.rtype,
        "ttl": item.set.ttl,
        "data": shown(&item.set),
        "holder": item.holder,
        "verdict": item.verdict,
        "declared": item.planned.is_some(),
    })
}

fn row(item: &Item, palette: Palette) -> Vec<String> {
    let verdict = match item.verdict {
        Verdict::Ours => "ours already".to_owned(),
        Verdict::Adopted => palette.good("adopted"),
        Verdict::Changed => palette.warning("changed"),
        Verdict::LeftAlone => palette.faint("left alone"),
    };
    let data = shown(&item.set);
    let planned = item.planned.iter().filter(|planned| **planned != item.set);
    let planned: Vec<String> = planned.flat_map(|set| set.data.iter()).map(ToString::to_string).collect();
    let change = if planned.is_empty() { String::new() } else { format!(" → {}", planned.join(", ")) };
    let (name, rtype, ttl) =
        (item.set.name.to_string(), item.set.rtype.to_string(), item.set.ttl.to_string());
    vec![verdict, name, rtype, ttl, holder(&item.holder), data.join(", ") + &change]
}

fn holder(holder: &Holder) -> String {
    match holder {
        Holder::Us => "ours".to_owned(),
        Holder::Other(owner) => format!("of {owner}"),
        Holder::ExternalDns(owner) => format!("of ExternalDNS {owner}"),
        Holder::Nobody => "without owner".to_owned(),
        Holder::Unknown => "owner unknown".to_owned(),
    }
}
