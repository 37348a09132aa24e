//! Small arrays in layouts of every kind, and functions on them.

use devarray::Layout;
use devarray_conformance::Rng;

use super::{
    super::{
        maps::{Case, contents, layout},
        programs::value,
    },
    primitives::{Made, Varies},
};

/// A shape: no axis, a few elements, a block of threads, or several.
pub(crate) fn shape(rng: &mut Rng) -> Vec<usize> {
    match rng.below(16) {
        0 => Vec::new(),
        1 => vec![1 + rng.below(9)],
        2..=7 => vec![64 + rng.below(540)],
        8..=10 => vec![1 + rng.below(20), 1 + rng.below(40)],
        11 | 12 => vec![1 + rng.below(6), 1 + rng.below(8), 1 + rng.below(16)],
        13 => vec![2 + rng.below(3), 1, 1 + rng.below(3), 30 + rng.below(40)],
        14 => vec![4 * (1 + rng.below(6)), 4 * (1 + rng.below(12))],
        _ => vec![4_096 + rng.below(2_000)],
    }
}

/// A layout of an input that varies in a certain way.
pub(crate) fn layout_of(rng: &mut Rng, shape: &[usize], varies: Varies) -> Layout {
    match varies {
        Varies::One => Layout::new(shape, &vec![0; shape.len()], rng.below(5)).unwrap(),
        Varies::Row if !shape.is_empty() => {
            let last = shape.len() - 1;
            let mut rows = shape.to_vec();
            rows[last] = 1;
            let rows = layout(rng, &rows, false);
            let mut strides = rows.strides().to_vec();
            strides[last] = 0;
            Layout::new(shape, &strides, rows.offset()).unwrap()
        }
        _ => layout(rng, shape, false),
    }
}

/// The scalar arguments of a program.
pub(crate) fn scalars(rng: &mut Rng, program: &devarray::function::primitive::Program) -> Vec<u64> {
    program.scalars().iter().map(|&element_type| value(rng, element_type)).collect()
}

/// A function on arrays of `layouts` shapes, with `operands` contents of each.
pub(crate) fn cases(rng: &mut Rng, made: &Made, (layouts, operands): (u64, u64)) -> Vec<Case> {
    let mut all = Vec::new();
    for _ in 0..layouts {
        let first = on_layouts(rng, made);
        for _ in 1..operands {
            all.push(with_other_contents(rng, &first));
        }
        all.push(first);
    }
    all
}

fn on_layouts(rng: &mut Rng, made: &Made) -> Case {
    let shape = shape(rng);
    let (types, result_type) = (made.program.inputs(), made.program.result_type());
    let result = layout(rng, &shape, false);
    let before = contents(rng, &result, result_type);
    let mut inputs: Vec<(Layout, Vec<u8>)> = Vec::new();
    for (&element_type, &varies) in types.iter().zip(&made.varies) {
        let alike = varies == Varies::Lane && rng.below(2) == 0;
        let layout = if alike { result.clone() } else { layout_of(rng, &shape, varies) };
        let bytes = contents(rng, &layout, element_type);
        inputs.push((layout, bytes));
    }
    let fits =
        |at: &usize| types[*at].len_bytes() == result_type.len_bytes() && made.varies[*at] == Varies::Lane;
    let in_place = (0..types.len()).find(fits).filter(|_| rng.below(6) == 0);
    if let Some(at) = in_place {
        inputs[at] = (result.clone(), before.clone());
    }
    let scalars = scalars(rng, &made.program);
    Case { program: made.program.clone(), scalars, inputs, in_place, result: (result, before) }
}

/// Returns the same function on the same layouts of other elements, with other scalars: the same kernel.
fn with_other_contents(rng: &mut Rng, case: &Case) -> Case {
    let (program, in_place) = (case.program.clone(), case.in_place);
    let of =
        |rng: &mut Rng, layout: &Layout, element_type| (layout.clone(), contents(rng, layout, element_type));
    let result = of(rng, &case.result.0, program.result_type());
    let mut inputs: Vec<(Layout, Vec<u8>)> = Vec::new();
    for (at, (layout, _)) in case.inputs.iter().enumerate() {
        let own = in_place != Some(at);
        inputs.push(if own { of(rng, layout, program.inputs()[at]) } else { result.clone() });
    }
    let scalars = scalars(rng, &program);
    Case { program, scalars, inputs, in_place, result }
}
