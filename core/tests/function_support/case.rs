//! Golden cases of functions on host memory: their text, and the view that the steps of a text
//! give.
#![allow(unsafe_code)] // interprets programs on memory of its own

use std::error::Error;

use devarray::{
    Layout, Order,
    function::{
        ElementType, Function, FunctionErrorKind,
        interpreter::{InputElements, ResultElements, interpret},
    },
    layout::{IndexItem, Slice},
};
use serde_json::Value;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// An array of a case: its bytes, and a view of them.
pub(crate) struct Operand {
    pub(crate) element_type: ElementType,
    pub(crate) bytes: Vec<u8>,
    pub(crate) layout: Layout,
}

pub(crate) fn element_type(value: &Value) -> Outcome<ElementType> {
    Ok(value["dtype"].as_str().and_then(ElementType::from_name).ok_or("dtype")?)
}

pub(crate) fn bytes(value: &Value) -> Outcome<Vec<u8>> {
    let text = value["data"].as_str().ok_or("data")?;
    (0..text.len() / 2).map(|at| Ok(u8::from_str_radix(&text[2 * at..2 * at + 2], 16)?)).collect()
}

pub(crate) fn shape(value: &Value) -> Outcome<Vec<usize>> {
    let extents = value["shape"].as_array().ok_or("shape")?;
    extents.iter().map(|extent| Ok(usize::try_from(extent.as_u64().ok_or("extent")?)?)).collect()
}

/// `permute(1,0)/index(::2,None,...)/flip(0)`
pub(crate) fn steps(layout: Layout, text: &str) -> Outcome<Layout> {
    text.split('/').filter(|step| !step.is_empty()).try_fold(layout, |layout, step| {
        let (name, arguments) = step.strip_suffix(')').and_then(|step| step.split_once('(')).ok_or("step")?;
        let arguments: Vec<&str> = arguments.split(',').filter(|argument| !argument.is_empty()).collect();
        let axes = || arguments.iter().map(|axis| Ok(axis.parse::<isize>()?)).collect::<Outcome<Vec<_>>>();
        Ok(match name {
            "permute" => layout.permute(&axes()?)?,
            "flip" => layout.flip(&axes()?)?,
            "index" => {
                let items = arguments.iter().map(|item| index_item(item)).collect::<Outcome<Vec<_>>>()?;
                layout.index(&items)?
            }
            _ => return Err(format!("step {name}").into()),
        })
    })
}

fn index_item(text: &str) -> Outcome<IndexItem> {
    Ok(match text {
        "None" => IndexItem::NewAxis,
        "..." => IndexItem::Ellipsis,
        _ if text.contains(':') => {
            let part = |at: usize| match text.split(':').nth(at) {
                None | Some("") => Ok(None),
                Some(number) => number.parse::<isize>().map(Some),
            };
            IndexItem::Slice(Slice { start: part(0)?, stop: part(1)?, step: part(2)?.unwrap_or(1) })
        }
        _ => IndexItem::At(text.parse()?),
    })
}

/// The shape to which all broadcast, by NumPy's rules.
fn broadcast(shapes: &[&[usize]]) -> Option<Vec<usize>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for shape in shapes {
        for (result, &extent) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            match (*result, extent) {
                (1, extent) => *result = extent,
                (_, 1) => {}
                (known, extent) if known == extent => {}
                _ => return None,
            }
        }
    }
    Some(result)
}

/// The result of a case: the element type, shape and bytes in C order, or the kind of error.
pub(crate) type Found = Result<(ElementType, Vec<usize>, Vec<u8>), FunctionErrorKind>;

