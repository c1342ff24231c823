//! A case as it stands in its folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use api::{Kind, Lookup, Object, Problem};
use planner::{Change, ChildKind, ChildRef, ClusterId, FileNote, ObjectRef, Planner, SavedSerial, Setting};
use serde_json::Value;
use serde_path_to_error::Track;
use serde_saphyr::{MessageFormatter, UserMessageFormatter};

use crate::{provider, steering};

/// The date of a case that names none.
const TODAY: u32 = 20_260_101;

/// One golden case.
pub(crate) struct Case {
    pub(crate) name: String,
    folder: PathBuf,
    pub(crate) clusters: Vec<String>,
    setting: Setting,
    /// The changes of the world itself, then those of each step.
    pub(crate) steps: Vec<Vec<Change>>,
}

pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// What a folder holds, sorted by name.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

impl Case {
    pub(crate) fn all() -> Vec<Case> {
        let folders = entries(&testdata().join("plan")).into_iter().filter(|path| path.is_dir());
        folders.map(Case::read).collect()
    }

    fn read(folder: PathBuf) -> Case {
        let listed = fs::read_to_string(folder.join("clusters")).ok();
        let named = listed.map(|text| text.split_whitespace().map(str::to_owned).collect());
        let clusters: Vec<String> = named.unwrap_or_else(|| cluster_folders(&folder));
        let mut world = vec![Change::Today(TODAY)];
        world.extend(changes(&folder, &clusters));
        let steps = entries(&folder.join("steps"));
        let steps: Vec<Vec<Change>> =
            std::iter::once(world).chain(steps.iter().map(|step| changes(step, &clusters))).collect();
        let setting = setting(&fs::read_to_string(folder.join("setting")).unwrap_or_default());
        let mut case = Case { name: file_name(&folder), folder, clusters, setting, steps: Vec::new() };
        let mut planner = case.knowing_nothing();
        case.steps = steps.into_iter().map(|step| steering::with_probes(&mut planner, step)).collect();
        case
    }

    /// The DNSEndpoints that the case ever had, sorted.
    pub(crate) fn endpoints(&self) -> Vec<(ClusterId, ObjectRef)> {
        let endpoint = |change: &Change| match change {
            Change::Put(cluster, object) if object.kind() == Kind::DNSEndpoint => {
                let (namespace, name) = (object.meta.namespace.clone(), object.meta.name.clone());
                Some((*cluster, ObjectRef { kind: Kind::DNSEndpoint, namespace, name }))
            }
            _ => None,
        };
        let mut endpoints: Vec<_> = self.steps.iter().flatten().filter_map(endpoint).collect();
        endpoints.sort();
        endpoints.dedup();
        endpoints
    }

    /// A planner that knows nothing of the case yet.
    pub(crate) fn knowing_nothing(&self) -> Planner {
        match &self.setting {
            Setting::Folders => Planner::new(self.clusters.clone()),
            setting => Planner::in_cluster(self.clusters[0].clone(), setting.clone()),
        }
    }

    /// The plan after the last step.
    pub(crate) fn planner(&self) -> Planner {
        let mut planner = self.knowing_nothing();
        for step in &self.steps {
            planner.apply(step.clone());
        }
        planner
    }

    /// What differs from the record; `UPDATE=1` makes the record anew.
    pub(crate) fn compare(&self, step: usize, what: &str, text: &str) -> Option<String> {
        let name = if step == 0 { format!("{what}.txt") } else { format!("{what}-{step:02}.txt") };
        let path = self.folder.join(&name);
        let recorded = fs::read_to_string(&path).unwrap_or_default();
        if recorded == text {
            return None;
        }
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, text).unwrap();
            return None;
        }
        Some(format!("{name} differs:\n{}", difference(&recorded, text)))
    }
}

fn setting(text: &str) -> Setting {
    match text.split_whitespace().collect::<Vec<_>>().as_slice() {
        [] => Setting::Folders,
        ["operator"] => Setting::Operator,
        ["server", classes @ ..] => {
            Setting::Server { classes: classes.iter().map(|class| (*class).to_owned()).collect() }
        }
        _ => panic!("no such setting: {text}"),
    }
}

