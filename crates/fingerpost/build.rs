//! Tells `fingerpost version` which commit a release build was made from.
//!
//! `FINGERPOST_COMMIT` and `FINGERPOST_DATE` decide, for builds outside a checkout. Otherwise git is asked, and
//! only in release builds: in others every commit would compile the crate again.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=FINGERPOST_COMMIT");
    println!("cargo::rerun-if-env-changed=FINGERPOST_DATE");
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if is_release {
        for file in ["HEAD", "logs/HEAD"] {
            println!("cargo::rerun-if-changed=../../.git/{file}");
        }
    }
    let git = |arguments: &[&str]| if is_release { git(arguments) } else { None };
    let commit = given("FINGERPOST_COMMIT").or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let date = given("FINGERPOST_DATE").or_else(|| git(&["log", "-1", "--format=%cs"]));
    println!("cargo::rustc-env=FINGERPOST_COMMIT={}", commit.unwrap_or_default());
    println!("cargo::rustc-env=FINGERPOST_DATE={}", date.unwrap_or_default());
}

fn given(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
