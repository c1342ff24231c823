use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::*;
use crate::source::{Pace, Watch};

const LONG: Duration = Duration::from_secs(10);

/// A watched world; the first reading is done.
struct Watched {
    world: World,
    readings: Receiver<Reading>,
    _watch: Watch,
}

impl Watched {
    fn new(world: World, pace: Pace) -> Watched {
        let mut source = world.source();
        source.read();
        let (sender, readings) = channel();
        let watch = Watch::start(source, pace, move |reading| sender.send(reading).is_ok()).unwrap();
        // The first walk finds nothing new; what follows comes by events.
        std::thread::sleep(Duration::from_millis(50));
        Watched { world, readings, _watch: watch }
    }

    /// The changes up to the one that is waited for.
    fn until(&self, last: &str) -> Vec<String> {
        let deadline = Instant::now() + LONG;
        let mut seen = Vec::new();
        while !seen.iter().any(|word| word == last) {
            let left = deadline.saturating_duration_since(Instant::now());
            let reading =
                self.readings.recv_timeout(left).unwrap_or_else(|_| panic!("no `{last}` after {seen:?}"));
            seen.extend(told(&reading));
        }
        seen
    }

    fn quiet_for(&self, time: Duration) {
        let arrived = self.readings.recv_timeout(time);
        assert!(matches!(arrived, Err(RecvTimeoutError::Timeout)), "{arrived:?}");
    }
}

/// Nothing but events brings news.
fn by_events() -> Pace {
    Pace { walk: Duration::from_secs(600), missing: Duration::from_secs(600), ..Pace::default() }
}

fn one_record() -> World {
    World::new(&[("a.yaml", &record("a", "192.0.2.1"))])
}

#[test]
fn a_changed_file_is_delivered() {
    let watched = Watched::new(one_record(), by_events());
    watched.world.write("a.yaml", &record("a", "192.0.2.2"));
    assert_eq!(watched.until("put a=192.0.2.2"), ["put a=192.0.2.2"]);
    watched.world.replace("a.yaml", &record("a", "192.0.2.3"));
    assert_eq!(watched.until("put a=192.0.2.3"), ["put a=192.0.2.3"]);
}

#[test]
fn new_files_in_new_directories_are_delivered() {
    let watched = Watched::new(one_record(), by_events());
    watched.world.write("x/y/b.yaml", &record("b", "192.0.2.2"));
    watched.until("put b=192.0.2.2");
    watched.world.write("x/y/b.yaml", &record("b", "192.0.2.3"));
    watched.until("put b=192.0.2.3");
    fs::remove_dir_all(watched.world.root().join("x")).unwrap();
    watched.until("delete b");
}

#[test]
fn a_file_that_is_removed_and_written_again_does_not_blink() {
    let watched = Watched::new(one_record(), by_events());
    for last in 2..12 {
        watched.world.remove("a.yaml");
        std::thread::sleep(Duration::from_millis(10));
        watched.world.write("a.yaml", &record("a", &format!("192.0.2.{last}")));
        let seen = watched.until(&format!("put a=192.0.2.{last}"));
        assert!(!seen.iter().any(|word| word.starts_with("delete")), "{seen:?}");
    }
}

#[test]
fn a_file_written_in_pieces_does_not_blink() {
    let watched = Watched::new(one_record(), by_events());
    let text = record("a", "192.0.2.2") + &record("b", "192.0.2.3");
    let path = watched.world.root().join("a.yaml");
    let mut file = fs::File::create(&path).unwrap();
    for piece in text.as_bytes().chunks(60) {
        std::thread::sleep(Duration::from_millis(2));
        std::io::Write::write_all(&mut file, piece).unwrap();
    }
    drop(file);
    assert_eq!(watched.until("put b=192.0.2.3"), ["put a=192.0.2.2", "put b=192.0.2.3"]);
}

#[test]
fn a_deleted_file_is_delivered_after_a_second_look() {
    let watched = Watched::new(one_record(), by_events());
    watched.world.remove("a.yaml");
    assert_eq!(watched.until("delete a"), ["delete a"]);
}

