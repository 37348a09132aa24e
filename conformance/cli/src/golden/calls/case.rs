//! The JSON form of cases and of their results.

use devarray::order::Call;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    calls::{AnyCall, Arguments},
    golden::compute::{ComputeExpect, ComputeFound, ErrorKind, Input, Out},
    object::Object,
};

/// One line of a golden file: a call, its inputs, and the expected result.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Object<RawCase>")]
#[non_exhaustive]
pub struct CallCase {
    /// The name of the case.
    pub id: String,
    /// The call.
    pub call: AnyCall,
    /// Its inputs, in order.
    pub inputs: Vec<Input>,
    /// The arrays that receive the results; if none, results are new arrays.
    pub out: Option<Vec<Out>>,
    /// The expected result.
    pub expect: CallExpect,
}

/// The expected result of a case.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CallExpect {
    /// An error of this kind.
    Error(ErrorKind),
    /// Arrays, each with the largest distance allowed for an element, counted in representable
    /// numbers.
    Arrays(Vec<(ComputeFound, u64)>),
}

/// The results of a case, as golden files write them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct CallFound {
    /// The results, in order.
    pub outputs: Vec<ComputeFound>,
}

#[derive(Deserialize)]
struct RawCase {
    id: String,
    call: String,
    inputs: Vec<Input>,
    #[serde(default)]
    args: Arguments,
    out: Option<Vec<Out>>,
    expect: Value,
}

impl TryFrom<Object<RawCase>> for CallCase {
    type Error = String;

    fn try_from(Object(raw): Object<RawCase>) -> Result<Self, String> {
        let RawCase { id, call, inputs, args, out, expect } = raw;
        let call = AnyCall::named(&call, &args)?;
        let (least, most) = call.count_of_inputs();
        if !(least..=most).contains(&inputs.len()) {
            return Err(format!("{} inputs, {} takes {most}", inputs.len(), call.name()));
        }
        if out.is_some() && matches!(call, AnyCall::Order(Call::Unique | Call::NonZero)) {
            return Err("`out` of a call whose results have a size that only it knows".to_owned());
        }
        if let Some(out) = out.as_ref().filter(|out| out.len() != call.count_of_outputs()) {
            return Err(format!("`out` has {} entries for {} outputs", out.len(), call.count_of_outputs()));
        }
        Ok(Self { id, call, inputs, out, expect: expected(expect)? })
    }
}

fn expected(expect: Value) -> Result<CallExpect, String> {
    let read = |value| serde_json::from_value(value).map_err(|error| error.to_string());
    let Value::Array(outputs) = expect else {
        return match read(expect)? {
            ComputeExpect::Error(kind) => Ok(CallExpect::Error(kind)),
            ComputeExpect::Array(..) => Err("`expect` is a list of outputs, or an error".to_owned()),
        };
    };
    let output = |value| match read(value)? {
        ComputeExpect::Array(found, ulp) => Ok((found, ulp)),
        ComputeExpect::Error(_) => Err("an output in `expect` is an error".to_owned()),
    };
    outputs.into_iter().map(output).collect::<Result<_, String>>().map(CallExpect::Arrays)
}
