//! An explanation for people.

use crate::explanation::{Explanation, Link, ViewExplanation};

use super::{Palette, table};

/// The answer of each view and the way to it.
pub fn text(explanation: &Explanation, palette: Palette) -> String {
    let views = explanation.views.iter().map(|view| view_text(explanation, view, palette));
    views.collect::<Vec<String>>().join("\n")
}

fn view_text(explanation: &Explanation, view: &ViewExplanation, palette: Palette) -> String {
    let verdict = match view.resolves {
        true => palette.good("resolves"),
        false => palette.bad(&format!("does not resolve ({})", view.rcode)),
    };
    let name = palette.strong(&explanation.name.to_string());
    let mut lines = vec![format!("{name} in view {}: {verdict}", palette.strong(&view.view))];
    lines.extend(table::lines(view.answer.iter().flat_map(rows)).iter().map(|line| format!("  {line}")));
    lines.extend(view.steps.iter().map(|step| palette.faint(&format!("  · {step}"))));
    lines.join("\n") + "\n"
}

/// One row for each record.
fn rows(link: &Link) -> Vec<Vec<String>> {
    let row = |data: &String| {
        vec![link.name.to_string(), link.ttl.to_string(), link.rtype.to_string(), data.clone()]
    };
    link.data.iter().map(row).collect()
}
