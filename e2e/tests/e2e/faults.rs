//! What goes wrong around it never empties an answer, and each fault is told in words.

use anyhow::Result;
use e2e::{Expectation, Folder, Options, Up, Watcher, dig, example};

const CHAIN: [&str; 3] = [
    "www.example.org. 300 IN CNAME web-ns-p-prod-shop.example.org.",
    "web-ns-p-prod-shop.example.org. 300 IN CNAME aks01-weu-public.example.org.",
    "aks01-weu-public.example.org. 300 IN A 192.0.2.10",
];

#[test]
fn broken_file_keeps_its_answers_and_is_reported_with_its_line() -> Result<()> {
    let folder = Folder::copy_of("quickstart")?;
    let up = Up::start(Options::folder(folder.path()))?;
    let watcher = Watcher::start(up.dns(0), vec![Expectation::new("ns1.example.org", &[&["A 192.0.2.53"]])]);
    folder.replace("zone.yaml", "kind: Zone", "kind: [Zone")?;
    up.wait_for_output("zone.yaml:")?;
    assert_eq!(dig(up.dns(0), "www.example.org A")?.answer, CHAIN);
    let report = watcher.stop()?;
    assert!(report.bad.is_empty(), "{:?}", report.bad);
    Ok(())
}

#[test]
fn invalid_object_keeps_its_last_valid_answers() -> Result<()> {
    let folder = Folder::copy_of("quickstart")?;
    let up = Up::start(Options::folder(folder.path()))?;
    folder.replace("cluster.yaml", "domain: example.org", "domain: Example_org")?;
    up.wait_for_output("Example_org")?;
    assert_eq!(dig(up.dns(0), "www.example.org A")?.answer, CHAIN);
    Ok(())
}

#[test]
fn folder_that_disappears_keeps_its_answers() -> Result<()> {
    let folder = Folder::copy_of("quickstart")?;
    let inner = folder.path().join("manifests");
    move_files(&folder, &inner)?;
    let up = Up::start(Options::folder(&inner))?;
    let watcher = Watcher::start(up.dns(0), vec![Expectation::new("ns1.example.org", &[&["A 192.0.2.53"]])]);
    std::fs::rename(&inner, folder.path().join("elsewhere"))?;
    up.wait_for_output("cannot be read")?;
    assert_eq!(dig(up.dns(0), "www.example.org A")?.answer, CHAIN);
    assert!(watcher.stop()?.bad.is_empty());
    Ok(())
}

#[test]
fn restart_without_the_folder_serves_the_last_good_answers() -> Result<()> {
    let (folder, state) = (Folder::copy_of("quickstart")?, Folder::new()?);
    let inner = folder.path().join("manifests");
    move_files(&folder, &inner)?;
    let first = Up::start(Options::folder(&inner).state(state.path()))?;
    assert_eq!(dig(first.dns(0), "www.example.org A")?.answer, CHAIN);
    drop(first);
    std::fs::remove_dir_all(&inner)?;
    let second = Up::start(Options::folder(&inner).state(state.path()))?;
    second.wait_for_output("cannot be read")?;
    assert_eq!(dig(second.dns(0), "www.example.org A")?.answer, CHAIN);
    Ok(())
}

#[test]
fn restart_with_a_broken_file_serves_its_last_good_content() -> Result<()> {
    let (folder, state) = (Folder::copy_of("quickstart")?, Folder::new()?);
    drop(Up::start(Options::folder(folder.path()).state(state.path()))?);
    folder.replace("zone.yaml", "kind: Zone", "kind: [Zone")?;
    let second = Up::start(Options::folder(folder.path()).state(state.path()))?;
    assert_eq!(dig(second.dns(0), "www.example.org A")?.answer, CHAIN);
    Ok(())
}

#[test]
fn restart_with_nothing_changed_keeps_the_serial() -> Result<()> {
    let state = Folder::new()?;
    let soa = |up: &Up| Ok::<_, anyhow::Error>(dig(up.dns(0), "example.org SOA")?.answer);
    let first = Up::start(Options::folder(&example("quickstart")).state(state.path()))?;
    let before = soa(&first)?;
    drop(first);
    let second = Up::start(Options::folder(&example("quickstart")).state(state.path()))?;
    assert_eq!(soa(&second)?, before);
    Ok(())
}

#[test]
fn port_in_use_is_an_error_that_says_which_and_what_to_do() -> Result<()> {
    let first = Up::start(Options::folder(&example("quickstart")))?;
    let mut second = Up::spawn(Options::folder(&example("quickstart")).address(first.address()))?;
    assert_eq!(second.wait_for_end()?, Some(1));
    let output = second.output();
    assert!(output.contains(&format!("{}:", first.address())) && output.contains("in use"), "{output}");
    assert!(output.contains("--dns") || output.contains("--http"), "{output}");
    assert_eq!(dig(first.dns(0), "www.example.org A")?.answer, CHAIN);
    Ok(())
}

#[test]
fn cold_start_with_a_broken_zone_file_is_servfail_not_nxdomain() -> Result<()> {
    let folder = Folder::new()?;
    folder
        .write("example.net.zone", "@ SOA ns1 hostmaster 1 1d 2h 4w 5m\n@ NS ns1\nns1 A not-an-address\n")?;
    let up = Up::start(Options::folder(folder.path()))?;
    assert_eq!(dig(up.dns(0), "ns1.example.net A")?.status, "SERVFAIL");
    up.wait_for_output("example.net.zone:3:")
}

#[test]
fn empty_folder_says_what_to_put_there_and_follows_it() -> Result<()> {
    let folder = Folder::new()?;
    let up = Up::start(Options::folder(folder.path()))?;
    up.wait_for_output("put manifests")?;
    folder.write(
        "example.net.zone",
        "$TTL 60\n@ SOA ns1 hostmaster 1 1d 2h 4w 5m\n@ NS ns1\nns1 A 192.0.2.1\n",
    )?;
    up.wait_for_output("zone: example.net.")?;
    assert_eq!(dig(up.dns(0), "ns1.example.net A")?.data("A"), ["192.0.2.1"]);
    Ok(())
}

fn move_files(folder: &Folder, inner: &std::path::Path) -> Result<()> {
    let files: Vec<_> = std::fs::read_dir(folder.path())?.collect::<Result<_, _>>()?;
    std::fs::create_dir(inner)?;
    files.iter().try_for_each(|file| Ok(std::fs::rename(file.path(), inner.join(file.file_name()))?))
}
