//! Reads the part of Python's syntax in which headers are written.
//!
//! A text that Python refuses is refused. For any text, parsing takes linear time and a bounded
//! depth of stack.

mod parser;

use std::{
    fmt::{self, Write},
    ops::Range,
};

pub(super) use parser::parse;

/// A Python literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    /// `None` if it is beyond `i128`.
    Integer(Option<i128>),
    Bool(bool),
    Tuple(Vec<Self>),
    List(Vec<Self>),
    /// Entries, and the range of text that holds each value.
    Dict(Vec<(Self, Self, Range<usize>)>),
}

/// Prints like Python's `repr`. Values that no header has may look different.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write_text(f, text),
            Self::Integer(Some(number)) => write!(f, "{number}"),
            Self::Integer(None) => f.write_str("..."),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Tuple(items) if items.len() == 1 => write!(f, "({},)", items[0]),
            Self::Tuple(items) => write_items(f, '(', items, ')'),
            Self::List(items) => write_items(f, '[', items, ']'),
            Self::Dict(entries) => {
                f.write_char('{')?;
                for (key, value, _) in entries {
                    write!(f, "{key}: {value}, ")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn write_items(f: &mut fmt::Formatter<'_>, open: char, items: &[Literal], close: char) -> fmt::Result {
    f.write_char(open)?;
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    f.write_char(close)
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    f.write_char(quote)?;
    for c in text.chars() {
        match c {
            c if c == quote || c == '\\' => write!(f, "\\{c}")?,
            c if c.is_control() => write!(f, "\\x{:02x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char(quote)
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
