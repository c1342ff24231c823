//! A bar for the first reading, where there is a terminal and it takes long.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::source::{Reading, Source};

/// What nobody notices needs no bar.
const UNNOTICED: Duration = Duration::from_millis(500);

/// Reads the folders.
pub(super) fn read(source: &mut Source) -> Reading {
    if !std::io::stderr().is_terminal() {
        return source.read();
    }
    let start = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    let reading = source.read_with_progress(&mut |done, total| {
        if start.elapsed() > UNNOTICED {
            bar.get_or_insert_with(|| new_bar(total as u64)).set_position(done as u64);
        }
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    reading
}

fn new_bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("reading {bar:40} {pos}/{len} files");
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
