//! The steps as they are printed.

use anyhow::Result;

use super::super::print;
use crate::render::Palette;

pub(super) struct Steps {
    palette: Palette,
    number: usize,
}

impl Steps {
    pub(super) fn new(palette: Palette) -> Steps {
        Steps { palette, number: 0 }
    }

    pub(super) fn good(&mut self, text: &str) -> Result<()> {
        self.number += 1;
        print(&format!("{} {}. {text}\n", self.palette.good("ok"), self.number))
    }

    pub(super) fn bad(&mut self, text: &str) -> Result<()> {
        print(&format!("{} {text}\n", self.palette.bad("failed")))
    }

    pub(super) fn would(&mut self, text: &str) -> Result<()> {
        self.number += 1;
        print(&format!("would {}. {text}\n", self.number))
    }
}
