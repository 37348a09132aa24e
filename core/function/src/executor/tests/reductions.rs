//! Tests reductions and scans of random functions.
#![allow(unsafe_code)] // lends memory of its own

use std::{ops::Range, thread};

use devarray_layout::{Layout, Order};

use super::{maps::Memory, random::Random};
use crate::{
    Combine, ElementType, Function, ReduceForm, ReduceOperation, Reduction, SliceInput,
    executor::{
        Partial, execute_reduction, execute_scan_part, execute_scan_total, execute_segments, finish_segments,
    },
    interpreter::{InputElements, Reducing, ResultElements, interpret_reduction},
    primitive::Program,
};

struct Case {
    element: Program,
    combine: Combine,
    form: ReduceForm,
    finish: Program,
    inputs: Vec<Memory>,
    scalars: Vec<u64>,
    shape: Vec<usize>,
    kept: usize,
    result: Memory,
    text: String,
}

impl Case {
    fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let shape = match random.below(8) {
            // Makes rows of several segments, but seldom.
            0 if random.one_in(6) => vec![random.below(3) + 1, 16_000 + random.below(40_000)],
            1 if random.one_in(6) => vec![16_000 + random.below(20_000), random.below(12) + 1],
            2 => vec![random.below(3000) + 1, random.below(5) + 1],
            3 => vec![random.below(12) + 1, random.below(2500) + 1],
            4 => vec![random.below(300) + 1, random.below(30) + 1, random.below(12) + 1],
            _ => random.shape(),
        };
        let form = random.pick(&[
            ReduceForm::Total,
            ReduceForm::Total,
            ReduceForm::Total,
            ReduceForm::Inclusive,
            ReduceForm::Exclusive,
        ]);
        let form = if shape.is_empty() { ReduceForm::Total } else { form };
        use Combine::{ArgMaximum, ArgMinimum, Maximum, Minimum, Product, Sum};
        let combine = match form {
            ReduceForm::Total => random.pick(&[Sum, Sum, Product, Minimum, Maximum, ArgMinimum, ArgMaximum]),
            ReduceForm::Inclusive => random.pick(&[Sum, Sum, Product, Minimum, Maximum]),
            ReduceForm::Exclusive => random.pick(&[Sum, Product]),
        };
        let of = if matches!(combine, Sum | Product) {
            random.pick(&[ElementType::F32, ElementType::F64, ElementType::I64, ElementType::U64])
        } else {
            random.pick(&ElementType::ALL)
        };
        let function = if random.one_in(2) {
            Function::parse("x0", &[of], &[]).unwrap()
        } else {
            random.function(shape.len(), Some(of))
        };
        let inputs: Vec<Memory> =
            function.inputs().iter().map(|&of| Memory::random(&mut random, of, &shape, true)).collect();
        let scalars = function.scalars().iter().map(|&of| random.element(of)).collect();
        let finish_of = combine.result_type(of);
        let finish = match random.below(3) {
            0 if finish_of.is_float() => "x0 / 3.0",
            _ => "x0",
        };
        let finish = Function::parse(finish, &[finish_of], &[]).unwrap().expand();
        // A total combines the last axes, which are those that are not kept.
        let kept = if form == ReduceForm::Total { random.below(shape.len() + 1) } else { shape.len() };
        let result = Memory::random(&mut random, finish.result_type(), &shape[..kept], false);
        let text =
            format!("{combine:?} {form:?} of {function} of {:?} on {shape:?}, {kept}", function.inputs());
        let element = function.expand_combined();
        Self { element, combine, form, finish, inputs, scalars, shape, kept, result, text }
    }

    fn rows(&self) -> usize {
        let kept = if self.form == ReduceForm::Total { self.kept } else { self.kept - 1 };
        self.shape[..kept].iter().product()
    }

    fn after(
        &self,
        compute: impl FnOnce(&Reducing<'_>, &[InputElements<'_>], ResultElements<'_>),
    ) -> Vec<u8> {
        let mut bytes = self.result.bytes.clone();
        let inputs: Vec<_> = self.inputs.iter().map(Memory::input).collect();
        let work = Reducing {
            program: &self.element,
            scalars: &self.scalars,
            combine: self.combine,
            finish: &self.finish,
            finish_scalars: &[],
        };
        compute(&work, &inputs, ResultElements { start: bytes.as_mut_ptr(), layout: &self.result.layout });
        bytes
    }

    fn interpreted(&self) -> Vec<u8> {
        // SAFETY: the memory of each operand is as long as its layout reaches
        self.after(|work, inputs, result| unsafe {
            interpret_reduction(work, self.form, inputs, &self.shape, result, 0..self.rows());
        })
    }

    fn executed(&self, pieces: usize) -> Vec<u8> {
        let rows = self.rows();
        self.after(|work, inputs, result| {
            for at in 0..pieces {
                let rows = at * rows / pieces..(at + 1) * rows / pieces;
                // SAFETY: as above
                unsafe { execute_reduction(work, self.form, inputs, &self.shape, result, rows) };
            }
        })
    }

    /// Computes totals by segments. Some workers share each row.
    fn by_segments(&self, workers: usize) -> Vec<u8> {
        let row_len: usize = self.shape[self.kept..].iter().product();
        let segments = row_len.div_ceil(Combine::SEGMENT);
        self.after(|work, inputs, result| {
            for row in 0..self.rows() {
                let mut parts: Vec<Partial> = Vec::new();
                for at in 0..workers {
                    let part = at * segments / workers..(at + 1) * segments / workers;
                    // SAFETY: as above
                    let found = unsafe { execute_segments(work, inputs, &self.shape, self.kept, row, part) };
                    parts.extend(found);
                }
                // SAFETY: as above
                unsafe { finish_segments(work, &parts, result, row) };
            }
        })
    }
}

