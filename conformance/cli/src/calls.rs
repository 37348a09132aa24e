//! Calls by name, with arguments as files and command lines write them.

mod any_call;

pub use any_call::AnyCall;

use std::collections::BTreeMap;

use devarray::{
    Axes,
    function::ElementType,
    order::{Call, Combining, OrderError},
};
use serde::Deserialize;
use serde_json::Value;

use crate::integer::Integer;

/// Arguments by their names.
pub type Arguments = BTreeMap<String, Value>;

/// The names of the calls, with their arguments.
pub const CALLS: &str = "sort argsort (axis, descending)  topk (k, axis, largest)  unique  searchsorted (side)  \
                         bincount (n)  histogram  put (op, axis)  segments (op)  csr_dot  nonzero  quantile (q, axis)  \
                         matmul";

/// A call by its name.
///
/// # Errors
///
/// There is no such call; or an argument is unknown, missing, or has a wrong value.
pub fn named(name: &str, arguments: &Arguments) -> Result<Call, String> {
    let mut given = Given { arguments: arguments.clone(), name };
    let call = match name {
        "sort" => Call::Sort { axis: given.integer("axis")?, descending: given.truth("descending", false)? },
        "argsort" => {
            Call::ArgSort { axis: given.integer("axis")?, descending: given.truth("descending", false)? }
        }
        "topk" => Call::TopK {
            k: given.count("k")?,
            axis: given.integer("axis")?,
            largest: given.truth("largest", true)?,
        },
        "unique" => Call::Unique,
        "searchsorted" => {
            Call::SearchSorted { right: given.one_of("side", &[("left", false), ("right", true)])? }
        }
        "bincount" => Call::BinCount { n: given.count("n")? },
        "histogram" => Call::Histogram,
        "put" => Call::Put { operation: given.combining("add")?, axis: given.integer("axis")? },
        "segments" => Call::Segments { operation: given.combining("sum")? },
        "csr_dot" => Call::CsrDot,
        "nonzero" => Call::NonZero,
        "quantile" => Call::Quantile { q: given.fraction("q")?, axis: given.integer("axis")? },
        _ => return Err(format!("{name:?} is no call; there are: {CALLS}")),
    };
    match given.arguments.keys().next() {
        Some(unknown) => Err(format!("{name} has no argument `{unknown}`")),
        None => Ok(call),
    }
}

/// The arguments that were not read yet.
struct Given<'a> {
    arguments: Arguments,
    name: &'a str,
}

impl Given<'_> {
    fn take(&mut self, argument: &str) -> Result<Value, String> {
        let missing = || format!("{} takes an argument `{argument}`", self.name);
        self.arguments.remove(argument).ok_or_else(missing)
    }

    fn wrong(&self, argument: &str, value: &Value, is: &str) -> String {
        format!("{}: `{argument}` is {is}, not {value}", self.name)
    }

    fn integer(&mut self, argument: &str) -> Result<isize, String> {
        let value = self.take(argument)?;
        let number = Integer::deserialize(&value).map(|Integer(number)| number);
        number.map_err(|_| self.wrong(argument, &value, "an integer"))
    }

    fn count(&mut self, argument: &str) -> Result<usize, String> {
        let number = self.integer(argument)?;
        number.try_into().map_err(|_| self.wrong(argument, &number.into(), "0 or more"))
    }

    fn truth(&mut self, argument: &str, default: bool) -> Result<bool, String> {
        let Some(value) = self.arguments.remove(argument) else { return Ok(default) };
        value.as_bool().ok_or_else(|| self.wrong(argument, &value, "true or false"))
    }

    fn one_of<T: Copy>(&mut self, argument: &str, known: &[(&str, T)]) -> Result<T, String> {
        let value = self.take(argument)?;
        let found = known.iter().find(|(name, _)| value.as_str() == Some(name));
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        found.map(|(_, meant)| *meant).ok_or_else(|| self.wrong(argument, &value, &names.join(" or ")))
    }

    fn combining(&mut self, sum: &str) -> Result<Combining, String> {
        let known = [(sum, Combining::Sum), ("minimum", Combining::Minimum), ("maximum", Combining::Maximum)];
        self.one_of("op", &known)
    }

    /// A number. NaN, which JSON cannot write, is null or a text.
    fn fraction(&mut self, argument: &str) -> Result<f64, String> {
        let value = self.take(argument)?;
        let number = match &value {
            Value::Null => Some(f64::NAN),
            Value::String(text) => text.parse().ok(),
            other => other.as_f64(),
        };
        number.ok_or_else(|| self.wrong(argument, &value, "a number"))
    }
}

