//! How a server is set up, and what it can do by that and by its version. Pure.
//!
//! As PowerDNS's own code has it: one success is up; up to 4.9 one failure is down, only 200 is up and the
//! server sets the interval; from 5.0 on a check says these, yet the server looks for due checks only once
//! an interval of its own; groups of addresses for a port came with 4.8; certificates are never looked at.

use std::net::{IpAddr, SocketAddr};

use planner::{Abilities, CheckInterval, Checks, Room};
use serde::Deserialize;
use serde_json::Value;

use super::{Version, steered};
use crate::{Dialect, Steers};

/// The version that came with a way to check more exactly.
const EXACT: Version = Version { major: 5, minor: 0 };
/// The version that came with groups for ports.
const GROUPS: Version = Version { major: 4, minor: 8 };
/// How often a server checks where nobody configured anything else, in seconds.
const INTERVAL: u64 = 5;

/// How many instructions of a body a server runs as it is installed.
const USUAL_LIMIT: u32 = 1_000;

/// The settings of a server; those that are secret it does not tell.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Configuration(Vec<Setting>);

#[derive(Deserialize)]
struct Setting {
    name: String,
    #[serde(default)]
    value: Value,
}

impl Configuration {
    fn value(&self, name: &str) -> &str {
        let setting = self.0.iter().find(|setting| setting.name == name);
        setting.and_then(|setting| setting.value.as_str()).unwrap_or_default()
    }

    /// What the server can do by itself of steering.
    pub(super) fn steers(&self, version: Version) -> Steers {
        if !(self.runs_lua() && self.takes_lua() && self.runs_to_the_end()) {
            return Steers::NOTHING;
        }
        let abilities = Abilities {
            chooses: true,
            knows_places: self.knows_places(),
            checks: self.checks(version),
            room: Room(steered::is_writable),
        };
        Steers { abilities, dialect: Dialect::Lua(version) }
    }

    fn checks(&self, version: Version) -> Checks {
        let is_exact = version >= EXACT;
        Checks {
            orders_connections: version >= GROUPS,
            is_told_codes: is_exact,
            is_told_failures: is_exact,
            interval: match is_exact {
                true => CheckInterval::StepsOf(self.interval()),
                false => CheckInterval::Fixed(self.interval()),
            },
        }
    }

    /// How often the server looks for checks that are due, in milliseconds.
    fn interval(&self) -> u64 {
        let seconds = self.value("lua-health-checks-interval").parse().ok();
        seconds.filter(|seconds| *seconds > 0).unwrap_or(INTERVAL).saturating_mul(1_000)
    }

    /// Whether each answer of a LUA record has an interpreter made for it.
    pub(super) fn is_slow_at_lua(&self) -> bool {
        self.runs_lua() && self.value("enable-lua-records") != "shared"
    }

    /// Where the server answers queries; an address of zeros is any of its machine's.
    pub(super) fn places(&self) -> Vec<SocketAddr> {
        let port = self.value("local-port").parse().unwrap_or(53);
        let place = |text: &str| {
            let alone = text.parse::<IpAddr>().map(|address| SocketAddr::new(address, port));
            text.parse().or(alone).ok()
        };
        self.value("local-address").split([',', ' ', ';']).filter_map(place).collect()
    }

    fn runs_lua(&self) -> bool {
        !["", "no", "off", "false"].contains(&self.value("enable-lua-records"))
    }

    /// Whether LUA records may be written: from 5.1 on that has to be allowed, and is not at first.
    fn takes_lua(&self) -> bool {
        !["no", "off", "false"].contains(&self.value("enable-lua-record-updates"))
    }

    /// Whether as many instructions of a body are run as are where nobody set it otherwise; 0 is any number.
    fn runs_to_the_end(&self) -> bool {
        let most = self.value("lua-records-exec-limit").parse().unwrap_or(USUAL_LIMIT);
        most == 0 || most >= USUAL_LIMIT
    }

