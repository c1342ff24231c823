//! Every body that the typed tree of LUA records can become, loaded into a real PowerDNS and asked for with
//! `dig`, with and without a client's network, while what it checks dies and comes back.
//!
//! Which answers are right is worked out from the tree itself, by a model. Bodies for newer versions than
//! the server's are asked for too where they load: it passes over options that it does not know.

#[path = "powerdns_bodies/model.rs"]
mod model;
#[path = "powerdns_bodies/shapes.rs"]
mod shapes;

use std::net::{IpAddr, Ipv4Addr};

use backends::Entry;
use backends::powerdns::lua::{self, Expression, Program};
use backends::powerdns::{Powerdns, Version};
use dns::{RecordSet, Rtype};
use e2e::{PowerDns, Store, block_on, dig, own_address, wait_for};

use crate::powerdns_steering::server;
use crate::powerdns_steering::target::Target;
use crate::powerdns_world::{content, creations_of, name, open, write};
use model::{Client, Model};
use shapes::{HOST, PAGE_PORT, Shape, TLS_PORT};

const ZONE: &str = "bodies.test.";
/// What of the three targets is up, one after the other.
const STATES: [[bool; 3]; 6] = [
    [true, true, true],
    [false, true, true],
    [false, false, true],
    [false, false, false],
    [false, true, false],
    [true, true, true],
];
/// What `dig` is told of the client, and where that is.
const CLIENTS: [Client; 5] = [
    Client { options: "", place: None },
    Client { options: " +subnet=16.9.0.0/24", place: Some(0) },
    Client { options: " +subnet=17.9.0.0/24", place: Some(1) },
    Client { options: " +subnet=18.9.9.0/24", place: Some(2) },
    Client { options: " +subnet=2001:db8:9::/56", place: None },
];

/// The targets, each up or not.
struct Targets {
    addresses: [Ipv4Addr; 3],
    running: [Option<[Target; 2]>; 3],
}

impl Targets {
    fn new() -> Targets {
        let address = || match own_address() {
            IpAddr::V4(address) => address,
            IpAddr::V6(_) => panic!("our own addresses are IPv4"),
        };
        Targets { addresses: [address(), address(), address()], running: [None, None, None] }
    }

    fn set(&mut self, state: [bool; 3]) {
        for ((address, running), is_up) in self.addresses.iter().zip(&mut self.running).zip(state) {
            let start = || {
                let page = Target::start((*address, PAGE_PORT).into(), HOST);
                [page, Target::start_tls((*address, TLS_PORT).into(), HOST)]
            };
            match (is_up, running.is_some()) {
                (true, false) => *running = Some(start()),
                (false, _) => *running = None,
                (true, true) => {}
            }
        }
    }

    /// The same targets by IPv6: a connection to an IPv4 address that is written so is one by IPv4.
    fn of(&self, rtype: Rtype) -> [IpAddr; 3] {
        self.addresses.map(|address| match rtype {
            Rtype::A => address.into(),
            _ => address.to_ipv6_mapped().into(),
        })
    }
}

/// The shapes of both types at each name, as one set of LUA records.
fn entries(shapes: &[[Shape; 2]]) -> Vec<Entry> {
    let entry = |(at, [four, six]): (usize, &[Shape; 2])| {
        let answers = [(Rtype::A, &four.expression), (Rtype::AAAA, &six.expression)];
        let program = Program::new(answers, four.version);
        let program = program.unwrap_or_else(|error| panic!("{}: {error}", four.title));
        program.at(name(&format!("l{at:03}.{ZONE}")), 30)
    };
    shapes.iter().enumerate().map(entry).collect()
}

fn sets_of(entries: &[Entry]) -> Vec<RecordSet> {
    entries.iter().map(|entry| entry.set.clone()).collect()
}

fn loaded(server: &PowerDns, shapes: &[[Shape; 2]]) -> Powerdns {
    let provider = server.provider().unwrap();
    open(&provider, ZONE).unwrap();
    let entries = entries(shapes);
    write(&provider, &creations_of(ZONE, &entries));
    assert_eq!(content(&provider, ZONE), sets_of(&entries), "what was written is read back");
    provider
}

