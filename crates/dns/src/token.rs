//! Splits master-file text (RFC 1035 section 5.1) into entries and their tokens.
//!
//! Written by hand because the zone reader needs the line and column of every token, and because
//! `$GENERATE` and `$INCLUDE` are decided above it. Tokens borrow from the text: nothing is copied.

/// A run of characters without white space outside of quotes, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// How many tokens an entry may have: record data of 65,535 octets, each a string of its own, has fewer.
const MAX_TOKENS: usize = 70_000;
/// Said of an entry that no record can need.
pub(crate) const TOO_LONG: &str = "the entry is too long for a record: is a parenthesis not closed?";

/// One entry: a record or a directive, over several lines where it has parentheses.
#[derive(Debug, Default)]
pub(crate) struct Entry<'a> {
    pub(crate) tokens: Vec<Token<'a>>,
    /// Whether it starts with white space, so that it has the owner of the entry before.
    pub(crate) indented: bool,
}

/// A text that cannot be split.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LexicalError {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: &'static str,
}

/// Reads entries off a text.
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    column: u32,
    depth: u32,
    /// Whether anything beside tokens and blanks was met: a line end, a comment, a parenthesis.
    pub(crate) structured: bool,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, line: 1, column: 1, depth: 0, structured: false }
    }

    /// For a text that is part of a larger one, and starts with this line of it.
    pub(crate) fn starting_at(text: &'a str, line: u32) -> Lexer<'a> {
        Lexer { line, ..Lexer::new(text) }
    }

    /// What is still to be read.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// How many octets have been read.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The number of the line.
    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    /// Steps over a line that somebody else has read, its end included.
    pub(crate) fn skip_line(&mut self, length: usize) {
        self.at += length;
        self.line += 1;
        self.column = 1;
    }

    /// Whether the text ended inside an entry, so that more text could complete it.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.depth > 0 && self.at == self.text.len()
    }

    /// Reads the next entry that has tokens; false at the end of the text.
    pub(crate) fn next_entry(&mut self, entry: &mut Entry<'a>) -> Result<bool, LexicalError> {
        entry.tokens.clear();
        while entry.tokens.is_empty() && self.at < self.text.len() {
            entry.indented = matches!(self.peek(), Some(b' ' | b'\t'));
            self.read_entry(&mut entry.tokens)?;
        }
        Ok(!entry.tokens.is_empty())
    }

    fn read_entry(&mut self, tokens: &mut Vec<Token<'a>>) -> Result<(), LexicalError> {
        while let Some(octet) = self.peek() {
            match octet {
                b'\n' if self.end_line() => return Ok(()),
                b'\n' => {}
                b' ' | b'\t' | b'\r' => self.advance(1),
                b';' => self.skip_comment(),
                b'(' => self.open(),
                b')' => self.close()?,
                _ if tokens.len() >= MAX_TOKENS => return Err(self.error(TOO_LONG)),
                _ => tokens.push(self.token()?),
            }
        }
        if self.depth > 0 { Err(self.error("a parenthesis is not closed")) } else { Ok(()) }
    }

    /// Steps over a line end; true where it ends the entry too.
    fn end_line(&mut self) -> bool {
        self.structured = true;
        self.at += 1;
        self.line += 1;
        self.column = 1;
        self.depth == 0
    }

    fn skip_comment(&mut self) {
        self.structured = true;
        let rest = &self.text[self.at..];
        self.advance(rest.find('\n').unwrap_or(rest.len()));
    }

    fn open(&mut self) {
        self.structured = true;
        self.depth += 1;
        self.advance(1);
    }

    fn close(&mut self) -> Result<(), LexicalError> {
        self.structured = true;
        self.depth = self.depth.checked_sub(1).ok_or_else(|| self.error("`)` has no `(` before it"))?;
        self.advance(1);
        Ok(())
    }

    fn token(&mut self) -> Result<Token<'a>, LexicalError> {
        let length = if self.peek() == Some(b'"') { self.quoted(self.at)? } else { self.unquoted()? };
        let token =
            Token { text: &self.text[self.at..self.at + length], line: self.line, column: self.column };
        self.advance(length);
        Ok(token)
    }

    /// The length of the token that starts here; quotes may stand inside it, as in `alpn="h2"`.
    fn unquoted(&self) -> Result<usize, LexicalError> {
        let octets = self.text.as_bytes();
        let mut at = self.at;
        while let Some(octet) = octets.get(at) {
            match octet {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'(' | b')' => break,
                b'"' => at += self.quoted(at)?,
                b'\\' => at = self.escaped(at)?,
                _ => at += 1,
            }
        }
        Ok(at - self.at)
    }

    /// The length of the quoted string at `start`, both quotes included.
    fn quoted(&self, start: usize) -> Result<usize, LexicalError> {
        let octets = self.text.as_bytes();
        let mut at = start + 1;
        loop {
            match octets.get(at) {
                None | Some(b'\n') => return Err(self.error("a quotation mark is not closed on its line")),
                Some(b'"') => return Ok(at + 1 - start),
                Some(b'\\') => at = self.escaped(at)?,
                Some(_) => at += 1,
            }
        }
    }

    /// Where the text goes on after the backslash at `at` and the character that it escapes.
    fn escaped(&self, at: usize) -> Result<usize, LexicalError> {
        match self.text[at + 1..].chars().next() {
            None | Some('\n' | '\r') => Err(self.error("a backslash ends the line")),
            Some(character) => Ok(at + 1 + character.len_utf8()),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over `length` octets of one line.
    fn advance(&mut self, length: usize) {
        let passed = &self.text[self.at..self.at + length];
        self.column = self.column.saturating_add(passed.chars().count() as u32);
        self.at += length;
    }

    fn error(&self, message: &'static str) -> LexicalError {
        LexicalError { line: self.line, column: self.column, message }
    }
}
