//! `import` of zone files: what it advises leaves nothing to do.

use crate::folder::{Folder, ZONE};
use crate::{Run, fingerpost};

/// With names whose manifests are spelled alike.
const CONTENT: &str = "$ORIGIN example.org.\n$TTL 300\n@ SOA ns noc 1 3600 600 86400 300\n@ NS ns\nns A 192.0.2.53\n\
    *.dev A 192.0.2.1\nwildcard.dev A 192.0.2.2\n@ TXT \"one\"\napex TXT \"two\"\n";

const CLASS: &str = "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {name: edge}\n\
    spec: {zoneFile: {directory: DIRECTORY}}\n";

/// A folder with a class whose zone file has the content, and the state of an `up`.
struct Scene {
    zones: Folder,
    folder: Folder,
    state: Folder,
}

impl Scene {
    fn new() -> Scene {
        let zones = Folder::with(&[("example.org.zone", CONTENT)]);
        let class = CLASS.replace("DIRECTORY", zones.argument());
        Scene { zones, folder: Folder::with(&[("class.yaml", &class)]), state: Folder::with(&[]) }
    }

    fn import(&self, flags: &[&str]) -> Run {
        let state = self.state.argument();
        let base = ["import", "--class", "edge", "--zone", "example.org", "--state", state];
        fingerpost(&[&base[..], &[self.folder.argument()], flags].concat())
    }

    /// Puts the missing manifests beside the class, marks, and expects that nothing is left to do.
    fn take_over(&self, kind: &str) {
        let manifests = self.import(&["--kind", kind, "-o", "yaml"]);
        assert_eq!(manifests.code, 0, "{}", manifests.stderr);
        self.folder.write("imported.yaml", &manifests.stdout);
        let marked = self.import(&["--kind", kind, "--apply"]);
        assert!(marked.code == 0 && !marked.stdout.contains("no manifest"), "{}", marked.stdout);
        let again = self.import(&["--kind", kind]);
        assert!(again.stdout.contains("0 record sets adopted, 0 changed"), "{}", again.stdout);
        assert_eq!(self.import(&["--kind", kind, "-o", "yaml"]).stdout, "");
        assert!(self.zones.path().join("example.org.zone").exists());
    }
}

#[test]
fn names_that_are_spelled_alike_are_all_taken_over() {
    for kind in ["DNSRecord", "Zone"] {
        Scene::new().take_over(kind);
    }
}

#[test]
fn a_zone_object_that_the_class_does_not_deliver_is_named_and_then_taken() {
    let scene = Scene::new();
    scene.folder.write("zone.yaml", ZONE);
    let refused = scene.import(&["--kind", "Zone"]);
    let advice = "Zone dns/example-org is not delivered by DNSClass edge, so neither are Records in it: set its \
        spec.dnsClassRef.name to edge, or import without --kind Zone";
    assert!(refused.code == 1 && refused.stderr.contains(advice), "{}", refused.stderr);
    scene.folder.write("zone.yaml", &ZONE.replace("example.org.", "example.org., dnsClassRef: {name: edge}"));
    scene.take_over("Zone");
}

#[test]
fn the_advice_repeats_every_flag_that_it_needs() {
    let scene = Scene::new();
    let run = scene.import(&["--apply", "--allow-target", "169.254.0.0/16", "--owner", "me and you"]);
    let advised = run.stdout.lines().find(|line| line.starts_with("  fingerpost import")).unwrap();
    assert!(advised.contains("--allow-target 169.254.0.0/16"), "{advised}");
    assert!(advised.contains("--owner 'me and you'"), "{advised}");
}
