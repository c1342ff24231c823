//! `up`: what it serves, what it says, and what it goes on serving whatever happens.

use std::net::{TcpListener, UdpSocket};

use rstest::rstest;

use crate::fingerpost;
use crate::folder::{Folder, IDENTITY, ZONE, record};
use crate::running::{Running, ask, eventually};

fn world() -> Folder {
    Folder::with(&[("zone.yaml", ZONE), ("www.yaml", &record("www", "192.0.2.1"))])
}

fn configuration(regions: &[&str]) -> String {
    let controllers: Vec<String> =
        regions.iter().map(|region| format!("{{name: dns-{region}, region: {region}}}")).collect();
    format!(
        "apiVersion: cluster.router.io/v1alpha1\nkind: DNSConfiguration\nmetadata: {{name: dns-config}}\n\
         spec: {{externalDNSControllers: [{}]}}\n",
        controllers.join(", ")
    )
}

#[test]
fn quickstart_answers_and_says_what_to_try() {
    let up = Running::start(&["examples/quickstart"]);
    let address = up.dns("weu");
    assert_eq!(ask(address, "www.example.org").last().unwrap(), "192.0.2.10");
    let output = up.output();
    let dig = format!("dig @127.0.0.1 -p {} ", address.port());
    assert_eq!(output.matches(&dig).count(), 3, "{output}");
    assert!(output.contains(&format!("{dig}www.example.org\n")), "{output}");
    assert!(output.contains("zone example.org."), "{output}");
}

#[test]
fn several_views_are_tried_with_a_name_that_differs() {
    let up = Running::start(&["weu=examples/regions/weu", "neu=examples/regions/neu"]);
    let name = "web-ns-p-prod-shop.apps.example.com";
    for (view, answer) in [("weu", "192.0.2.10"), ("neu", "198.51.100.10"), ("frc", "192.0.2.10")] {
        assert_eq!(ask(up.dns(view), name).last().unwrap(), answer);
        assert!(up.output().contains(&format!("-p {} {name}", up.dns(view).port())), "{}", up.output());
    }
}

#[test]
fn a_change_is_answered_and_told_in_a_line() {
    let folder = world();
    let up = Running::start(&[folder.argument()]);
    folder.write("www.yaml", &record("www", "192.0.2.2"));
    up.wait_for("~ www.example.org. 360 A 192.0.2.1 → 192.0.2.2");
    eventually(
        || ask(up.dns("default"), "www.example.org")[1] == "192.0.2.2",
        || "still the old answer".to_owned(),
    );
    std::fs::remove_file(folder.path().join("www.yaml")).unwrap();
    up.wait_for("- www.example.org. 360 A 192.0.2.2");
}

#[test]
fn a_broken_file_is_told_with_its_line_keeps_its_answers_and_is_told_to_be_well_again() {
    let folder = world();
    let up = Running::start(&[folder.argument()]);
    folder.write("www.yaml", "kind: [Record\n");
    up.wait_for(&format!("! {}:", folder.path().join("www.yaml").display()));
    assert_eq!(ask(up.dns("default"), "www.example.org"), ["NoError", "192.0.2.1"]);
    folder.write("www.yaml", &record("www", "192.0.2.1"));
    up.wait_for("✓ no longer: ");
}

#[test]
fn an_object_that_turns_invalid_keeps_its_last_valid_answers() {
    let folder = world();
    let up = Running::start(&[folder.argument()]);
    folder.write("www.yaml", &record("www", "nowhere"));
    up.wait_for("! Record dns/www: ValidationFailed: ");
    assert_eq!(ask(up.dns("default"), "www.example.org"), ["NoError", "192.0.2.1"]);
    folder.write("www.yaml", &record("www", "192.0.2.1"));
    up.wait_for("✓ Record dns/www recovered");
}

#[test]
fn a_flood_of_changes_is_summed_up() {
    let folder = world();
    let up = Running::start(&[folder.argument()]);
    let flood: String = (0..100).map(|number| record(&format!("host-{number}"), "192.0.2.9")).collect();
    folder.write("flood.yaml", &flood);
    up.wait_for("… and 80 more");
}

