//! What PowerDNS is to answer with for an expression, by who asks and what is up.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use backends::powerdns::Version;
use backends::powerdns::lua::{Expression, Options, Place, Selector};

use super::shapes::{MISSING, PORT_OF_NOBODY};
use crate::powerdns_steering::geo_database::PLACES;
use crate::powerdns_steering::target::PAGE;

const EXACT: Version = Version { major: 5, minor: 0 };
const FIRST: Version = Version { major: 5, minor: 1 };

/// Who asks.
pub(super) struct Client {
    /// What `dig` is told of it, after a space.
    pub(super) options: &'static str,
    /// Which of the places it is in, if PowerDNS knows.
    pub(super) place: Option<usize>,
}

/// The world as it is.
pub(super) struct Model {
    /// The targets, each in the place with its number.
    pub(super) targets: [Ipv4Addr; 3],
    /// Which of them are up.
    pub(super) up: [bool; 3],
    /// The server's version.
    pub(super) version: Version,
}

/// An answer as `dig` shows it: addresses in the order of their text.
type Answer = Vec<String>;

/// Whether anything of an expression depends on what is up.
pub(super) fn is_checked(expression: &Expression) -> bool {
    match expression {
        Expression::UrlUp(_) | Expression::PortUp(_) => true,
        Expression::Places(places, otherwise) => {
            places.iter().any(|(_, choice)| is_checked(choice)) || is_checked(otherwise)
        }
        Expression::All(_) | Expression::Weighted(_) | Expression::Closest(_) => false,
    }
}

impl Model {
    /// The answers that are right; several where chance or a hash decides.
    pub(super) fn answers(&self, expression: &Expression, client: &Client) -> BTreeSet<Answer> {
        match expression {
            Expression::All(addresses) => BTreeSet::from([answer(addresses)]),
            Expression::Closest(addresses) => self.selected(Selector::Closest, addresses, client),
            Expression::UrlUp(check) => {
                let page_is_right = self.is_right(&check.url, &check.options);
                self.checked(&check.groups, &check.options, client, page_is_right)
            }
            Expression::PortUp(check) => {
                self.checked(&check.groups, &check.options, client, check.port != PORT_OF_NOBODY)
            }
            Expression::Weighted(draw) => {
                let drawn = draw.members.iter().filter(|(weight, _)| *weight > 0);
                drawn.map(|(_, addresses)| answer(addresses)).collect()
            }
            Expression::Places(places, otherwise) => {
                let found = places.iter().find(|(place, _)| is_in(client, place));
                self.answers(found.map_or(&**otherwise, |(_, choice)| choice), client)
            }
        }
    }

    /// Of the first group that has one that is up, those that are; else all of all groups, or from 5.1 on of
    /// the first.
    fn checked(
        &self,
        groups: &[Vec<IpAddr>],
        options: &Options,
        client: &Client,
        is_right: bool,
    ) -> BTreeSet<Answer> {
        let is_up =
            |address: &&IpAddr| is_right && self.number(**address).is_some_and(|number| self.up[number]);
        let live = groups.iter().map(|group| group.iter().filter(is_up).copied().collect::<Vec<_>>());
        match live.into_iter().find(|group| !group.is_empty()) {
            Some(group) => self.selected(options.selector, &group, client),
            None if self.version >= FIRST => BTreeSet::from([answer(&groups[0])]),
            None => BTreeSet::from([answer(&groups.concat())]),
        }
    }

    /// Whether a target that is up says what is asked for.
    fn is_right(&self, url: &str, options: &Options) -> bool {
        let wanted = options.code.filter(|_| self.version >= EXACT).unwrap_or(200);
        let code = if url.ends_with(MISSING) { 404 } else { 200 };
        code == wanted && options.contains.as_deref().is_none_or(|text| PAGE.contains(text))
    }

    fn selected(&self, selector: Selector, addresses: &[IpAddr], client: &Client) -> BTreeSet<Answer> {
        let each = |some: &[IpAddr]| some.iter().map(|address| answer(&[*address])).collect();
        match selector {
            Selector::All => BTreeSet::from([answer(addresses)]),
            Selector::Random | Selector::Hashed => each(addresses),
            Selector::Closest => {
                let distance = |address: &IpAddr| self.distance(*address, client);
                let least = addresses.iter().map(distance).fold(f64::INFINITY, f64::min);
                let nearest: Vec<_> =
                    addresses.iter().filter(|address| distance(address) <= least).copied().collect();
                each(&nearest)
            }
        }
    }

    /// As PowerDNS reckons, for which whatever it does not know lies where equator and meridian meet.
    fn distance(&self, address: IpAddr, client: &Client) -> f64 {
        let at = |place: Option<usize>| {
            place.map_or((0.0, 0.0), |number| (PLACES[number].latitude, PLACES[number].longitude))
        };
        // The database has no IPv6.
        let home = self.number(address).filter(|_| address.is_ipv4());
        let (one, other) = (at(client.place), at(home));
        (one.0 - other.0).powi(2) + (one.1 - other.1).powi(2)
    }

    fn number(&self, address: IpAddr) -> Option<usize> {
        self.targets.iter().position(|target| IpAddr::from(*target) == address.to_canonical())
    }
}

fn is_in(client: &Client, place: &Place) -> bool {
    let Some(at) = client.place.map(|number| &PLACES[number]) else { return false };
    match place {
        Place::Country(code) => at.country.eq_ignore_ascii_case(code),
        Place::Continent(code) => at.continent.eq_ignore_ascii_case(code),
    }
}

fn answer(addresses: &[IpAddr]) -> Answer {
    let mut texts: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    texts.sort();
    texts
}
