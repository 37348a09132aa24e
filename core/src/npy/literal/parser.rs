//! The parser of literals.

use super::Literal;

/// The deepest nesting that is accepted. A record in a record in a record, each with array fields,
/// needs nine levels.
const MAX_DEPTH: usize = 32;

/// Parses the whole of `text` as one literal.
pub(in crate::npy) fn parse(text: &str) -> Result<Literal, String> {
    if text.contains('\0') {
        return Err("it holds a null character".to_owned());
    }
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.skip_space();
    if parser.at < text.len() { Err(parser.unexpected("the end")) } else { Ok(value) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Result<Literal, String> {
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.skip_space();
        match self.peek() {
            Some('{') => self.dict(depth),
            Some('[') => Ok(Literal::List(self.items(']', depth)?.0)),
            Some('(') => {
                let (mut items, comma) = self.items(')', depth)?;
                // Parentheses around one value without a comma do not make a tuple.
                if items.len() == 1 && !comma { Ok(items.remove(0)) } else { Ok(Literal::Tuple(items)) }
            }
            Some('+' | '-' | '0'..='9') => self.integer(),
            _ if self.at_string().is_some() => self.strings(depth),
            _ if self.take("True") => Ok(Literal::Bool(true)),
            _ if self.take("False") => Ok(Literal::Bool(false)),
            _ => Err(self.unexpected("a value")),
        }
    }

    /// Reads values up to `close`, and returns whether a comma ended the last one.
    fn items(&mut self, close: char, depth: usize) -> Result<(Vec<Literal>, bool), String> {
        self.at += 1;
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            self.skip_space();
            if self.take_char(close) {
                return Ok((items, comma));
            }
            if !items.is_empty() && !comma {
                return Err(self.unexpected("a comma"));
            }
            items.push(self.value(depth + 1)?);
            self.skip_space();
            comma = self.take_char(',');
        }
    }

    fn dict(&mut self, depth: usize) -> Result<Literal, String> {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            self.skip_space();
            if self.take_char('}') {
                return Ok(Literal::Dict(entries));
            }
            let key = self.value(depth + 1)?;
            self.skip_space();
            if !self.take_char(':') {
                return Err(self.unexpected("a colon"));
            }
            self.skip_space();
            let start = self.at;
            let value = self.value(depth + 1)?;
            entries.push((key, value, start..self.at));
            self.skip_space();
            if !self.take_char(',') && self.peek() != Some('}') {
                return Err(self.unexpected("a comma"));
            }
        }
    }

    /// The length of a string's prefix, if a string begins here. Prefixes that mean text are read,
    /// also Python 2's; a prefix for bytes is not.
    fn at_string(&self) -> Option<usize> {
        let rest = &self.text[self.at..];
        let prefix = usize::from(rest.starts_with(['u', 'U', 'r', 'R']));
        rest[prefix..].starts_with(['\'', '"']).then_some(prefix)
    }

    /// Reads a string. Adjacent strings are one string, even across the end of a line.
    fn strings(&mut self, depth: usize) -> Result<Literal, String> {
        let mut text = String::new();
        while let Some(prefix) = self.at_string() {
            let is_raw = prefix > 0 && matches!(self.next_char(), Some('r' | 'R'));
            self.string(is_raw, &mut text)?;
            if depth > 0 {
                self.skip_space();
            }
        }
        Ok(Literal::Text(text))
    }

    fn string(&mut self, is_raw: bool, text: &mut String) -> Result<(), String> {
        let rest = &self.text[self.at..];
        let quote = if rest.starts_with('"') { '"' } else { '\'' };
        let long = if quote == '"' { "\"\"\"" } else { "\'\'\'" };
        let is_long = self.take(long);
        if !is_long {
            self.next_char();
        }
        loop {
            if is_long && self.take(long) {
                return Ok(());
            }
            match self.next_char() {
                Some(c) if c == quote && !is_long => return Ok(()),
                Some('\\') if is_raw => text.extend(['\\'].into_iter().chain(self.next_char())),
                Some('\\') => self.escape(text)?,
                None => break,
                Some('\n' | '\r') if !is_long => break,
                Some(c) => text.push(c),
            }
        }
        Err("a string does not end".to_owned())
    }

    /// Reads the escape after a backslash. An escape that Python does not know, or that is not a
    /// whole character, stays as it is written.
    fn escape(&mut self, text: &mut String) -> Result<(), String> {
        let rest = &self.text[self.at..];
        let Some(letter) = self.next_char() else { return Ok(()) };
        let (start, len, radix) = match letter {
            'x' => (1, 2, 16),
            'u' => (1, 4, 16),
            'U' => (1, 8, 16),
            '0'..='7' => (0, rest.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count(), 8),
            _ => {
                match letter {
                    '\\' | '\'' | '"' => text.push(letter),
                    'a' => text.push('\x07'),
                    'b' => text.push('\x08'),
                    'f' => text.push('\x0c'),
                    'n' => text.push('\n'),
                    'r' => text.push('\r'),
                    't' => text.push('\t'),
                    'v' => text.push('\x0b'),
                    '\n' => {}
                    _ => text.extend(['\\', letter]),
                }
                return Ok(());
            }
        };
        let digits = rest.get(start..start + len).filter(|digits| digits.chars().all(|c| c.is_digit(radix)));
        let number = digits.and_then(|digits| u32::from_str_radix(digits, radix).ok());
        let number = number.ok_or_else(|| format!("a bad escape ends at character {}", self.at))?;
        self.at += start + len - 1;
        match char::from_u32(number) {
            Some(c) => text.push(c),
            None => text.extend(['\\'].into_iter().chain(rest[..start + len].chars())),
        }
        Ok(())
    }

    /// Reads an integer in any base, with one sign at most. Underscores may stand between digits.
    fn integer(&mut self) -> Result<Literal, String> {
        let is_negative = self.peek() == Some('-');
        if is_negative || self.peek() == Some('+') {
            self.next_char();
            self.skip_space();
        }
        let start = self.at;
        let radix = match self.text[self.at..].get(..2) {
            Some("0x" | "0X") => 16,
            Some("0o" | "0O") => 8,
            Some("0b" | "0B") => 2,
            _ => 10,
        };
        if radix != 10 {
            self.at += 2;
            self.take_char('_');
        }
        let mut digits = String::new();
        while let Some(c) = self.peek().filter(|c| c.is_digit(radix)) {
            digits.push(c);
            self.at += 1;
            if self.text[self.at..].starts_with('_')
                && self.text[self.at + 1..].starts_with(|c: char| c.is_digit(radix))
            {
                self.at += 1;
            }
        }
        if digits.is_empty() {
            return Err(self.unexpected("a digit"));
        }
        if radix == 10 && digits.starts_with('0') && digits.bytes().any(|byte| byte != b'0') {
            return Err(format!("{digits} at character {start} begins with a zero"));
        }
        let value = i128::from_str_radix(&digits, radix).ok();
        // Files written by Python 2 on Windows mark long integers with this.
        self.take_char('L');
        if self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return Err(self.unexpected("the end of a number"));
        }
        Ok(Literal::Integer(value.map(|value| if is_negative { -value } else { value })))
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.text[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn take_char(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    /// Skips spaces, ends of lines, and comments.
    fn skip_space(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            self.at += match rest.as_bytes() {
                [b'#', ..] => rest.find(['\n', '\r']).unwrap_or(rest.len()),
                [b'\\', b'\r', b'\n', _, ..] => 3,
                [b'\\', b'\n' | b'\r', _, ..] => 2,
                [c, ..] if c.is_ascii_whitespace() => 1,
                _ => return,
            };
        }
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.peek() {
            Some(c) => format!("{wanted} expected at character {}, found {c:?}", self.at),
            None => format!("{wanted} expected, but the header ends"),
        }
    }
}
