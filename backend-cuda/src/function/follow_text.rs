//! The class of a function that follows a product, and its text.

use devarray::{
    Layout,
    backend::{Buffer, ProductFunction, ProductOp},
    function::{
        ElementType,
        primitive::{Instruction, Program},
    },
    layout::Axes as Shape,
};

use super::{
    access::{Loaded, bank, load, load_span, store_span, unpacked},
    axes::Axes,
    body::{Body, Differs},
    class::{Access, Class, Family, Words},
    index::{moved, rows},
    operands::{Kind, MapOperands},
    parameter::Parameter,
    product_kernel::ProductKernel,
    text::{Bank, ENTRY, Reg, Text},
};
use crate::memory::CudaBuffer;

/// The most words that a function may have in the parameter (`numbers.cuh`).
pub(super) const WORDS: usize = 256;
/// The most neighbouring elements that a kernel has at a time.
const PACK: u64 = 4;
/// The prefix of the function's registers: the kernel has others.
const PREFIX: &str = "map_";
const MARKER: &str = "//@map ";

/// The class of a function that follows a product, and its parameter. `None` if the function asks for
/// positions, or for too many words.
pub(super) fn class(
    family: Family,
    op: &ProductOp<'_, CudaBuffer>,
    function: &ProductFunction<'_, CudaBuffer>,
    is_turned: bool,
) -> Option<(Class, Parameter)> {
    let program = function.program();
    let layouts: Option<Vec<Layout>> = std::iter::once(function.layout())
        .chain(function.inputs().iter().map(|input| input.layout()))
        .map(|layout| as_matrices(layout, op.result().layout().shape()))
        .collect();
    let layouts = layouts?;
    let shape: Shape<usize> = layouts[0].shape().into();
    let mut operands = MapOperands::over(program, program.result_type(), &shape, |input| {
        Some(match input {
            None => (op.result().buffer().address(), &layouts[0]),
            // The product's own element needs no layout.
            Some(0) => (0, &layouts[0]),
            Some(at) => (function.inputs().get(at - 1)?.buffer().address(), layouts.get(at)?),
        })
    })?;
    operands.remove_input(0);
    let is_position = |kind: &Kind| matches!(kind, Kind::Position(_));
    let [m, n] = [shape[shape.len() - 2], shape[shape.len() - 1]];
    if operands.kinds.iter().any(is_position) || i32::try_from(m.max(n)).is_err() {
        return None;
    }
    let (row, column) = (shape.len() - 2, shape.len() - 1);
    let (row, column) = if is_turned { (column, row) } else { (row, column) };
    let columns = shape[column] as u64;
    let mut axes = Axes::both(&operands, column, row);
    axes.outer.axes.drop_units();
    let accesses: Vec<Access> = (0..axes.outer.count()).map(|at| access(&axes, at, columns)).collect();
    let (parameter, words) = Parameter::new(&axes, function.scalars())?;
    (words.count <= WORDS).then_some(())?;
    Some((Class::new(family, &axes, accesses)?, parameter))
}

/// The layout in the shape of the matrices. Where an operand of the product has one axis, it gets
/// another axis of extent 1.
fn as_matrices(layout: &Layout, shape: &[usize]) -> Option<Layout> {
    let rank = shape.len();
    match rank - layout.rank() {
        0 => Some(layout.clone()),
        1 => {
            let is_row = shape[rank - 2] == 1 && layout.shape().last() == shape.last();
            layout.expand_dims(if is_row { rank - 2 } else { rank - 1 }).ok()
        }
        _ => layout.expand_dims(rank - 2).and_then(|layout| layout.expand_dims(rank - 1)).ok(),
    }
}

/// The access to an operand along the columns.
fn access(axes: &Axes, operand: usize, columns: u64) -> Access {
    let (inner, other) = (axes.inner[operand] as i64, axes.other[operand] as i64);
    if inner == 0 && operand > 0 {
        return Access::Uniform;
    }
    if inner != axes.outer.kinds[operand].len_bytes() {
        return Access::Single;
    }
    let mut width = axes.outer.widest(operand, (axes.outer.bases[operand], other), PACK);
    while !columns.is_multiple_of(width.into()) {
        width /= 2;
    }
    Access::Span { width }
}

/// The text of the kernel with the function of a class.
///
/// # Panics
///
/// The kernel is not in the text, or has no marker. Tests check all kernels.
pub(super) fn write(program: &Program, class: &Class, kernel: &ProductKernel) -> String {
    let (before, entry) = kernel.text().expect("the kernel is in the text");
    let (head, behind) = entry.split_once(MARKER).expect("there is a marker");
    let (marker, behind) = behind.split_once('\n').expect("the marker is a line");
    let given: Vec<&str> = marker.split_whitespace().collect();
    let mut whole = format!("// follows {}\n{before}", kernel.name);
    let mut block = String::new();
    if !class.operands.is_empty() {
        let (constants, text) = follows(program, class, kernel, given.len() - PLACE).into_block(PREFIX);
        whole.push_str(&constants);
        block = at_parameter(&text, kernel.own_words + 1);
        // The longest names are replaced first.
        for (at, name) in given.iter().enumerate().rev() {
            block = block.replace(&format!("@@{at};"), &format!("{name};"));
        }
    }
    let rename = |text: &str| text.replace(kernel.name, ENTRY);
    for part in [&rename(head), "\n", &block, &rename(behind)] {
        whole.push_str(part);
    }
    whole
}

