//! How a server is set up, and what it can do by that and by its version. Pure.
//!
//! As PowerDNS's own code has it: one success is up; up to 4.9 one failure is down, only 200 is up and the
//! server sets the interval; from 5.0 on a check says these, yet the server looks for due checks only once
//! an interval of its own; groups of addresses for a port came with 4.8; certificates are never looked at.

use planner::{Abilities, CheckInterval, Checks};
use serde::Deserialize;
use serde_json::Value;

use super::Version;
use crate::{Dialect, Steers};

/// The version that came with a way to check more exactly.
const EXACT: Version = Version { major: 5, minor: 0 };
/// The version that came with groups for ports.
const GROUPS: Version = Version { major: 4, minor: 8 };
/// How often a server checks where nobody configured anything else, in seconds.
const INTERVAL: u64 = 5;

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
        if !self.runs_lua() {
            return Steers::NOTHING;
        }
        let abilities =
            Abilities { chooses: true, knows_places: self.knows_places(), checks: self.checks(version) };
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

    fn runs_lua(&self) -> bool {
        !["", "no", "off", "false"].contains(&self.value("enable-lua-records"))
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
