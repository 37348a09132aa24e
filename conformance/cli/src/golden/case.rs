//! The JSON form of cases and results.

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{limits, object::Object, steps::Step};

/// One line of a golden file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Object<RawCase>")]
#[non_exhaustive]
pub struct Case {
    /// The name of the case.
    pub id: String,
    /// The shape of the array that it starts from: `i32`, in C order, with the value k in the k-th
    /// element.
    pub base: Vec<usize>,
    /// The steps that make the view.
    pub steps: Vec<Step>,
    /// The expected result.
    pub expect: Expect,
}

/// The expected result of a case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Object<RawExpect>")]
#[non_exhaustive]
pub enum Expect {
    /// A typed error.
    Error,
    /// An array.
    Array(Found),
}

/// A result, as golden files write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Found {
    /// Its extents.
    pub shape: Vec<usize>,
    /// Whether it is C-contiguous.
    pub c: bool,
    /// Whether it is F-contiguous.
    pub f: bool,
    /// The expected elements; none if the array is empty.
    #[serde(flatten)]
    pub elements: Option<Elements>,
}

/// The part of a result that only arrays with elements have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Elements {
    /// Whether any step had to copy.
    pub copied: bool,
    /// The strides in elements; `None` for an axis of extent 1, whose stride means nothing.
    pub strides: Vec<Option<isize>>,
    /// The position of the first element in the base, in elements; only for views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
    /// The elements in logical C order.
    pub values: Vec<i32>,
}

/// The outcome of a case: an array, or the message of a typed error.
pub type Outcome = Result<Found, String>;

/// Reads a shape with so few axes and elements that an `i32` can number the elements.
fn base<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<usize>, D::Error> {
    let shape = Vec::<usize>::deserialize(deserializer)?;
    limits::check_axes(shape.len()).map_err(|error| de::Error::custom(format!("base: {error}")))?;
    let len = shape.iter().filter(|&&extent| extent > 0).try_fold(1_usize, |len, &n| len.checked_mul(n));
    let (most, fits) = (limits::CASE_ELEMENTS, len.is_some_and(|len| len <= limits::CASE_ELEMENTS));
    let refused = || de::Error::custom(format!("base {shape:?} has more than the {most} elements allowed"));
    if fits { Ok(shape) } else { Err(refused()) }
}

#[derive(Deserialize)]
struct RawCase {
    id: String,
    #[serde(deserialize_with = "base")]
    base: Vec<usize>,
    steps: Vec<Step>,
    expect: Expect,
}

impl From<Object<RawCase>> for Case {
    fn from(Object(RawCase { id, base, steps, expect }): Object<RawCase>) -> Self {
        Self { id, base, steps, expect }
    }
}

#[derive(Deserialize)]
struct RawExpect {
    #[serde(default)]
    error: bool,
    shape: Option<Vec<usize>>,
    c: Option<bool>,
    f: Option<bool>,
    copied: Option<bool>,
    strides: Option<Vec<Option<isize>>>,
    offset: Option<usize>,
    values: Option<Vec<i32>>,
}

impl TryFrom<Object<RawExpect>> for Expect {
    type Error = String;

    fn try_from(Object(raw): Object<RawExpect>) -> Result<Self, String> {
        if raw.error {
            return Ok(Self::Error);
        }
        let missing = |name: &str| format!("`expect` has a `shape`, but no `{name}`");
        let shape = raw.shape.ok_or("`expect` has neither a `shape` nor an `error` that is true")?;
        let elements = if shape.contains(&0) {
            None
        } else {
            let copied = raw.copied.ok_or_else(|| missing("copied"))?;
            if !copied && raw.offset.is_none() {
                return Err("`expect` has no `offset`, though `copied` is false".to_owned());
            }
            Some(Elements {
                copied,
                strides: raw.strides.ok_or_else(|| missing("strides"))?,
                offset: raw.offset.filter(|_| !copied),
                values: raw.values.ok_or_else(|| missing("values"))?,
            })
        };
        let c = raw.c.ok_or_else(|| missing("c"))?;
        let f = raw.f.ok_or_else(|| missing("f"))?;
        Ok(Self::Array(Found { shape, c, f, elements }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Expect};

    fn expect(text: &str) -> Result<Expect, String> {
        let line = format!(r#"{{"id":"x","base":[2],"steps":[],"expect":{text}}}"#);
        serde_json::from_str::<Case>(&line).map(|case| case.expect).map_err(|e| e.to_string())
    }

    #[test]
    fn an_array_with_elements_says_all_about_them() {
        assert_eq!(expect(r#"{"error":true}"#), Ok(Expect::Error));
        assert!(expect(r#"{"shape":[0],"c":true,"f":true}"#).is_ok());
        let whole =
            r#"{"shape":[1],"c":true,"f":true,"copied":false,"strides":[null],"offset":0,"values":[0]}"#;
        assert!(expect(whole).is_ok());
        assert!(expect(r#"{"error":false}"#).unwrap_err().contains("that is true"));
        for name in ["shape", "c", "f", "copied", "strides", "offset", "values"] {
            let partial = whole.replace(&format!("\"{name}\""), "\"other\"");
            let message = expect(&partial).unwrap_err();
            assert!(message.contains(&format!("`{name}`")), "{message}");
            assert_eq!(message.contains("`error`"), name == "shape", "{message}");
        }
    }

    /// A list of the fields, in order, is not accepted in place of an object.
    #[test]
    fn what_is_an_object_is_no_list() {
        let step = r#"{"do":"index","items":[{"start":1,"stop":2,"step":1}]}"#;
        let case = format!(r#"{{"id":"x","base":[2],"steps":[{step}],"expect":{{"error":true}}}}"#);
        assert!(serde_json::from_str::<Case>(&case).is_ok(), "{case}");
        let whole = format!(r#"["x",[2],[{step}],{{"error":true}}]"#);
        assert!(serde_json::from_str::<Case>(&whole).unwrap_err().to_string().contains("an object"));
        for (object, list) in [
            (r#"{"error":true}"#, "[true]"),
            (r#"{"start":1,"stop":2,"step":1}"#, "[1,2,1]"),
            (step, r#"["index",[1]]"#),
        ] {
            let case = case.replace(object, list);
            assert!(serde_json::from_str::<Case>(&case).is_err(), "{case}");
        }
    }
}