/// An argument in the form of a command line, `axis=-1`; none if the text has another form.
#[must_use]
pub fn argument(text: &str) -> Option<(String, Value)> {
    let (name, value) = text.split_once('=')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    is_name.then(|| (name.to_owned(), value))
}

/// The largest number of elements in the operands of a call with these inputs: in the array that it
/// puts into, and in its results.
///
/// # Errors
///
/// [`Call::outputs`] refuses the inputs.
pub fn most_elements(call: &Call, inputs: &[(ElementType, &[usize])]) -> Result<usize, OrderError> {
    let count = |shape: &[usize]| shape.iter().fold(1_usize, |len, &extent| len.saturating_mul(extent));
    let outputs = call.outputs(inputs)?;
    let sides = inputs.iter().map(|(_, shape)| count(shape));
    let most = sides.chain(outputs.iter().map(|output| count(&output.shape))).max().unwrap_or(0);
    let Call::Put { axis, .. } = *call else { return Ok(most) };
    let (x, indices) = (inputs[0].1, inputs[1].1);
    let mut put: Axes<usize> = x.into();
    let front = if axis < 0 { axis.saturating_add(x.len().cast_signed()) } else { axis };
    if let Some(extent) = put.get_mut(front.cast_unsigned()) {
        *extent = count(indices);
    }
    Ok(most.max(count(&put)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, texts: &[&str]) -> Result<Call, String> {
        named(name, &texts.iter().filter_map(|text| argument(text)).collect())
    }

    #[test]
    fn arguments_are_read_and_wrong_ones_named() {
        assert_eq!(of("sort", &["axis=-1"]), Ok(Call::Sort { axis: -1, descending: false }));
        let top = Call::TopK { k: 3, axis: isize::MAX, largest: false };
        assert_eq!(of("topk", &["k=3", "axis=9223372036854775808", "largest=false"]), Ok(top));
        assert_eq!(of("searchsorted", &["side=right"]), Ok(Call::SearchSorted { right: true }));
        assert_eq!(of("quantile", &["q=0.5", "axis=0"]), Ok(Call::Quantile { q: 0.5, axis: 0 }));
        assert!(matches!(of("quantile", &["q=nan", "axis=0"]), Ok(Call::Quantile { q, .. }) if q.is_nan()));
        for (name, texts, due) in [
            ("sort", &[][..], "sort takes an argument `axis`"),
            ("sort", &["axis=1.5"], "sort: `axis` is an integer, not 1.5"),
            ("sort", &["axis=0", "k=1"], "sort has no argument `k`"),
            ("sort", &["axis=0", "descending=1"], "sort: `descending` is true or false, not 1"),
            ("topk", &["k=-1", "axis=0"], "topk: `k` is 0 or more, not -1"),
            ("put", &["op=sum", "axis=0"], "put: `op` is add or minimum or maximum, not \"sum\""),
            ("segments", &["op=add"], "segments: `op` is sum or minimum or maximum, not \"add\""),
            ("shuffle", &[], "\"shuffle\" is no call; there are: sort"),
        ] {
            let message = of(name, texts).unwrap_err();
            assert!(message.starts_with(due), "{message}");
        }
        assert_eq!(argument("in.npy"), None);
        assert_eq!(argument("./a=b.npy"), None);
    }

    #[test]
    fn what_is_put_counts_as_a_side() {
        use ElementType::{F32, I32};
        let put = Call::Put { operation: Combining::Sum, axis: -2 };
        assert_eq!(most_elements(&put, &[(F32, &[2, 5]), (I32, &[1000]), (F32, &[])]), Ok(5000));
        assert_eq!(most_elements(&Call::BinCount { n: 77 }, &[(I32, &[3])]), Ok(77));
    }
}
