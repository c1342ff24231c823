//! The steps as they are printed: for people, or one JSON object a line as each step is done.

use anyhow::Result;
use serde_json::json;

use super::super::print;
use crate::cli::DataOutput;
use crate::render::Palette;

pub(super) struct Steps {
    palette: Palette,
    output: DataOutput,
    number: usize,
}

impl Steps {
    pub(super) fn new(palette: Palette, output: DataOutput) -> Steps {
        Steps { palette, output, number: 0 }
    }

    pub(super) fn good(&mut self, text: &str) -> Result<()> {
        self.number += 1;
        let start = format!("{} {}.", self.palette.good("ok"), self.number);
        self.step("done", &start, text)
    }

    pub(super) fn bad(&mut self, text: &str) -> Result<()> {
        let start = self.palette.bad("failed");
        self.step("failed", &start, text)
    }

    pub(super) fn would(&mut self, text: &str) -> Result<()> {
        self.number += 1;
        let start = format!("would {}.", self.number);
        self.step("planned", &start, text)
    }

    fn step(&self, state: &str, start: &str, text: &str) -> Result<()> {
        print(&match self.output {
            DataOutput::Text => format!("{start} {text}\n"),
            DataOutput::Json => {
                format!("{}\n", json!({ "step": self.number, "state": state, "message": text }))
            }
        })
    }
}
