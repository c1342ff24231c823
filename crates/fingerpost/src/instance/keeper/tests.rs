#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use dns::{Name, PackedZone, Rdata, RecordSet, Rtype};
use planner::{Planner, ViewInfo};
use server::steering::Asker;
use server::{Rcode, ViewTable, ZoneUpdate, Zones, lookup};
use tempfile::TempDir;

use super::*;
use crate::instance::journal::decoded;
use crate::source::{ClusterFolders, Source};

const ZONE: &str = "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: example-org, namespace: dns}\n\
                    spec: {domainName: example.org.}\n";

fn record(address: &str) -> String {
    format!(
        "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {{name: www, namespace: dns}}\n\
         spec: {{domainName: www, zoneRef: {{name: example-org}}, type: A, rdata: {address}}}\n"
    )
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn set(owner: &str, rtype: Rtype, data: &str) -> RecordSet {
    RecordSet::new(name(owner), rtype, 60, vec![Rdata::parse(rtype, data, &Name::root()).unwrap()])
}

fn soa(origin: &str, serial: u32) -> RecordSet {
    set(origin, Rtype::SOA, &format!("ns. admin. {serial} 2 3 4 5"))
}

fn view(name: &str) -> ViewInfo {
    let (listen, clients) = (Vec::new(), Vec::new());
    ViewInfo { place: None, name: name.to_owned(), listen, clients, numbered: true, geo: None, dnssec: None }
}

/// Everything that is answered, by view and zone.
fn answers(views: &BTreeMap<String, Zones>) -> Vec<String> {
    let mut lines = Vec::new();
    for (view, zones) in views {
        for zone in
            zones.origins().filter_map(|origin| zones.zone(origin)).filter(|zone| zone.soa().is_some())
        {
            lines.push(format!("{view} {}", zone.origin()));
            lines.extend(zone.sets().map(|set| format!("{view} {} {set:?}", zone.origin())));
        }
    }
    lines.sort();
    lines
}

fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

/// Zones that are served and kept, with no plan behind them.
struct Served {
    folder: TempDir,
    work: Work,
    table: ViewTable,
    views: Vec<ViewInfo>,
}

impl Served {
    fn new(views: &[&str]) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let state = Arc::new(StateDir::open(folder.path()).unwrap());
        let work = Work { state, moved: Mutex::default(), base: Mutex::default() };
        let zones = views.iter().map(|view| ((*view).to_owned(), Zones::new())).collect();
        let table = ViewTable { views: zones, synced: true, ..ViewTable::default() };
        Served { folder, work, table, views: views.iter().map(|name| view(name)).collect() }
    }

    /// Serves a change in one view and hands it over.
    fn change(&mut self, view: &str, update: ZoneUpdate) {
        let mut delta = Delta::default();
        match &update {
            ZoneUpdate::PutNode { origin, name, .. } | ZoneUpdate::RemoveNode { origin, name } => {
                delta.nodes.push((origin.clone(), name.clone()));
            }
            ZoneUpdate::PutZone { origin, .. }
            | ZoneUpdate::Unavailable { origin, .. }
            | ZoneUpdate::RemoveZone { origin }
            | ZoneUpdate::Sign { origin, .. } => delta.zones.push(origin.clone()),
        }
        self.table.views.get_mut(view).unwrap().apply(update);
        let table = Arc::new(self.table.clone());
        locked(&self.work.moved).get_or_insert_default().add(&delta, table, self.views.clone());
    }

    /// Keeps what was handed over; says whether the journal did.
    fn keep(&self) -> bool {
        let journalled = self.work.keep_change();
        if !journalled {
            self.work.keep_whole();
        }
        self.work.state.flush();
        journalled
    }

    /// What a process would find that starts now, whatever became of this one.
    fn found(&self) -> Vec<String> {
        let (_, zones) = saved::load(&self.work.state);
        assert_eq!(self.work.state.take_problems(), Vec::<String>::new());
        answers(&zones)
    }

    fn journal(&self) -> std::path::PathBuf {
        self.folder.path().join("journal")
    }
}

fn put(owner: &str, address: &str) -> ZoneUpdate {
    let sets = vec![set(owner, Rtype::A, address)];
    ZoneUpdate::PutNode { origin: name("example.org"), name: name(owner), sets }
}

fn put_zone(origin: &str, serial: u32, base: Option<Arc<PackedZone>>) -> ZoneUpdate {
    ZoneUpdate::PutZone { origin: name(origin), soa: soa(origin, serial), base }
}

