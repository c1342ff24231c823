//! Our server in a process of its own: the crate `server` with zones in memory, all of its features on.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use dns::{Geo, Member, Name, ProbeId, Rdata, RecordSet, Rtype, Steering, read_zone};
use ring::rand::SystemRandom;
use server::dnssec::{Algorithm, Denial, SharedSignatures, Signing, ZoneKeys};
use server::steering::{Database, GeoSource, Health, State};
use server::{
    CookieKeys, Endpoint, EndpointId, Identity, Options, RateLimit, Views, ZoneUpdate, Zones, bind,
    serve_with,
};

use crate::rows::{NAMES, PLACES, PRIMARY, Row, SECONDARY, STEERED, STEERED_TTL, WEIGHTS, address, label};
use crate::running::{self, Running, own_program};
use crate::{geo_database, zones};

/// What this program is called with to be the server.
pub(crate) const ARGUMENT: &str = "ours";
/// What the table calls it.
pub(crate) const NAME: &str = "ours";
/// The probe of the first choice of all failover names, which says down.
const DOWN: ProbeId = ProbeId(1);
/// The probe of the second choice, which says up.
const UP: ProbeId = ProbeId(2);
/// More responses a second than there are queries.
const OUT_OF_REACH: u32 = 50_000_000;

/// Starts it.
pub(crate) fn start() -> Result<Running> {
    let listen = running::address()?;
    let mut command = own_program(ARGUMENT)?;
    command.arg(listen.to_string());
    Running::start(NAME, listen, &Row::ALL, &command, None)
}

/// Serves until it is killed.
pub(crate) fn run(listen: SocketAddr) -> Result<()> {
    let zones = all_zones()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let views = Views::new();
        views.publish(|table| {
            table.views.insert("bench".to_owned(), zones);
            let endpoint = Endpoint { view: Some("bench".to_owned()), clients: Vec::new() };
            table.endpoints.insert(EndpointId(0), endpoint);
            table.synced = true;
        });
        let _serving = serve_with(options(), bind(listen).await?, EndpointId(0), views);
        std::future::pending::<()>().await;
        Ok(())
    })
}

/// Everything on: counters always are, cookies get a key, and the limit holds for loopback too.
fn options() -> Options {
    let identity = Identity { nsid: None, cookies: Some(CookieKeys::new([7; 16], Vec::new())) };
    let (per_second, octets_per_second) = (OUT_OF_REACH, u32::MAX);
    let rate_limit =
        RateLimit { per_second, octets_per_second, exempt_loopback: false, ..RateLimit::default() };
    Options { identity: Arc::new(identity), rate_limit, threads: 1, ..Options::default() }
}

fn all_zones() -> Result<Zones> {
    let health = Health::new();
    health.set(DOWN, State::Down);
    health.set(UP, State::Up);
    let geo = GeoSource::new(Vec::new(), Some(Database::read(geo_database::file())?));
    let mut all = Zones::steered_by(geo, health);
    put(&mut all, &zones::fixed())?;
    put(&mut all, &zones::plain(Row::Signed, NAMES))?;
    sign(&mut all)?;
    for row in zones::STEERED_ROWS {
        put_steered(&mut all, row)?;
    }
    Ok(all)
}

fn put(all: &mut Zones, text: &str) -> Result<()> {
    let read = read_zone("zone", text, &mut |_, name| Err(format!("no file {name}")))?;
    let (origin, soa) = (read.zone.origin().clone(), read.zone.soa());
    all.apply(ZoneUpdate::PutZone { origin, soa, base: Some(Arc::new(read.zone)) });
    Ok(())
}

fn sign(all: &mut Zones) -> Result<()> {
    let origin: Name = Row::Signed.zone().parse()?;
    let keys = ZoneKeys::create(origin.clone(), Algorithm::EcdsaP256, 0, &SystemRandom::new())?;
    let cache = SharedSignatures::new(8 * NAMES);
    let signing = Signing::new(&keys, Denial::Compact, cache).context("a new zone has keys")?;
    all.apply(ZoneUpdate::Sign { origin, signing: Some(Arc::new(signing)) });
    Ok(())
}

fn put_steered(all: &mut Zones, row: Row) -> Result<()> {
    put(all, &zones::steered(row, |number| format!("A {}", address(0, number))))?;
    let origin: Name = row.zone().parse()?;
    for number in 0..STEERED {
        let name: Name = format!("{}.{}", label(number), row.zone()).parse()?;
        let sets = vec![steered_set(row, name.clone(), number)?];
        all.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
    }
    Ok(())
}

fn steered_set(row: Row, name: Name, number: usize) -> Result<RecordSet> {
    let addresses = match row {
        Row::Weighted => (0..WEIGHTS.len()).map(|choice| address(choice, number)).collect(),
        Row::Geo => (0..=PLACES.len()).map(|choice| address(choice, number)).collect(),
        _ => vec![SECONDARY, PRIMARY],
    };
    // The set sorts its data, and the addresses are sorted already, so that positions are choices.
    let set = RecordSet::new(name, Rtype::A, STEERED_TTL, addresses.into_iter().map(Rdata::a).collect());
    Ok(RecordSet { steering: Some(Arc::new(steering(row)?)), ..set })
}

fn steering(row: Row) -> Result<Steering> {
    let one = |data, probe| Steering::All(vec![Member { data, probe }]);
    Ok(match row {
        Row::Weighted => {
            let choices = (0..).zip(WEIGHTS).map(|(data, weight)| (weight, one(data, None))).collect();
            Steering::Weighted { sticky: false, choices }
        }
        Row::Geo => {
            let place = |(data, place): (u16, &str)| Ok((place.parse::<Geo>()?, one(data, None)));
            let choices = (0..).zip(PLACES).map(place).collect::<Result<_>>()?;
            Steering::Geo { choices, default: Box::new(one(3, None)) }
        }
        _ => Steering::Failover(vec![one(1, Some(DOWN)), one(0, Some(UP))]),
    })
}