#[test]
fn a_folder_that_disappears_is_told_once_and_its_answers_go_on() {
    let outer = Folder::with(&[]);
    let inner = outer.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("zone.yaml"), ZONE.to_owned() + &record("www", "192.0.2.1")).unwrap();
    let up = Running::start(&[inner.to_str().unwrap()]);
    std::fs::rename(&inner, outer.path().join("elsewhere")).unwrap();
    up.wait_for("what it last held stays in force");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(up.output().matches("what it last held stays in force").count(), 1, "{}", up.output());
    assert_eq!(ask(up.dns("default"), "www.example.org"), ["NoError", "192.0.2.1"]);
}

#[test]
fn sigterm_ends_with_0_and_the_next_start_answers_without_the_folder() {
    let (folder, state) = (world(), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    folder.write("www.yaml", &record("www", "192.0.2.2"));
    up.wait_for("192.0.2.1 → 192.0.2.2");
    assert_eq!(up.terminate(), Some(0));
    std::fs::remove_dir_all(folder.path()).unwrap();
    let again = Running::spawn(&arguments);
    again.wait_for("ready: every change");
    assert_eq!(ask(again.dns("default"), "www.example.org"), ["NoError", "192.0.2.2"]);
    assert!(again.output().contains("the folder cannot be read"), "{}", again.output());
}

#[test]
fn a_gateway_that_lost_its_addresses_is_answered_as_before_also_after_a_restart() {
    let gateway = |addresses: &str| {
        format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: edge, namespace: dns}}\n\
             spec: {{gatewayClassName: any, listeners: [{{name: web, hostname: www.example.org}}]}}\n\
             status: {{addresses: [{addresses}]}}\n"
        )
    };
    let with_address = gateway("{type: IPAddress, value: 192.0.2.7}");
    let (folder, state) =
        (Folder::with(&[("zone.yaml", ZONE), ("edge.yaml", &with_address)]), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    assert_eq!(up.terminate(), Some(0));
    folder.write("edge.yaml", &gateway(""));
    let again = Running::spawn(&arguments);
    again.wait_for("ready: every change");
    assert_eq!(ask(again.dns("default"), "www.example.org"), ["NoError", "192.0.2.7"]);
}

#[test]
fn a_state_directory_in_use_is_an_error_that_says_what_to_do() {
    let (folder, state) = (world(), Folder::with(&[]));
    let first = Running::spawn(&[folder.argument(), "--state", state.argument()]);
    first.wait_for("ready: every change");
    let mut second = Running::spawn(&[folder.argument(), "--state", state.argument()]);
    assert_eq!(second.wait(), Some(1));
    second.wait_for("is in use by another fingerpost");
}

