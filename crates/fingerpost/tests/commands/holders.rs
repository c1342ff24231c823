//! An object that comes later takes no name, origin or list from the one that has it: in `plan --against`, while
//! `up` runs, and over its restart.

use crate::fingerpost;
use crate::folder::{Folder, ZONE};
use crate::running::{Running, ask, eventually};

fn placement(name: &str, host: &str, address: &str) -> String {
    format!(
        "apiVersion: fingerpost.dev/v1alpha1\nkind: Placement\nmetadata: {{name: {name}, namespace: payments}}\n\
         spec: {{hostname: {host}, mode: single-region, regions: [{{name: fsn, addresses: [{address}]}}]}}\n"
    )
}

fn cname(name: &str) -> String {
    format!(
        "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {{name: {name}, namespace: dns}}\n\
         spec: {{domainName: www.example.org, type: CNAME, rdata: other.example.org.}}\n"
    )
}

fn address(name: &str) -> String {
    cname(name).replace("type: CNAME, rdata: other.example.org.", "type: A, rdata: 192.0.2.1")
}

/// What the newcomers are: one of each that would come first by its name.
fn newcomers(folder: &Folder) {
    folder.write("aaa.yaml", &placement("aaa", "pay.example.com", "192.0.2.66"));
    folder.write("cname.yaml", &cname("aaa"));
    folder.write("0.yaml", &ZONE.replace("name: example-org", "name: aaa"));
}

fn world() -> Folder {
    let pay = placement("pay", "pay.example.com", "192.0.2.10");
    Folder::with(&[("zone.yaml", ZONE), ("www.yaml", &address("www")), ("pay.yaml", &pay)])
}

#[test]
fn a_plan_goes_by_the_holders_of_the_plan_before() {
    let (before, after) = (world(), world());
    newcomers(&after);
    let plan = |against: &str| fingerpost(&["plan", after.argument(), "--against", against]).stdout;
    let saved = fingerpost(&["plan", before.argument(), "-o", "json"]).stdout;
    let store = Folder::with(&[("plan.json", &saved)]);
    let file = store.path().join("plan.json");
    let data =
        |against: &str| fingerpost(&["plan", after.argument(), "--against", against, "-o", "json"]).stdout;
    for against in [before.argument(), file.to_str().unwrap()] {
        let text = plan(against);
        assert!(text.starts_with("Not ready:\n"), "no answer moves: {text}");
        assert!(text.ends_with("\nPlan: 0 to add, 0 to change, 0 to remove.\n"), "no answer moves: {text}");
        assert!(text.contains("not ready: NameConflict, pay.example.com A belongs to Placement"), "{text}");
        let text = data(against);
        assert!(text.contains("belongs to Placement payments/pay, which already held it"), "{text}");
        assert!(text.contains("belongs to Record dns/www, which already held it"), "{text}");
        assert!(text.contains("the origin belongs to Zone dns/example-org, which already held it"), "{text}");
    }
    let cold = fingerpost(&["plan", after.argument(), "-o", "json"]).stdout;
    assert!(cold.contains("which is first by name: neither has a creationTimestamp"), "{cold}");
}

#[test]
fn a_plan_against_itself_differs_in_nothing_although_names_are_contested() {
    let folder = world();
    newcomers(&folder);
    let saved = fingerpost(&["plan", folder.argument(), "-o", "json"]).stdout;
    let store = Folder::with(&[("plan.json", &saved)]);
    let file = store.path().join("plan.json");
    for against in [folder.argument(), file.to_str().unwrap()] {
        let run = fingerpost(&["plan", folder.argument(), "--against", against]);
        assert_eq!((run.code, run.stdout.as_str()), (0, "No changes.\n"));
    }
}

#[test]
fn a_running_up_and_the_next_one_leave_names_with_those_that_have_them() {
    let (folder, state) = (world(), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    let answers_stay = |up: &Running| {
        let dns = up.dns("default");
        assert_eq!(ask(dns, "pay.example.com."), ["NoError", "192.0.2.10"], "{}", up.output());
        assert_eq!(ask(dns, "www.example.org."), ["NoError", "192.0.2.1"], "{}", up.output());
    };
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    newcomers(&folder);
    up.wait_for("Placement payments/aaa: NameConflict");
    up.wait_for("belongs to Placement payments/pay, which already held it");
    up.wait_for("belongs to Record dns/www, which already held it");
    up.wait_for("the origin belongs to Zone dns/example-org, which already held it");
    answers_stay(&up);
    // A name that comes and is kept by the change alone.
    folder.write("zzz.yaml", &placement("zzz", "new.example.com", "192.0.2.20"));
    up.wait_for("+ new.example.com. 30 A 192.0.2.20  (Placement payments/zzz)");
    assert!(!up.output().contains("(Placement payments/aaa)"), "{}", up.output());
    let recent = state.path().join("recent-holders");
    let is_kept = || String::from_utf8_lossy(&std::fs::read(&recent).unwrap()).contains("new.example.com.");
    eventually(is_kept, || "the state does not say who holds new.example.com".to_owned());
    // It is killed, not ended.
    drop(up);
    folder.write("bbb.yaml", &placement("bbb", "new.example.com", "192.0.2.67"));
    let again = Running::spawn(&arguments);
    again.wait_for("ready: every change");
    answers_stay(&again);
    assert_eq!(ask(again.dns("default"), "new.example.com."), ["NoError", "192.0.2.20"]);
    again.wait_for("belongs to Placement payments/zzz, which already held it");
    // The holder's manifest moves to another file, in one step.
    std::fs::rename(folder.path().join("pay.yaml"), folder.path().join("zz.yaml")).unwrap();
    folder.write("mark.yaml", &placement("mark", "mark.example.com", "192.0.2.30"));
    again.wait_for("mark.example.com.");
    answers_stay(&again);
    // It goes, and the next one has the name.
    std::fs::remove_file(folder.path().join("zz.yaml")).unwrap();
    let next = || ask(again.dns("default"), "pay.example.com.") == ["NoError", "192.0.2.66"];
    eventually(next, || again.output());
    again.wait_for("~ pay.example.com. 30 A 192.0.2.10 → 192.0.2.66  (Placement payments/aaa)");
    assert_eq!(again.terminate(), Some(0));
}
