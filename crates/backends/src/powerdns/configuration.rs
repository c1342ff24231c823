//! How a server is set up, and what it can do by that. Pure.

use std::net::{IpAddr, SocketAddr};

use planner::Abilities;
use serde::Deserialize;
use serde_json::Value;

use super::Version;

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
    pub(super) fn abilities(&self, version: Version) -> Abilities {
        let version = (version.major, version.minor);
        let lua = self.runs_lua() && self.takes_lua() && self.runs_to_the_end();
        Abilities::Powerdns { version, geoip: self.knows_places(), lua }
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

    #[rstest]
    #[case(None, true)]
    #[case(Some("yes"), true)]
    #[case(Some("no"), false)]
    fn lua_that_may_not_be_written_is_not_relied_on(#[case] updates: Option<&str>, #[case] wanted: bool) {
        let mut settings = vec![serde_json::json!({"name": "enable-lua-records", "value": "shared"})];
        let more =
            updates.map(|value| serde_json::json!({"name": "enable-lua-record-updates", "value": value}));
        settings.extend(more);
        let told: Configuration = serde_json::from_value(settings.into()).unwrap();
        let abilities = told.abilities(Version { major: 5, minor: 1 });
        assert_eq!(abilities, Abilities::Powerdns { version: (5, 1), geoip: false, lua: wanted });
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
    #[case("shared", "gsqlite3,geoip", "mmdb:/a.mmdb", true, true, false)]
    #[case("yes", "gsqlite3", "", true, false, true)]
    #[case("yes", "gsqlite3, geoip", "", true, false, true)]
    #[case("no", "geoip", "/a.mmdb", false, true, false)]
    #[case("", "", "", false, false, false)]
    fn a_server_steers_as_it_is_set_up(
        #[case] lua: &str,
        #[case] launch: &str,
        #[case] files: &str,
        #[case] runs: bool,
        #[case] places: bool,
        #[case] slow: bool,
    ) {
        let told = configuration(lua, launch, files);
        let version = Version { major: 4, minor: 7 };
        let wanted = Abilities::Powerdns { version: (4, 7), geoip: places, lua: runs };
        assert_eq!((told.abilities(version), told.is_slow_at_lua()), (wanted, slow));
    }
}