#[rstest]
#[case::dns_udp("--dns", "--http")]
#[case::http_tcp("--http", "--dns")]
fn a_port_in_use_is_an_error_that_names_it_and_the_flag(#[case] flag: &str, #[case] other: &str) {
    let (udp, tcp) = (UdpSocket::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let taken = if flag == "--dns" { udp.local_addr() } else { tcp.local_addr() }.unwrap().to_string();
    let run = fingerpost(&["up", "--no-state", "examples/quickstart", flag, &taken, other, "127.0.0.1:0"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains(&taken) && run.stderr.contains("in use"), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("with {flag}")), "{}", run.stderr);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_region_that_goes_is_refused_and_one_that_comes_gets_an_address() {
    let gone = configuration(&["weu", "neu"]);
    let folder = Folder::with(&[("zone.yaml", ZONE), ("identity.yaml", IDENTITY), ("dns.yaml", &gone)]);
    folder.write("www.yaml", &record("www", "192.0.2.1"));
    let up = Running::start(&[folder.argument()]);
    let (weu, neu) = (up.dns("weu"), up.dns("neu"));
    assert_eq!(ask(neu, "www.example.org"), ["NoError", "192.0.2.1"]);
    folder.write("dns.yaml", &configuration(&["weu", "frc"]));
    eventually(|| ask(neu, "www.example.org") == ["Refused"], || "neu still answers".to_owned());
    assert_eq!(ask(weu, "www.example.org"), ["NoError", "192.0.2.1"]);
    up.wait_for("view frc is answered on 127.0.0.1:");
}

#[test]
fn clients_of_a_class_are_answered_from_it_on_the_first_address() {
    let class = "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {name: inner}\nspec: {embedded: {clients: [127.0.0.0/8]}}\n";
    let zone = ZONE.replace("example.org.", "example.org., dnsClassRef: {name: inner}");
    let folder = Folder::with(&[
        ("class.yaml", class),
        ("zone.yaml", &zone),
        ("www.yaml", &record("www", "192.0.2.1")),
    ]);
    let up = Running::start(&[folder.argument()]);
    assert_eq!(ask(up.dns("default"), "www.example.org"), ["NoError", "192.0.2.1"]);
    assert!(up.output().contains("for clients in 127.0.0.0/8"), "{}", up.output());
}

#[rstest]
#[case("/healthz", "", 200, "ok")]
#[case("/readyz", "", 200, "ready")]
#[case("/", "text/html", 200, "<a href=\"/metrics\">")]
#[case("/", "application/json", 200, "\"/api/v1/plan\":")]
#[case("/metrics", "", 200, "fingerpost_dns_queries_total{view=\"weu\",")]
#[case("/metrics", "", 200, "fingerpost_objects{kind=\"ServiceRoute\"} 2")]
#[case("/metrics", "", 200, "fingerpost_records 8")]
#[case("/api/v1/plan", "", 200, "\"version\":2")]
#[case("/api/v1/objects", "", 200, "\"phase\":\"Active\"")]
#[case("/api/v1/recordsets?name=www.example.org", "", 200, "web-ns-p-prod-shop.example.org.")]
#[case("/api/v1/notes", "", 200, "\"condition\":\"Ready\"")]
#[case("/api/v1/explain?name=www.example.org&view=weu", "", 200, "\"resolves\":true")]
#[case("/api/v1/explain?name=www.example.org&view=mars", "", 400, "there is no view `mars`")]
#[case("/api/v1/explain?name=a..b", "", 400, "a..b")]
#[case("/api/v1/recordsets?name=a..b", "", 400, "a..b")]
#[case("/nothing", "", 404, "")]
fn http_shows(#[case] path: &str, #[case] accept: &str, #[case] status: u16, #[case] part: &str) {
    let up = Running::start(&["examples/quickstart"]);
    let (code, text) = up.get(path, accept);
    assert_eq!(code, status);
    assert!(text.contains(part), "{text}");
}

#[test]
fn plan_and_explain_ask_a_running_instance() {
    let up = Running::start(&["examples/quickstart"]);
    let url = up.url();
    let plan = fingerpost(&["plan", "--url", &url, "-o", "zone"]);
    assert!(plan.code == 0 && plan.stdout.contains("$ORIGIN example.org."), "{}{}", plan.stdout, plan.stderr);
    let same = fingerpost(&["plan", "examples/quickstart", "--against", &url]);
    assert_eq!((same.code, same.stdout.as_str()), (0, "No changes.\n"));
    let explain = fingerpost(&["explain", "www.example.org", "--url", &url]);
    assert!(
        explain.code == 0 && explain.stdout.contains("192.0.2.10"),
        "{}{}",
        explain.stdout,
        explain.stderr
    );
    let missing = fingerpost(&["explain", "missing.example.org", "--url", &url]);
    assert_eq!(missing.code, 2);
    let error = fingerpost(&["explain", "www.example.org", "--url", &url, "--view", "mars"]);
    assert!(error.code == 1 && error.stderr.contains("there is no view `mars`"), "{}", error.stderr);
}

#[test]
fn an_empty_file_is_served_as_it_was_and_reported_over_a_restart() {
    let (folder, state) = (world(), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    let report = "www.yaml: empty; delete the file to remove its 1 object";
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    std::fs::write(folder.path().join("www.yaml"), "").unwrap();
    up.wait_for(report);
    assert_eq!(ask(up.dns("default"), "www.example.org")[1], "192.0.2.1");
    up.terminate();
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    up.wait_for(report);
    assert_eq!(ask(up.dns("default"), "www.example.org")[1], "192.0.2.1");
    std::fs::remove_file(folder.path().join("www.yaml")).unwrap();
    up.wait_for("- www.example.org. 360 A 192.0.2.1");
}

#[test]
fn a_hostile_file_does_not_delay_another() {
    let bomb: String = (1..9)
        .map(|level| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", ")))
        .collect();
    let folder = world();
    let up = Running::start(&[folder.argument()]);
    folder.write("a.yaml", &format!("---\na0: &a0 [x, x, x, x]\n{bomb}").repeat(20));
    std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
    folder.write("www.yaml", &record("www", "192.0.2.2"));
    up.wait_for("~ www.example.org. 360 A 192.0.2.1 → 192.0.2.2");
    up.wait_for("its aliases expand to too much");
}

/// A DNSRecord of a class, which our own server answers.
pub(crate) fn dns_record(class: &str, address: &str) -> String {
    format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\nmetadata: {{name: shop, namespace: dns}}\n\
         spec: {{type: A, domain: example.net, subdomain: shop, values: [{address}], dnsClassRef: {{name: {class}}}}}\n"
    )
}

