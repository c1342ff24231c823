//! Disks that are full, read-only or damaged: what was served is served, and what cannot be kept is refused.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use e2e::{Disk, Folder, Options, ProviderServer, Up, dig, wait_for};
use serde_json::{Value, json};

const ZONE: &str = "example.org";

/// What keeps a disk from taking writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Full,
    ReadOnly,
}

impl Refusal {
    fn begin(self, disk: &Disk) -> Result<()> {
        match self {
            Refusal::Full => disk.fill(),
            Refusal::ReadOnly => disk.set_read_only(true),
        }
    }

    fn end(self, disk: &Disk) -> Result<()> {
        match self {
            Refusal::Full => disk.empty(),
            Refusal::ReadOnly => disk.set_read_only(false),
        }
    }
}

fn put(server: &ProviderServer, subdomain: &str) -> Result<(u16, Value)> {
    let record =
        json!({"type": "A", "domain": ZONE, "subdomain": subdomain, "values": ["192.0.2.1"], "ttl": 60});
    server.send("POST", "/records", &json!({"record": record, "operation": "upsert"}))
}

fn addresses(server: &ProviderServer, subdomain: &str) -> Result<Vec<String>> {
    Ok(dig(server.dns(), &format!("{subdomain}.{ZONE} A"))?.data("A"))
}

