//! Colours, where they are wanted.

use clap::builder::styling::{AnsiColor, Style};

use crate::cli::Color;

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    colours: bool,
}

impl Palette {
    /// Colours as the flag says; by itself on a terminal, unless `NO_COLOR` is set.
    pub fn new(flag: Color, is_terminal: bool, no_color: bool) -> Palette {
        let colours = match flag {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !no_color,
        };
        Palette { colours }
    }

    /// No colours.
    pub fn plain() -> Palette {
        Palette { colours: false }
    }

    /// What is new or well.
    pub fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    /// What is different or worth a look.
    pub fn warning(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default(), text)
    }

    /// What goes or is wrong.
    pub fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default(), text)
    }

    /// What a reader may skip.
    pub fn faint(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    /// A heading.
    pub fn strong(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// A line of a diff, by its sign.
    pub fn signed(self, sign: char, text: &str) -> String {
        match sign {
            '+' => self.good(text),
            '-' => self.bad(text),
            '~' => self.warning(text),
            _ => text.to_owned(),
        }
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(Color::Auto, true, false, true)]
    #[case(Color::Auto, false, false, false)]
    #[case(Color::Auto, true, true, false)]
    #[case(Color::Always, false, true, true)]
    #[case(Color::Never, true, false, false)]
    fn colours_are_for_terminals_unless_told(
        #[case] flag: Color,
        #[case] is_terminal: bool,
        #[case] no_color: bool,
        #[case] coloured: bool,
    ) {
        let painted = Palette::new(flag, is_terminal, no_color).bad("x");
        assert_eq!(painted.contains('\u{1b}'), coloured, "{painted:?}");
    }
}
