//! The text of an `einsum`: a letter for each axis.

use std::collections::BTreeMap;

use crate::product::{ProductError, wrong_shape};

/// The subscripts of a text: the letters of the axes of each operand, and of the result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Subscripts {
    pub(super) operands: Vec<Vec<char>>,
    pub(super) result: Vec<char>,
}

impl Subscripts {
    /// Reads `ij,jk->ik`. Without `->` the result has the letters that occur once, in the order of
    /// the alphabet, as in NumPy.
    pub(super) fn parse(text: &str) -> Result<Self, ProductError> {
        let refuse = |why: String| Err(wrong_shape(format!("{text:?}: {why}")));
        let (before, after) = match text.split_once("->") {
            Some((before, after)) => (before, Some(after)),
            None => (text, None),
        };
        let mut operands = Vec::new();
        for part in before.split(',') {
            match letters(part) {
                Ok(axes) => operands.push(axes),
                Err(other) => return refuse(format!("{other:?} is no letter")),
            }
        }
        let mut uses: BTreeMap<char, usize> = BTreeMap::new();
        for &letter in operands.iter().flatten() {
            *uses.entry(letter).or_default() += 1;
        }
        let Some(after) = after else {
            let result = uses.iter().filter(|&(_, &uses)| uses == 1).map(|(&letter, _)| letter).collect();
            return Ok(Self { operands, result });
        };
        let result = match letters(after) {
            Ok(axes) => axes,
            Err(other) => return refuse(format!("{other:?} is no letter")),
        };
        for (at, letter) in result.iter().enumerate() {
            if !uses.contains_key(letter) {
                return refuse(format!("the result has an axis {letter}, and no operand has"));
            }
            if result[..at].contains(letter) {
                return refuse(format!("the result has two axes {letter}"));
            }
        }
        Ok(Self { operands, result })
    }

    /// The letters that occur in `of`, in the order of the text.
    pub(super) fn in_order(&self, of: impl Fn(char) -> bool) -> Vec<char> {
        let mut found = Vec::new();
        for &letter in self.operands.iter().flatten() {
            if of(letter) && !found.contains(&letter) {
                found.push(letter);
            }
        }
        found
    }
}

/// Reads the letters of one operand, or returns the character that is not a letter. Spaces are
/// skipped.
fn letters(text: &str) -> Result<Vec<char>, char> {
    let letters = text.chars().filter(|letter| *letter != ' ');
    letters.map(|letter| if letter.is_ascii_alphabetic() { Ok(letter) } else { Err(letter) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Vec<String>, String) {
        let Subscripts { operands, result } = Subscripts::parse(text).unwrap();
        (operands.into_iter().map(String::from_iter).collect(), String::from_iter(result))
    }

    #[test]
    fn a_text_names_the_axes_of_operands_and_result() {
        assert_eq!(parsed("ij,jk->ik"), (vec!["ij".into(), "jk".into()], "ik".into()));
        assert_eq!(parsed(" b i j , b j k "), (vec!["bij".into(), "bjk".into()], "ik".into()));
        assert_eq!(parsed("ii"), (vec!["ii".into()], String::new()));
        assert_eq!(parsed("ba"), (vec!["ba".into()], "ab".into()));
        assert_eq!(parsed(",i->i"), (vec![String::new(), "i".into()], "i".into()));
        let shared = Subscripts::parse("ikj,jk->i").unwrap();
        assert_eq!(shared.in_order(|letter| letter != 'i'), ['k', 'j']);
    }

    #[test]
    fn a_text_of_something_else_is_refused() {
        for text in ["i1->i", "...i->i", "ij->k", "ij->ii", "i->j->i", "i-j"] {
            Subscripts::parse(text).unwrap_err();
        }
    }
}