fn provider_on(refusal: Refusal) -> Result<()> {
    let disk = Disk::new(256)?;
    let mut server = ProviderServer::start(&disk.join("state"), &["--zone", ZONE])?;
    assert_eq!(put(&server, "www")?.0, 200);
    let mut number = 0;
    // While it runs, and at a start. A disk is not made read-only while a file on it is written.
    for round in usize::from(refusal == Refusal::ReadOnly)..2 {
        if round == 1 {
            server.process().kill()?;
        }
        refusal.begin(&disk)?;
        if round == 1 {
            server.restart()?;
        }
        assert_eq!(addresses(&server, "www")?, ["192.0.2.1"]);
        let (status, body) = wait_for("a write to be refused", || {
            // A full disk has room for a few records in the last page of a file.
            number += 1;
            let refused = put(&server, &format!("n{number}"))?;
            Ok((refused.0 != 200).then_some(refused))
        })?;
        assert_eq!((status, &body["error"]["code"]), (503, &json!("UNAVAILABLE")), "{body}");
        let message = body["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("takes no writes"), "{body}");
        assert!(server.page("/readyz")?.contains("takes no writes"));
        assert!(server.page("/metrics")?.contains("fingerpost_provider_store_writable 0"));
        assert_eq!(server.send("GET", "/health", &Value::Null)?.0, 503);
        refusal.end(&disk)?;
        // Without a restart.
        assert_eq!(server.send("GET", "/health", &Value::Null)?.0, 200);
        assert_eq!(put(&server, &format!("after-{round}"))?.0, 200);
        assert_eq!(addresses(&server, &format!("after-{round}"))?, ["192.0.2.1"]);
    }
    server.restart()?;
    for subdomain in ["www", "after-1"] {
        assert_eq!(addresses(&server, subdomain)?, ["192.0.2.1"], "{subdomain}");
    }
    Ok(())
}

#[test]
fn a_provider_on_a_full_disk_serves_and_refuses_writes_until_there_is_room() -> Result<()> {
    provider_on(Refusal::Full)
}

#[test]
fn a_provider_on_a_read_only_disk_serves_and_refuses_writes_until_it_is_writable() -> Result<()> {
    provider_on(Refusal::ReadOnly)
}

#[test]
fn external_dns_gets_503_for_a_change_that_the_disk_refuses() -> Result<()> {
    let disk = Disk::new(256)?;
    let flags = ["--zone", ZONE, "--protocol", "external-dns"];
    let mut server = ProviderServer::start(&disk.join("state"), &flags)?;
    let change =
        json!({"create": [{"dnsName": "www.example.org", "recordType": "A", "targets": ["192.0.2.1"]}]});
    server.process().kill()?;
    disk.set_read_only(true)?;
    server.restart()?;
    let (status, body) = server.send("POST", "/records", &change)?;
    assert_eq!(status, 503);
    assert!(body.to_string().contains("takes no writes"), "{body}");
    assert_eq!(server.send("GET", "/records", &Value::Null)?.0, 200);
    disk.set_read_only(false)?;
    assert_eq!(server.send("POST", "/records", &change)?.0, 204);
    assert_eq!(addresses(&server, "www")?, ["192.0.2.1"]);
    Ok(())
}

fn address(up: &Up) -> Result<Vec<String>> {
    Ok(dig(up.dns(0), "www.example.org A")?.data("A"))
}

fn record(address: &str) -> String {
    format!(
        "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {{name: www, namespace: dns}}\n\
         spec: {{domainName: www, zoneRef: {{name: example-org}}, type: A, rdata: {address}}}\n"
    )
}

fn world() -> Result<Folder> {
    let folder = Folder::new()?;
    folder.write(
        "zone.yaml",
        "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: example-org, namespace: dns}\n\
         spec: {domainName: example.org.}\n",
    )?;
    folder.write("www.yaml", &record("192.0.2.1"))?;
    Ok(folder)
}

fn up_on(refusal: Refusal) -> Result<()> {
    let (disk, folder) = (Disk::new(512)?, world()?);
    let state = disk.join("state");
    let mut up = Up::start(Options::folder(folder.path()).state(&state))?;
    assert_eq!(address(&up)?, ["192.0.2.1"]);
    up.kill()?;
    refusal.begin(&disk)?;
    let mut up = Up::start(Options::folder(folder.path()).state(&state))?;
    assert_eq!(address(&up)?, ["192.0.2.1"]);
    for number in 2..5 {
        let expected = format!("192.0.2.{number}");
        folder.write("www.yaml", &record(&expected))?;
        wait_for("the change to be served", || Ok((address(&up)? == [expected.clone()]).then_some(())))?;
    }
    up.wait_for_output("cannot be saved")?;
    refusal.end(&disk)?;
    up.wait_for_output("is saved again")?;
    assert_eq!(up.output().matches("cannot be saved").count(), 1, "{}", up.output());
    up.kill()?;
    // The state is that of the last change: it serves without the folder.
    let moved = folder.path().with_extension("moved");
    fs::rename(folder.path(), &moved)?;
    let up = Up::start(Options::folder(folder.path()).state(&state));
    let served = up.and_then(|up| address(&up));
    fs::rename(&moved, folder.path())?;
    assert_eq!(served?, ["192.0.2.4"]);
    Ok(())
}

#[test]
fn up_on_a_full_disk_serves_warns_once_and_saves_when_there_is_room() -> Result<()> {
    up_on(Refusal::Full)
}

#[test]
fn up_on_a_read_only_disk_serves_warns_once_and_saves_when_it_is_writable() -> Result<()> {
    up_on(Refusal::ReadOnly)
}

#[test]
fn up_starts_where_a_read_only_disk_has_no_state_directory_yet() -> Result<()> {
    let (disk, folder) = (Disk::new(512)?, world()?);
    disk.set_read_only(true)?;
    let up = Up::start(Options::folder(folder.path()).state(&disk.join("state")))?;
    assert_eq!(address(&up)?, ["192.0.2.1"]);
    up.wait_for_output("cannot be saved")?;
    disk.set_read_only(false)?;
    up.wait_for_output("is saved again")?;
    assert!(disk.join("state/zones").exists());
    Ok(())
}

/// All files below a folder that hold something.
fn files_in(root: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match path.is_dir() {
                true => folders.push(path),
                false if fs::metadata(&path)?.len() > 0 => files.push(path),
                false => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Flips a bit in the first octet, in the middle and in the last one, each time in one file.
fn with_each_flip(root: &Path, mut check: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let whole: Vec<(PathBuf, Vec<u8>)> =
        files_in(root)?.into_iter().map(|path| Ok((path.clone(), fs::read(path)?))).collect::<Result<_>>()?;
    ensure!(whole.len() >= 4, "there are {} files", whole.len());
    for (path, octets) in &whole {
        for at in [0, octets.len() / 2, octets.len() - 1] {
            for (path, octets) in &whole {
                fs::write(path, octets)?;
            }
            let mut changed = octets.clone();
            changed[at] ^= 4;
            fs::write(path, changed)?;
            check(&format!("{} octet {at}", path.display()))?;
        }
    }
    Ok(())
}

#[test]
fn a_provider_answers_every_record_whichever_file_has_a_flipped_bit() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = ProviderServer::start(folder.path(), &["--zone", ZONE])?;
    for subdomain in ["one", "two", "three"] {
        assert_eq!(put(&server, subdomain)?.0, 200);
    }
    server.process().kill()?;
    with_each_flip(folder.path(), |place| {
        server.restart()?;
        for subdomain in ["one", "two", "three"] {
            assert_eq!(addresses(&server, subdomain)?, ["192.0.2.1"], "{place}");
        }
        server.process().kill()
    })
}

/// Checks that only the owner can read a state directory and its files.
fn ensure_private(root: &Path) -> Result<()> {
    for file in files_in(root)? {
        assert_eq!(fs::metadata(&file)?.mode() & 0o777, 0o600, "{}", file.display());
    }
    assert_eq!(fs::metadata(root)?.mode() & 0o777, 0o700);
    Ok(())
}

fn open_to_everybody(root: &Path) -> Result<()> {
    for file in files_in(root)? {
        fs::set_permissions(file, Permissions::from_mode(0o666))?;
    }
    Ok(fs::set_permissions(root, Permissions::from_mode(0o777))?)
}

#[test]
fn a_state_directory_that_everybody_could_read_is_the_owner_s_alone_after_a_start() -> Result<()> {
    let (folder, state) = (world()?, tempfile::tempdir()?);
    let options = || Options::folder(folder.path()).state(state.path());
    Up::start(options())?.kill()?;
    open_to_everybody(state.path())?;
    Up::start(options())?.kill()?;
    ensure_private(state.path())?;
    let state = tempfile::tempdir()?;
    let mut server = ProviderServer::start(state.path(), &["--zone", ZONE])?;
    assert_eq!(put(&server, "www")?.0, 200);
    server.process().kill()?;
    open_to_everybody(state.path())?;
    server.restart()?;
    server.process().kill()?;
    ensure_private(state.path())
}

#[test]
fn up_without_its_folder_answers_whichever_file_has_a_flipped_bit() -> Result<()> {
    let (folder, state) = (world()?, tempfile::tempdir()?);
    let options = || Options::folder(folder.path()).state(state.path());
    let mut up = Up::start(options())?;
    assert_eq!(address(&up)?, ["192.0.2.1"]);
    up.kill()?;
    ensure_private(state.path())?;
    let moved = folder.path().with_extension("moved");
    fs::rename(folder.path(), &moved)?;
    let checked = with_each_flip(state.path(), |place| {
        let mut up = Up::start(options())?;
        ensure!(address(&up)? == ["192.0.2.1"], "{place}: {}", up.output());
        up.kill()
    });
    fs::rename(&moved, folder.path())?;
    checked
}

#[test]
fn a_provider_whose_copies_are_both_damaged_fails_the_zone_and_never_denies_a_name() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let flags = ["--zone", ZONE, "--zone", "example.net"];
    let mut server = ProviderServer::start(folder.path(), &flags)?;
    assert_eq!(put(&server, "www")?.0, 200);
    server.process().kill()?;
    for file in ["records", "records.copy"] {
        let text = fs::read_to_string(folder.path().join(file))?;
        fs::write(folder.path().join(file), text.replace("192.0.2.1", "192.0.2.0"))?;
    }
    server.restart()?;
    for name in ["www.example.org", "other.example.org"] {
        assert_eq!(dig(server.dns(), &format!("{name} A"))?.status, "SERVFAIL", "{name}");
    }
    assert_eq!(dig(server.dns(), "www.example.net A")?.status, "NXDOMAIN", "the other zone is whole");
    let (status, body) = put(&server, "new")?;
    assert_eq!((status, &body["error"]["code"]), (503, &json!("UNAVAILABLE")), "{body}");
    assert!(server.page("/readyz")?.contains("damaged"));
    assert!(server.page("/metrics")?.contains("fingerpost_provider_damaged_zones 1"));
    assert!(server.process().output().contains("example.org"), "{}", server.process().output());
    Ok(())
}
