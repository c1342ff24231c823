//! Which view answers on which address.
//!
//! Numbered views get slots: slot 0 is `--dns`, the others the ports after it. A slot once given is
//! kept for its view, so that no client ever finds another view where it asked before: a view that
//! goes leaves its slot refusing, and finds it again when it comes back. The one exception is
//! `default`, which stands in for having no view at all: it answers on slot 0 and yields it.
//!
//! A restart keeps the slots of the views that still exist. The slots of the others are given to new views, and where
//! there is none for slot 0, the first view answers there too.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use planner::ViewInfo;
use server::{Endpoint, Network};

/// A place to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// `--dns` and the ports after it.
    Numbered(u16),
    /// An address that a class names.
    Own(SocketAddr),
}

/// The slots that have been given to views.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    /// The view of each slot; `None` where it can be given to another.
    given: Vec<Option<String>>,
}

impl Ports {
    /// The slots as an earlier run gave them.
    pub fn of_earlier_run(given: Vec<Option<String>>) -> Ports {
        Ports { given }
    }

    /// The view that each slot was given to.
    pub fn given(&self) -> &[Option<String>] {
        &self.given
    }

    /// Takes back the slots of an earlier run whose views no longer exist, and gives them to those that are new.
    pub fn restart(&mut self, views: &[ViewInfo]) {
        let exists = |name: &String| views.iter().any(|view| view.numbered && view.name == *name);
        for slot in &mut self.given {
            *slot = slot.take().filter(exists);
        }
        while self.given.last().is_some_and(Option::is_none) {
            self.given.pop();
        }
        self.give(views);
        if let Some((first @ None, others)) = self.given.split_first_mut() {
            *first = others.iter().flatten().next().cloned();
        }
    }

    /// What every slot leads to with these views; views that are new get the next slots.
    pub fn endpoints(&mut self, views: &[ViewInfo]) -> BTreeMap<Slot, Endpoint> {
        self.give(views);
        let mut endpoints = BTreeMap::new();
        for (number, view) in self.answering(views).into_iter().enumerate() {
            let number = u16::try_from(number).unwrap_or(u16::MAX);
            endpoints.insert(Slot::Numbered(number), Endpoint { view, clients: Vec::new() });
        }
        for view in views.iter().filter(|view| !view.numbered) {
            for slot in slots(view) {
                join(endpoints.entry(slot).or_default(), view);
            }
        }
        endpoints
    }

    fn give(&mut self, views: &[ViewInfo]) {
        for view in views.iter().filter(|view| view.numbered && !is_default(view)) {
            if self.given.iter().flatten().any(|name| *name == view.name) {
                continue;
            }
            match self.given.iter_mut().find(|slot| slot.is_none()) {
                Some(free) => *free = Some(view.name.clone()),
                None => self.given.push(Some(view.name.clone())),
            }
        }
    }

    /// The view that each numbered slot leads to now. The first slot always exists.
    fn answering(&self, views: &[ViewInfo]) -> Vec<Option<String>> {
        let here = |name: &&String| views.iter().any(|view| view.numbered && view.name == **name);
        let mut answering: Vec<Option<String>> =
            self.given.iter().map(|name| name.as_ref().filter(here).cloned()).collect();
        let default = views.iter().find(|view| is_default(view)).map(|view| view.name.clone());
        match answering.first_mut() {
            Some(first) => *first = first.take().or(default),
            None => answering.push(default),
        }
        answering
    }
}

fn is_default(view: &ViewInfo) -> bool {
    view.place.is_none()
}

/// The addresses of a class: its own, else the first.
fn slots(view: &ViewInfo) -> Vec<Slot> {
    let own: Vec<Slot> = view.listen.iter().filter_map(|text| address(text)).map(Slot::Own).collect();
    if own.is_empty() { vec![Slot::Numbered(0)] } else { own }
}

/// An address with or without its port; the port of DNS is 53.
pub(super) fn address(text: &str) -> Option<SocketAddr> {
    let alone = || text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, 53));
    text.parse().ok().or_else(alone)
}

