//! Which kinds have not been told whole yet.
//!
//! Judged by the news that were taken, not by the [`Board`]: the board knows what the watches have read,
//! and that may still be on its way. A plan without it would miss objects, and delete what they own.

use std::collections::BTreeSet;

use super::{Board, News, Subject};

/// The kinds that are waited for.
#[derive(Debug)]
pub struct Awaited(BTreeSet<Subject>);

impl Awaited {
    /// Everything on a board.
    pub fn of(board: &Board) -> Awaited {
        Awaited(board.entries().into_keys().collect())
    }

    /// Takes note of news, which come in order for each kind.
    pub fn hear(&mut self, news: &News) {
        if let News::Synced(subject) | News::Missing(subject) = news {
            self.0.remove(subject);
        }
    }

    /// Whether everything that there is has been told.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::board::Standing;

    #[test]
    fn what_was_read_but_not_told_is_still_waited_for() {
        let subjects = [Subject::Serials, Subject::IstioGateway];
        let board = Board::new(&subjects);
        let mut awaited = Awaited::of(&board);
        board.set(Subject::Serials, Standing::Synced);
        board.set(Subject::IstioGateway, Standing::Missing);
        assert!(!awaited.is_over());
        awaited.hear(&News::Synced(Subject::Serials));
        assert!(!awaited.is_over());
        awaited.hear(&News::Missing(Subject::IstioGateway));
        assert!(awaited.is_over());
    }
}