/// The files of a folder below `testdata` that no case takes in.
pub(crate) fn unused(folder: &str) -> Vec<String> {
    let used = read_all(&testdata().join("plan"));
    let names = entries(&testdata().join(folder)).iter().map(|path| file_name(path)).collect::<Vec<_>>();
    assert!(!names.is_empty(), "{folder} is empty");
    names.into_iter().filter(|name| !used.contains(&format!("# with: {folder}/{name}\n"))).collect()
}

/// Every YAML file below a folder, as one text.
fn read_all(folder: &Path) -> String {
    let text = |path: &PathBuf| match path {
        path if path.is_dir() => read_all(path),
        path if path.extension().is_some_and(|end| end == "yaml") => fs::read_to_string(path).unwrap(),
        _ => String::new(),
    };
    entries(folder).iter().map(text).collect()
}

/// The folders that are clusters; where there are none, the case is one cluster.
fn cluster_folders(folder: &Path) -> Vec<String> {
    let folders = entries(folder).into_iter().filter(|path| path.is_dir());
    let names: Vec<_> = folders.map(|path| file_name(&path)).filter(|name| name != "steps").collect();
    if names.is_empty() { vec!["default".to_owned()] } else { names }
}

/// The lines that only one of two texts has at their place.
fn difference(recorded: &str, text: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (recorded.lines().collect(), text.lines().collect());
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("  -{line}"));
    let come = new.iter().filter(|line| !old.contains(line)).map(|line| format!("  +{line}"));
    gone.chain(come).collect::<Vec<_>>().join("\n")
}

/// The changes that a file or folder stands for.
fn changes(path: &Path, clusters: &[String]) -> Vec<Change> {
    if path.is_file() {
        return file_changes(ClusterId(0), path);
    }
    let mut all: Vec<Change> =
        inputs(path).into_iter().flat_map(|file| file_changes(ClusterId(0), &file)).collect();
    for (number, cluster) in clusters.iter().enumerate() {
        let files = inputs(&path.join(cluster));
        all.extend(files.iter().flat_map(|file| file_changes(ClusterId(number as u16), file)));
    }
    all
}

fn inputs(folder: &Path) -> Vec<PathBuf> {
    let is_input = |path: &PathBuf| path.extension().is_some_and(|end| end == "yaml" || end == "zone");
    entries(folder).into_iter().filter(is_input).collect()
}

fn file_changes(cluster: ClusterId, path: &Path) -> Vec<Change> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match path.extension().is_some_and(|end| end == "zone") {
        true => vec![zone_file(cluster, &file_name(path), &text)],
        false => text_changes(cluster, &text),
    }
}

/// The changes that the text of a YAML file stands for.
pub(crate) fn text_changes(cluster: ClusterId, text: &str) -> Vec<Change> {
    let directives = text.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(": "));
    let mut all: Vec<Change> =
        directives.flat_map(|(word, rest)| directive(cluster, word, rest.trim())).collect();
    all.extend(documents(text).iter().filter_map(|document| object(cluster, document)));
    all
}

fn directive(cluster: ClusterId, word: &str, rest: &str) -> Vec<Change> {
    match word {
        "with" => file_changes(cluster, &testdata().join(rest)),
        "delete" => vec![Change::Delete(cluster, reference(rest))],
        "delete file" => vec![Change::DeleteFile(cluster, rest.into())],
        "failed" => {
            let (child, failure) = rest.split_once(": ").unwrap();
            vec![Change::ChildOutcome(endpoint(cluster, child), Some(failure.to_owned()))]
        }
        "applied" => vec![Change::ChildOutcome(endpoint(cluster, rest), None)],
        "leading" => vec![Change::Leading(rest == "true")],
        "stands" | "absent" | "not delivered" | "foreign" => vec![provider::delivered(word, rest)],
        "looked up" => vec![provider::looked_up(rest)],
        "health" => vec![provider::health(rest)],
        "held" => vec![provider::held(rest)],
        "target" => vec![steering::target(rest)],
        "direction" => vec![steering::direction(cluster, rest)],
        "abilities" => vec![steering::abilities(rest)],
        "today" => vec![Change::Today(rest.parse().unwrap())],
        "serial" => {
            let parts: Vec<_> = rest.split(' ').collect();
            let hash = u64::from_str_radix(parts[2], 16).unwrap();
            let saved = SavedSerial { serial: parts[1].parse().unwrap(), hash };
            vec![Change::Serial(dns::Name::parse(parts[0]).unwrap(), saved)]
        }
        _ => Vec::new(),
    }
}