pub(crate) fn class(name: &str) -> String {
    format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {{name: {name}}}\n\
         spec: {{embedded: {{}}}}\n"
    )
}

const STILL_SERVED: &str = "there is no DNSClass egde; until it is created or the reference is corrected, this version \
    has no effect and the previous version is still served";

#[test]
fn an_edit_that_points_nowhere_waits_also_after_a_restart() {
    let record = dns_record("edge", "192.0.2.1");
    let (folder, state) =
        (Folder::with(&[("class.yaml", &class("edge")), ("shop.yaml", &record)]), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    folder.write("shop.yaml", &dns_record("egde", "192.0.2.2"));
    up.wait_for("! DNSRecord dns/shop: DNSClassNotFound: spec.dnsClassRef: ");
    assert!(up.output().contains(STILL_SERVED), "{}", up.output());
    assert_eq!(ask(up.dns("edge"), "shop.example.net"), ["NoError", "192.0.2.1"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    // It is killed, not asked to end.
    drop(up);
    let again = Running::spawn(&arguments);
    again.wait_for("ready: every change");
    assert!(again.output().contains(STILL_SERVED), "{}", again.output());
    assert_eq!(ask(again.dns("edge"), "shop.example.net"), ["NoError", "192.0.2.1"]);
    folder.write("egde.yaml", &class("egde"));
    again.wait_for("✓ DNSRecord dns/shop recovered");
    let output = again.output();
    let address =
        output.split("+ view egde is answered on ").nth(1).and_then(|rest| rest.split_whitespace().next());
    assert_eq!(ask(address.unwrap().parse().unwrap(), "shop.example.net"), ["NoError", "192.0.2.2"]);
}

#[test]
fn an_edit_that_points_nowhere_while_nobody_watches_waits_too() {
    let record = dns_record("edge", "192.0.2.1");
    let (folder, state) =
        (Folder::with(&[("class.yaml", &class("edge")), ("shop.yaml", &record)]), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    assert_eq!(up.terminate(), Some(0));
    folder.write("shop.yaml", &dns_record("egde", "192.0.2.2"));
    for _ in 0..2 {
        let again = Running::spawn(&arguments);
        again.wait_for("ready: every change");
        assert!(again.output().contains(STILL_SERVED), "{}", again.output());
        assert_eq!(ask(again.dns("edge"), "shop.example.net"), ["NoError", "192.0.2.1"]);
        assert_eq!(again.terminate(), Some(0));
    }
}

const BROKEN_ZONE: &str = "\
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: example-net, namespace: dns}
spec: {domainName: example.net, tll: 60}
";

#[test]
fn a_broken_zone_at_a_cold_start_is_servfail_and_denies_nothing() {
    let record = dns_record("edge", "192.0.2.1");
    let files = [("class.yaml", &*class("edge")), ("shop.yaml", &record), ("zone.yaml", BROKEN_ZONE)];
    let (folder, state) = (Folder::with(&files), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    for _ in 0..2 {
        let up = Running::spawn(&arguments);
        up.wait_for("ready: every change");
        for name in ["shop.example.net", "example.net", "no-such-name.example.net"] {
            assert_eq!(ask(up.dns("edge"), name), ["ServFail"], "{name}");
        }
        assert_eq!(ask(up.dns("edge"), "example.com"), ["Refused"]);
        assert_eq!(up.terminate(), Some(0));
    }
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    folder.write("zone.yaml", &BROKEN_ZONE.replace("tll", "ttl"));
    up.wait_for("✓ Zone dns/example-net recovered");
    assert_eq!(ask(up.dns("edge"), "shop.example.net"), ["NoError", "192.0.2.1"]);
    assert_eq!(ask(up.dns("edge"), "no-such-name.example.net"), ["NXDomain"]);
}

#[test]
fn a_broken_zone_that_comes_later_takes_no_answer_away_also_after_a_restart() {
    let record = dns_record("edge", "192.0.2.1");
    let (folder, state) =
        (Folder::with(&[("class.yaml", &class("edge")), ("shop.yaml", &record)]), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    folder.write("zone.yaml", BROKEN_ZONE);
    up.wait_for("spec.tll");
    assert_eq!(ask(up.dns("edge"), "shop.example.net"), ["NoError", "192.0.2.1"]);
    assert_eq!(up.terminate(), Some(0));
    let again = Running::spawn(&arguments);
    again.wait_for("ready: every change");
    assert_eq!(ask(again.dns("edge"), "shop.example.net"), ["NoError", "192.0.2.1"]);
}

#[rstest]
#[case::no_address(
    "ip: 192.0.2.300",
    "`192.0.2.300` in the status of Service dns/lb is not an address and is ignored"
)]
#[case::nothing("ipMode: VIP", "an entry in the status of Service dns/lb has no address and is ignored")]
fn a_load_balancer_whose_addresses_turn_bad_is_answered_as_before_also_after_a_restart(
    #[case] entry: &str,
    #[case] warning: &str,
) {
    let service = |entry: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: lb, namespace: dns}}\nspec: {{type: LoadBalancer}}\n\
             status: {{loadBalancer: {{ingress: [{{{entry}}}]}}}}\n"
        )
    };
    let placement = "apiVersion: fingerpost.dev/v1alpha1\nkind: Placement\nmetadata: {name: app, namespace: dns}\n\
        spec: {hostname: app.example.org, mode: single-region, regions: [{name: weu, ref: {kind: Service, name: lb}}]}\n";
    let files = [("zone.yaml", ZONE), ("app.yaml", placement), ("lb.yaml", &service("ip: 192.0.2.1"))];
    let (folder, state) = (Folder::with(&files), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    let up = Running::spawn(&arguments);
    up.wait_for("ready: every change");
    folder.write("lb.yaml", &service(entry));
    up.wait_for(warning);
    assert_eq!(ask(up.dns("default"), "app.example.org"), ["NoError", "192.0.2.1"]);
    assert_eq!(up.terminate(), Some(0));
    let again = Running::spawn(&arguments);
    again.wait_for("ready: every change");
    assert!(again.output().contains("the last valid addresses stay in force"), "{}", again.output());
    assert_eq!(ask(again.dns("default"), "app.example.org"), ["NoError", "192.0.2.1"]);
}

#[test]
fn a_name_without_a_grant_is_not_answered_where_grants_are_required() {
    let folder = world();
    let up = Running::start(&[folder.argument(), "--require-domain-grants"]);
    up.wait_for("! Zone dns/example-org: DomainNotGranted");
    assert_eq!(ask(up.dns("default"), "www.example.org"), ["Refused"]);
    let granted = "apiVersion: v1\nkind: Namespace\n\
                   metadata: {name: dns, annotations: {fingerpost.dev/domains: example.org}}\n";
    folder.write("namespace.yaml", granted);
    let answers = || ask(up.dns("default"), "www.example.org") == ["NoError", "192.0.2.1"];
    eventually(answers, || up.output());
}
