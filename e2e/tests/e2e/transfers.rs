//! Zones to real secondaries, which then answer the same as we do.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result, ensure};
use e2e::{
    BACKEND_PORT, Backend, Folder, Options, Secondary, SecondaryPlace, SecondaryProgram, TRANSFER_SECRET, Up,
    call, dig, eventually, own_address, wait_for,
};

const ZONE: &str = "$ORIGIN example.org.\n$TTL 60\n\
    @ SOA ns noc 1 3600 600 86400 300\n@ NS ns\n@ MX 10 mail\nns A 192.0.2.53\nmail A 192.0.2.25\nmail AAAA 2001:db8::25\n\
    www CNAME web\nweb A 192.0.2.80\n*.wild TXT \"any\" \"thing\"\nsub NS ns.sub\nns.sub A 192.0.2.99\n\
    old DNAME new.example.net.\n_sip._tcp SRV 1 2 5060 web\n\
    long TXT \"a zone remembers no more steps than it is long itself, so a short one would have to be sent whole\"\n\
    longer TXT \"this one therefore has some text that nobody needs for anything else, and that makes it longer still\"\n";

/// A folder with a class whose zones these secondaries may have.
fn folder(secondaries: &[SocketAddr], tsig: bool) -> Result<Folder> {
    let folder = Folder::new()?;
    let notify: Vec<String> = secondaries.iter().map(|address| format!("\"{address}\"")).collect();
    let key = "tsig: [{name: transfer, algorithm: hmac-sha256, secretRef: {name: transfer, key: secret}}]";
    let class = format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {{name: edge}}\nspec:\n  embedded:\n\
         \x20   transfer:\n      to: [127.0.0.0/8]\n      notify: [{}]\n      {}\n\
         ---\napiVersion: v1\nkind: Secret\nmetadata: {{name: transfer, namespace: dns}}\n\
         stringData: {{secret: {TRANSFER_SECRET}}}\n",
        notify.join(", "),
        if tsig { key } else { "" }
    );
    folder.write("class.yaml", &class)?;
    folder.write("example.org.zone", ZONE)?;
    Ok(folder)
}

/// An object of the plan in the zone, so that it has nodes over its file.
fn record(name: &str, address: &str) -> String {
    format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\n\
         metadata: {{name: {name}, namespace: dns}}\n\
         spec: {{domain: example.org, subdomain: {name}, type: A, values: [{address}], dnsClassRef: {{name: edge}}}}\n"
    )
}

