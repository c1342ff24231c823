//! Durations as manifests write them: `100ms`, `5s`, `1m30s`.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A span of time, to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(u64);

/// A text that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration: use numbers with the units h, m, s and ms, such as `5s` or `1m30s`")]
pub struct DurationError(String);

/// The units, the longest first, in milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Duration {
    /// A duration of so many milliseconds.
    pub const fn from_millis(millis: u64) -> Duration {
        Duration(millis)
    }

    /// A duration of so many seconds.
    pub const fn from_secs(seconds: u64) -> Duration {
        Duration(seconds * 1_000)
    }

    /// How many milliseconds it has.
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

impl From<Duration> for std::time::Duration {
    fn from(duration: Duration) -> Self {
        std::time::Duration::from_millis(duration.0)
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Duration, DurationError> {
        let mut rest = text;
        let mut total = 0;
        let mut parts = 0;
        while !rest.is_empty() && parts < 4 {
            (total, rest) = part(total, rest).ok_or_else(|| DurationError(text.to_owned()))?;
            parts += 1;
        }
        if parts > 0 && rest.is_empty() { Ok(Duration(total)) } else { Err(DurationError(text.to_owned())) }
    }
}

/// Reads one number of at most five digits with its unit, and returns the new total and the rest.
fn part(total: u64, text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).filter(|digits| (1..=5).contains(digits))?;
    let (number, rest) = text.split_at(digits);
    let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    Some((total + number.parse::<u64>().ok()? * millis, rest))
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut text = String::new();
        for (unit, millis) in UNITS {
            if rest >= millis {
                text.push_str(&format!("{}{unit}", rest / millis));
                rest %= millis;
            }
        }
        f.pad(if text.is_empty() { "0s" } else { &text })
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Duration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": 32, "pattern": "^([0-9]{1,5}(h|m|s|ms)){1,4}$" })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("100ms", 100, "100ms")]
    #[case("5s", 5_000, "5s")]
    #[case("90s", 90_000, "1m30s")]
    #[case("1h2m3s4ms", 3_723_004, "1h2m3s4ms")]
    #[case("0s", 0, "0s")]
    #[case("99999h", 359_996_400_000, "99999h")]
    fn durations_are_read_and_written(#[case] text: &str, #[case] millis: u64, #[case] written: &str) {
        let duration: Duration = text.parse().unwrap();
        assert_eq!(duration.as_millis(), millis);
        assert_eq!(duration.to_string(), written);
        assert_eq!(std::time::Duration::from(duration).as_millis(), u128::from(millis));
    }

    #[rstest]
    #[case("")]
    #[case("5")]
    #[case("s")]
    #[case("5 s")]
    #[case("-5s")]
    #[case("1.5s")]
    #[case("5us")]
    #[case("123456s")]
    #[case("1s1s1s1s1s")]
    fn what_is_no_duration_is_refused(#[case] text: &str) {
        assert_eq!(text.parse::<Duration>(), Err(DurationError(text.to_owned())));
    }
}