fn served_zone() -> Served {
    let mut served = Served::new(&["weu"]);
    served.change("weu", put_zone("example.org", 1, None));
    served.change("weu", put("www.example.org", "192.0.2.1"));
    assert!(!served.keep(), "the first is kept whole");
    served
}

#[test]
fn a_changed_name_and_serial_are_journalled_and_nothing_else_is_written() {
    let mut served = served_zone();
    let index = inode(&served.folder.path().join("zones"));
    served.change("weu", put("www.example.org", "192.0.2.2"));
    served.change("weu", put_zone("example.org", 2, None));
    assert!(served.keep());
    assert_eq!(served.found(), answers(&served.table.views));
    assert_eq!(inode(&served.folder.path().join("zones")), index);
}

#[test]
fn a_name_that_went_does_not_come_back_with_the_kept_zone() {
    let mut served = served_zone();
    let (origin, www) = (name("example.org"), name("www.example.org"));
    served.change("weu", ZoneUpdate::RemoveNode { origin, name: www.clone() });
    assert!(served.keep());
    let (_, zones) = saved::load(&served.work.state);
    assert_eq!(lookup(&zones["weu"], &www, Rtype::A, &Asker::NOBODY).rcode, Rcode::NxDomain);
}

#[test]
fn what_a_file_has_under_a_name_shows_again_after_a_restart_too() {
    let base = [soa("example.org", 1), set("www.example.org", Rtype::A, "192.0.2.9")];
    let base = Arc::new(PackedZone::from_sets(name("example.org"), base).unwrap());
    let mut served = Served::new(&["weu"]);
    served.change("weu", put_zone("example.org", 1, Some(base)));
    served.change("weu", put("www.example.org", "192.0.2.1"));
    served.keep();
    let (origin, www) = (name("example.org"), name("www.example.org"));
    served.change("weu", ZoneUpdate::RemoveNode { origin, name: www });
    assert!(served.keep());
    assert_eq!(served.found(), answers(&served.table.views));
    assert!(served.found().iter().any(|line| line.contains("192.0.2.9")));
}

#[test]
fn a_journal_torn_at_every_byte_leaves_the_changes_before_it() {
    let mut served = served_zone();
    let mut states = vec![(fs::read(served.journal()).unwrap().len(), served.found())];
    for address in ["192.0.2.2", "192.0.2.3"] {
        served.change("weu", put("www.example.org", address));
        assert!(served.keep());
        states.push((fs::read(served.journal()).unwrap().len(), served.found()));
    }
    let whole = fs::read(served.journal()).unwrap();
    for length in 0..=whole.len() {
        for copy in ["journal", "journal.copy"] {
            fs::write(served.folder.path().join(copy), &whole[..length]).unwrap();
        }
        let (_, zones) = saved::load(&served.work.state);
        let expected = states.iter().rev().find(|(end, _)| *end <= length).unwrap_or(&states[0]);
        assert_eq!(answers(&zones), expected.1, "torn after {length} octets");
        let reported = served.work.state.take_problems().len();
        assert_eq!(reported, usize::from(expected.0 != length), "torn after {length} octets");
    }
}

#[test]
fn what_cannot_be_journalled_is_kept_whole() {
    let mut served = served_zone();
    let base = Arc::new(PackedZone::from_sets(name("example.org"), [soa("example.org", 3)]).unwrap());
    let unavailable = ZoneUpdate::Unavailable { origin: name("example.org"), reason: "broken".to_owned() };
    let removed = ZoneUpdate::RemoveZone { origin: name("example.org") };
    let steps = [
        put_zone("example.net", 1, None),
        put_zone("example.org", 3, Some(base)),
        unavailable,
        put_zone("example.org", 4, None),
        removed,
    ];
    for update in steps {
        served.change("weu", update.clone());
        assert!(!served.keep(), "{update:?}");
        assert_eq!(served.found(), answers(&served.table.views), "{update:?}");
    }
    served.views = vec![view("weu"), view("neu")];
    served.table.views.insert("neu".to_owned(), Zones::new());
    served.change("weu", put_zone("example.net", 2, None));
    assert!(!served.keep());
    assert_eq!(served.found(), answers(&served.table.views));
}

#[test]
fn a_long_journal_ends_in_whole_zones() {
    let mut served = served_zone();
    let text = format!("\"{}\"", "x".repeat(250)).repeat(200);
    let mut whole = 0;
    for number in 0..40 {
        let owner = format!("long-{}.example.org", number % 3);
        let sets = vec![set(&owner, Rtype::TXT, &text)];
        served.change("weu", ZoneUpdate::PutNode { origin: name("example.org"), name: name(&owner), sets });
        whole += usize::from(!served.keep());
    }
    assert!((1..5).contains(&whole), "{whole}");
    assert!(fs::metadata(served.journal()).unwrap().len() < 2 << 20);
    assert_eq!(served.found(), answers(&served.table.views));
}