pub(crate) fn compute(case: &Value) -> Outcome<Found> {
    let inputs = case["inputs"].as_array().ok_or("inputs")?.iter().map(|input| {
        let layout = Layout::contiguous(&shape(input)?, Order::C)?;
        let layout = steps(layout, input["steps"].as_str().unwrap_or(""))?;
        Ok(Operand { element_type: element_type(input)?, bytes: bytes(input)?, layout })
    });
    let inputs = inputs.collect::<Outcome<Vec<Operand>>>()?;
    let none = vec![];
    let scalars = case["scalars"].as_array().unwrap_or(&none).iter().map(|scalar| {
        let mut bits = [0; 8];
        let bytes = bytes(scalar)?;
        bits[..bytes.len()].copy_from_slice(&bytes);
        Ok((element_type(scalar)?, u64::from_le_bytes(bits)))
    });
    let (scalar_types, scalars): (Vec<_>, Vec<_>) = scalars.collect::<Outcome<Vec<_>>>()?.into_iter().unzip();
    let input_types: Vec<_> = inputs.iter().map(|input| input.element_type).collect();
    let text = case["expr"].as_str().ok_or("expr")?;
    let function = match Function::parse(text, &input_types, &scalar_types) {
        Ok(function) => function,
        Err(error) => return Ok(Err(error.kind())),
    };
    let again = Function::parse(&function.to_string(), &input_types, &scalar_types)?;
    assert_eq!(again, function, "{text} is printed as {function}");
    // The destination of the result: a fresh array, or a view of one.
    let out = match &case["out"] {
        Value::Null => None,
        out => {
            let fresh = Layout::contiguous(&shape(out)?, Order::C)?;
            Some((fresh.len(), steps(fresh, out["steps"].as_str().unwrap_or(""))?))
        }
    };
    let shapes: Vec<&[usize]> = inputs.iter().map(|input| input.layout.shape()).collect();
    let result_shape = match (broadcast(&shapes), &out) {
        (None, _) => return Ok(Err(FunctionErrorKind::Shape)),
        (Some(_), Some((_, view))) if inputs.is_empty() => view.shape().to_vec(),
        (Some(shape), Some((_, view))) if view.shape() != shape => return Ok(Err(FunctionErrorKind::Shape)),
        (Some(shape), _) => shape,
    };
    if function.needed_rank() > result_shape.len() {
        return Ok(Err(FunctionErrorKind::Shape));
    }
    let (len, view) = match out {
        Some(out) => out,
        None => {
            let fresh = Layout::contiguous(&result_shape, Order::C)?;
            (fresh.len(), fresh)
        }
    };
    let item = function.result_type().len_bytes();
    let mut memory = vec![0xab_u8; len * item];
    let layouts = inputs.iter().map(|input| input.layout.broadcast_to(&result_shape));
    let layouts = layouts.collect::<Result<Vec<_>, _>>()?;
    let operands: Vec<_> = inputs
        .iter()
        .zip(&layouts)
        .map(|(input, layout)| InputElements { start: input.bytes.as_ptr(), layout })
        .collect();
    let result = ResultElements { start: memory.as_mut_ptr(), layout: &view };
    // SAFETY: all layouts lie inside the memory of their operand, and the result's is fresh
    unsafe { interpret(&function.expand(), &operands, &scalars, result) };
    let (found, untouched) = take(&view, &memory, item);
    assert!(untouched, "bytes outside the view were written");
    Ok(Ok((function.result_type(), result_shape, found)))
}

/// The elements of a view in C order, and whether all other bytes are unchanged.
fn take(view: &Layout, memory: &[u8], item: usize) -> (Vec<u8>, bool) {
    let mut rest = memory.to_vec();
    let mut found = Vec::new();
    for index in 0..view.len() {
        let (mut row, mut position) = (index, view.offset().cast_signed());
        for (&extent, &stride) in view.shape().iter().zip(view.strides()).rev() {
            position += (row % extent).cast_signed() * stride;
            row /= extent;
        }
        let at = position.cast_unsigned() * item;
        found.extend_from_slice(&memory[at..at + item]);
        rest[at..at + item].fill(0xab);
    }
    (found, rest.iter().all(|&byte| byte == 0xab))
}
