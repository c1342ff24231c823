//! What was written to providers, one line for each record set.

use dns::visible;

use super::Palette;
use super::changes::told;
use super::numbers::grouped;
use crate::deliveries::{Deed, WrittenSet, WrittenSets};

/// The lines of what was written.
pub fn lines(written: &WrittenSets, palette: Palette) -> Vec<String> {
    let mut lines: Vec<String> = written.sets.iter().map(|set| line(set, palette)).collect();
    if written.more > 0 {
        lines.push(palette.faint(&format!("… and {} more at providers", grouped(written.more))));
    }
    lines
}

fn line(written: &WrittenSet, palette: Palette) -> String {
    let WrittenSet { class, deed, name, rtype, set } = written;
    let what = set.as_ref().map_or_else(|| format!("{name} {rtype}"), told);
    let (sign, word) = match deed {
        Deed::Created => ('+', "created"),
        Deed::Updated => ('~', "updated"),
        Deed::Deleted => ('-', "deleted"),
    };
    palette.signed(sign, &visible(&format!("→ DNSClass {class}: {word} {what}")))
}
