//! Which build this is.

/// The version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit of a release build; none where neither git nor the builder named one.
pub const COMMIT: Option<&str> = known(env!("FINGERPOST_COMMIT"));
/// The commit's date.
pub const DATE: Option<&str> = known(env!("FINGERPOST_DATE"));

const fn known(text: &'static str) -> Option<&'static str> {
    if text.is_empty() { None } else { Some(text) }
}
