//! Serials: which one a zone has (ERRATA 003). They move forward only, in the arithmetic of RFC 1982,
//! and only when the content does.

use api::PublishedSerial;

use crate::input::SavedSerial;
use crate::setting::Numbering;
use crate::zone_table::KnownSerial;

/// What a serial is to stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    /// The hash of what objects and files say.
    pub(crate) hash: u64,
    /// Whether steered names have other answers than when the last serial came.
    pub(crate) answers_moved: bool,
}

/// The serial of a zone with this content.
pub(crate) fn serial(
    saved: Option<SavedSerial>,
    known: Option<KnownSerial>,
    content: Content,
    today: u32,
    numbering: Numbering,
) -> u32 {
    let saved = saved.map(|saved| PublishedSerial { serial: saved.serial, hash: Some(saved.hash) });
    let published = match known {
        Some(KnownSerial::Published(published)) => Some(published),
        _ => None,
    };
    let last = match numbering {
        Numbering::Own => saved.or(published),
        Numbering::Shared => newest(saved, published),
        Numbering::Followed => published.or(saved),
    };
    match last {
        Some(last) if numbering == Numbering::Followed => last.serial,
        last => next(last, known, content, today),
    }
}

/// `max(YYYYMMDD00, last + 1)` when the content moved, else the last. A zone file's own serial stands in
/// for the date, and is followed where it is ahead.
fn next(last: Option<PublishedSerial>, known: Option<KnownSerial>, content: Content, today: u32) -> u32 {
    let in_file = match known {
        Some(KnownSerial::AtLeast(serial)) => Some(serial),
        _ => None,
    };
    let start = in_file.unwrap_or_else(|| today.wrapping_mul(100));
    match last {
        None => start,
        Some(last) if last.hash == Some(content.hash) && !content.answers_moved => {
            in_file.map_or(last.serial, |at| later(last.serial, at))
        }
        Some(last) => later(last.serial.wrapping_add(1), start),
    }
}

/// The one that was given out last; of two equal ones the published one, which others have seen.
fn newest(saved: Option<PublishedSerial>, published: Option<PublishedSerial>) -> Option<PublishedSerial> {
    match (saved, published) {
        (Some(saved), Some(published)) if is_later(saved.serial, published.serial) => Some(saved),
        (saved, published) => published.or(saved),
    }
}

/// What is known of a serial that others give out too, after one of them says what it gave.
pub(crate) fn merge(saved: Option<SavedSerial>, told: SavedSerial) -> SavedSerial {
    saved.filter(|saved| is_later(saved.serial, told.serial)).unwrap_or(told)
}

fn is_later(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) > 0
}

fn later(one: u32, other: u32) -> u32 {
    if is_later(other, one) { other } else { one }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    const TODAY: u32 = 20_260_102;

    fn saved(serial: u32, hash: u64) -> Option<SavedSerial> {
        Some(SavedSerial { serial, hash })
    }

    fn published(serial: u32, hash: u64) -> Option<KnownSerial> {
        Some(KnownSerial::Published(PublishedSerial { serial, hash: Some(hash) }))
    }

    fn content(hash: u64) -> Content {
        Content { hash, answers_moved: false }
    }

    #[test]
    fn answers_that_moved_take_the_next_serial_under_the_same_hash() {
        let moved = Content { hash: 1, answers_moved: true };
        for numbering in [Numbering::Own, Numbering::Shared] {
            assert_eq!(serial(saved(2_026_010_205, 1), None, moved, TODAY, numbering), 2_026_010_206);
        }
        let followed = serial(None, published(2_026_010_205, 1), moved, TODAY, Numbering::Followed);
        assert_eq!(followed, 2_026_010_205, "whoever moves serials does it");
    }

    #[test]
    fn an_operator_that_starts_anew_keeps_the_serial_of_unchanged_content() {
        assert_eq!(
            serial(None, published(2_026_010_107, 1), content(1), TODAY, Numbering::Shared),
            2_026_010_107
        );
        assert_eq!(
            serial(None, published(2_026_010_207, 1), content(2), TODAY, Numbering::Shared),
            2_026_010_208
        );
    }

    #[test]
    fn an_operator_goes_on_from_the_latest_that_anybody_gave_out() {
        let by_status =
            |own, theirs| serial(saved(own, 1), published(theirs, 2), content(3), TODAY, Numbering::Shared);
        assert_eq!(by_status(2_026_010_205, 2_026_010_209), 2_026_010_210);
        assert_eq!(by_status(2_026_010_209, 2_026_010_205), 2_026_010_210);
        let same_number_for_other_content = serial(
            saved(2_026_010_205, 1),
            published(2_026_010_205, 2),
            content(1),
            TODAY,
            Numbering::Shared,
        );
        assert_eq!(same_number_for_other_content, 2_026_010_206);
    }

    #[test]
    fn a_server_follows_what_was_published_whatever_its_content() {
        assert_eq!(serial(saved(9, 1), published(5, 1), content(2), TODAY, Numbering::Followed), 5);
        assert_eq!(serial(saved(9, 1), None, content(2), TODAY, Numbering::Followed), 9);
        assert_eq!(serial(None, None, content(2), TODAY, Numbering::Followed), 2_026_010_200);
    }

    #[test]
    fn what_comes_back_late_does_not_turn_a_serial_back() {
        let own = SavedSerial { serial: 7, hash: 1 };
        assert_eq!(merge(Some(own), SavedSerial { serial: 5, hash: 2 }), own);
        assert_eq!(merge(Some(own), SavedSerial { serial: 8, hash: 2 }).serial, 8);
        assert_eq!(merge(None, own), own);
    }
}