fn endpoint(cluster: ClusterId, text: &str) -> ChildRef {
    let (namespace, name) = text.split_once('/').unwrap();
    ChildRef { cluster, kind: ChildKind::DNSEndpoint, namespace: namespace.into(), name: name.into() }
}

pub(crate) fn reference(text: &str) -> ObjectRef {
    let (kind, name) = text.split_once(' ').unwrap();
    let kind = *Kind::ALL.iter().find(|one| format!("{one:?}") == kind).unwrap();
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    ObjectRef { kind, namespace: namespace.into(), name: name.into() }
}

/// Reads a zone file as a source does.
fn zone_file(cluster: ClusterId, path: &str, text: &str) -> Change {
    let mut include = |_: &str, written: &str| Err(format!("{written} is not there"));
    match dns::read_zone(path, text, &mut include) {
        Ok(read) => {
            let note = |remark: dns::Remark| FileNote {
                path: remark.path,
                line: remark.line,
                column: remark.column,
                message: remark.message,
            };
            let notes = read.remarks.into_iter().map(note).collect();
            Change::PutFile(cluster, path.into(), Arc::new(read.zone), notes)
        }
        Err(error) => {
            let dns::ZoneFileError { path: file, line, column, message, origin } = error;
            Change::BrokenFile(cluster, path.into(), origin, FileNote { path: file, line, column, message })
        }
    }
}

/// The documents of a YAML stream that hold something.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        match line.trim_end() {
            "---" => documents.push(String::new()),
            line => *documents.last_mut().unwrap() += &format!("{line}\n"),
        }
    }
    let holds = |document: &String| document.lines().any(|line| !line.is_empty() && !line.starts_with('#'));
    documents.into_iter().filter(holds).collect()
}

