//! Reductions and scans of masks, and of the elements that a mask selects.

use devarray::{
    Layout,
    backend::ReduceForm,
    function::{
        Combine::{self, ArgMaximum, ArgMinimum, Maximum, Minimum, Product, Sum},
        ElementType::{self, BF16, Bool, F16, F32, F64, I64, U64},
    },
};
use devarray_conformance::Rng;

use super::{
    super::{
        maps::{contents, layout},
        reductions_of::{Reduced, canonical, same},
    },
    families::{self, Family, Wanted},
    layouts::{layout_of, scalars},
    primitives::Varies,
};

/// The combination.
fn drawn(rng: &mut Rng, is_total: bool, is_exclusive: bool) -> (Combine, Wanted) {
    let of_any = |rng: &mut Rng| *rng.pick(&ElementType::ALL);
    let of_sum = |rng: &mut Rng| *rng.pick(&[F32, F32, F64, I64, U64]);
    match rng.below(if is_exclusive {
        3
    } else if is_total {
        8
    } else {
        5
    }) {
        // `count_nonzero` of a mask, and sums and products of what it selects.
        0 => (Sum, Wanted::Counted(*rng.pick(&[I64, U64]))),
        1 => (Sum, Wanted::Masked(of_sum(rng))),
        2 => (*rng.pick(&[Sum, Product]), Wanted::Masked(of_sum(rng))),
        // `any` and `all`.
        3 => (*rng.pick(&[Maximum, Minimum]), Wanted::Elements(Bool)),
        4 => (*rng.pick(&[Maximum, Minimum]), Wanted::Masked(of_any(rng))),
        5 => (*rng.pick(&[ArgMinimum, ArgMaximum]), Wanted::Elements(Bool)),
        6 => (*rng.pick(&[ArgMinimum, ArgMaximum]), Wanted::Masked(of_any(rng))),
        _ => (*rng.pick(&[ArgMinimum, ArgMaximum]), Wanted::Elements(of_any(rng))),
    }
}

/// The axes that are kept, and those that are reduced.
fn shape(rng: &mut Rng, is_total: bool) -> (Vec<usize>, usize) {
    if rng.below(24) == 0 {
        // Parts of a row go from launch to launch.
        let rows = 1 + rng.below(2);
        return (vec![rows, 16_385 + rng.below(9_000)], 1);
    }
    let kept = match rng.below(5) {
        0 => Vec::new(),
        1 => vec![1],
        2 => vec![1 + rng.below(6)],
        3 => vec![1 + rng.below(60)],
        _ => vec![1 + rng.below(4), 1 + rng.below(5)],
    };
    let rows: usize = kept.iter().product();
    let most = [4, 40, 300, 1_100, 2_600][rng.below(5)] * 3 / (rows + 2);
    let long = 1 + rng.below(most.max(3));
    let mut shape = kept.clone();
    if is_total && rng.below(3) == 0 {
        shape.extend([1 + rng.below(4), long.div_ceil(3)]);
    } else {
        shape.push(long);
    }
    (shape, kept.len())
}

/// A reduction of a family's functions, on `layouts` sets of layouts of the same shape.
pub(crate) fn cases(rng: &mut Rng, family: Family, layouts: u64) -> Vec<Reduced> {
    use ReduceForm::{Exclusive, Inclusive, Total};
    let form = *rng.pick(&[Total, Total, Total, Inclusive, Exclusive]);
    let (combine, wanted) = drawn(rng, form == Total, form == Exclusive);
    let made = families::made(rng, family, wanted);
    let (shape, kept) = shape(rng, form == Total);
    let combined = combine.result_type(made.program.result_type());
    // Bits of a half that is a NaN are not specified.
    let is_plain = matches!(combined, F16 | BF16) || rng.below(2) == 0;
    let finish = if is_plain && combined != Bool { canonical(combined) } else { same_or_truth(combined) };
    let one = |rng: &mut Rng| {
        let mut inputs: Vec<(Layout, Vec<u8>)> = Vec::new();
        for (&element_type, &varies) in made.program.inputs().iter().zip(&made.varies) {
            let repeats = varies == Varies::Lane && rng.below(8) == 0;
            let layout = if repeats { layout(rng, &shape, true) } else { layout_of(rng, &shape, varies) };
            let bytes = contents(rng, &layout, element_type);
            inputs.push((layout, bytes));
        }
        let of_result = if form == Total { &shape[..kept] } else { &shape[..] };
        let result = layout(rng, of_result, false);
        let before = contents(rng, &result, finish.result_type());
        Reduced {
            program: made.program.clone(),
            scalars: scalars(rng, &made.program),
            combine,
            form,
            finish: finish.clone(),
            finish_scalars: Vec::new(),
            shape: shape.clone(),
            inputs,
            result: (result, before),
        }
    };
    (0..layouts).map(|_| one(rng)).collect()
}

/// A finish that makes a truth value of numbers, and leaves truth values.
fn same_or_truth(element_type: ElementType) -> devarray::function::primitive::Program {
    use devarray::function::Function;
    if element_type == Bool {
        return same(Bool);
    }
    Function::parse("x0 == x0", &[element_type], &[]).unwrap().expand()
}
