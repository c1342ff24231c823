//! A bar for a reading of folders, where there is a terminal and it takes long.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::LogFormat;
use crate::console;
use crate::source::{Progress, Reading, Source};

/// What nobody notices needs no bar.
const UNNOTICED: Duration = Duration::from_millis(300);

const FORM: &str =
    "reading {bar:30} {binary_bytes}/{binary_total_bytes} {msg} {binary_bytes_per_sec}, {eta} left";

/// Reads the folders, and shows on a terminal how far it has come.
pub fn read(source: &mut Source) -> Reading {
    let style = console::style();
    if style.quiet || style.format == LogFormat::Json || !std::io::stderr().is_terminal() {
        return source.read();
    }
    let start = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    let reading = source.read_with_progress(&mut |progress| {
        if bar.is_some() || start.elapsed() > UNNOTICED {
            show(bar.get_or_insert_with(|| new_bar(start)), progress);
        }
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    reading
}

fn new_bar(start: Instant) -> ProgressBar {
    let style = ProgressStyle::with_template(FORM).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style).with_elapsed(start.elapsed())
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.all_octets.max(progress.octets));
    bar.set_position(progress.octets);
    bar.set_message(message(progress));
}

/// `12 of 40 files, 310,000 records`.
fn message(progress: &Progress) -> String {
    let files = format!("{} of {} files", progress.files, progress.all_files);
    match progress.records {
        0 => files,
        records => format!("{files}, {} records,", indicatif::HumanCount(records as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_names_files_and_the_records_of_a_zone_file() {
        let mut progress = Progress { files: 12, all_files: 40, ..Progress::default() };
        assert_eq!(message(&progress), "12 of 40 files");
        progress.records = 310_000;
        assert_eq!(message(&progress), "12 of 40 files, 310,000 records,");
    }

    #[test]
    fn the_form_of_the_bar_is_one_that_is_known() {
        assert!(ProgressStyle::with_template(FORM).is_ok());
    }
}