#[test]
fn a_folder_that_goes_and_comes_back_is_watched_again() {
    let world = World::new(&[("dns/a.yaml", &record("a", "192.0.2.1"))]);
    let folder = world.root().join("dns");
    let mut source = Source::new(&ClusterFolders::parse(&[folder.to_str().unwrap()]).unwrap());
    source.read();
    let (sender, readings) = channel();
    let pace = Pace { missing: Duration::from_millis(50), ..by_events() };
    let watch = Watch::start(source, pace, move |reading| sender.send(reading).is_ok()).unwrap();
    let watched = Watched { world, readings, _watch: watch };
    std::thread::sleep(Duration::from_millis(50));

    fs::rename(&folder, watched.world.root().join("away")).unwrap();
    let reading = watched.readings.recv_timeout(LONG).unwrap();
    assert!(told(&reading).is_empty() && reading.problems.len() == 1, "{reading:?}");
    watched.world.write("dns/a.yaml", &record("a", "192.0.2.2"));
    watched.until("put a=192.0.2.2");
    std::thread::sleep(Duration::from_millis(100));
    watched.world.write("dns/a.yaml", &record("a", "192.0.2.3"));
    watched.until("put a=192.0.2.3");
}

#[test]
fn a_problem_is_delivered_once_and_its_mending_too() {
    let watched = Watched::new(one_record(), by_events());
    watched.world.write("a.yaml", "kind: [\n");
    assert_eq!(watched.readings.recv_timeout(LONG).unwrap().problems.len(), 1);
    watched.world.write("a.yaml", "kind: [\n");
    watched.quiet_for(Duration::from_millis(150));
    watched.world.write("a.yaml", &record("a", "192.0.2.1"));
    let reading = watched.readings.recv_timeout(LONG).unwrap();
    assert!(reading.problems.is_empty() && told(&reading).is_empty());
}

#[test]
fn what_events_do_not_show_is_found_by_the_slow_walk() {
    // The file behind the link is in a hidden directory, which is not watched.
    let world = World::new(&[(".real/a.yaml", &record("a", "192.0.2.1"))]);
    std::os::unix::fs::symlink(".real/a.yaml", world.root().join("a.yaml")).unwrap();
    let pace = Pace { walk: Duration::from_millis(100), ..Pace::default() };
    let watched = Watched::new(world, pace);
    watched.world.write(".real/a.yaml", &record("a", "192.0.2.2"));
    watched.until("put a=192.0.2.2");
}

#[test]
fn hidden_files_and_other_files_make_no_news() {
    let watched = Watched::new(one_record(), by_events());
    watched.world.write(".a.yaml.swp", "x");
    watched.world.write("notes.txt", "x");
    watched.quiet_for(Duration::from_millis(150));
}

#[test]
fn dropping_the_watch_ends_it() {
    let world = one_record();
    let (sender, readings) = channel();
    let watch =
        Watch::start(world.source(), Pace::default(), move |reading| sender.send(reading).is_ok()).unwrap();
    readings.recv_timeout(LONG).unwrap();
    drop(watch);
    world.write("a.yaml", &record("a", "192.0.2.2"));
    assert!(matches!(readings.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected)));
}

#[test]
fn one_changed_file_among_many_is_delivered_quickly() {
    let twenty =
        |file: u32| -> String { (0..20).map(|n| record(&format!("r{file}-{n}"), "192.0.2.1")).collect() };
    let files: Vec<(String, String)> =
        (0..200).map(|file| (format!("{}/{file}.yaml", file % 10), twenty(file))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&path[..], &text[..])).collect();
    let watched = Watched::new(World::new(&files), by_events());
    let mut times: Vec<Duration> = Vec::new();
    for last in 2..9 {
        let changed = twenty(7).replacen("192.0.2.1", &format!("192.0.2.{last}"), 1);
        let start = Instant::now();
        watched.world.replace("7/7.yaml", &changed);
        assert_eq!(watched.until(&format!("put r7-0=192.0.2.{last}")).len(), 1);
        times.push(start.elapsed());
    }
    // The fastest tells, whatever else the machine does; the walk of all files would take more.
    assert!(times.iter().min() < Some(&Duration::from_millis(150)), "{times:?}");
}