/// The numbers that a marker has before the elements: row, column, columns from there on, and
/// matrix.
const PLACE: usize = 4;

/// Changes a text whose parameter begins some words into the kernel's parameter.
fn at_parameter(text: &str, words: usize) -> String {
    let mut parts = text.split("[p+");
    let mut moved = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (at, rest) = part.split_once(']').unwrap_or((part, ""));
        let at: usize = at.parse().expect("bytes of a parameter");
        moved.push_str(&format!("[{ENTRY}_param_0+{}]{rest}", at + 8 * words));
    }
    moved
}

/// The function for `count` neighbours.
fn follows(program: &Program, class: &Class, kernel: &ProductKernel, count: usize) -> Text {
    let words = Words::new(class.operands.len(), program.scalars().len(), class.outer.into());
    let mut text = Text::default();
    let [row, column, left, number] = std::array::from_fn(|at| text.set32("mov.b32", format_args!("@@{at}")));
    let products: Vec<Reg> =
        (PLACE..PLACE + count).map(|at| element(&mut text, kernel.element_type, at)).collect();
    let rows = rows(&mut text, class, words, (class.outer > 0).then_some(number));
    let addresses: Vec<Reg> = (0..rows.len())
        .map(|at| {
            let address = moved(&mut text, class.wide, rows[at], row, words.other(at));
            moved(&mut text, class.wide, address, column, words.inner(at))
        })
        .collect();
    // Whether each of the neighbours exists; the first always does.
    let mut guards: Vec<Reg> = Vec::with_capacity(count);
    for at in 0..count {
        guards.push(text.test("setp.gt.u32", format_args!("{left}, {at}")));
    }
    let of_width = |width: usize| -> Vec<Reg> { guards.iter().copied().step_by(width).collect() };
    let singles = |text: &mut Text, operand: usize| -> Vec<Reg> {
        let step = text.parameter(Bank::B64, words.inner(operand));
        let mut address = addresses[operand];
        let mut all = vec![address];
        for _ in 1..count {
            address = text.set64("add.s64", format_args!("{address}, {step}"));
            all.push(address);
        }
        all
    };
    let loaded: Vec<Vec<Loaded>> = (0..class.operands.len())
        .map(|at| {
            let (kind, access) = class.operands[at];
            match (kind, access, kind.element_type()) {
                (Kind::Result(_), ..) | (_, _, None) => Vec::new(),
                (_, Access::Uniform, _) => vec![load(&mut text, kind, addresses[at], None); count],
                (_, Access::Span { width }, Some(of)) => {
                    let width = count.min(width.into());
                    let guards = of_width(width);
                    load_span(&mut text, kind.space(), of, addresses[at], (count, width), &guards)
                }
                _ => {
                    let at = singles(&mut text, at);
                    at.iter()
                        .zip(&guards)
                        .map(|(&at, &guard)| load(&mut text, kind, at, Some(guard)))
                        .collect()
                }
            }
        })
        .collect();
    let mut body = Body::new(program, words.scalars, |_| Differs::ByElement);
    body.common(&mut text, |text, _| text.register(Bank::B32));
    let values = body.several(&mut text, count, |text, nth, instruction| match instruction {
        Instruction::Input(0) => products[nth],
        _ => {
            let operand = class.operand(instruction);
            unpacked(text, class.operands[operand].0, loaded[operand][nth])
        }
    });
    let result_type = program.result_type();
    match class.operands[0].1 {
        Access::Span { width } => {
            let width = count.min(width.into());
            store_span(&mut text, result_type, addresses[0], &values, width, &of_width(width));
        }
        _ => {
            let places = singles(&mut text, 0);
            for ((&place, &value), guard) in places.iter().zip(&values).zip(&guards) {
                store_span(&mut text, result_type, place, &[value], 1, &[*guard]);
            }
        }
    }
    text
}

/// An element of the product, in the form in which a function reads it from memory.
fn element(text: &mut Text, of: ElementType, given: usize) -> Reg {
    let bits = match of.len_bytes() {
        8 => "mov.b64",
        _ => "mov.b32",
    };
    let shift = match of {
        ElementType::I8 => 24,
        ElementType::I16 => 16,
        _ => return text.set(bank(of), bits, format_args!("@@{given}")),
    };
    let bits = text.set32(bits, format_args!("@@{given}"));
    let above = text.set32("shl.b32", format_args!("{bits}, {shift}"));
    text.set32("shr.s32", format_args!("{above}, {shift}"))
}

#[cfg(test)]
mod tests;
