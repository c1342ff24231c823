//! How the time of `fingerpost check` grows with the number of Records: `cargo xtask bench check`.
//!
//! Both sizes are checked in turns, each time by a process of its own, and the shortest time of each
//! counts. Linear growth would be a ratio of 4; more than 5 fails.

use std::fmt::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Folder, fingerpost};

const SMALL: usize = 25_000;
const LARGE: usize = 100_000;
const MOST: f64 = 5.0;
const DOCUMENTS_A_FILE: usize = 100;

fn main() -> Result<()> {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [rounds] = numbers.as_slice() else {
        println!("usage: cargo xtask bench check [--rounds NUMBER]");
        return Ok(());
    };
    let rows = WORLDS.iter().map(|world| world.measure(*rounds)).collect::<Result<Vec<_>>>()?;
    println!("| Records | {SMALL} | {LARGE} | ratio |\n|---|---|---|---|");
    rows.iter().for_each(|row| println!("{}", row.line()));
    for row in &rows {
        ensure!(row.ratio() <= MOST, "{}: the ratio is {:.2}, more than {MOST}", row.name, row.ratio());
    }
    Ok(())
}

/// One kind of Records.
struct World {
    name: &'static str,
    /// The Record's spec, by its number.
    spec: fn(usize) -> String,
    /// How `check` ends.
    code: i32,
}

const WORLDS: [World; 3] = [
    World { name: "in one zone", spec: |number| spec(number, "example-org", "192.0.2.1"), code: 0 },
    World {
        name: "without their zone (a warning each)",
        spec: |number| spec(number, "none", "192.0.2.1"),
        code: 0,
    },
    World {
        name: "half of them wrong, half without their zone",
        spec: |number| match number % 2 {
            0 => spec(number, "example-org", "none"),
            _ => spec(number, "none", "192.0.2.1"),
        },
        code: 1,
    },
];

fn spec(number: usize, zone: &str, data: &str) -> String {
    format!("{{domainName: host-{number}, zoneRef: {{name: {zone}}}, type: A, rdata: {data}}}")
}

struct Row {
    name: &'static str,
    small: Duration,
    large: Duration,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.large.as_secs_f64() / self.small.as_secs_f64()
    }

    fn line(&self) -> String {
        let seconds = |time: Duration| time.as_secs_f64();
        format!(
            "| {} | {:.2} s | {:.2} s | {:.2} |",
            self.name,
            seconds(self.small),
            seconds(self.large),
            self.ratio()
        )
    }
}

impl World {
    fn measure(&self, rounds: usize) -> Result<Row> {
        let (small, large) = (self.folder(SMALL)?, self.folder(LARGE)?);
        let (mut smalls, mut larges) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            smalls.push(self.check(&small)?);
            larges.push(self.check(&large)?);
        }
        let shortest = |times: Vec<Duration>| times.into_iter().min().context("no round was asked for");
        Ok(Row { name: self.name, small: shortest(smalls)?, large: shortest(larges)? })
    }

    fn check(&self, folder: &Folder) -> Result<Duration> {
        let start = Instant::now();
        let output = Command::new(fingerpost()?).arg("check").arg(folder.path()).output()?;
        let took = start.elapsed();
        let code = output.status.code();
        ensure!(code == Some(self.code), "{}: check ended with {code:?}", self.name);
        Ok(took)
    }

    fn folder(&self, records: usize) -> Result<Folder> {
        let folder = Folder::new()?;
        folder.write("zone.yaml", ZONE)?;
        for file in 0..records / DOCUMENTS_A_FILE {
            let mut text = String::new();
            for number in file * DOCUMENTS_A_FILE..(file + 1) * DOCUMENTS_A_FILE {
                writeln!(
                    text,
                    "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {{name: host-{number}, namespace: \
                     dns}}\nspec: {}",
                    (self.spec)(number)
                )?;
            }
            folder.write(&format!("records-{file:05}.yaml"), &text)?;
        }
        Ok(folder)
    }
}

const ZONE: &str = "\
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: example-org, namespace: dns}
spec: {domainName: example.org.}
";
