//! Splits a text into tokens.

use std::ops::Range;

use crate::{
    FunctionError, FunctionErrorKind,
    literal::{Literal, Magnitude},
};

#[derive(Debug, Clone)]
pub(super) enum Token {
    /// A name: `x0`, `exp`, `f32`.
    Name,
    /// A number without a sign.
    Number(Literal),
    /// An operator, a parenthesis or a comma.
    Sign,
    End,
}

/// The next token from a position on, and its bytes.
pub(super) fn next(text: &str, from: usize) -> Result<(Token, Range<usize>), FunctionError> {
    let rest = text[from..].trim_start_matches([' ', '\t', '\r', '\n']);
    let start = text.len() - rest.len();
    let Some(&first) = rest.as_bytes().first() else { return Ok((Token::End, start..start)) };
    let is_word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    if first.is_ascii_alphabetic() || first == b'_' {
        let len = rest.bytes().take_while(|&c| is_word(c)).count();
        let token = match &rest[..len] {
            "inf" => Token::Number(Literal { negative: false, magnitude: Magnitude::Infinity }),
            "nan" => Token::Number(Literal { negative: false, magnitude: Magnitude::Nan }),
            _ => Token::Name,
        };
        return Ok((token, start..start + len));
    }
    if first.is_ascii_digit() || (first == b'.' && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit)) {
        let len = number_len(rest);
        let range = start..start + len;
        let magnitude = number(&rest[..len]);
        let wrong = || FunctionError::new(FunctionErrorKind::Text, "not a number").at(text, range.clone());
        let magnitude = magnitude.ok_or_else(wrong)?;
        return Ok((Token::Number(Literal { negative: false, magnitude }), range));
    }
    for sign in ["**", "//", "<<", ">>", "==", "!=", "<=", ">="] {
        if rest.starts_with(sign) {
            return Ok((Token::Sign, start..start + 2));
        }
    }
    if b"+-*/%&|^~<>(),".contains(&first) {
        return Ok((Token::Sign, start..start + 1));
    }
    let len = rest.chars().next().map_or(0, char::len_utf8);
    Err(FunctionError::new(FunctionErrorKind::Text, "not part of the language").at(text, start..start + len))
}

/// The number of bytes that belong to a number: letters, digits, points, and a sign after an
/// exponent.
fn number_len(rest: &str) -> usize {
    let hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
    let mut before = b' ';
    let goes_on = |c: u8| {
        let exponent = if hexadecimal { b"pP" } else { b"eE" };
        let sign = matches!(c, b'+' | b'-') && exponent.contains(&before);
        before = c;
        sign || c.is_ascii_alphanumeric() || c == b'_' || c == b'.'
    };
    let mut goes_on = goes_on;
    rest.bytes().take_while(|&c| goes_on(c)).count()
}

fn number(text: &str) -> Option<Magnitude> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hexadecimal(digits);
    }
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (text, None),
    };
    let all_digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    if let Some(exponent) = exponent {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if unsigned.is_empty() || !all_digits(unsigned) {
            return None;
        }
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !all_digits(whole) || !all_digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    if exponent.is_none() && !digits.contains('.') {
        let significant = digits.trim_start_matches('0');
        let significant = if significant.is_empty() { "0" } else { significant };
        return Some(Magnitude::Integer(significant.into()));
    }
    Some(Magnitude::Decimal(text.into()))
}

/// Reads `1F`, or `1.8p-3` with its exponent.
fn hexadecimal(text: &str) -> Option<Magnitude> {
    let Some((digits, exponent)) = text.split_once(['p', 'P']) else {
        // The standard parser would accept a sign or a separator; the language does not.
        let plain = text.bytes().all(|c| c.is_ascii_hexdigit());
        return plain.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(Magnitude::HexInteger);
    };
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if unsigned.is_empty() || !unsigned.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 =
        exponent.parse().unwrap_or(if exponent.starts_with('-') { -1 << 40 } else { 1 << 40 });
    let exponent = exponent.clamp(-1 << 40, 1 << 40);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let (mut mantissa, mut sticky, mut dropped) = (0_u64, false, 0_i64);
    for c in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(c.to_digit(16)?);
        if mantissa >> 60 == 0 {
            mantissa = mantissa * 16 + digit;
        } else {
            sticky |= digit != 0;
            dropped += 4;
        }
    }
    let below = i64::try_from(fraction.len()).ok()? * 4;
    Some(Magnitude::HexFloat { mantissa, sticky, exponent: exponent - below + dropped })
}
