//! The JSON form of cases and results.

use devarray::function::ElementType;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    functions::OfElements,
    integer, limits,
    object::Object,
    steps::{Step, parse_steps},
};

/// One line of a golden file: a function, its inputs, and the expected result.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Object<RawCase>")]
#[non_exhaustive]
pub struct ComputeCase {
    /// The name of the case.
    pub id: String,
    /// The function, as a text.
    pub expr: String,
    /// Its inputs, in order.
    pub inputs: Vec<Input>,
    /// Its scalars, in order.
    pub scalars: Vec<Scalar>,
    /// The array that receives the result; if none, the result is a new array.
    pub out: Option<Out>,
    /// The call on the elements that the function returns; if none, they are the result.
    pub of_elements: Option<OfElements>,
    /// The expected result.
    pub expect: ComputeExpect,
}

/// An array that a function reads.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Object<RawInput>")]
#[non_exhaustive]
pub struct Input {
    /// The type of its elements.
    pub element_type: ElementType,
    /// Its extents.
    pub shape: Vec<usize>,
    /// The steps that make the view that the function reads.
    pub steps: Vec<Step>,
    /// Its elements in C order.
    pub bytes: Vec<u8>,
}

/// A scalar argument.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Object<RawScalar>")]
#[non_exhaustive]
pub struct Scalar {
    /// Its type.
    pub element_type: ElementType,
    /// Its bits, with zeros above.
    pub bits: u64,
}

/// A new array; a view of it receives the result.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Object<RawOut>")]
#[non_exhaustive]
pub struct Out {
    /// The extents of the whole array.
    pub shape: Vec<usize>,
    /// The steps that make the view.
    pub steps: Vec<Step>,
}

/// The expected result of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Object<RawExpect>")]
#[non_exhaustive]
pub enum ComputeExpect {
    /// An error of this kind.
    Error(ErrorKind),
    /// An array, with the largest distance allowed for an element, counted in representable
    /// numbers.
    Array(ComputeFound, u64),
}

/// A kind of error that a case can expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text does not parse.
    Text,
    /// The types do not fit.
    Type,
    /// The shapes do not fit, or an axis is out of range.
    Shape,
    /// There is no minimum of an empty array.
    Empty,
    /// An index is out of range.
    Index,
}

/// A result, as golden files write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ComputeFound {
    /// The type of its elements.
    #[serde(rename = "dtype", serialize_with = "by_name")]
    pub element_type: ElementType,
    /// Its extents.
    pub shape: Vec<usize>,
    /// Its elements in C order.
    #[serde(rename = "data", serialize_with = "as_hexadecimal")]
    pub bytes: Vec<u8>,
    /// Whether a byte outside the view that receives the result was written.
    #[serde(skip)]
    pub spilled: bool,
}

/// A case that returned no result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed {
    /// The kind of error; none if it is one that no case expects.
    pub kind: Option<ErrorKind>,
    /// The message of the library.
    pub message: String,
}

fn by_name<S: Serializer>(element_type: &ElementType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(element_type.name())
}

fn as_hexadecimal<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hexadecimal(bytes))
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An element type, given by its name.
#[derive(Clone, Copy)]
struct Named(ElementType);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = ElementType::from_name(&name).map(Self);
        known.ok_or_else(|| de::Error::custom(format!("{name:?} is no element type")))
    }
}

#[derive(Deserialize)]
struct RawCase {
    id: String,
    expr: String,
    inputs: Vec<Input>,
    #[serde(default)]
    scalars: Vec<Scalar>,
    out: Option<Out>,
    reduce: Option<Object<RawReduce>>,
    scan: Option<Object<RawScan>>,
    expect: ComputeExpect,
}

#[derive(Deserialize)]
struct RawInput {
    dtype: Named,
    shape: Vec<usize>,
    #[serde(default)]
    steps: String,
    data: String,
}

#[derive(Deserialize)]
struct RawScalar {
    dtype: Named,
    data: String,
}

#[derive(Deserialize)]
struct RawOut {
    shape: Vec<usize>,
    #[serde(default)]
    steps: String,
}

#[derive(Deserialize)]
struct RawReduce {
    op: String,
    #[serde(default, deserialize_with = "integer::perhaps_many")]
    axes: Option<Vec<isize>>,
    #[serde(default)]
    keepdims: bool,
    dtype: Option<Named>,
    #[serde(default)]
    ddof: u64,
}

#[derive(Deserialize)]
struct RawScan {
    op: String,
    #[serde(deserialize_with = "integer::one")]
    axis: isize,
    #[serde(default)]
    exclusive: bool,
}

