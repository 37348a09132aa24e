//! Turns a tree into typed steps. Literals take the type of the operand next to them.

use std::ops::Range;

use super::parser::{Part, Tree};
use crate::{
    ElementType, Function, FunctionBuilder, FunctionError, FunctionErrorKind, Value, literal::Literal,
};

/// A part with a known type, or a number that has no type yet.
#[derive(Clone, Copy)]
enum Term<'a> {
    Value(Value),
    Literal(&'a Literal),
}

pub(super) fn build(
    text: &str,
    tree: &Tree,
    inputs: &[ElementType],
    scalars: &[ElementType],
) -> Result<Function, FunctionError> {
    let builder = FunctionBuilder::new(inputs, scalars)?;
    let mut checker = Checker { text, tree, builder, terms: Vec::with_capacity(tree.len()) };
    for (part, range) in tree {
        let term = checker.term(part, range)?;
        checker.terms.push(term);
    }
    let result = checker.value(tree.len() - 1)?;
    checker.builder.finish(result)
}

struct Checker<'a> {
    text: &'a str,
    tree: &'a Tree,
    builder: FunctionBuilder,
    terms: Vec<Term<'a>>,
}

impl<'a> Checker<'a> {
    fn term(&mut self, part: &'a Part, range: &Range<usize>) -> Result<Term<'a>, FunctionError> {
        let built = match *part {
            Part::Number(ref literal) => return Ok(Term::Literal(literal)),
            Part::Input(at) => self.builder.input(at),
            Part::Scalar(at) => self.builder.scalar(at),
            Part::Position(axis) => self.builder.position(axis),
            Part::Bool(value) => self.builder.constant(ElementType::Bool, value.into()),
            Part::Unary(operation, a) => {
                let a = self.value(a)?;
                self.builder.unary(operation, a)
            }
            Part::Binary(operation, a, b) => {
                let [a, b] = self.same([a, b], range)?;
                self.builder.binary(operation, a, b)
            }
            Part::Composed(which, a, b) => {
                let [a, b] = self.same([a, b], range)?;
                which.build(&mut self.builder, a, b)
            }
            Part::Fma(a, b, c) => {
                let [a, b, c] = self.same([a, b, c], range)?;
                self.builder.fma(a, b, c)
            }
            Part::Clip(a, b, c) => {
                let [a, b, c] = self.same([a, b, c], range)?;
                self.builder.clip(a, b, c)
            }
            Part::Where(condition, a, b) => {
                let condition = self.value(condition)?;
                let [a, b] = self.same([a, b], range)?;
                self.builder.select(condition, a, b)
            }
            Part::Cast(a, target) => match self.terms[a] {
                Term::Literal(_) => self.typed(a, target),
                Term::Value(a) => self.builder.cast(a, target),
            },
            Part::Bitcast(a, target) => {
                let a = self.value(a)?;
                self.builder.bitcast(a, target)
            }
        };
        built.map(Term::Value).map_err(|error| self.place(error, range))
    }

    fn place(&self, error: FunctionError, range: &Range<usize>) -> FunctionError {
        if error.place().is_some() { error } else { error.at(self.text, range.clone()) }
    }

    /// The value of a part that must have a type of its own.
    fn value(&self, part: usize) -> Result<Value, FunctionError> {
        match self.terms[part] {
            Term::Value(value) => Ok(value),
            Term::Literal(_) => {
                let message = "nothing says the type of the literal: write a cast";
                let error = FunctionError::new(FunctionErrorKind::Type, message);
                Err(self.place(error, &self.tree[part].1))
            }
        }
    }

    /// The value of a literal in a type.
    fn typed(&mut self, part: usize, element_type: ElementType) -> Result<Value, FunctionError> {
        match self.terms[part] {
            Term::Value(value) => Ok(value),
            Term::Literal(literal) => {
                let bits =
                    literal.bits_in(element_type).map_err(|error| self.place(error, &self.tree[part].1))?;
                self.builder.constant(element_type, bits)
            }
        }
    }

    /// The values of parts that must have one type, which literals among them take.
    fn same<const N: usize>(
        &mut self,
        parts: [usize; N],
        range: &Range<usize>,
    ) -> Result<[Value; N], FunctionError> {
        let typed = parts.iter().find_map(|&part| match self.terms[part] {
            Term::Value(value) => Some(value),
            Term::Literal(_) => None,
        });
        let Some(typed) = typed else {
            let message = "nothing says the type of the literals: write a cast";
            return Err(self.place(FunctionError::new(FunctionErrorKind::Type, message), range));
        };
        let element_type = self.builder.type_of(typed)?;
        let mut values = [typed; N];
        for (value, part) in values.iter_mut().zip(parts) {
            *value = self.typed(part, element_type)?;
        }
        Ok(values)
    }
}