/// Waits until what `dig` shows is right.
fn expect(server: &PowerDns, number: usize, rtype: &str, shape: &Shape, client: &Client, model: &Model) {
    let right = model.answers(&shape.expression, client);
    let question = format!("l{number:03}.{ZONE} {rtype}{}", client.options);
    let mut last = None;
    let seen = wait_for(&question, || {
        let answer = dig(server.dns(), &question)?;
        let is_right = right.contains(&answer.data(rtype));
        last = Some(answer);
        Ok(is_right.then_some(()))
    });
    if let Err(error) = seen {
        let (title, up) = (&shape.title, model.up);
        panic!("{title}: {question} with {up:?} up is none of {right:?} but {last:?}: {error}");
    }
}

/// Which clients ask in a state: all where there is nothing to check, which is done once; else those who
/// tell nothing of themselves, and two others in turn.
fn clients(number: usize, state: usize, expression: &Expression) -> Vec<&'static Client> {
    match (model::is_checked(expression), state) {
        (false, 0) => CLIENTS.iter().collect(),
        (false, _) => Vec::new(),
        (true, _) => {
            [0, 1 + (number + state) % 4, 1 + (number + state + 2) % 4].map(|at| &CLIENTS[at]).into()
        }
    }
}

#[test]
fn every_body_answers_as_its_tree_says_while_targets_die_and_come_back() {
    let mut targets = Targets::new();
    let homes: Vec<_> = targets.addresses.into_iter().zip(0..).collect();
    let (server, _database) = server(Store::Lmdb, &homes);
    let version: Version = block_on(server.provider().unwrap().version()).unwrap().unwrap();
    let [four, six] = [Rtype::A, Rtype::AAAA].map(|rtype| shapes::all(targets.of(rtype), version));
    let shapes: Vec<[Shape; 2]> = four.into_iter().zip(six).map(|(four, six)| [four, six]).collect();
    targets.set(STATES[0]);
    loaded(&server, &shapes);
    for (state, up) in STATES.into_iter().enumerate() {
        targets.set(up);
        let model = Model { targets: targets.addresses, up, version };
        for (number, pair) in shapes.iter().enumerate() {
            for (rtype, shape) in ["A", "AAAA"].into_iter().zip(pair) {
                for client in clients(number, state, &shape.expression) {
                    expect(&server, number, rtype, shape, client, &model);
                }
            }
        }
    }
}

/// The longest body of each large shape that is written.
fn longest(version: Version) -> Vec<Shape> {
    let fits = |shape: &Shape| lua::record(Rtype::A, &shape.expression, version).is_ok();
    let of = |at: usize| (1..).map(move |step| shapes::large(step * 10, version).remove(at)).take_while(fits);
    (0..shapes::large(1, version).len()).filter_map(|at| of(at).last()).collect()
}

#[test]
fn a_body_as_long_as_we_write_one_is_answered() {
    let version = Version { major: 4, minor: 7 };
    let shapes = longest(version);
    assert_eq!(shapes.len(), 6);
    let entry = |(at, shape): (usize, &Shape)| {
        let program = Program::new([(Rtype::A, &shape.expression)], version).unwrap();
        program.at(name(&format!("l{at:03}.{ZONE}")), 30)
    };
    let entries: Vec<Entry> = shapes.iter().enumerate().map(entry).collect();
    let model = Model { targets: [Ipv4Addr::UNSPECIFIED; 3], up: [false; 3], version };
    for store in Store::ALL {
        let (server, _database) = server(store, &[]);
        let provider = server.provider().unwrap();
        open(&provider, ZONE).unwrap();
        write(&provider, &creations_of(ZONE, &entries));
        assert_eq!(content(&provider, ZONE), sets_of(&entries), "{store:?}");
        for (number, shape) in shapes.iter().enumerate() {
            expect(&server, number, "A", shape, &CLIENTS[0], &model);
        }
    }
}