#[derive(Deserialize)]
struct RawExpect {
    error: Option<ErrorKind>,
    dtype: Option<Named>,
    shape: Option<Vec<usize>>,
    data: Option<String>,
    #[serde(default)]
    ulp: u64,
}

impl TryFrom<Object<RawCase>> for ComputeCase {
    type Error = String;

    fn try_from(Object(raw): Object<RawCase>) -> Result<Self, String> {
        let of_elements = match (raw.reduce, raw.scan) {
            (Some(_), Some(_)) => return Err("both `reduce` and `scan`".to_owned()),
            (Some(Object(reduce)), None) => Some(reduce.into_parts()?),
            (None, Some(Object(scan))) => Some(scan.into_parts()?),
            (None, None) => None,
        };
        let RawCase { id, expr, inputs, scalars, out, expect, .. } = raw;
        Ok(Self { id, expr, inputs, scalars, out, of_elements, expect })
    }
}

impl RawReduce {
    fn into_parts(self) -> Result<OfElements, String> {
        let element_type = self.dtype.map(|Named(element_type)| element_type);
        OfElements::reduced(&self.op, self.axes.as_deref(), self.keepdims, element_type, self.ddof)
    }
}

impl RawScan {
    fn into_parts(self) -> Result<OfElements, String> {
        OfElements::running(&self.op, self.axis, self.exclusive)
    }
}

impl TryFrom<Object<RawInput>> for Input {
    type Error = String;

    fn try_from(
        Object(RawInput { dtype: Named(element_type), shape, steps, data }): Object<RawInput>,
    ) -> Result<Self, String> {
        let bytes = elements(element_type, &shape, &data)?;
        Ok(Self { element_type, steps: parsed(&steps)?, shape, bytes })
    }
}

impl TryFrom<Object<RawScalar>> for Scalar {
    type Error = String;

    fn try_from(
        Object(RawScalar { dtype: Named(element_type), data }): Object<RawScalar>,
    ) -> Result<Self, String> {
        let bytes = elements(element_type, &[], &data)?;
        let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        Ok(Self { element_type, bits })
    }
}

impl TryFrom<Object<RawOut>> for Out {
    type Error = String;

    fn try_from(Object(RawOut { shape, steps }): Object<RawOut>) -> Result<Self, String> {
        count(&shape)?;
        Ok(Self { steps: parsed(&steps)?, shape })
    }
}

impl TryFrom<Object<RawExpect>> for ComputeExpect {
    type Error = String;

    fn try_from(Object(raw): Object<RawExpect>) -> Result<Self, String> {
        if let Some(kind) = raw.error {
            return Ok(Self::Error(kind));
        }
        if raw.dtype.is_none() && raw.shape.is_none() && raw.data.is_none() {
            return Err("`expect` has neither `error` nor `dtype`, `shape` and `data`".to_owned());
        }
        let missing = |name: &str| format!("`expect` has no `{name}`");
        let Named(element_type) = raw.dtype.ok_or_else(|| missing("dtype"))?;
        let shape = raw.shape.ok_or_else(|| missing("shape"))?;
        let bytes = elements(element_type, &shape, &raw.data.ok_or_else(|| missing("data"))?)?;
        Ok(Self::Array(ComputeFound { element_type, shape, bytes, spilled: false }, raw.ulp))
    }
}

fn parsed(steps: &str) -> Result<Vec<Step>, String> {
    parse_steps(steps).map_err(|error| error.to_string())
}

/// The number of elements of a shape, if a case may have that many.
fn count(shape: &[usize]) -> Result<usize, String> {
    limits::check_axes(shape.len()).map_err(|error| error.to_string())?;
    let product =
        |extents: &[usize]| extents.iter().try_fold(1_usize, |len, &extent| len.checked_mul(extent));
    // Like layouts, the check leaves zeros out, so that no stride overflows.
    let extents: Vec<usize> = shape.iter().copied().filter(|&extent| extent > 0).collect();
    match (product(&extents), product(shape)) {
        (Some(most), Some(len)) if most <= limits::CASE_ELEMENTS => Ok(len),
        _ => Err(format!("shape {shape:?} has more than the {} elements allowed", limits::CASE_ELEMENTS)),
    }
}

/// Elements written as hexadecimal digits; there must be as many as the shape has.
fn elements(element_type: ElementType, shape: &[usize], data: &str) -> Result<Vec<u8>, String> {
    let digit = |c: &u8| char::from(*c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = data.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect();
    let bytes = bytes.filter(|_| rest.is_empty()).ok_or("`data` is not hexadecimal")?;
    let expected = count(shape)? * element_type.len_bytes();
    if bytes.len() != expected {
        return Err(format!("`data` has {} bytes, {element_type} {shape:?} has {expected}", bytes.len()));
    }
    Ok(bytes)
}
