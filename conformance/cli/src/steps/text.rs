//! Parses steps as people write them: `permute(2,0,1)/index(::2)`.

use devarray::Order;
use thiserror::Error;

use super::{
    Cut, Step,
    index_text::{integer, parse_item},
    suggest::suggest,
};
use crate::limits;

/// A chain of steps that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{cause}", place(step.as_deref()))]
#[non_exhaustive]
pub struct StepsError {
    /// The step as it was written; none if the chain as a whole is wrong.
    pub step: Option<String>,
    /// The mistake in it.
    pub cause: String,
}

fn place(step: Option<&str>) -> String {
    step.map_or_else(String::new, |step| format!("bad step {step:?}: "))
}

/// Parses steps that are separated by `/`; an empty text has none.
///
/// `permute(2,0,1)`, `permute()`, `flip(0)`, `flip()`, `squeeze()`, `broadcast(4,3)`, `index(::2,...,None)`,
/// `reshape(2,-1)`, `reshape(2,-1,order=F)`, `ravel(F)`, `copy(K)`, `split(3,take=0)`,
/// `array_split(3,axis=1,take=0)`, `split_at(2,-5,axis=1,take=2)`.
///
/// # Errors
///
/// [`StepsError`]: the first step that is not one of these, or [too many](limits::STEPS).
pub fn parse_steps(text: &str) -> Result<Vec<Step>, StepsError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let parse =
        |step: &str| parse_step(step).map_err(|cause| StepsError { step: Some(step.to_owned()), cause });
    let steps: Vec<Step> = text.split('/').map(str::trim).map(parse).collect::<Result<_, _>>()?;
    let long = |cause: anyhow::Error| StepsError { step: None, cause: cause.to_string() };
    limits::check_steps(&steps).map_err(long)?;
    Ok(steps)
}

/// The order with this name.
pub(super) fn order(text: &str) -> Option<Order> {
    match text {
        "C" => Some(Order::C),
        "F" => Some(Order::F),
        "A" => Some(Order::A),
        "K" => Some(Order::K),
        _ => None,
    }
}

fn parse_step(text: &str) -> Result<Step, String> {
    let (name, inside) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => (name, rest.strip_suffix(')').ok_or("it does not end with `)`")?),
    };
    let mut arguments = Arguments::split(inside)?;
    let step = match name.trim_end() {
        "index" => Step::Index(arguments.plain.drain(..).map(parse_item).collect::<Result<_, _>>()?),
        "permute" => Step::Permute(arguments.some_integers()?),
        "flip" => Step::Flip(arguments.some_integers()?),
        "squeeze" => Step::Squeeze(arguments.some_integers()?),
        "broadcast" => Step::Broadcast(arguments.integers()?),
        "reshape" => match arguments.order()? {
            Order::K => return Err("a reshape takes order C, F or A".to_owned()),
            order => Step::Reshape(arguments.integers()?, order),
        },
        "ravel" => Step::Ravel(arguments.order()?),
        "copy" => Step::Copy(arguments.order()?),
        "split" => Step::Split(Cut::Every(arguments.one_integer()?), arguments.take()?),
        "array_split" => {
            let cut = Cut::Into { axis: arguments.axis()?, sections: arguments.one_integer()? };
            Step::Split(cut, arguments.take()?)
        }
        "split_at" => {
            let cut = Cut::At { axis: arguments.axis()?, at: arguments.integers()? };
            Step::Split(cut, arguments.take()?)
        }
        unknown => {
            let meant = suggest(unknown).map(|step| format!("; did you mean `{step}`?"));
            return Err(format!("no operation has that name{}", meant.unwrap_or_default()));
        }
    };
    arguments.finish()?;
    Ok(step)
}

/// The text between the parentheses; each method reads the part that it understands.
struct Arguments<'a> {
    plain: Vec<&'a str>,
    named: Vec<(&'a str, &'a str)>,
}

impl<'a> Arguments<'a> {
    fn split(inside: &'a str) -> Result<Self, String> {
        let mut arguments = Self { plain: Vec::new(), named: Vec::new() };
        let inside = inside.trim();
        if inside.is_empty() {
            return Ok(arguments);
        }
        // One trailing comma is ignored, as in Python.
        for text in inside.strip_suffix(',').unwrap_or(inside).split(',').map(str::trim) {
            match text.split_once('=') {
                _ if text.is_empty() => return Err("an argument is empty".to_owned()),
                None => arguments.plain.push(text),
                Some((name, value)) => arguments.named.push((name.trim_end(), value.trim_start())),
            }
        }
        Ok(arguments)
    }

    fn integers(&mut self) -> Result<Vec<isize>, String> {
        self.plain.drain(..).map(integer).collect()
    }

