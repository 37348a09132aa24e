//! A function to measure: `NAME;EXPR;INPUTS[;REDUCE]`.

use anyhow::{Context as _, Result, bail, ensure};
use devarray::{
    Layout, NdLayout, Order,
    function::{ElementType, Function},
};

use super::case::{measured_steps, parse_shape};
use crate::{
    functions::{self, OfElements, Whole},
    steps::{self, Step},
};

/// The names of scans, and the operation of each.
const SCANS: [(&str, &str); 4] =
    [("cumsum", "sum"), ("cumprod", "prod"), ("cummin", "min"), ("cummax", "max")];

/// A function to measure, on C-contiguous arrays viewed through steps; the result is a new
/// C-contiguous array.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ComputeCase {
    /// The name of the case.
    pub name: String,
    /// The function that is computed.
    pub function: Function,
    /// The arrays that it reads.
    pub inputs: Vec<ComputeInput>,
    /// The call on the elements of the function; if none, they are the result.
    pub of_elements: Option<OfElements>,
    /// The shape that the inputs broadcast to.
    pub shape: Vec<usize>,
    /// The axes of that shape along which elements depend on each other, ascending.
    pub joined: Vec<usize>,
    /// The shape of the result.
    pub result_shape: Vec<usize>,
    /// The type of the result.
    pub result_type: ElementType,
    /// The least traffic: the selected elements of each input once, and the result once.
    pub len_bytes: usize,
}

/// An array that is read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ComputeInput {
    /// The type of its elements.
    pub element_type: ElementType,
    /// Its extents before the steps.
    pub shape: Vec<usize>,
    /// The steps that make the view.
    pub steps: Vec<Step>,
}

impl ComputeCase {
    /// Reads a case.
    ///
    /// # Errors
    ///
    /// The text is no case, its expression or a step has no result, there is nothing to compute, or
    /// it is too large.
    pub fn parse(text: &str) -> Result<Self> {
        parse(text).with_context(|| format!("case {text:?}"))
    }
}

fn parse(text: &str) -> Result<ComputeCase> {
    let parts: Vec<&str> = text.split(';').map(str::trim).collect();
    let (name, expression, inputs, reduce) = match parts[..] {
        [name, expression, inputs] => (name, expression, inputs, None),
        [name, expression, inputs, reduce] => (name, expression, inputs, Some(reduce)),
        _ => bail!("it is not NAME;EXPR;INPUTS[;REDUCE]"),
    };
    ensure!(!name.is_empty(), "its name is empty");
    let inputs = separated(inputs).into_iter().map(input).collect::<Result<Vec<_>>>()?;
    let layouts = inputs.iter().map(layout).collect::<Result<Vec<_>>>()?;
    let types: Vec<ElementType> = inputs.iter().map(|input| input.element_type).collect();
    let function = functions::parsed(expression, &types, &[])?;
    let (of_elements, axes) = reduce.map(of_elements).transpose()?.unzip();
    let shapes: Vec<&[usize]> = layouts.iter().map(NdLayout::shape).collect();
    functions::check(&function, &shapes, &[], of_elements.as_ref())?;
    let shape = functions::broadcast(&shapes)?;
    let joined = match axes {
        None => Vec::new(),
        Some(None) => (0..shape.len()).collect(),
        Some(Some(axes)) => from_zero(&axes, shape.len()),
    };
    let is_reduced = matches!(of_elements, Some(OfElements::Reduced(..)));
    let keeps = |axis: usize| !(is_reduced && joined.contains(&axis));
    let result_shape: Vec<usize> =
        (0..shape.len()).filter(|&axis| keeps(axis)).map(|axis| shape[axis]).collect();
    let result_type = OfElements::result_type(of_elements.as_ref(), function.result_type());
    let mut len_bytes = size(&result_shape, result_type)?;
    // The device cannot compute more elements than it can hold, whatever they are reduced to.
    let computed = size(&shape, ElementType::U8)?;
    for (layout, element_type) in layouts.iter().zip(types) {
        len_bytes = len_bytes.saturating_add(selected(layout) * element_type.len_bytes());
    }
    ensure!(computed > 0, "there is nothing to compute");
    let name = name.to_owned();
    Ok(ComputeCase {
        name,
        function,
        inputs,
        of_elements,
        shape,
        joined,
        result_shape,
        result_type,
        len_bytes,
    })
}

/// The inputs, separated by commas that are outside parentheses.
pub(super) fn separated(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let at_top = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    text.split(at_top).map(str::trim).collect()
}

