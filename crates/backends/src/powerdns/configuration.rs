//! How a server is set up, and what it can do by that. Pure.

use planner::Abilities;
use serde::Deserialize;
use serde_json::Value;

use super::Version;

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
        Abilities::Powerdns { version, geoip: self.knows_places(), lua: self.runs_lua() }
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
