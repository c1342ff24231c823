//! Three regions and a witness, each on a host of its own, and every cut between them: whatever cannot reach
//! whatever, no two regions hold the lease, and every region's server has an answer.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Etcd, Folder, Network, Process, dig_with, fingerpost, wait_for_within};
use serde_json::Value;

const REGIONS: [&str; 3] = ["weu", "neu", "eus"];
const WITNESS: usize = 3;
/// How long each cut lasts: longer than the lease.
const CUT: Duration = Duration::from_secs(4);
/// Between two looks, so that other tests get their turn.
const PAUSE: Duration = Duration::from_millis(100);

struct Region {
    host: usize,
    // Held so that folder and process stay.
    _folder: Folder,
    _state: tempfile::TempDir,
    process: Process,
}

impl Region {
    fn start(network: &Network, host: usize) -> Result<Region> {
        let (folder, state) = (Folder::new()?, tempfile::tempdir()?);
        folder.write("web.yaml", &placement(network, host))?;
        let mut command = network.command(host, &fingerpost()?);
        command.arg("up").arg(folder.path()).arg("--state").arg(state.path());
        command.args(["--dns", &format!("{}:5300", network.address(host)), "--http", "127.0.0.1:8053"]);
        let process = Process::start(&format!("`up` of {}", REGIONS[host]), &command)?;
        Ok(Region { host, _folder: folder, _state: state, process })
    }

    fn lease(&self, network: &Network) -> Result<Value> {
        const ASK: &str = "exec 3<>/dev/tcp/127.0.0.1/8053
            printf 'GET /api/v1/leases/apps/web HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3
            cat <&3";
        let output = output(network.command(self.host, Path::new("bash")).args(["-c", ASK]))?;
        let (_, body) = output.split_once("\r\n\r\n").with_context(|| format!("no answer: {output}"))?;
        serde_json::from_str(body).with_context(|| body.to_owned())
    }

    /// An answer; dig may have to wait for its turn on a busy machine.
    fn answer(&self, network: &Network) -> Result<Vec<String>> {
        let mut command = network.command(self.host, Path::new("dig"));
        let server = format!("{}:5300", network.address(self.host)).parse()?;
        let dig = dig_with(&mut command, server, "app.example.org A +tries=5")?;
        ensure!(dig.status == "NOERROR", "{} answers {}", REGIONS[self.host], dig.status);
        Ok(dig.data("A"))
    }
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn placement(network: &Network, host: usize) -> String {
    let region = |(number, name): (usize, &&str)| {
        format!("  - name: {name}\n    addresses: [{}]\n", network.address(number))
    };
    let regions: String = REGIONS.iter().enumerate().map(region).collect();
    format!(
        "apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {{name: web, namespace: apps}}
spec:
  hostname: app.example.org
  mode: active-hotstandby
  regions:
{regions}  healthCheck: {{protocol: TCP, port: 5300, interval: 500ms, timeout: 400ms, failures: 2, successes: 1}}
  witness:
    etcd: {{endpoints: ['http://{}:2379']}}
    region: {}
    lease: 3s
    renew: 500ms
",
        network.address(WITNESS),
        REGIONS[host]
    )
}

/// Two looks at all regions, one after the other.
struct Looks([Vec<Value>; 2]);

impl Looks {
    fn take(network: &Network, regions: &[Region]) -> Result<Looks> {
        let look = || regions.iter().map(|region| region.lease(network)).collect::<Result<Vec<_>>>();
        Ok(Looks([look()?, look()?]))
    }

