//! Scenarios from `testdata/*.scenario`: zones, then queries with the responses they must get.
//!
//! ```text
//! case RFC 4592 section 2.2.1: a title      starts afresh, with no zones
//! zone example.                             a zone; indented lines are its records
//!   www 300 A 192.0.2.1
//! unavailable example.net. a reason         a zone whose content is not known
//! unsynced                                  the world has not been read yet
//! no view                                   the client has no view
//! nsid text                                 what the server is called
//! cookies 00112233…                         the secrets of its cookies
//! client 192.0.2.1                          where queries come from
//! now 1559731985                            the time
//! ask www.example. A edns do                a query; indented lines are its response
//!   NOERROR aa
//! send 4d3a0100…                            the octets of a message, for broken ones
//! limit www.example. A edns do              a query past the limit of its client
//! ```
//!
//! Every case runs twice: with the records as nodes and as a zone file's content. With
//! `UPDATE_SCENARIOS=1` the responses in the files are rewritten; read the difference.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use dns::Name;
use rstest::rstest;
use server::{
    Circumstances, CookieKeys, Identity, Sight, Transport, ZoneUpdate, Zones, respond, respond_limited,
};

use crate::client::{Ask, ID, octets, show};
use crate::world;

type PutZone = fn(&mut Zones, &Name, &[String]);

#[rstest]
fn scenario_responds_as_written(#[files("testdata/*.scenario")] path: PathBuf) {
    let mut text = fs::read_to_string(&path).unwrap();
    let as_nodes = played(&text, world::put_nodes);
    if std::env::var_os("UPDATE_SCENARIOS").is_some() {
        fs::write(&path, &as_nodes).unwrap();
        text.clone_from(&as_nodes);
    }
    compare(&path, "nodes", &text, &as_nodes);
    compare(&path, "a zone file", &text, &played(&text, world::put_base));
}

fn compare(path: &Path, form: &str, wanted: &str, got: &str) {
    let differs = wanted.lines().zip(got.lines()).enumerate().find(|(_, (wanted, got))| wanted != got);
    if let Some((line, (wanted, got))) = differs {
        panic!(
            "{}:{} with the records as {form}\n  wanted {wanted}\n  got    {got}",
            path.display(),
            line + 1
        );
    }
    assert_eq!(wanted, got, "{} with the records as {form}", path.display());
}

/// The scenario with the responses that it got in place of those that it wants.
fn played(text: &str, put_zone: PutZone) -> String {
    let mut stage = Stage::new(put_zone);
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut block = Vec::new();
        while let Some(inner) = lines.next_if(|line| line.starts_with("  ")) {
            block.push(inner.trim().to_owned());
        }
        let shown = stage.play(line, &block).unwrap_or(block);
        out.extend([line, "\n"]);
        shown.iter().for_each(|line| out.extend(["  ", line, "\n"]));
    }
    out
}

struct Stage {
    zones: Zones,
    synced: bool,
    view: bool,
    identity: Identity,
    client: IpAddr,
    now: u32,
    put_zone: PutZone,
}

impl Stage {
    fn new(put_zone: PutZone) -> Stage {
        let client = Ipv4Addr::LOCALHOST.into();
        let identity = Identity::default();
        Stage { zones: Zones::new(), synced: true, view: true, identity, client, now: 0, put_zone }
    }

    /// Does what a line says; gives the response where it is a query.
    fn play(&mut self, line: &str, block: &[String]) -> Option<Vec<String>> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "case" => *self = Stage::new(self.put_zone),
            "zone" => (self.put_zone)(&mut self.zones, &rest.parse().unwrap(), block),
            "unavailable" => self.unavailable(rest),
            "unsynced" => self.synced = false,
            "no" if rest == "view" => self.view = false,
            "nsid" => self.identity.nsid = Some(rest.as_bytes().into()),
            "cookies" => self.identity.cookies = CookieKeys::parse(&rest.replace(' ', "\n")).ok(),
            "client" => self.client = rest.parse().unwrap(),
            "now" => self.now = rest.parse().unwrap(),
            "ask" => return Some(self.ask(rest)),
            "limit" => return Some(self.limit(rest)),
            "send" => return Some(self.send(rest)),
            "" | "#" => {}
            other => panic!("`{other}` is not a word of scenarios"),
        }
        None
    }

    fn unavailable(&mut self, rest: &str) {
        let (origin, reason) = rest.split_once(' ').unwrap();
        let (origin, reason) = (origin.parse().unwrap(), reason.to_owned());
        self.zones.apply(ZoneUpdate::Unavailable { origin, reason });
    }

    fn around(&self, transport: Transport) -> Circumstances<'_> {
        let sight = Sight { zones: self.view.then_some(&self.zones), synced: self.synced };
        let (client, now, identity) = (self.client, self.now, &self.identity);
        let plain = Circumstances::plain(sight);
        Circumstances { client, now, identity, transport, keepalive: 100, ..plain }
    }

    fn respond(&self, query: &[u8], transport: Transport) -> Option<Vec<u8>> {
        let (mut out, around) = (vec![1, 2, 3], self.around(transport));
        let limited = respond_limited(query, around, &mut out).map(|_| out.len());
        assert!(limited.is_none_or(|length| length <= query.len()), "past the limit nothing is amplified");
        let reply = respond(query, around, &mut out)?;
        assert_eq!(reply.truncated, out[2] & 2 != 0, "the reply knows its TC bit");
        assert_eq!(reply.rcode.to_string(), show(&out)[0].split(' ').next().unwrap());
        Some(out)
    }

    fn limit(&self, rest: &str) -> Vec<String> {
        let (ask, mut out) = (Ask::parse(rest), Vec::new());
        let reply = respond_limited(&ask.octets(), self.around(ask.transport), &mut out).expect("a response");
        assert_eq!(reply.truncated, out[2] & 2 != 0, "the reply knows its TC bit");
        show(&out)
    }

    fn ask(&self, rest: &str) -> Vec<String> {
        let ask = Ask::parse(rest);
        let response = self.respond(&ask.octets(), ask.transport).expect("a response");
        assert!(response.len() <= ask.limit(), "{} octets are too many for {rest}", response.len());
        assert_eq!(response[..2], ID.to_be_bytes(), "the id of {rest} is echoed");
        assert!(response[12..].starts_with(&ask.question()), "the question of {rest} is echoed");
        show(&response)
    }

    fn send(&self, digits: &str) -> Vec<String> {
        let query = octets(&digits.split_whitespace().collect::<String>());
        let nothing = || vec!["nothing".to_owned()];
        self.respond(&query, Transport::Udp).map_or_else(nothing, |response| show(&response))
    }
}