#[test]
fn a_change_that_cannot_be_read_is_not_used() {
    assert_eq!(decoded(b"[]"), Some(Vec::new()));
    let entry = |data: &str| format!(r#"[{{"view":"weu","zone":"org.","sets":[[1,60,["{data}"]]]}}]"#);
    assert!(decoded(entry("c0000201").as_bytes()).is_some());
    for bad in ["c00002", "c000020", "zz000201", "ä"] {
        assert_eq!(decoded(entry(bad).as_bytes()), None, "{bad}");
    }
    assert_eq!(decoded(b"{}"), None);
}

/// A sequence of numbers that looks random and is the same every time.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    fn update(&mut self) -> ZoneUpdate {
        let origin = self.pick(&["example.org", "example.net", "sub.example.org"]);
        let owner = format!("{}{origin}", self.pick(&["", "a.", "b.a.", "*.", "c\\000d."]));
        let serial = self.below(1000) as u32;
        match self.below(40) {
            0 => ZoneUpdate::RemoveZone { origin: name(origin) },
            1 => ZoneUpdate::Unavailable { origin: name(origin), reason: "broken".to_owned() },
            2 => {
                let sets =
                    [soa(origin, serial), set(&owner, Rtype::A, &format!("198.51.100.{}", serial % 256))];
                put_zone(origin, serial, Some(Arc::new(PackedZone::from_sets(name(origin), sets).unwrap())))
            }
            3..8 => put_zone(origin, serial, None),
            8..20 => ZoneUpdate::RemoveNode { origin: name(origin), name: name(&owner) },
            _ => {
                let sets = vec![
                    set(&owner, Rtype::A, &format!("192.0.2.{}", self.below(256))),
                    set(&owner, Rtype::TXT, &format!("\"{serial}\"")),
                ];
                ZoneUpdate::PutNode { origin: name(origin), name: name(&owner), sets }
            }
        }
    }
}

#[test]
fn random_changes_through_the_journal_and_a_restart_equal_what_is_served() {
    let mut draws = Draws(4);
    let mut journalled = 0;
    for case in 0..12 {
        let mut served = Served::new(&["weu", "neu"]);
        for step in 0..40 {
            for _ in 0..=draws.below(3) {
                let update = draws.update();
                served.change(draws.pick(&["weu", "neu"]), update);
            }
            journalled += u32::from(served.keep());
            assert_eq!(served.found(), answers(&served.table.views), "case {case}, step {step}");
        }
    }
    assert!(journalled > 100, "{journalled} of 480 were journalled");
}

#[tokio::test]
async fn a_change_of_the_plan_is_in_the_journal_without_an_orderly_end() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("zone.yaml"), ZONE).unwrap();
    fs::write(folder.path().join("www.yaml"), record("192.0.2.1")).unwrap();
    let mut source = Source::new(&ClusterFolders::parse(&[folder.path().to_str().unwrap()]).unwrap());
    let state = Arc::new(StateDir::open(kept.path()).unwrap());
    let instance = Arc::new(Instance::new(|| Planner::new(vec!["default".to_owned()])));
    let keeper = Keeper::new(state.clone(), instance.clone());
    instance.plan(source.read().changes).unwrap();
    instance.publish_all(BTreeMap::new()).unwrap();
    keeper.keep_first().await;
    until_kept(&state, &instance).await;
    state.flush();
    let index = inode(&kept.path().join("zones"));

    fs::write(folder.path().join("www.yaml"), record("192.0.2.2")).unwrap();
    let delta = instance.plan(source.read().changes).unwrap();
    instance.publish(&delta, BTreeMap::new()).unwrap();
    keeper.keep(&delta);
    let live = until_kept(&state, &instance).await;
    assert!(live.iter().any(|line| line.contains("192.0.2.2")), "{live:?}");
    assert_eq!(inode(&kept.path().join("zones")), index, "the zones were not written again");
}

/// Waits until a start would find what is served; gives that.
async fn until_kept(state: &StateDir, instance: &Instance) -> Vec<String> {
    let (live, start) = (answers(&instance.views.load().views), Instant::now());
    while answers(&saved::load(state).1) != live {
        assert!(start.elapsed() < Duration::from_secs(30), "it was never kept");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    live
}
