//! `plan -o zone` in the eyes of another implementation.

use anyhow::Result;
use e2e::{Folder, call, example, run};

#[test]
fn zones_of_every_example_pass_named_checkzone() -> Result<()> {
    let examples = [
        (vec![example("quickstart").display().to_string()], vec!["example.org."]),
        (
            vec![example("zones").display().to_string()],
            vec!["example.org.", "shop.example.org.", "example.net."],
        ),
        (
            vec![
                format!("weu={}", example("regions/weu").display()),
                format!("neu={}", example("regions/neu").display()),
            ],
            vec!["apps.example.com."],
        ),
    ];
    for (folders, origins) in examples {
        let zones = zones(&folders)?;
        for origin in origins {
            assert!(zones.iter().any(|(found, _)| found == origin), "no zone {origin} for {folders:?}");
        }
        zones.iter().try_for_each(|(origin, text)| check(origin, text))?;
    }
    Ok(())
}

/// The zones of all views: each starts with its `$ORIGIN`.
fn zones(folders: &[String]) -> Result<Vec<(String, String)>> {
    let mut arguments = vec!["plan", "-o", "zone", "--date", "2026-01-01"];
    arguments.extend(folders.iter().map(String::as_str));
    let output = run(&arguments)?;
    let text = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let pieces = text.split("$ORIGIN ").skip(1);
    Ok(pieces.filter_map(|piece| piece.split_once('\n')).map(|(o, t)| (o.to_owned(), t.to_owned())).collect())
}

fn check(origin: &str, text: &str) -> Result<()> {
    let folder = Folder::new()?;
    folder.write("zone", &format!("$ORIGIN {origin}\n{text}\n{}", undeclared(text)))?;
    let path = folder.path().join("zone").display().to_string();
    // Addresses of name servers elsewhere would be looked up in the real DNS, so only local checks run.
    let output = call("named-checkzone", "bind9-utils", &["-i", "local", origin, &path])?;
    assert!(output.status.success(), "{origin}: {}\n{text}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

/// The address of an implied zone's default name server: nobody has declared it, and BIND asks for it.
fn undeclared(zone: &str) -> &'static str {
    if zone.contains(" ns.apps.example.com.") { "ns 360 IN A 192.0.2.53\n" } else { "" }
}
