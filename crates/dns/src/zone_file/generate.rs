//! The pieces of `$GENERATE`: a range of numbers, and texts with a place for the number.

use std::fmt::Write;

/// `start-stop` or `start-stop/step`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    start: u32,
    stop: u32,
    step: u32,
}

impl Range {
    pub(super) fn parse(text: &str) -> Result<Range, String> {
        Range::read(text).ok_or_else(|| {
            format!("`{text}` is not a range: write start-stop or start-stop/step, such as 1-254 or 0-100/10")
        })
    }

    fn read(text: &str) -> Option<Range> {
        let (bounds, step) = text.split_once('/').unwrap_or((text, "1"));
        let (start, stop) = bounds.split_once('-')?;
        let range = Range { start: start.parse().ok()?, stop: stop.parse().ok()?, step: step.parse().ok()? };
        (range.step > 0 && range.start <= range.stop).then_some(range)
    }

    pub(super) fn len(&self) -> usize {
        ((self.stop - self.start) / self.step) as usize + 1
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        (self.start..=self.stop).step_by(self.step as usize)
    }
}

/// A text in which `$` stands for the number, `${offset,width,base}` for a form of it, and `$$` or
/// `\$` for a dollar sign.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Number(Form),
}

#[derive(Debug, PartialEq, Eq)]
struct Form {
    offset: i64,
    width: usize,
    base: Base,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Decimal,
    Octal,
    Hexadecimal {
        upper: bool,
    },
    /// Hexadecimal digits as labels, the lowest first, as below ip6.arpa.
    Nibbles {
        upper: bool,
    },
}

/// A longer number would not fit into a label.
const MAX_WIDTH: usize = 255;

impl Template {
    pub(super) fn parse(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            push_text(&mut parts, &rest[..at]);
            rest = &rest[at..];
            let length = match rest.as_bytes() {
                // Kept escaped, so that whoever reads the result sees no directive in it.
                [b'\\', b'$', ..] | [b'$', b'$', ..] => push_text(&mut parts, "\\$").then_some(2),
                [b'\\', ..] => Some(push_escape(&mut parts, rest)),
                [b'$', b'{', ..] => push_form(&mut parts, rest),
                _ => push_number(&mut parts).then_some(1),
            };
            let length = length.ok_or_else(|| {
                format!("`{text}` has a bad `${{…}}`: write ${{offset,width,base}}, with a base of d, o, x, X, n or N")
            })?;
            rest = &rest[length..];
        }
        push_text(&mut parts, rest);
        Ok(Template(parts))
    }

    /// Writes the text for one number over what is in `out`; `None` where an offset makes it
    /// negative.
    fn expand(&self, number: u32, out: &mut String) -> Option<()> {
        out.clear();
        self.0.iter().try_for_each(|part| part.expand(number, out))
    }
}

/// The texts of one `$GENERATE` for one number after the other, in room that is used again.
pub(super) struct Generation {
    templates: Vec<Template>,
    /// The owner, then the fields of the data.
    texts: Vec<String>,
}

impl Generation {
    pub(super) fn new(owner: Template, data: Vec<Template>) -> Generation {
        let templates: Vec<Template> = std::iter::once(owner).chain(data).collect();
        let texts = vec![String::new(); templates.len()];
        Generation { templates, texts }
    }

    /// Goes to a number; `None` where an offset makes it negative.
    pub(super) fn expand(&mut self, number: u32) -> Option<()> {
        let mut texts = self.templates.iter().zip(&mut self.texts);
        texts.try_for_each(|(template, text)| template.expand(number, text))
    }

    /// How many octets the texts have.
    pub(super) fn length(&self) -> usize {
        self.texts.iter().map(String::len).sum()
    }

    pub(super) fn owner(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }

    pub(super) fn data(&self) -> &[String] {
        self.texts.get(1..).unwrap_or_default()
    }

    /// The fields of the data, where there is room for all of them.
    pub(super) fn fields<'a, 'r>(&'a self, room: &'r mut [&'a str]) -> Option<&'r [&'a str]> {
        let fields = room.get_mut(..self.data().len())?;
        fields.iter_mut().zip(self.data()).for_each(|(field, text)| *field = text);
        Some(fields)
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) -> bool {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
    true
}

/// Any other escape stays as it is: its character is no place for the number.
fn push_escape(parts: &mut Vec<Part>, rest: &str) -> usize {
    let length = rest.chars().take(2).map(char::len_utf8).sum();
    push_text(parts, &rest[..length]);
    length
}

fn push_number(parts: &mut Vec<Part>) -> bool {
    parts.push(Part::Number(Form { offset: 0, width: 0, base: Base::Decimal }));
    true
}

/// Reads `${offset,width,base}`; gives its length.
fn push_form(parts: &mut Vec<Part>, rest: &str) -> Option<usize> {
    let end = rest.find('}')?;
    parts.push(Part::Number(Form::parse(&rest[2..end])?));
    Some(end + 1)
}

impl Form {
    fn parse(text: &str) -> Option<Form> {
        let mut fields = text.split(',');
        let offset = fields.next()?.parse::<i32>().ok()?.into();
        let width = fields.next().map_or(Some(0), |width| width.parse().ok())?;
        let base = fields.next().map_or(Some(Base::Decimal), Base::parse)?;
        (fields.next().is_none() && width <= MAX_WIDTH).then_some(Form { offset, width, base })
    }
}

impl Base {
    fn parse(text: &str) -> Option<Base> {
        Some(match text {
            "d" => Base::Decimal,
            "o" => Base::Octal,
            "x" | "X" => Base::Hexadecimal { upper: text == "X" },
            "n" | "N" => Base::Nibbles { upper: text == "N" },
            _ => return None,
        })
    }
}

impl Part {
    fn expand(&self, number: u32, out: &mut String) -> Option<()> {
        let form = match self {
            Part::Text(text) => {
                out.push_str(text);
                return Some(());
            }
            Part::Number(form) => form,
        };
        let (number, width) = (u64::try_from(i64::from(number) + form.offset).ok()?, form.width);
        match form.base {
            Base::Decimal => write!(out, "{number:0width$}"),
            Base::Octal => write!(out, "{number:0width$o}"),
            Base::Hexadecimal { upper: false } => write!(out, "{number:0width$x}"),
            Base::Hexadecimal { upper: true } => write!(out, "{number:0width$X}"),
            Base::Nibbles { upper } => out.write_str(&nibbles(number, width, upper)),
        }
        .ok()
    }
}

/// The digits with dots between them; the width counts both.
fn nibbles(number: u64, width: usize, upper: bool) -> String {
    let digits = width.div_ceil(2);
    let digits = if upper { format!("{number:0digits$X}") } else { format!("{number:0digits$x}") };
    digits.chars().rev().map(String::from).collect::<Vec<_>>().join(".")
}