    /// Whether the geoip back-end runs and has a database.
    fn knows_places(&self) -> bool {
        let is_geoip = |name: &str| name == "geoip" || name.starts_with("geoip:");
        let launched = self.value("launch").split([',', ' ']).any(is_geoip);
        let is_database = |name: &str| name.starts_with("geoip-") && name.ends_with("database-files");
        let has_file = |setting: &Setting| setting.value.as_str().is_some_and(|value| !value.is_empty());
        launched && self.0.iter().any(|setting| is_database(&setting.name) && has_file(setting))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use rstest::rstest;

    use super::*;

    fn configuration(lua: &str, launch: &str, files: &str) -> Configuration {
        let setting = |name: &str, value: &str| serde_json::json!({"name": name, "type": "ConfigSetting", "value": value});
        let settings = [
            setting("enable-lua-records", lua),
            setting("launch", launch),
            setting("geoip-database-files", files),
            serde_json::json!({"name": "odd"}),
        ];
        serde_json::from_value(settings.into_iter().collect()).unwrap()
    }

    const OLD: Version = Version { major: 4, minor: 7 };

    #[rstest]
    #[case("odd", "", true)]
    #[case("enable-lua-record-updates", "yes", true)]
    #[case("enable-lua-record-updates", "no", false)]
    #[case("lua-records-exec-limit", "0", true)]
    #[case("lua-records-exec-limit", "1000", true)]
    #[case("lua-records-exec-limit", "500", false)]
    fn lua_that_may_not_be_written_or_is_not_run_to_its_end_is_not_relied_on(
        #[case] name: &str,
        #[case] value: &str,
        #[case] wanted: bool,
    ) {
        let mut told = configuration("shared", "", "");
        told.0.push(Setting { name: name.to_owned(), value: value.into() });
        assert_eq!(told.steers(OLD).abilities.chooses, wanted);
    }

    #[rstest]
    #[case("0.0.0.0, ::", "53", "0.0.0.0:53 [::]:53")]
    #[case(
        "192.0.2.1:5300,[2001:db8::1]:54 2001:db8::2",
        "55",
        "192.0.2.1:5300 [2001:db8::1]:54 [2001:db8::2]:55"
    )]
    #[case("somewhere", "", "")]
    #[case("192.0.2.1", "none", "192.0.2.1:53")]
    fn a_server_tells_where_it_answers(#[case] addresses: &str, #[case] port: &str, #[case] wanted: &str) {
        let settings = [("local-address", addresses), ("local-port", port)];
        let settings = settings.map(|(name, value)| serde_json::json!({"name": name, "value": value}));
        let told: Configuration = serde_json::from_value(settings.into_iter().collect()).unwrap();
        let places: Vec<String> = told.places().iter().map(ToString::to_string).collect();
        assert_eq!(places.join(" "), wanted);
    }

    #[rstest]
    #[case("shared", "gsqlite3,geoip", "mmdb:/a.mmdb", Some(true), false)]
    #[case("yes", "gsqlite3", "", Some(false), true)]
    #[case("yes", "gsqlite3, geoip", "", Some(false), true)]
    #[case("no", "geoip", "/a.mmdb", None, false)]
    #[case("", "", "", None, false)]
    fn a_server_steers_as_it_is_set_up(
        #[case] lua: &str,
        #[case] launch: &str,
        #[case] files: &str,
        #[case] places: Option<bool>,
        #[case] slow: bool,
    ) {
        let told = configuration(lua, launch, files);
        let steers = told.steers(OLD);
        let wanted = places.map(|places| (true, places, Dialect::Lua(OLD)));
        let Steers { abilities: Abilities { chooses, knows_places, .. }, dialect } = steers;
        assert_eq!((chooses, knows_places, dialect), wanted.unwrap_or((false, false, Dialect::Plain)));
        assert_eq!(told.is_slow_at_lua(), slow);
    }

    #[rstest]
    #[case((4, 7), "", false, false, CheckInterval::Fixed(5_000))]
    #[case((4, 8), "5", true, false, CheckInterval::Fixed(5_000))]
    #[case((4, 9), "1", true, false, CheckInterval::Fixed(1_000))]
    #[case((5, 0), "2", true, true, CheckInterval::StepsOf(2_000))]
    #[case((5, 1), "0", true, true, CheckInterval::StepsOf(5_000))]
    fn a_server_checks_as_its_version_and_its_interval_have_it(
        #[case] (major, minor): (u16, u16),
        #[case] interval: &str,
        #[case] orders_connections: bool,
        #[case] is_exact: bool,
        #[case] every: CheckInterval,
    ) {
        let mut told = configuration("yes", "", "");
        told.0.push(Setting { name: "lua-health-checks-interval".to_owned(), value: interval.into() });
        let (is_told_codes, is_told_failures) = (is_exact, is_exact);
        let wanted = Checks { orders_connections, is_told_codes, is_told_failures, interval: every };
        assert_eq!(told.steers(Version { major, minor }).abilities.checks, wanted);
    }
}