/// One manifest as a source reports it; one that cannot be decoded is `Broken`.
fn object(cluster: ClusterId, document: &str) -> Option<Change> {
    let head: Value = serde_saphyr::from_str(document).unwrap_or_else(|error| panic!("{error}\n{document}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = match Kind::lookup(&text(&head["apiVersion"]), &text(&head["kind"])) {
        Lookup::Known(kind) => kind,
        Lookup::Foreign => return None,
        Lookup::UnknownInOurGroup { .. } => panic!("no such kind:\n{document}"),
    };
    Some(match decode(kind, document) {
        Ok(object) => Change::Put(cluster, Arc::new(object)),
        Err(problem) if kind == Kind::Zone && api::zone_sketch(&head).is_some() => {
            Change::BrokenZone(cluster, Arc::new(api::zone_sketch(&head)?), vec![problem])
        }
        Err(problem) => {
            let [namespace, name] = ["namespace", "name"].map(|key| text(&head["metadata"][key]).into());
            Change::Broken(cluster, ObjectRef { kind, namespace, name }, vec![problem])
        }
    })
}

/// Decodes as a folder does, so that a record shows the words that users get; line and column aside.
fn decode(kind: Kind, document: &str) -> Result<Object, Problem> {
    let mut track = Track::new();
    let decoded = serde_saphyr::with_deserializer_from_str(document, |yaml| {
        api::decode(kind, serde_path_to_error::Deserializer::new(yaml, &mut track))
    });
    decoded.map_err(|error| {
        let path = track.path().to_string();
        let field = if matches!(path.as_str(), "." | "?") { "" } else { path.trim_end_matches(".?") };
        let message = UserMessageFormatter.format_message(error.without_snippet()).into_owned();
        match message.strip_prefix("invalid ") {
            Some(wanted) if !wanted.contains(' ') => {
                let wanted = api::type_in_words(wanted).unwrap_or_else(|| format!("a valid {wanted}"));
                Problem::new(field, written_at(document, &error), format!("is not {wanted}"))
            }
            _ => Problem::new(field, "", message),
        }
    })
}

/// The value as it stands where the error is; inside brackets it ends where the next one begins or they close.
fn written_at(document: &str, error: &serde_saphyr::Error) -> String {
    let Some(at) = error.location() else { return String::new() };
    let line = document.lines().nth(at.line() as usize - 1).unwrap_or_default();
    let (before, rest) = line.split_at(at.column() as usize - 1);
    let is_inside = before.matches(['{', '[']).count() > before.matches(['}', ']']).count();
    let ends: &[char] = if is_inside { &[',', '}', ']'] } else { &[] };
    rest.split(ends).next().unwrap_or_default().trim().to_owned()
}

/// Changes by what they are about, each with its history; what becomes of children aside.
pub(crate) fn histories(steps: &[Vec<Change>]) -> Vec<Vec<Change>> {
    let mut histories: BTreeMap<(u16, String), Vec<Change>> = BTreeMap::new();
    for change in steps.iter().flatten().filter(|change| !is_outcome(change)) {
        histories.entry(subject(change)).or_default().push(change.clone());
    }
    histories.into_values().collect()
}

/// What became of children, which is told after they are planned.
pub(crate) fn outcomes(steps: &[Vec<Change>]) -> Vec<Change> {
    steps.iter().flatten().filter(|change| is_outcome(change)).cloned().collect()
}

fn is_outcome(change: &Change) -> bool {
    matches!(change, Change::ChildOutcome(..) | Change::Delivered(_) | Change::LookedUp(_))
}

fn subject(change: &Change) -> (u16, String) {
    let object = |kind: Kind, namespace: &str, name: &str| format!("{kind:?} {namespace}/{name}");
    match change {
        Change::Put(cluster, one) | Change::LastValid(cluster, one) => {
            (cluster.0, object(one.kind(), &one.meta.namespace, &one.meta.name))
        }
        Change::BrokenZone(cluster, one, _) => {
            (cluster.0, object(one.kind(), &one.meta.namespace, &one.meta.name))
        }
        Change::Broken(cluster, one, _) | Change::Delete(cluster, one) => {
            (cluster.0, object(one.kind, &one.namespace, &one.name))
        }
        Change::PutFile(cluster, path, ..)
        | Change::BrokenFile(cluster, path, ..)
        | Change::DeleteFile(cluster, path) => (cluster.0, format!("file {path}")),
        Change::Serial(origin, _) => (0, format!("serial {origin}")),
        Change::Signed(vault, origin, _) => (0, format!("signed {vault} {origin}")),
        Change::Answers(origin) => (0, format!("answers {origin}")),
        Change::Health(probe, _) => (0, format!("health {}", probe.0)),
        Change::Direction(cluster, reference, _) => (cluster.0, format!("direction {}", reference.name)),
        Change::ChildOutcome(child, _) => (child.cluster.0, format!("outcome {child:?}")),
        Change::Delivered(told) => (0, format!("delivered {} {} {}", told.class, told.name, told.rtype)),
        Change::LookedUp(told) => (0, format!("looked up {} {} {}", told.class, told.name, told.rtype)),
        Change::ClassAbilities(class, _) => (0, format!("abilities {class}")),
        Change::ClassHealth(class, _) => (0, format!("health {class}")),
        Change::ClassHeld(class, _) => (0, format!("held {class}")),
        Change::Remembered(cluster, one, _) => (cluster.0, format!("memory {} {}", one.namespace, one.name)),
        Change::Holders(_) => (0, "holders".to_owned()),
        Change::Leading(_) => (0, "leading".to_owned()),
        Change::Today(_) => (0, "today".to_owned()),
    }
}
