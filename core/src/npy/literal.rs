//! The part of Python's syntax that headers are written in.
//!
//! A text that Python refuses is refused. Parsing takes time linear in the text and a bounded depth
//! of stack, whatever the text is.

use std::ops::Range;

/// Deepest nesting accepted. A record in a record in a record, each with array fields, needs nine.
const MAX_DEPTH: usize = 32;

/// A Python literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    /// `None` if it is beyond `i128`.
    Integer(Option<i128>),
    Bool(bool),
    Tuple(Vec<Self>),
    List(Vec<Self>),
    /// Entries, and where the text of each value is.
    Dict(Vec<(Self, Self, Range<usize>)>),
}

/// Parses the whole of `text` as one literal.
pub(super) fn parse(text: &str) -> Result<Literal, String> {
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
                // Parentheses around one value without a comma are only parentheses.
                if items.len() == 1 && !comma { Ok(items.remove(0)) } else { Ok(Literal::Tuple(items)) }
            }
            Some(quote @ ('\'' | '"')) => self.string(quote),
            Some('-' | '0'..='9') => self.integer(),
            _ if self.take("True") => Ok(Literal::Bool(true)),
            _ if self.take("False") => Ok(Literal::Bool(false)),
            _ => Err(self.unexpected("a value")),
        }
    }

    /// Values up to `close`, and whether a comma ended the last one.
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

    fn string(&mut self, quote: char) -> Result<Literal, String> {
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.next_char() {
            match c {
                c if c == quote => return Ok(Literal::Text(text)),
                '\\' => self.escape(&mut text)?,
                '\n' | '\r' => break,
                c => text.push(c),
            }
        }
        Err("a string does not end".to_owned())
    }

    /// What stands after a backslash. An escape that Python does not know, and what is no character
    /// by itself, stays as it is written.
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

    fn integer(&mut self) -> Result<Literal, String> {
        let start = self.at;
        self.take_char('-');
        let digits = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let zeros = &self.text[digits..self.at];
        if zeros.is_empty() {
            return Err(self.unexpected("a digit"));
        }
        if zeros.starts_with('0') && zeros.bytes().any(|byte| byte != b'0') {
            return Err(format!("{zeros} at character {digits} begins with a zero"));
        }
        let value = self.text[start..self.at].parse().ok();
        // Files of Python 2 on Windows mark long integers.
        self.take_char('L');
        Ok(Literal::Integer(value))
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

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.peek() {
            Some(c) => format!("{wanted} expected at character {}, found {c:?}", self.at),
            None => format!("{wanted} expected, but the header ends"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Literal, parse};

    #[test]
    fn values_of_a_dictionary_keep_their_text() {
        let text = "{'descr': [('a', '<f4', (2, 3)), ('b', '|u1')], 'n': (3L,), }  ";
        let Literal::Dict(entries) = parse(text).unwrap() else { panic!("not a dictionary") };
        assert_eq!(&text[entries[0].2.clone()], "[('a', '<f4', (2, 3)), ('b', '|u1')]");
        assert_eq!(entries[1].1, Literal::Tuple(vec![Literal::Integer(Some(3))]));
    }

    #[test]
    fn a_parenthesis_is_a_tuple_only_with_a_comma() {
        assert_eq!(parse("(7)"), Ok(Literal::Integer(Some(7))));
        assert_eq!(parse("(7,)"), Ok(Literal::Tuple(vec![Literal::Integer(Some(7))])));
        assert_eq!(parse("()"), Ok(Literal::Tuple(vec![])));
        assert_eq!(parse("[7]"), Ok(Literal::List(vec![Literal::Integer(Some(7))])));
    }

    #[test]
    fn deep_and_broken_texts_are_errors() {
        for text in ["", "{", "[1 2]", "(,)", "{'a' 1}", "'open", "'\\", "1 2", "{'a': 1 'b': 2}", "é"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["02", "-02", "02L", "-", "'a\nb'", r"'\x6'", r"'\u006'", r"'\xé'", "7\0", "'\0'"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(parse(&"[".repeat(100_000)).unwrap_err().contains("nested"));
    }
    #[test]
    fn texts_and_integers_are_those_of_python() {
        for (text, value) in [
            (r"'a\'\\b'", r"a'\b"),
            (r"'\x61\u00e9\U0001f600\101\7x'", "aé😀A\x07x"),
            (r"'\a\b\f\n\r\t\v'", "\x07\x08\x0c\n\r\t\x0b"),
            ("'a\\\nb'", "ab"),
            (r"'\d\N{BULLET}\ud800'", r"\d\N{BULLET}\ud800"),
        ] {
            assert_eq!(parse(text), Ok(Literal::Text(value.to_owned())), "{text}");
        }
        for text in ["0", "00", "-0", "0L"] {
            assert_eq!(parse(text), Ok(Literal::Integer(Some(0))), "{text}");
        }
    }
}