/// Adds a class to an address: for its networks, or for everybody where it names none.
fn join(endpoint: &mut Endpoint, view: &ViewInfo) {
    let networks = view.clients.iter().filter_map(|text| text.parse::<Network>().ok());
    endpoint.clients.extend(networks.map(|network| (network, view.name.clone())));
    if view.clients.is_empty() && endpoint.view.is_none() {
        endpoint.view = Some(view.name.clone());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use planner::Place;
    use rstest::rstest;

    /// `weu`, `default`, or a class as `edge@192.0.2.1:53` or `edge<10.0.0.0/8`.
    fn view(text: &str) -> ViewInfo {
        let (name, listen, clients) = match (text.split_once('@'), text.split_once('<')) {
            (Some((name, listen)), _) => (name, vec![listen.to_owned()], vec![]),
            (_, Some((name, clients))) => (name, vec![], vec![clients.to_owned()]),
            _ => (text, vec![], vec![]),
        };
        let place = (name != "default").then(|| Place::Region(name.into()));
        let numbered = listen.is_empty() && clients.is_empty();
        ViewInfo { place, name: name.to_owned(), listen, clients, numbered, geo: None, dnssec: None }
    }

    fn printed(endpoints: &BTreeMap<Slot, Endpoint>) -> String {
        let endpoint = |(slot, endpoint): (&Slot, &Endpoint)| {
            let slot = match slot {
                Slot::Numbered(number) => number.to_string(),
                Slot::Own(address) => address.to_string(),
            };
            let clients: String =
                endpoint.clients.iter().map(|(net, view)| format!("+{net}={view}")).collect();
            format!("{slot}:{}{clients}", endpoint.view.as_deref().unwrap_or("-"))
        };
        endpoints.iter().map(endpoint).collect::<Vec<_>>().join(" ")
    }

    #[rstest]
    #[case(&["default"], "0:default")]
    #[case(&["weu neu"], "0:weu 1:neu")]
    #[case(&["weu", "frc weu"], "0:weu 1:frc")]
    #[case(&["weu neu", "neu"], "0:- 1:neu")]
    #[case(&["weu neu", "neu", "neu frc weu"], "0:weu 1:neu 2:frc")]
    #[case(&["default", "weu neu"], "0:weu 1:neu")]
    #[case(&["weu neu", "default"], "0:default 1:-")]
    #[case(&["weu neu", "default", "neu weu"], "0:weu 1:neu")]
    #[case(&["weu edge@192.0.2.1:53"], "0:weu 192.0.2.1:53:edge")]
    #[case(&["weu edge@192.0.2.1"], "0:weu 192.0.2.1:53:edge")]
    #[case(&["weu edge<10.0.0.0/8"], "0:weu+10.0.0.0/8=edge")]
    #[case(&["default edge<10.0.0.0/8"], "0:default+10.0.0.0/8=edge")]
    #[case(&["weu a@192.0.2.1:53 b@192.0.2.1:53"], "0:weu 192.0.2.1:53:a")]
    #[case(&["weu edge@192.0.2.1:53", "weu"], "0:weu")]
    fn a_port_once_given_is_kept(#[case] rounds: &[&str], #[case] expected: &str) {
        let mut ports = Ports::default();
        let mut last = BTreeMap::new();
        for round in rounds {
            let views: Vec<ViewInfo> = round.split(' ').map(view).collect();
            last = ports.endpoints(&views);
        }
        assert_eq!(printed(&last), expected);
    }

    #[rstest]
    #[case::a_new_view_that_sorts_first("weu", "aaa weu", "0:weu 1:aaa")]
    #[case::in_another_order("weu neu", "neu weu", "0:weu 1:neu")]
    #[case::the_last_is_gone("weu neu", "weu", "0:weu")]
    #[case::one_in_between_is_gone("weu neu frc", "frc weu", "0:weu 1:- 2:frc")]
    #[case::a_new_one_in_its_place("weu neu", "neu xyz", "0:xyz 1:neu")]
    #[case::the_first_is_gone("weu neu", "neu", "0:neu 1:neu")]
    #[case::all_are_gone("weu neu", "default", "0:default")]
    #[case::the_first_views("default", "neu weu", "0:neu 1:weu")]
    #[case::with_an_address_of_its_own("weu neu", "weu@192.0.2.1:53 neu", "0:neu 1:neu 192.0.2.1:53:weu")]
    fn a_restart_keeps_the_ports_of_the_views_that_exist(
        #[case] before: &str,
        #[case] after: &str,
        #[case] expected: &str,
    ) {
        let views = |text: &str| -> Vec<ViewInfo> { text.split(' ').map(view).collect() };
        let mut earlier = Ports::default();
        earlier.endpoints(&views(before));
        let mut ports = Ports::of_earlier_run(earlier.given().to_vec());
        assert_eq!(printed(&ports.endpoints(&views(before))), printed(&earlier.endpoints(&views(before))));
        ports.restart(&views(after));
        assert_eq!(printed(&ports.endpoints(&views(after))), expected);
    }
}