    /// Two regions that surely held the lease at one moment: one of them before and after the other, with
    /// one and the same generation. Regions are looked at in order, so that the second look at the first of
    /// two lies between the two at the second.
    fn two_holders(&self) -> Option<(usize, usize)> {
        let Looks([first, second]) = self;
        let held = |lease: &Value| lease["held"] == true;
        let all_along = |one: usize| {
            held(&first[one]) && held(&second[one]) && first[one]["generation"] == second[one]["generation"]
        };
        let pairs = (0..first.len()).flat_map(|one| (one + 1..first.len()).map(move |other| (one, other)));
        pairs.into_iter().find(|(one, other)| {
            all_along(*one) && held(&first[*other]) || all_along(*other) && held(&second[*one])
        })
    }
}

#[test]
fn in_every_cut_at_most_one_region_holds_the_lease_and_all_answer() -> Result<()> {
    let network = Network::mesh(REGIONS.len() + 1)?;
    let _etcd = Etcd::on(&network, WITNESS)?;
    let regions: Vec<Region> =
        (0..REGIONS.len()).map(|host| Region::start(&network, host)).collect::<Result<_>>()?;
    agree(&network, &regions).context("at the start")?;
    let links = network.links();
    let mut before = 0_usize;
    for step in 1..1_usize << links.len() {
        // Gray's code: from one cut to the next one link changes, so every cut comes once.
        let cuts = step ^ (step >> 1);
        let changed = (cuts ^ before).trailing_zeros() as usize;
        network.set(links[changed], cuts & (1 << changed) == 0)?;
        before = cuts;
        endure(&network, &regions).with_context(|| told(&links, cuts, &regions))?;
    }
    for (number, link) in links.iter().enumerate().filter(|(number, _)| before & (1 << number) != 0) {
        network.set(*link, true).with_context(|| format!("link {number}"))?;
    }
    agree(&network, &regions).context("after all cuts were mended")
}

#[test]
fn a_cut_in_one_way_only_makes_no_second_holder_either() -> Result<()> {
    let network = Network::mesh(REGIONS.len() + 1)?;
    let _etcd = Etcd::on(&network, WITNESS)?;
    let regions: Vec<Region> =
        (0..REGIONS.len()).map(|host| Region::start(&network, host)).collect::<Result<_>>()?;
    agree(&network, &regions).context("at the start")?;
    for cut in one_way_cuts(&network) {
        cut.iter().try_for_each(|way| network.set_way(*way, false))?;
        endure(&network, &regions).with_context(|| told(&cut, usize::MAX, &regions))?;
        cut.iter().try_for_each(|way| network.set_way(*way, true))?;
    }
    agree(&network, &regions).context("after all cuts were mended")
}

/// Every single way, and every host that nobody hears or that hears nobody.
fn one_way_cuts(network: &Network) -> Vec<Vec<(usize, usize)>> {
    let ways = network.ways();
    let hosts = 0..=WITNESS;
    let unheard = hosts.clone().map(|host| ways.iter().filter(|way| way.0 == host).copied().collect());
    let deaf = hosts.map(|host| ways.iter().filter(|way| way.1 == host).copied().collect());
    ways.iter().map(|way| vec![*way]).chain(unheard).chain(deaf).collect()
}

#[test]
fn two_regions_that_held_the_lease_at_one_moment_are_noticed_in_either_order() {
    let lease = |held: bool, generation: u64| serde_json::json!({ "held": held, "generation": generation });
    let (yes, no) = (|| lease(true, 1), || lease(false, 1));
    let two = |first: [Value; 2], second: [Value; 2]| Looks([first.to_vec(), second.to_vec()]).two_holders();
    assert_eq!(two([yes(), yes()], [yes(), no()]), Some((0, 1)), "the first all along");
    assert_eq!(two([no(), yes()], [yes(), yes()]), Some((0, 1)), "the second all along");
    assert_eq!(two([yes(), no()], [no(), yes()]), None, "one after the other");
    assert_eq!(two([no(), yes()], [yes(), lease(true, 2)]), None, "it was another's in between");
}

fn told(links: &[(usize, usize)], cuts: usize, regions: &[Region]) -> String {
    let cut: Vec<_> = links.iter().enumerate().filter(|(number, _)| cuts & (1 << number) != 0).collect();
    let said: Vec<String> = regions.iter().map(|region| region.process.output()).collect();
    format!("with the links {cut:?} cut; the regions said {said:#?}")
}

/// Looks for as long as a cut lasts.
fn endure(network: &Network, regions: &[Region]) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < CUT {
        let looks = Looks::take(network, regions)?;
        ensure!(looks.two_holders().is_none(), "two holders: {:#?}", looks.0);
        for region in regions {
            ensure!(!region.answer(network)?.is_empty(), "{} has an empty answer", REGIONS[region.host]);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Waits until one region holds the lease and all send their clients there.
fn agree(network: &Network, regions: &[Region]) -> Result<()> {
    let mut last = Vec::new();
    let agreed = wait_for_within(Duration::from_secs(180), "the regions to agree", || {
        last = regions.iter().map(|region| region.lease(network)).collect::<Result<Vec<_>>>()?;
        let holders: Vec<&Value> = last.iter().filter(|lease| lease["held"] == true).collect();
        let [holder] = holders[..] else { return Ok(None) };
        Ok(last.iter().all(|lease| lease["active"] == holder["region"]).then_some(()))
    });
    agreed.with_context(|| format!("{last:#?}"))
}
