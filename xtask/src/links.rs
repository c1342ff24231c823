//! What the pages of this repository refer to is there: files, and headings within pages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

#[test]
fn every_link_between_pages_leads_somewhere() {
    let pages = pages();
    let anchors: BTreeMap<&Path, BTreeSet<String>> =
        pages.iter().map(|(path, text)| (path.as_path(), anchors(text))).collect();
    let mut checked = 0;
    for (path, text) in &pages {
        for link in links(text).iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { resolved(path, file) };
            let at = || format!("{} links to {link}", path.display());
            assert!(root().join(&target).exists(), "{}, which is not there", at());
            let known =
                anchor.is_empty() || anchors.get(&*target).is_some_and(|known| known.contains(anchor));
            assert!(known, "{}, which has no such heading", at());
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links were found");
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The pages by their paths from the root.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut pages = BTreeMap::new();
    for folder in ["", "docs", "docs/reference"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = Path::new(folder).join(entry.unwrap().file_name());
            if path.extension().is_some_and(|ending| ending == "md") {
                let text = fs::read_to_string(root().join(&path)).unwrap();
                pages.insert(path, text);
            }
        }
    }
    pages
}

/// The lines outside of fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(text) {
        // Every second piece between backticks is code.
        let plain: String = line.split('`').step_by(2).collect();
        links.extend(plain.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
    }
    links
}

/// The headings as browsers address them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text)
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let anchor = |heading: &str| {
        let kept = heading.to_lowercase().replace(' ', "-");
        kept.chars().filter(|one| one.is_alphanumeric() || ['-', '_'].contains(one)).collect()
    };
    headings.map(anchor).collect()
}

/// The path of a link on a page, from the root.
fn resolved(page: &Path, link: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in page.parent().unwrap_or(Path::new("")).join(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}
