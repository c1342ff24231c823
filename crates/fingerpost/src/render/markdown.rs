//! What differs between two plans as Markdown, for a comment on a pull request.
//!
//! Users' texts are in code spans only, where Markdown has no meaning but that of backticks.

use dns::visible;
use planner::document::{DocumentObject, DocumentRecordSet, DocumentZone, Pair};

use super::owner;
use super::plan::{
    Groups, kept_text, location_text, moved, object_lines, object_row, owners_text, place, setting_lines,
    sign, steering_lines, summary, unready_text, view_row, zone_lines,
};
use crate::planned::Review;

/// How many octets a comment may take, but for the headings of what does not fit: GitHub refuses one of more than 65,536
/// characters.
const LONGEST: usize = 60_000;

/// The differences; `statuses`: those too.
pub fn differences(review: &Review, statuses: bool) -> String {
    if review.is_empty(statuses) {
        return "**No changes.**\n".to_owned();
    }
    let groups = Groups::of(&review.differences);
    let mut text = format!("**{}**\n", summary(review));
    let clusters = review.clusters;
    let broken = review.broken.iter().map(|one| {
        let why = format!("{}: {}", one.what.reason, one.what.message);
        let lines = std::iter::once(why).chain(kept_text(one)).collect();
        item(&format!("{}{}", owner(&one.what.object, clusters), location_text(one)), lines)
    });
    list(&mut text, "Broken: not in force", broken);
    let unready = review.unready.iter();
    list(
        &mut text,
        "Not ready",
        unready.map(|one| item(&owner(&one.object, clusters), vec![unready_text(one)])),
    );
    objects(&mut text, "Settings", groups.settings.into_iter(), setting_lines, clusters);
    let sets = groups.record_sets.iter().map(|pair| set_row(pair, clusters));
    table(&mut text, "Record sets", &["", "Name", "Type", "TTL", "Data", "Where", "Owner"], sets);
    let zones = groups.zones.iter().map(|pair| zone_row(pair, clusters));
    table(&mut text, "Zones", &["", "Origin", "Serial", "Records", "Where", "Source"], zones);
    let views = groups.views.iter().map(|pair| signed(sign(pair), moved(pair, &view_row), Vec::new()));
    table(&mut text, "Views", &["", "View", "Shows", "Listen", "Clients"], views);
    objects(&mut text, "Child objects", groups.children.into_iter(), object_lines, clusters);
    if statuses {
        objects(&mut text, "Statuses", review.statuses.iter(), object_lines, clusters);
    }
    text
}

fn set_row(pair: &Pair<DocumentRecordSet>, clusters: bool) -> String {
    let row = |set: &DocumentRecordSet| {
        let (name, rtype, ttl) = (set.name.to_string(), set.rtype.to_string(), set.ttl.to_string());
        vec![name, rtype, ttl, set.data.join(", "), place(&set.scope), owners_text(set, clusters)]
    };
    signed(sign(pair), moved(pair, &row), steering_lines(pair))
}

fn zone_row(pair: &Pair<DocumentZone>, clusters: bool) -> String {
    let row = |zone: &DocumentZone| {
        let serial = match &zone.unavailable {
            Some(reason) => format!("unavailable: {reason}"),
            None => zone.serial.to_string(),
        };
        let (origin, records) = (zone.origin.to_string(), zone.entry_count.to_string());
        vec![origin, serial, records, place(&zone.scope), zone.source.clone()]
    };
    signed(sign(pair), moved(pair, &row), zone_lines(pair, clusters))
}

fn objects<'a>(
    text: &mut String,
    title: &str,
    pairs: impl Iterator<Item = &'a Pair<DocumentObject>>,
    lines: fn(&Pair<DocumentObject>) -> Vec<String>,
    clusters: bool,
) {
    let line = |pair: &'a Pair<DocumentObject>| {
        let name = pair.either().map(|object| object_row(object, clusters).join(" ")).unwrap_or_default();
        format!("- {} {}", sign_text(sign(pair)), item(&name, lines(pair)).trim_start_matches("- "))
    };
    list(text, title, pairs.map(line));
}

/// A row of a table: the sign, the cells, and lines below the fourth cell, which is that of the data.
fn signed(sign: char, cells: Vec<String>, details: Vec<String>) -> String {
    let details: String = details.iter().map(|line| format!("<br>{}", cell(line))).collect();
    let last = cells.len().saturating_sub(1).min(3);
    let cells = cells.iter().enumerate().map(|(number, text)| match number {
        number if number == last => format!(" {}{details} |", cell(text)),
        _ => format!(" {} |", cell(text)),
    });
    format!("| {} |{}", sign_text(sign), cells.collect::<String>())
}

fn sign_text(sign: char) -> &'static str {
    match sign {
        '+' => "add",
        '-' => "remove",
        _ => "change",
    }
}

fn table(text: &mut String, title: &str, head: &[&str], rows: impl Iterator<Item = String>) {
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let rule = "|---".repeat(head.len());
    text.push_str(&format!("\n#### {title}\n\n| {} |\n{rule}|\n", head.join(" | ")));
    append(text, rows);
}

fn list(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if !items.is_empty() {
        text.push_str(&format!("\n#### {title}\n\n"));
        append(text, items);
    }
}

fn append(text: &mut String, lines: Vec<String>) {
    let mut length = text.len();
    let fits = |line: &&String| {
        length += line.len() + 1;
        length <= LONGEST
    };
    let fitting = lines.iter().take_while(fits).count();
    lines.iter().take(fitting).for_each(|line| text.push_str(&format!("{line}\n")));
    let more = lines.len() - fitting;
    if more > 0 {
        text.push_str(&format!("\n… and {more} more: `-o text` has all of them.\n"));
    }
}

/// An item of a list, with lines below it.
fn item(name: &str, lines: Vec<String>) -> String {
    let lines = lines.iter().map(|line| format!("\n  - {}", code(line)));
    format!("- {}{}", code(name), lines.collect::<String>())
}

/// Text in a cell of a table. `|` would end the cell in a code span too, and no escape of it is safe there.
fn cell(text: &str) -> String {
    match text {
        "" => String::new(),
        text if text.contains('|') => entities(text),
        text => code(text),
    }
}

/// Text with all punctuation as character references, which have no meaning in Markdown.
fn entities(text: &str) -> String {
    let inert = |one: char| match one {
        one if one.is_ascii_punctuation() => format!("&#{};", u32::from(one)),
        one if one.is_whitespace() => " ".to_owned(),
        one => one.to_string(),
    };
    format!("<code>{}</code>", visible(text).chars().map(inert).collect::<String>())
}

/// Text as a code span: between more backticks than it has in a row, and on one line.
fn code(text: &str) -> String {
    let text: String = visible(text).chars().map(|one| if one.is_whitespace() { ' ' } else { one }).collect();
    let longest = text.split(|one: char| one != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("plain", "`plain`")]
    #[case("a|b", "<code>a&#124;b</code>")]
    #[case("\\|<b>", "<code>&#92;&#124;&#60;b&#62;</code>")]
    #[case("`", "`` ` ``")]
    #[case("a``b", "```a``b```")]
    #[case("@admin <img src=x> [x](y) *b* #1", "`@admin <img src=x> [x](y) *b* #1`")]
    #[case("two\nlines", "`two\\nlines`")]
    fn users_text_has_no_meaning(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(cell(text), expected);
    }
}