fn counted(up: &Up, name: &str, result: &str) -> Result<u64> {
    let metrics = up.get("/metrics")?;
    let prefix = format!("fingerpost_{name}_total{{result=\"{result}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&prefix)).context("no such counter")?;
    Ok(line.parse()?)
}

fn start(programs: &[SecondaryProgram]) -> Result<(Up, Folder, Vec<Secondary>)> {
    let places: Vec<SecondaryPlace> =
        programs.iter().map(|program| SecondaryPlace::new(*program)).collect::<Result<_>>()?;
    let addresses: Vec<SocketAddr> = places.iter().map(SecondaryPlace::dns).collect();
    let folder = folder(&addresses, true)?;
    let up = Up::start(Options::folder(folder.path()))?;
    let secondaries = places.into_iter().map(|place| place.start(up.dns(0))).collect::<Result<_>>()?;
    Ok((up, folder, secondaries))
}

/// Waits until a secondary answers a question as the primary does.
fn agrees(up: &Up, secondary: &Secondary, question: &str) -> Result<()> {
    let agreed = wait_for("the secondary to agree", || {
        let (ours, theirs) = (dig(up.dns(0), question)?, dig(secondary.dns(), question)?);
        ensure!(
            ours.status == theirs.status && sorted(&ours.answer) == sorted(&theirs.answer),
            "{question}: {ours:?} against {theirs:?}"
        );
        Ok(Some(()))
    });
    agreed.with_context(|| format!("{:?} said:\n{}", secondary.program(), secondary.output()))
}

fn sorted(lines: &[String]) -> BTreeSet<String> {
    lines.iter().map(|line| line.to_lowercase()).collect()
}

/// The records of a transfer as `dig` prints them; `question` is what one would type.
fn transfer(server: SocketAddr, question: &str) -> Result<Vec<String>> {
    let (at, port) = (format!("@{}", server.ip()), server.port().to_string());
    let mut arguments = vec![at.as_str(), "-p", &port, "+noall", "+answer"];
    arguments.extend(question.split(' '));
    let output = call("dig", "bind9-dnsutils", &arguments)?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(!text.contains("Transfer failed") && !text.contains("Couldn't verify"), "{text}");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = text.lines().filter(|line| !line.starts_with(';') && !line.is_empty()).map(words);
    let records: Vec<String> = lines.filter(|line| !line.contains(" TSIG ")).collect();
    ensure!(!records.is_empty(), "nothing came: {text}");
    Ok(records)
}

/// A transfer with the key; the SOA is told once.
pub(crate) fn axfr(server: SocketAddr, zone: &str) -> Result<Vec<String>> {
    transfer(server, &format!("-y hmac-sha256:transfer:{TRANSFER_SECRET} +onesoa {zone} AXFR"))
}

fn serial(server: SocketAddr) -> Result<u32> {
    let soa = dig(server, "example.org SOA")?;
    let data = soa.data("SOA").pop().context("no SOA")?;
    Ok(data.split(' ').nth(2).context("no serial")?.parse()?)
}

#[test]
fn knot_nsd_and_bind_have_the_zone_follow_it_in_steps_and_answer_the_same() -> Result<()> {
    let programs = [SecondaryProgram::Knot, SecondaryProgram::Nsd, SecondaryProgram::Bind];
    let (up, folder, secondaries) = start(&programs)?;
    for secondary in &secondaries {
        agrees(&up, secondary, "example.org SOA")?;
    }
    let (first, whole) = (serial(up.dns(0))?, counted(&up, "transfers", "whole")?);
    folder.write("record.yaml", &record("added", "192.0.2.7"))?;
    eventually(|| dig(up.dns(0), "added.example.org A").is_ok_and(|reply| reply.status == "NOERROR"))?;
    for secondary in &secondaries {
        agrees(&up, secondary, "added.example.org A")?;
    }
    folder.replace("example.org.zone", "web A 192.0.2.80", "web A 192.0.2.81")?;
    eventually(|| dig(up.dns(0), "web.example.org A").is_ok_and(|reply| reply.data("A") == ["192.0.2.81"]))?;
    for secondary in &secondaries {
        agrees(&up, secondary, "web.example.org A")?;
    }
    ensure!(counted(&up, "transfers", "whole")? == whole, "{}", up.get("/metrics")?);
    ensure!(counted(&up, "transfers", "steps")? >= 6, "{}", up.get("/metrics")?);
    ensure!(counted(&up, "notifies", "answered")? >= 6, "{}", up.get("/metrics")?);
    let records = axfr(up.dns(0), "example.org")?;
    ensure!(records.len() == 16, "{records:#?}");
    for record in &records {
        let mut words = record.split(' ');
        let (name, rtype) = (words.next().unwrap_or_default(), words.nth(2).unwrap_or_default());
        for secondary in &secondaries {
            agrees(&up, secondary, &format!("{} {rtype}", name.replace('*', "some")))?;
            agrees(&up, secondary, &format!("gone.{name} A"))?;
        }
    }
    let steps = kdig_ixfr(up.dns(0), first)?;
    ensure!(steps.contains("192.0.2.80") && steps.contains("192.0.2.81"), "both sides of the step: {steps}");
    ensure!(!steps.contains("192.0.2.25"), "and nothing that stayed: {steps}");
    Ok(())
}

fn kdig_ixfr(server: SocketAddr, serial: u32) -> Result<String> {
    let (at, port) = (format!("@{}", server.ip()), server.port().to_string());
    let (key, ixfr) = (format!("hmac-sha256:transfer:{TRANSFER_SECRET}"), format!("IXFR={serial}"));
    let output =
        call("kdig", "knot-dnsutils", &[&at, "-p", &port, "-y", &key, "example.org", &ixfr, "+tcp"])?;
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn knot_and_bind_follow_zones_that_come_and_go_by_the_catalog() -> Result<()> {
    let (up, folder, secondaries) = start(&[SecondaryProgram::Knot, SecondaryProgram::Bind])?;
    for secondary in &secondaries {
        agrees(&up, secondary, "example.org SOA")?;
    }
    folder.write("second.org.zone", &ZONE.replace("example.org", "second.org"))?;
    eventually(|| dig(up.dns(0), "web.second.org A").is_ok_and(|reply| reply.status == "NOERROR"))?;
    for secondary in &secondaries {
        agrees(&up, secondary, "web.second.org A")?;
    }
    std::fs::remove_file(folder.path().join("second.org.zone"))?;
    eventually(|| dig(up.dns(0), "web.second.org A").is_ok_and(|reply| reply.status == "REFUSED"))?;
    for secondary in &secondaries {
        agrees(&up, secondary, "web.second.org A")?;
        agrees(&up, secondary, "web.example.org A")?;
    }
    let catalog = "catalog.edge.fingerpost.invalid";
    ensure!(axfr(up.dns(0), catalog)?.iter().any(|line| line.ends_with("PTR example.org.")));
    ensure!(dig(up.dns(0), &format!("{catalog} SOA"))?.status == "REFUSED", "strangers do not see it");
    Ok(())
}

#[test]
fn who_has_no_key_or_another_address_is_refused() -> Result<()> {
    let folder = folder(&[], true)?;
    let up = Up::start(Options::folder(folder.path()))?;
    eventually(|| axfr(up.dns(0), "example.org").is_ok())?;
    ensure!(transfer(up.dns(0), "example.org AXFR").is_err(), "without a signature");
    let wrong = format!("-y hmac-sha256:other:{TRANSFER_SECRET} example.org AXFR");
    ensure!(transfer(up.dns(0), &wrong).is_err(), "with a key that is not ours");
    let signed = format!("-y hmac-sha256:transfer:{TRANSFER_SECRET} example.org SOA");
    ensure!(dig(up.dns(0), &signed)?.status == "NOERROR");
    folder.replace("class.yaml", "127.0.0.0/8", "192.0.2.0/24")?;
    eventually(|| axfr(up.dns(0), "example.org").is_err())?;
    folder.replace("class.yaml", "192.0.2.0/24", "127.0.0.0/8")?;
    eventually(|| axfr(up.dns(0), "example.org").is_ok())?;
    folder.replace("class.yaml", "{name: transfer, namespace: dns}", "{name: renamed, namespace: dns}")?;
    eventually(|| axfr(up.dns(0), "example.org").is_err())?;
    ensure!(dig(up.dns(0), "web.example.org A")?.status == "NOERROR", "answers go on");
    up.wait_for_output("the Secret transfer is not there")
}

#[test]
fn a_change_during_a_restart_goes_out_as_a_step() -> Result<()> {
    let folder = folder(&[], false)?;
    let (state, address) = (tempfile::tempdir()?, own_address());
    let options = || Options::folder(folder.path()).state(state.path()).address(address);
    let up = Up::start(options())?;
    let first = serial(up.dns(0))?;
    eventually(|| transfer(up.dns(0), "example.org AXFR").is_ok())?;
    drop(up);
    folder.replace("example.org.zone", "web A 192.0.2.80", "web A 192.0.2.81")?;
    let up = Up::start(options())?;
    let steps = wait_for("the step", || {
        let steps = transfer(up.dns(0), &format!("example.org IXFR={first}"))?;
        Ok(steps.iter().any(|line| line.contains("192.0.2.81")).then_some(steps))
    })?;
    ensure!(steps.len() == 6, "{steps:#?}");
    Ok(())
}

#[test]
fn a_zone_of_100k_records_reaches_all_and_its_change_is_a_step() -> Result<()> {
    let programs = [SecondaryProgram::Knot, SecondaryProgram::Nsd, SecondaryProgram::Bind];
    let places: Vec<SecondaryPlace> =
        programs.iter().map(|program| SecondaryPlace::new(*program)).collect::<Result<_>>()?;
    let addresses: Vec<SocketAddr> = places.iter().map(SecondaryPlace::dns).collect();
    let folder = folder(&addresses, true)?;
    let many: String =
        (0..100_000).map(|at| format!("h{at} A 10.{}.{}.{}\n", at >> 16, at >> 8 & 255, at & 255)).collect();
    folder.write("example.org.zone", &format!("{ZONE}{many}"))?;
    let up = Up::start(Options::folder(folder.path()))?;
    let secondaries: Vec<Secondary> =
        places.into_iter().map(|place| place.start(up.dns(0))).collect::<Result<_>>()?;
    for secondary in &secondaries {
        agrees(&up, secondary, "h99999.example.org A")?;
    }
    ensure!(axfr(up.dns(0), "example.org")?.len() == 100_000 + 15);
    let whole = counted(&up, "transfers", "whole")?;
    folder.replace("example.org.zone", "web A 192.0.2.80", "web A 192.0.2.81")?;
    eventually(|| dig(up.dns(0), "web.example.org A").is_ok_and(|reply| reply.data("A") == ["192.0.2.81"]))?;
    for secondary in &secondaries {
        agrees(&up, secondary, "web.example.org A")?;
    }
    ensure!(counted(&up, "transfers", "whole")? == whole, "{}", up.get("/metrics")?);
    ensure!(counted(&up, "transfers", "steps")? >= 3, "{}", up.get("/metrics")?);
    Ok(())
}

/// A Placement that is probed quickly: the second address is for when the first is dead.
fn placement(addresses: [IpAddr; 2]) -> String {
    let [first, second] = addresses;
    format!(
        "apiVersion: fingerpost.dev/v1alpha1\nkind: Placement\nmetadata: {{name: app, namespace: dns}}\nspec:\n\
         \x20 hostname: app.example.org\n  mode: active-hotstandby\n  dnsClassRef: {{name: edge}}\n\
         \x20 healthCheck: {{protocol: TCP, port: {BACKEND_PORT}, interval: 200ms, failures: 1, successes: 1}}\n\
         \x20 regions:\n  - {{name: weu, addresses: [{first}]}}\n  - {{name: neu, addresses: [{second}]}}\n"
    )
}

/// Waits until every one of these servers sends clients to an address.
fn send_to(servers: &[SocketAddr], address: IpAddr) -> Result<()> {
    servers.iter().try_for_each(|server| {
        wait_for(&format!("{server} to send clients to {address}"), || {
            let answer = dig(*server, "app.example.org A")?.data("A");
            ensure!(answer == [address.to_string()], "{answer:?}");
            Ok(Some(()))
        })
    })
}

#[test]
fn secondaries_leave_a_dead_backend_and_come_back_to_it() -> Result<()> {
    let (up, folder, secondaries) = start(&[SecondaryProgram::Knot, SecondaryProgram::Nsd])?;
    let servers: Vec<SocketAddr> = secondaries.iter().map(Secondary::dns).chain([up.dns(0)]).collect();
    let addresses = [own_address(), own_address()];
    let (first, _second) = (Backend::silent(addresses[0])?, Backend::silent(addresses[1])?);
    folder.write("placement.yaml", &placement(addresses))?;
    send_to(&servers, addresses[0])?;
    let before = serial(up.dns(0))?;
    first.kill();
    send_to(&servers, addresses[1])?;
    ensure!(serial(up.dns(0))? > before, "{before}");
    let _first = Backend::silent(addresses[0])?;
    send_to(&servers, addresses[0])
}

#[test]
fn a_restart_while_a_backend_is_dead_leads_no_secondary_back_to_it() -> Result<()> {
    let programs = [SecondaryProgram::Knot, SecondaryProgram::Nsd, SecondaryProgram::Bind];
    let places: Vec<SecondaryPlace> = programs.into_iter().map(SecondaryPlace::new).collect::<Result<_>>()?;
    let servers: Vec<SocketAddr> = places.iter().map(SecondaryPlace::dns).collect();
    let (folder, state, address) = (folder(&servers, true)?, tempfile::tempdir()?, own_address());
    let addresses = [own_address(), own_address()];
    let (first, _second) = (Backend::silent(addresses[0])?, Backend::silent(addresses[1])?);
    folder.write("placement.yaml", &placement(addresses))?;
    let options = || Options::folder(folder.path()).state(state.path()).address(address);
    let up = Up::start(options())?;
    let secondaries: Vec<Secondary> =
        places.into_iter().map(|place| place.start(up.dns(0))).collect::<Result<_>>()?;
    send_to(&servers, addresses[0])?;
    first.kill();
    send_to(&servers, addresses[1])?;
    let before = serial(up.dns(0))?;
    drop(up);
    let up = Up::start(options())?;
    let followed = wait_for("the secondaries to follow", || {
        let now = serial(up.dns(0))?;
        ensure!(now > before, "what {before} stood for is not known any more");
        let behind = servers.iter().filter(|server| serial(**server).is_ok_and(|serial| serial != now));
        ensure!(behind.count() == 0, "not all have {now}");
        Ok(Some(()))
    });
    followed.with_context(|| secondaries.iter().map(Secondary::output).collect::<String>())?;
    for server in &servers {
        assert_eq!(dig(*server, "app.example.org A")?.data("A"), [addresses[1].to_string()], "{server}");
    }
    Ok(())
}
