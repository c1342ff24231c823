//! One flipped bit in any file on the disk changes no answer.
//!
//! The files are those that the real code writes: the state directory of an `up` whose folder is gone, with
//! its journal and keys, and the embedded store of a `provider`. `FINGERPOST_FLIPS` sets how many bits are
//! flipped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backends::webhook::Fence;
use backends::{Batch, Entry, Provider, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet, Rtype};
use planner::{Change, Planner};
use ring::rand::SystemRandom;
use server::dnssec::{Algorithm, ZoneKeys};
use server::steering::Asker;
use server::{Rcode, Zones, lookup};
use tempfile::TempDir;

use crate::instance::holders::HolderKeeper;
use crate::instance::keeper::Keeper;
use crate::instance::{Instance, saved};
use crate::keys::KeyFolder;
use crate::provider::embedded::{Embedded, usual};
use crate::provider::fences::{Fences, Passage};
use crate::source::{ClusterFolders, Source};
use crate::state::StateDir;

const TODAY: Change = Change::Today(20_260_102);
const ZONE: &str = "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: example-org, namespace: dns}\n\
                    spec: {domainName: example.org.}\n";
const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: dns}\nstringData: {key: secret}\n";
const ZONE_FILE: &str =
    "@ 60 IN SOA ns host 7 2 3 4 5\n@ 60 IN NS ns\nns 60 IN A 192.0.2.53\n*.w 60 IN TXT hello\n";

/// How many bits are flipped.
fn flips() -> u64 {
    std::env::var("FINGERPOST_FLIPS").ok().map_or(150, |number| number.parse().unwrap())
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// The names of the clusters.
fn names() -> Vec<String> {
    vec!["default".to_owned()]
}

fn record(owner: &str, address: &str) -> String {
    format!(
        "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {{name: {owner}, namespace: dns}}\n\
         spec: {{domainName: {owner}, zoneRef: {{name: example-org}}, type: A, rdata: {address}}}\n"
    )
}

/// Numbers that look random and are the same every time.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The files of a directory, as they were written.
struct Files(Vec<(PathBuf, Vec<u8>)>);

impl Files {
    fn of(root: &Path) -> Files {
        let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push((path.strip_prefix(root).unwrap().into(), fs::read(&path).unwrap())),
                }
            }
        }
        // A file without content, such as the lock, has no bit to flip.
        files.retain(|(_, octets)| !octets.is_empty());
        files.sort();
        Files(files)
    }

    /// The files anew, in a directory of their own, with some random bits flipped; says where.
    fn flipped(&self, draws: &mut Draws, bits: usize) -> (TempDir, String) {
        let mut files = self.0.clone();
        let mut places = Vec::new();
        for _ in 0..bits {
            let count = files.len();
            let (path, octets) = &mut files[draws.below(count)];
            let (at, bit) = (draws.below(octets.len()), draws.below(8));
            octets[at] ^= 1 << bit;
            places.push(format!("{} octet {at} bit {bit}", path.display()));
        }
        let folder = tempfile::tempdir().unwrap();
        for (path, octets) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, octets).unwrap();
        }
        (folder, places.join(", "))
    }
}

/// Everything that is answered, by view and zone.
fn answers(views: &BTreeMap<String, Zones>) -> Vec<String> {
    let mut lines = Vec::new();
    for (view, zones) in views {
        for zone in zones.origins().filter_map(|origin| zones.zone(origin)) {
            lines.extend(zone.sets().map(|set| format!("{view} {} {set:?}", zone.origin())));
        }
    }
    lines.sort();
    lines
}

/// An `up` that served and was killed, and whose folder is gone.
struct Killed {
    files: Files,
    clusters: Vec<ClusterFolders>,
    answers: Vec<String>,
    keys: String,
}

impl Killed {
    async fn new() -> Killed {
        let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        write("zone.yaml", &format!("{ZONE}---\n{SECRET}"));
        write("example.net.zone", ZONE_FILE);
        for number in 0..5 {
            write(&format!("n{number}.yaml"), &record(&format!("n{number}"), "192.0.2.1"));
        }
        let clusters = ClusterFolders::parse(&[folder.path().to_str().unwrap()]).unwrap();
        let state = Arc::new(StateDir::open(kept.path()).unwrap());
        let mut source = Source::new(&clusters).with_state(state.clone());
        let instance = Arc::new(Instance::new(|| Planner::new(names())));
        let keeper = Keeper::new(state.clone(), instance.clone());
        instance.plan([vec![TODAY], source.read().changes].concat()).unwrap();
        instance.publish_all(BTreeMap::new()).unwrap();
        keeper.keep_first().await;
        HolderKeeper::new(state.clone(), instance.clone(), names()).keep_first().await;
        until_kept(&state, &instance).await;
        for number in 0..3 {
            write(&format!("n{number}.yaml"), &record(&format!("n{number}"), "198.51.100.1"));
            let delta = instance.plan(source.read().changes).unwrap();
            instance.publish(&delta, BTreeMap::new()).unwrap();
            keeper.keep(&delta);
            until_kept(&state, &instance).await;
        }
        state.save_remembered(&instance.planner().remembered());
        state.save_delivered(&BTreeMap::new());
        state.save_directions(&[]);
        state.flush();
        let keys = key_folder(kept.path())
            .edit("vault", &name("example.org"), |_| {
                Ok(ZoneKeys::create(name("example.org"), Algorithm::Ed25519, 1000, &SystemRandom::new())?)
            })
            .unwrap()
            .to_stored();
        let answers = answers(&instance.views.load().views);
        assert!(
            answers.iter().any(|line| line.contains("198.51.100.1")) && answers.len() > 10,
            "{answers:?}"
        );
        Killed { files: Files::of(kept.path()), clusters, answers, keys }
    }

