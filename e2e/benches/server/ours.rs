//! Our server in a process of its own: the crate `server` with zones in memory, all of its features on.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use dns::{Geo, Member, Name, ProbeId, Rdata, RecordSet, Rtype, Steering, read_zone};
use server::{Endpoint, EndpointId, Limits, Views, ZoneUpdate, Zones, bind, serve_with};

use crate::rows::{PLACES, PRIMARY, Row, SECONDARY, STEERED, STEERED_TTL, WEIGHTS, address, label};
use crate::running::{self, Running, own_program};
use crate::zones;

/// What this program is called with to be the server.
pub(crate) const ARGUMENT: &str = "ours";
/// The probe of the first choice of all failover names, which says down.
const DOWN: ProbeId = ProbeId(1);
/// The probe of the second choice, which says up.
const UP: ProbeId = ProbeId(2);

/// Starts it.
pub(crate) fn start() -> Result<Running> {
    let listen = running::address()?;
    let mut command = own_program(ARGUMENT)?;
    command.arg(listen.to_string());
    Running::start("ours", listen, &Row::ALL, &command, None)
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
        let _serving = serve_with(Limits::default(), bind(listen).await?, EndpointId(0), views);
        std::future::pending::<()>().await;
        Ok(())
    })
}

fn all_zones() -> Result<Zones> {
    let mut all = Zones::new();
    put(&mut all, &zones::fixed())?;
    for row in zones::STEERED_ROWS {
        put(&mut all, &zones::steered(row, |number| format!("A {}", address(0, number))))?;
        let origin: Name = row.zone().parse()?;
        for number in 0..STEERED {
            let name: Name = format!("{}.{}", label(number), row.zone()).parse()?;
            let sets = vec![steered_set(row, name.clone(), number)?];
            all.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
        }
    }
    Ok(all)
}

fn put(all: &mut Zones, text: &str) -> Result<()> {
    let read = read_zone("zone", text, &mut |_, name| Err(format!("no file {name}")))?;
    let (origin, soa) = (read.zone.origin().clone(), read.zone.soa());
    all.apply(ZoneUpdate::PutZone { origin, soa, base: Some(Arc::new(read.zone)) });
    Ok(())
}

fn steered_set(row: Row, name: Name, number: usize) -> Result<RecordSet> {
    let addresses = match row {
        Row::Weighted => (0..WEIGHTS.len()).map(|choice| address(choice, number)).collect(),
        Row::Geo => (0..=PLACES.len()).map(|choice| address(choice, number)).collect(),
        _ => vec![SECONDARY, PRIMARY],
    };
    let data = addresses.into_iter().map(Rdata::a).collect();
    // The data is sorted, as the addresses already are, so that positions are choices.
    let set = RecordSet::new(name, Rtype::A, STEERED_TTL, data);
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