impl Case {
    /// Computes a scan by parts of rows, the last part first. `spoil` may change the totals before
    /// a part.
    fn by_parts(&self, part_len: usize, spoil: impl Fn(&mut [Partial])) -> Vec<u8> {
        let row_len = self.shape.last().copied().unwrap_or(0);
        self.after(|work, inputs, result| {
            for row in 0..self.rows() {
                // SAFETY: as above
                let total =
                    |part| unsafe { execute_scan_total(work, inputs, &self.shape, (row, part, part_len)) };
                let totals: Vec<Partial> =
                    (0..row_len.div_ceil(part_len).saturating_sub(1)).map(total).collect();
                for part in (0..row_len.div_ceil(part_len)).rev() {
                    let (mut before, part) = (totals[..part].to_vec(), (row, part, part_len));
                    spoil(&mut before);
                    // SAFETY: as above
                    unsafe { execute_scan_part(work, self.form, inputs, result, part, &before) };
                }
            }
        })
    }

    /// Scans of rows that have several parts.
    fn long_scans(seeds: Range<u64>) -> impl Iterator<Item = Self> {
        let is_long = |case: &Self| {
            case.form != ReduceForm::Total && case.shape.last().is_some_and(|&row_len| row_len > 2048)
        };
        seeds.map(Self::random).filter(is_long)
    }
}

#[test]
fn scans_by_parts_have_the_interpreters_bits() {
    let mut count = 0;
    for case in Case::long_scans(50_000..50_800) {
        let expected = case.interpreted();
        for part_len in [1024, 4096] {
            assert!(case.by_parts(part_len, |_| {}) == expected, "{part_len}: {}", case.text);
        }
        count += 1;
    }
    assert!(count > 5, "{count} scans of long rows");
}

/// The twin: other totals before a part give other sums.
#[test]
fn scans_behind_wrong_totals_have_other_bits() {
    let has_other = |case: Case| {
        let found = case.by_parts(1024, |before| {
            if let &mut [ref mut first, .., last] = before {
                *first = last;
            }
        });
        found != case.interpreted()
    };
    assert!(Case::long_scans(50_000..50_800).any(has_other));
}

/// Tries many reductions. `spoil` may change the results.
fn try_all(seeds: Range<u64>, spoil: impl Fn(u64, &mut Vec<u8>)) {
    for seed in seeds {
        let case = Case::random(seed);
        let nth = usize::try_from(seed).unwrap();
        let mut expected = case.interpreted();
        spoil(seed, &mut expected);
        let found = case.executed([1, 2, 7, 16][nth % 4]);
        assert!(found == expected, "{seed}: {} to {:?}", case.text, case.result.layout);
        if case.form == ReduceForm::Total && nth.is_multiple_of(3) {
            let found = case.by_segments([1, 2, 7, 16][nth / 3 % 4]);
            assert!(found == expected, "{seed} by segments: {}", case.text);
        }
    }
}

#[test]
fn random_reductions_have_the_interpreters_bits() {
    try_all(0..400, |_, _| {});
}

/// Run with `cargo test --release -p devarray-function --lib executor -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn many_random_reductions_have_the_interpreters_bits() {
    try_all(10_000..30_000, |_, _| {});
}

/// The twin: a bit that is wrong is found.
#[test]
#[should_panic(expected = "43: ")]
fn a_wrong_bit_of_a_reduction_is_found() {
    try_all(0..400, |seed, found| {
        if seed == 43 {
            // Flips bytes everywhere, because the layout decides which bytes are elements.
            found.iter_mut().for_each(|byte| *byte ^= 1);
        }
    });
}

/// Functions whose value is a position alone, of an input that is dense: positions are written block by block, in a
/// slot that has room for one.
#[test]
fn positions_alone_are_combined_in_blocks() {
    let len = 40_000;
    let x = vec![0_f32; len];
    let shape = |rows: usize| Layout::contiguous(&[rows, len / rows], Order::C).unwrap();
    for (text, rows) in [("i1", 1), ("i1", 5000), ("i0", 8), ("i0", 40_000)] {
        let function = Function::parse(text, &[ElementType::F32], &[]).unwrap();
        let layout = shape(rows);
        let sum = Reduction::new(ReduceOperation::Sum).axes(&[1]);
        // A thread keeps its slots: a new one has none.
        let found = thread::scope(|scope| {
            let compute = || {
                let input = SliceInput::new(&x, &layout).unwrap();
                function.compute_reduction::<i64>(&[input], &[], &sum).unwrap()
            };
            scope.spawn(compute).join().unwrap()
        });
        let row_len = len / rows;
        let due = |row: usize| if text == "i1" { row_len * (row_len - 1) / 2 } else { row * row_len };
        let due: Vec<i64> = (0..rows).map(|row| due(row).try_into().unwrap()).collect();
        assert_eq!(found, due, "{text} of {rows} rows");
    }
}