/// Parses `f32@16384x16384/permute(1,0)`.
pub(super) fn input(text: &str) -> Result<ComputeInput> {
    let form = || format!("input {text:?} is not DTYPE@SHAPE or DTYPE@SHAPE/STEPS");
    let (dtype, rest) = text.split_once('@').with_context(form)?;
    let element_type = ElementType::from_name(dtype.trim())
        .with_context(|| format!("{:?} is no element type", dtype.trim()))?;
    let (shape, steps) = rest.split_once('/').unwrap_or((rest, ""));
    let shape = parse_shape(shape.trim()).map_err(anyhow::Error::msg)?;
    let steps =
        measured_steps(steps).map_err(anyhow::Error::msg).with_context(|| format!("input {text:?}"))?;
    Ok(ComputeInput { element_type, shape, steps })
}

/// The layout of an input in which a function reads it.
pub(super) fn layout(input: &ComputeInput) -> Result<Layout> {
    size(&input.shape, input.element_type)?;
    let base = Layout::contiguous(&input.shape, Order::C)?;
    Ok(steps::check(&base, input.element_type.len_bytes(), &input.steps)?)
}

fn size(shape: &[usize], element_type: ElementType) -> Result<usize> {
    let len = shape.iter().try_fold(element_type.len_bytes(), |len, &n| len.checked_mul(n));
    len.filter(|&len| isize::try_from(len).is_ok()).context("the size overflows")
}

/// The number of different elements that a layout reaches.
pub(super) fn selected(layout: &Layout) -> usize {
    let axes = layout.shape().iter().zip(layout.strides());
    axes.filter(|&(_, &stride)| stride != 0).map(|(&extent, _)| extent).product()
}

/// Parses `sum`, `sum@0,1`, `cumsum@0`: the call on the elements, and its axes; none means all
/// axes.
fn of_elements(text: &str) -> Result<(OfElements, Option<Vec<isize>>)> {
    let (name, axes) = match text.split_once('@') {
        Some((name, axes)) => (name, Some(axes)),
        None => (text, None),
    };
    let axis = |axis: &str| axis.trim().parse::<isize>();
    let axes = axes.map(|axes| axes.split(',').map(axis).collect::<Result<Vec<_>, _>>()).transpose();
    let axes = axes.ok().with_context(|| format!("{text:?} is no reduction such as sum or sum@0,1"))?;
    let running = SCANS.iter().find(|(known, _)| *known == name.trim());
    if let Some(whole) = Whole::named(name.trim(), axes.as_deref()) {
        return Ok((OfElements::Whole(whole), axes));
    }
    let of_elements = match (running, &axes) {
        (None, axes) => OfElements::reduced(name.trim(), axes.as_deref(), false, None, 0),
        (Some((_, name)), Some(axes)) if axes.len() == 1 => OfElements::running(name, axes[0], false),
        (Some(_), _) => bail!("{text:?}: a scan has one axis, as in {name}@0"),
    };
    Ok((of_elements.map_err(anyhow::Error::msg)?, axes))
}

/// Converts axes that are known to exist to numbers from 0.
fn from_zero(axes: &[isize], rank: usize) -> Vec<usize> {
    let from_zero = |&axis: &isize| axis.rem_euclid(rank.cast_signed().max(1)).cast_unsigned();
    let mut axes: Vec<usize> = axes.iter().map(from_zero).collect();
    axes.sort_unstable();
    axes
}

#[cfg(test)]
mod tests {
    use super::ComputeCase;

    #[test]
    fn bytes_are_the_least_traffic() {
        for (text, shape, result_shape, len_bytes) in [
            ("t;x0 + x1;f32@4x3/permute(1,0),f32@3x4", &[3, 4][..], &[3, 4][..], 3 * 12 * 4),
            ("every;x0;f64@4x6/index(:,::2)", &[4, 3], &[4, 3], 2 * 12 * 8),
            ("wide;x0 < x1;u8@4,u8@3x1", &[3, 4], &[3, 4], 4 + 3 + 12),
            ("broadcast;x0;i16@1x5/broadcast(7,5)/flip(1)", &[7, 5], &[7, 5], 5 * 2 + 35 * 2),
            ("sum;x0;f16@4x5x6;sum@0,-1", &[4, 5, 6], &[5], 120 * 2 + 5 * 2),
            ("all;x0;bool@4x5;all", &[4, 5], &[], 21),
            ("arg;x0;f32@4x5;argmax@1", &[4, 5], &[4], 20 * 4 + 4 * 8),
            ("run;x0;i8@4x5;cumsum@-1", &[4, 5], &[4, 5], 20 + 20 * 8),
            ("soft;x0;f32@4x5;softmax@1", &[4, 5], &[4, 5], 2 * 20 * 4),
            ("normal;x0;f32@1/broadcast(20);normal", &[20], &[20], 4 + 20 * 4),
            ("point;x0 * 2;f32@", &[], &[], 8),
        ] {
            let case = ComputeCase::parse(text).unwrap();
            assert_eq!((&case.shape[..], &case.result_shape[..]), (shape, result_shape), "{text}");
            assert_eq!(case.len_bytes, len_bytes, "{text}");
        }
    }
}
