//! Parses tokens to a tree, which is a list with operands before their operation. So no walk over
//! it recurses.

use std::ops::Range;

use super::lexer::{self, Token};
use crate::{
    BinaryOperation, ElementType, FunctionError, FunctionErrorKind, UnaryOperation, builder::MAX_NODES,
    composition::Composition, literal::Literal,
};

/// The deepest nesting of calls, parentheses and prefix operators in a text.
pub(super) const MAX_DEPTH: usize = 200;

/// A part of a text, and its operands, by their positions in the list.
#[derive(Debug)]
pub(super) enum Part {
    Input(usize),
    Scalar(usize),
    Position(usize),
    Bool(bool),
    Number(Literal),
    Unary(UnaryOperation, usize),
    Binary(BinaryOperation, usize, usize),
    Composed(Composition, usize, usize),
    Fma(usize, usize, usize),
    Clip(usize, usize, usize),
    Where(usize, usize, usize),
    Cast(usize, ElementType),
    Bitcast(usize, ElementType),
}

/// The parts of a text with their bytes; the last part is the whole.
pub(super) type Tree = Vec<(Part, Range<usize>)>;

pub(super) fn parse(text: &str, inputs: usize, scalars: usize) -> Result<Tree, FunctionError> {
    let mut parser =
        Parser { text, token: Token::End, range: 0..0, tree: Tree::new(), inputs, scalars, depth: 0 };
    parser.advance()?;
    parser.expression(BinaryOperation::COMPARISON_BINDING)?;
    match parser.token {
        Token::End => Ok(parser.tree),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    token: Token,
    range: Range<usize>,
    tree: Tree,
    inputs: usize,
    scalars: usize,
    /// The number of expressions around the next one.
    depth: usize,
}

type Parsed = Result<usize, FunctionError>;

impl Parser<'_> {
    fn advance(&mut self) -> Result<(), FunctionError> {
        (self.token, self.range) = lexer::next(self.text, self.range.end)?;
        Ok(())
    }

    fn error(&self, kind: FunctionErrorKind, message: String, range: Range<usize>) -> FunctionError {
        FunctionError::new(kind, message).at(self.text, range)
    }

    fn unexpected(&self, wanted: &str) -> FunctionError {
        let found = match self.token {
            Token::End => "the text ends".to_owned(),
            _ => format!("`{}`", &self.text[self.range.clone()]),
        };
        self.error(
            FunctionErrorKind::Text,
            format!("{found}, where {wanted} is expected"),
            self.range.clone(),
        )
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.token, Token::Sign) && &self.text[self.range.clone()] == sign
    }

    fn expect(&mut self, sign: &str) -> Result<(), FunctionError> {
        if !self.is_sign(sign) {
            return Err(self.unexpected(&format!("`{sign}`")));
        }
        self.advance()
    }

    fn push(&mut self, part: Part, range: Range<usize>) -> Parsed {
        if self.tree.len() >= MAX_NODES {
            let message = format!("the text has more than {MAX_NODES} parts");
            return Err(self.error(FunctionErrorKind::Size, message, range));
        }
        self.tree.push((part, range));
        Ok(self.tree.len() - 1)
    }

    /// Parses operators that bind at least as strongly as `weakest`, by precedence climbing.
    fn expression(&mut self, weakest: u8) -> Parsed {
        if self.depth > MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} deep");
            return Err(self.error(FunctionErrorKind::Size, message, self.range.clone()));
        }
        self.depth += 1;
        let start = self.range.start;
        let mut left = self.operand()?;
        while let Some((operation, binding)) = self.operator().filter(|&(_, binding)| binding >= weakest) {
            self.advance()?;
            // The right side of `**` may begin with a prefix operator, and is right-associative.
            let right = match binding {
                BinaryOperation::POWER_BINDING => self.expression(BinaryOperation::UNARY_BINDING)?,
                _ => self.expression(binding + 1)?,
            };
            left = self.push(Part::Binary(operation, left, right), start..self.end_of(right))?;
            if binding == BinaryOperation::COMPARISON_BINDING
                && self.operator().is_some_and(|(_, next)| next == binding)
            {
                let message = "comparisons are not chained: write parentheses".to_owned();
                return Err(self.error(FunctionErrorKind::Text, message, self.range.clone()));
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    fn end_of(&self, part: usize) -> usize {
        self.tree[part].1.end
    }

    fn operator(&self) -> Option<(BinaryOperation, u8)> {
        match self.token {
            Token::Sign => BinaryOperation::from_operator(&self.text[self.range.clone()]),
            _ => None,
        }
    }

    /// Parses a unary operator with its operand, or an atom.
    fn operand(&mut self) -> Parsed {
        let range = self.range.clone();
        if self.is_sign("-") {
            self.advance()?;
            if let Token::Number(literal) = &self.token {
                // The minus belongs to the literal, unless a `**` takes the literal first.
                let (_, after) = lexer::next(self.text, self.range.end)?;
                if &self.text[after] != "**" {
                    let literal = Literal { negative: true, ..literal.clone() };
                    let range = range.start..self.range.end;
                    self.advance()?;
                    return self.push(Part::Number(literal), range);
                }
            }
            return self.unary(UnaryOperation::Negate, range.start);
        }
        if self.is_sign("~") {
            self.advance()?;
            return self.unary(UnaryOperation::Not, range.start);
        }
        self.atom()
    }

    fn unary(&mut self, operation: UnaryOperation, start: usize) -> Parsed {
        let operand = self.expression(BinaryOperation::UNARY_BINDING)?;
        self.push(Part::Unary(operation, operand), start..self.end_of(operand))
    }

    fn atom(&mut self) -> Parsed {
        let range = self.range.clone();
        match &self.token {
            Token::Number(literal) => {
                let literal = literal.clone();
                self.advance()?;
                self.push(Part::Number(literal), range)
            }
            Token::Name => {
                self.advance()?;
                if self.is_sign("(") { self.call(range) } else { self.name(range) }
            }
            Token::Sign if self.is_sign("(") => {
                self.advance()?;
                let inside = self.expression(BinaryOperation::COMPARISON_BINDING)?;
                let end = self.range.end;
                self.expect(")")?;
                self.tree[inside].1 = range.start..end;
                Ok(inside)
            }
            _ => Err(self.unexpected("an operand")),
        }
    }

    fn name(&mut self, range: Range<usize>) -> Parsed {
        let name = &self.text[range.clone()];
        let part = match name {
            "true" => Some(Part::Bool(true)),
            "false" => Some(Part::Bool(false)),
            _ => match (name.as_bytes()[0], number_of(&name[1..])) {
                (b'x', Some(at)) => {
                    self.given(at, self.inputs, "inputs", &range)?;
                    Some(Part::Input(at))
                }
                (b'k', Some(at)) => {
                    self.given(at, self.scalars, "scalars", &range)?;
                    Some(Part::Scalar(at))
                }
                (b'i', Some(axis)) => Some(Part::Position(axis)),
                _ => None,
            },
        };
        let Some(part) = part else {
            let what = if is_function(name) { "is a function: write its arguments" } else { "is unknown" };
            return Err(self.error(FunctionErrorKind::Text, format!("`{name}` {what}"), range));
        };
        self.push(part, range)
    }

    fn given(&self, at: usize, given: usize, what: &str, range: &Range<usize>) -> Result<(), FunctionError> {
        if at < given {
            return Ok(());
        }
        let message = match given {
            0 => format!("no {what} are given"),
            1 => format!("only one of the {what} is given"),
            _ => format!("only {given} {what} are given"),
        };
        Err(self.error(FunctionErrorKind::Text, message, range.clone()))
    }

    fn call(&mut self, range: Range<usize>) -> Parsed {
        let name = &self.text[range.clone()];
        let casts = matches!(name, "cast" | "bitcast");
        let count = match name {
            _ if casts => 2,
            "fma" | "clip" | "where" => 3,
            _ if BinaryOperation::from_name(name).is_some() => 2,
            _ if Composition::from_name(name).is_some() => 2,
            _ if UnaryOperation::from_name(name).is_some() => 1,
            _ => {
                let message = format!("the function `{name}` is unknown");
                return Err(self.error(FunctionErrorKind::Text, message, range));
            }
        };
        self.advance()?;
        let mut arguments = [0; 3];
        let mut target = None;
        for (at, argument) in arguments.iter_mut().enumerate().take(count) {
            if at > 0 {
                if self.is_sign(")") {
                    return Err(self.arguments(name, at, count, range.start..self.range.end));
                }
                self.expect(",")?;
            }
            if casts && at == 1 {
                target = Some(self.element_type()?);
            } else if at == 0 && self.is_sign(")") {
                return Err(self.arguments(name, 0, count, range.start..self.range.end));
            } else {
                *argument = self.expression(BinaryOperation::COMPARISON_BINDING)?;
            }
        }
        let whole = range.start..self.range.end;
        if self.is_sign(",") {
            let message = format!("`{name}` takes {count} arguments, more are given");
            return Err(self.error(FunctionErrorKind::Text, message, whole));
        }
        self.expect(")")?;
        let [a, b, c] = arguments;
        let part = match (name, target) {
            ("cast", Some(target)) => Part::Cast(a, target),
            ("bitcast", Some(target)) => Part::Bitcast(a, target),
            ("fma", _) => Part::Fma(a, b, c),
            ("clip", _) => Part::Clip(a, b, c),
            ("where", _) => Part::Where(a, b, c),
            _ => {
                let binary = BinaryOperation::from_name(name).map(|operation| Part::Binary(operation, a, b));
                let unary = || UnaryOperation::from_name(name).map(|operation| Part::Unary(operation, a));
                let composed = || Composition::from_name(name).map(|which| Part::Composed(which, a, b));
                let found = binary.or_else(unary).or_else(composed);
                found.ok_or_else(|| self.unexpected("a function"))?
            }
        };
        self.push(part, whole)
    }

    fn arguments(&self, name: &str, given: usize, wanted: usize, range: Range<usize>) -> FunctionError {
        let message = format!("`{name}` takes {wanted} arguments, {given} are given");
        self.error(FunctionErrorKind::Text, message, range)
    }

    fn element_type(&mut self) -> Result<ElementType, FunctionError> {
        let element_type = match self.token {
            Token::Name => ElementType::from_name(&self.text[self.range.clone()]),
            _ => None,
        };
        let element_type = element_type.ok_or_else(|| self.unexpected("an element type"))?;
        self.advance()?;
        Ok(element_type)
    }
}

fn is_function(name: &str) -> bool {
    matches!(name, "cast" | "bitcast" | "fma" | "clip" | "where")
        || BinaryOperation::from_name(name).is_some()
        || UnaryOperation::from_name(name).is_some()
        || Composition::from_name(name).is_some()
}

/// The number after `x`, `k` or `i`, without leading zeros.
fn number_of(digits: &str) -> Option<usize> {
    let plain = digits.bytes().all(|c| c.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    plain.then(|| digits.parse().ok()).flatten()
}
