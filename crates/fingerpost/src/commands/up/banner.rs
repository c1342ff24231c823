//! What `up` prints when it is ready.

use std::net::SocketAddr;

use anyhow::Result;
use serde_json::{Map, Value};
use server::{Endpoint, ViewTable, Zones};
use tokio::net::TcpListener;

use super::samples;
use crate::cli::LogFormat;
use crate::console::{self, Level};
use crate::http::{ApiListener, ApiPlan};
use crate::instance::Instance;
use crate::instance::listeners::Listeners;
use crate::instance::ports::{Ports, Slot};
use crate::render::numbers::{count, grouped};
use crate::render::{Palette, table};
use crate::source::ClusterFolders;
use crate::state::StateDir;

/// How many zones are listed.
const MOST_ZONES: usize = 10;

/// Where HTTP is served.
pub(super) struct Addresses {
    /// `--http`.
    http: SocketAddr,
    /// The page and `/api/`, where they have a listener of their own.
    api: Option<String>,
}

impl Addresses {
    pub(super) fn of(page: &TcpListener, plan: &ApiPlan, api: Option<&ApiListener>) -> Result<Addresses> {
        let own = || api.map_or_else(|| Ok("not served".to_owned()), ApiListener::url);
        let api = if *plan == ApiPlan::Merged { None } else { Some(own()?) };
        Ok(Addresses { http: page.local_addr()?, api })
    }
}

/// What an instance reads and keeps, and where it shows it.
pub(super) struct Site<'a> {
    pub(super) clusters: &'a [ClusterFolders],
    pub(super) http: &'a Addresses,
    pub(super) state: Option<&'a StateDir>,
    /// Its owner ID.
    pub(super) owner: &'a str,
}

/// Prints what is served, where, and what to try.
pub(super) fn print(
    instance: &Instance,
    listeners: &Listeners,
    ports: &Ports,
    site: &Site<'_>,
    palette: Palette,
) {
    let Site { clusters, http, state, owner } = *site;
    let style = console::style();
    let endpoints = endpoints(instance, listeners, ports);
    if style.quiet {
        return;
    }
    if style.format == LogFormat::Json {
        return console::print(&console::line(Level::Info, "ready", fields(http, &endpoints, owner)));
    }
    let mut lines = vec![palette.strong(&format!("fingerpost serves {}", folders(clusters)))];
    lines.push(String::new());
    lines.extend(indented(table::lines(view_rows(instance, &endpoints))));
    lines.push(String::new());
    lines.extend(indented(table::lines(zone_rows(instance))));
    lines.push(String::new());
    lines.extend(indented(table::lines(place_rows(http, listeners.encrypted_address(), state, owner))));
    lines.extend(try_lines(&instance.views.load(), &endpoints, palette));
    lines.push(String::new());
    lines.push(palette.good("ready") + ": every change is printed below, Ctrl-C ends");
    console::print(&lines.join("\n"));
}

/// What a program needs to know of a start.
fn fields(http: &Addresses, endpoints: &[(SocketAddr, Endpoint)], owner: &str) -> Map<String, Value> {
    let views = endpoints.iter().filter_map(|(address, endpoint)| {
        Some((endpoint.view.as_ref()?.to_string(), Value::from(address.to_string())))
    });
    let mut fields = Map::new();
    fields.insert("http".to_owned(), format!("http://{}/", http.http).into());
    fields.extend(http.api.clone().map(|url| ("api".to_owned(), url.into())));
    fields.insert("owner".to_owned(), owner.into());
    fields.insert("views".to_owned(), Value::Object(views.collect()));
    fields
}

fn folders(clusters: &[ClusterFolders]) -> String {
    let folders = |cluster: &ClusterFolders| {
        let paths = cluster.folders.iter().map(|folder| folder.display().to_string());
        paths
            .map(|path| if clusters.len() > 1 { format!("{}={path}", cluster.name) } else { path })
            .collect::<Vec<_>>()
    };
    clusters.iter().flat_map(folders).collect::<Vec<_>>().join(" ")
}

fn indented(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(|line| format!("  {line}"))
}

/// The open addresses with what they lead to, the numbered ones first.
fn endpoints(instance: &Instance, listeners: &Listeners, ports: &Ports) -> Vec<(SocketAddr, Endpoint)> {
    let wanted = ports.clone().endpoints(&instance.planner().views());
    let open = |(slot, endpoint): (Slot, Endpoint)| Some((listeners.address(slot)?, endpoint));
    wanted.into_iter().filter_map(open).collect()
}

fn view_rows(instance: &Instance, endpoints: &[(SocketAddr, Endpoint)]) -> Vec<Vec<String>> {
    let table = instance.views.load();
    let mut rows = Vec::new();
    for (address, endpoint) in endpoints {
        let row = |view: &str, who: String| {
            let zones = table.views.get(view).map_or(0, |zones| zones.origins().count());
            vec![format!("view {view}"), address.to_string(), count(zones as u64, "zone"), who]
        };
        rows.extend(endpoint.view.as_ref().map(|view| row(view, String::new())));
        rows.extend(
            endpoint.clients.iter().map(|(network, view)| row(view, format!("for clients in {network}"))),
        );
    }
    rows
}

fn zone_rows(instance: &Instance) -> Vec<Vec<String>> {
    let zones = instance.planner().zones();
    let row = |zone: &planner::ZoneInfo| {
        let state = match &zone.unavailable {
            Some(reason) => format!("cannot be served: {reason}"),
            None => format!("serial {}", zone.serial),
        };
        vec![format!("zone {}", zone.origin), count(zone.entry_count, "record"), state, zone.source.clone()]
    };
    let mut rows: Vec<Vec<String>> = zones.iter().take(MOST_ZONES).map(row).collect();
    if zones.len() > MOST_ZONES {
        rows.push(vec![format!("… and {} more", grouped((zones.len() - MOST_ZONES) as u64))]);
    }
    rows
}

fn place_rows(
    http: &Addresses,
    tls: Option<SocketAddr>,
    state: Option<&StateDir>,
    owner: &str,
) -> Vec<Vec<String>> {
    let kept = state.map_or_else(|| "nothing is kept".to_owned(), |state| state.path().display().to_string());
    let row = |name: &str, text: String| vec![name.to_owned(), text];
    let tls = tls.map(|address| row("tls", format!("{address}, the first view")));
    let api = http.api.clone().map(|url| row("api", url));
    let http = row("http", format!("http://{}/", http.http));
    std::iter::once(http)
        .chain(api)
        .chain(tls)
        .chain([row("state", kept), row("owner", owner.to_owned())])
        .collect()
}

fn try_lines(table: &ViewTable, endpoints: &[(SocketAddr, Endpoint)], palette: Palette) -> Vec<String> {
    let zones = |(address, endpoint): &(SocketAddr, Endpoint)| -> Option<(SocketAddr, &Zones)> {
        Some((*address, table.views.get(endpoint.view.as_ref()?)?))
    };
    let views: Vec<(SocketAddr, &Zones)> = endpoints.iter().filter_map(zones).collect();
    let samples = samples::lines(&views);
    if samples.is_empty() {
        return Vec::new();
    }
    let heading = [String::new(), palette.strong("Try:")];
    heading.into_iter().chain(samples.into_iter().map(|line| format!("  {line}"))).collect()
}