    /// Starts on these files as `up` does, and compares what is answered before and after the first plan.
    fn check(&self, state: &Path, place: &str) {
        let keys = key_folder(state).load("vault", &name("example.org")).unwrap().unwrap();
        assert_eq!(keys.to_stored(), self.keys, "{place}");
        let state = Arc::new(StateDir::open(state).unwrap());
        assert!(state.is_used(), "{place}");
        assert_eq!(answers(&saved::load(&state).1), self.answers, "{place}");
        let mut source = Source::new(&self.clusters).with_state(state.clone());
        let serials = state.load_serials().into_iter().map(|(name, saved)| Change::Serial(name, saved));
        let instance = Arc::new(Instance::new(|| Planner::new(names())));
        let holders = HolderKeeper::new(state.clone(), instance.clone(), names()).load();
        let changes: Vec<Change> =
            [holders].into_iter().chain(serials).chain(state.load_remembered()).chain([TODAY]).collect();
        instance.plan([changes, source.read().changes].concat()).unwrap();
        instance.publish_all(BTreeMap::new()).unwrap();
        assert_eq!(answers(&instance.views.load().views), self.answers, "{place}");
    }
}

fn key_folder(state: &Path) -> KeyFolder {
    KeyFolder::new(state.join("keys"))
}

/// Waits until a start would find what is served.
async fn until_kept(state: &StateDir, instance: &Instance) {
    let (live, start) = (answers(&instance.views.load().views), Instant::now());
    while answers(&saved::load(state).1) != live {
        assert!(start.elapsed() < Duration::from_secs(30), "it was never kept");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

const ZONES: [&str; 2] = ["example.org", "example.net"];

/// A provider's store, and what it acknowledged.
async fn acknowledged() -> (Files, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Embedded::open(Some(&folder.path().join("records"))).unwrap();
    let mut owners = Vec::new();
    for zone in ZONES {
        store.open_zone(&usual(&name(zone))).await.unwrap();
        for number in 0..8 {
            let owner = format!("n{number}.{zone}");
            let set = RecordSet::new(name(&owner), Rtype::A, 60, vec![Rdata::a([192, 0, 2, 1].into())]);
            let after = Some(Entry::from(set.clone()));
            let changes = vec![SetChange { key: SetKey::of(&set), before: None, after }];
            let batch = Batch { zone: name(zone), changes, guards: Vec::new(), generation: 0 };
            assert_eq!(store.write(&batch).await, [Ok(())]);
            owners.push(owner);
        }
    }
    let fences = Fences::open(Some(&folder.path().join("generations"))).unwrap().0;
    for generation in 5..8 {
        assert_eq!(fences.pass(&fence(generation)), Passage::Open);
    }
    (Files::of(folder.path()), owners)
}

fn fence(generation: u64) -> Fence {
    Fence { owner: "operator".to_owned(), generation }
}

async fn opened(folder: &Path) -> Embedded {
    let (store, _) = Embedded::open(Some(&folder.join("records"))).unwrap();
    for zone in ZONES {
        store.open_zone(&usual(&name(zone))).await.unwrap();
    }
    store
}

fn response(store: &Embedded, owner: &str) -> (Rcode, Vec<String>) {
    let table = store.views().load();
    let zones = table.views.values().next().unwrap();
    let answer = lookup(zones, &name(owner), Rtype::A, &Asker::NOBODY);
    let data = answer.answer.iter().flat_map(|set| set.data.iter().map(ToString::to_string));
    (answer.rcode, data.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_in_the_state_changes_no_answer() {
    let (killed, mut draws) = (Killed::new().await, Draws(1));
    let flips = flips() / 2;
    for _ in 0..flips {
        let (state, place) = killed.files.flipped(&mut draws, 1);
        tokio::task::block_in_place(|| killed.check(state.path(), &place));
    }
    println!("counted: {flips} bit flips over {} files of state, journal and keys", killed.files.0.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_in_the_providers_store_changes_no_answer() {
    let ((files, owners), mut draws) = (acknowledged().await, Draws(2));
    let flips = flips() / 2;
    for _ in 0..flips {
        let (folder, place) = files.flipped(&mut draws, 1);
        let store = opened(folder.path()).await;
        for owner in &owners {
            let expected = (Rcode::NoError, vec!["192.0.2.1".to_owned()]);
            assert_eq!(response(&store, owner), expected, "{place}: {owner}");
        }
        let fences = Fences::open(Some(&folder.path().join("generations"))).unwrap().0;
        assert_eq!(fences.pass(&fence(6)), Passage::Stale, "{place}");
    }
    println!("counted: {flips} bit flips over {} files of the provider's store", files.0.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn several_flipped_bits_in_the_providers_store_never_deny_a_record() {
    let ((files, owners), mut draws) = (acknowledged().await, Draws(3));
    let (rounds, mut failed) = (flips() / 16, 0);
    for _ in 0..rounds {
        let (folder, place) = files.flipped(&mut draws, 16);
        let store = opened(folder.path()).await;
        for owner in &owners {
            let found = response(&store, owner);
            let is_answer = found == (Rcode::NoError, vec!["192.0.2.1".to_owned()]);
            assert!(is_answer || found.0 == Rcode::ServFail, "{place}: {owner}: {found:?}");
            failed += u64::from(!is_answer);
        }
    }
    let asked = rounds * owners.len() as u64;
    println!("counted: {} bit flips, 16 at a time: {failed} of {asked} queries got SERVFAIL", rounds * 16);
}