    /// The integers, if there are any; without integers, a step acts on all axes.
    fn some_integers(&mut self) -> Result<Option<Vec<isize>>, String> {
        if self.plain.is_empty() { Ok(None) } else { self.integers().map(Some) }
    }

    fn one_integer(&mut self) -> Result<isize, String> {
        match self.integers()?[..] {
            [value] => Ok(value),
            _ => Err("it takes one integer before `take=`".to_owned()),
        }
    }

    /// The order, given by name or as the last plain argument; C if it is not given.
    fn order(&mut self) -> Result<Order, String> {
        if let Some(text) = self.named("order") {
            return order(text).ok_or_else(|| format!("order {text:?} is not C, F, A or K"));
        }
        let last = self.plain.last().and_then(|text| order(text));
        if last.is_some() {
            self.plain.pop();
        }
        Ok(last.unwrap_or_default())
    }

    fn axis(&mut self) -> Result<isize, String> {
        self.named("axis").map_or(Ok(0), integer)
    }

    fn take(&mut self) -> Result<isize, String> {
        integer(self.named("take").ok_or("`take=` says which part to take")?)
    }

    fn named(&mut self, name: &str) -> Option<&'a str> {
        let at = self.named.iter().position(|(found, _)| *found == name)?;
        Some(self.named.remove(at).1)
    }

    fn finish(self) -> Result<(), String> {
        match (self.plain.first(), self.named.first()) {
            (Some(text), _) => Err(format!("{text:?} means nothing here")),
            (_, Some((name, _))) => Err(format!("`{name}=` means nothing here")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use devarray::{
        Order,
        layout::{IndexItem, Slice},
    };

    use super::{Cut, Step, parse_steps};

    #[test]
    fn every_step_has_a_text() {
        let index = Step::Index(vec![
            IndexItem::Slice(Slice::FULL.step_by(2)),
            IndexItem::Ellipsis,
            IndexItem::NewAxis,
            IndexItem::At(-1),
        ]);
        for (text, step) in [
            ("index(::2, ..., np.newaxis, -1)", index),
            ("index(3,)", Step::Index(vec![IndexItem::At(3)])),
            ("permute(2,0,1)", Step::Permute(Some(vec![2, 0, 1]))),
            ("permute()", Step::Permute(None)),
            ("flip(-1)", Step::Flip(Some(vec![-1]))),
            ("flip()", Step::Flip(None)),
            ("squeeze", Step::Squeeze(None)),
            ("squeeze(0,-1)", Step::Squeeze(Some(vec![0, -1]))),
            ("broadcast(4,3)", Step::Broadcast(vec![4, 3])),
            ("reshape()", Step::Reshape(vec![], Order::C)),
            ("reshape(2,-1,F)", Step::Reshape(vec![2, -1], Order::F)),
            ("reshape(2, order=A)", Step::Reshape(vec![2], Order::A)),
            ("ravel", Step::Ravel(Order::C)),
            ("ravel(K)", Step::Ravel(Order::K)),
            ("copy(order=F)", Step::Copy(Order::F)),
            ("split(3,take=1)", Step::Split(Cut::Every(3), 1)),
            ("array_split(3,axis=-1,take=2)", Step::Split(Cut::Into { axis: -1, sections: 3 }, 2)),
            ("split_at(2,5,take=0)", Step::Split(Cut::At { axis: 0, at: vec![2, 5] }, 0)),
        ] {
            assert_eq!(parse_steps(text), Ok(vec![step]), "{text}");
        }
    }

    #[test]
    fn a_chain_keeps_its_order() {
        let steps = parse_steps(" permute(1,0) / index(::-1) ").unwrap();
        let reverse = IndexItem::Slice(Slice::FULL.step_by(-1));
        assert_eq!(steps, [Step::Permute(Some(vec![1, 0])), Step::Index(vec![reverse])]);
        assert_eq!(parse_steps(" "), Ok(vec![]));
    }

    #[test]
    fn the_step_at_fault_is_named() {
        for (text, step) in [
            ("permute(1,0)/bend(3)", "bend(3)"),
            ("permute(1,0", "permute(1,0"),
            ("permute(1,x)", "permute(1,x)"),
            ("permute(1,,0)", "permute(1,,0)"),
            ("ravel(B)", "ravel(B)"),
            ("ravel(2)", "ravel(2)"),
            ("reshape(2,K)", "reshape(2,K)"),
            ("copy(C,F)", "copy(C,F)"),
            ("split(3)", "split(3)"),
            ("split(3,4,take=1)", "split(3,4,take=1)"),
            ("index(::2,axis=1)", "index(::2,axis=1)"),
            ("flip(0)//flip(0)", ""),
        ] {
            assert_eq!(parse_steps(text).unwrap_err().step.as_deref(), Some(step), "{text}");
        }
    }
}
