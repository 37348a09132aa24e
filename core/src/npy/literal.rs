//! The part of Python's syntax that headers are written in.
//!
//! Parsing takes time linear in the text and a bounded depth of stack, whatever the text is.

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
    Sequence(Vec<Self>),
    /// Entries, and where the text of each value is.
    Dict(Vec<(Self, Self, Range<usize>)>),
}

/// Parses the whole of `text` as one literal.
pub(super) fn parse(text: &str) -> Result<Literal, String> {
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
            Some('[') => Ok(Literal::Sequence(self.items(']', depth)?.0)),
            Some('(') => {
                let (mut items, comma) = self.items(')', depth)?;
                // Parentheses around one value without a comma are only parentheses.
                if items.len() == 1 && !comma { Ok(items.remove(0)) } else { Ok(Literal::Sequence(items)) }
            }
            Some(quote @ ('\'' | '"')) => self.string(quote),
            Some('-' | '0'..='9') => Ok(self.integer()),
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
                // Only the length of an escape matters here: names are kept as the text they were
                // written as.
                '\\' => text.extend(['\\'].into_iter().chain(self.next_char())),
                c => text.push(c),
            }
        }
        Err("a string does not end".to_owned())
    }

    fn integer(&mut self) -> Literal {
        let start = self.at;
        self.at += 1;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let value = self.text[start..self.at].parse().ok();
        // Files of Python 2 on Windows mark long integers.
        self.take_char('L');
        Literal::Integer(value)
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
        assert_eq!(entries[1].1, Literal::Sequence(vec![Literal::Integer(Some(3))]));
    }

    #[test]
    fn a_parenthesis_is_a_tuple_only_with_a_comma() {
        assert_eq!(parse("(7)"), Ok(Literal::Integer(Some(7))));
        assert_eq!(parse("(7,)"), Ok(Literal::Sequence(vec![Literal::Integer(Some(7))])));
        assert_eq!(parse("()"), Ok(Literal::Sequence(vec![])));
    }

    #[test]
    fn deep_and_broken_texts_are_errors() {
        for text in ["", "{", "[1 2]", "(,)", "{'a' 1}", "'open", "'\\", "1 2", "{'a': 1 'b': 2}", "é"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).unwrap_err().contains("nested"));
    }
}
