//! The distribution of elements, written down: any change of a choice shows.
//!
//! `tests/reductions/forms.txt` holds the choices. With `DEVARRAY_WRITE_FORMS=1` the test writes that
//! file anew.

use std::fmt::Write as _;

use devarray::function::{
    ElementType::{self, F32, F64, U8},
    primitive::{Instruction, ProgramBuilder, Unary},
};

use super::{
    super::{in_rows, tile},
    *,
};
use crate::function::operands::{Kind, axis};

const LIST: &str = include_str!("../../../../../tests/reductions/forms.txt");

/// Elements of an input, and how many of them lie side by side: along rows, or across them.
struct Case {
    combine: Combine,
    element_type: ElementType,
    instructions: u64,
    rows: u64,
    row_len: u64,
}

impl Case {
    fn operands(&self, by_columns: bool) -> ReduceOperands {
        let size = (self.element_type.len_bytes() as u64).cast_signed();
        let (rows, row_len) = (self.rows.cast_signed(), self.row_len.cast_signed());
        let (column, inner) = if by_columns { (size, rows * size) } else { (row_len * size, size) };
        let axes =
            |extent, strides: [i64; 2]| (extent > 1).then(|| axis(extent, strides)).into_iter().collect();
        ReduceOperands {
            kinds: vec![Kind::Result(self.element_type), Kind::Input(0, self.element_type)],
            bases: vec![0; 2],
            kept: axes(self.rows, [size, column]),
            reduced: axes(self.row_len, [0, inner]),
        }
    }

    fn program(&self) -> Program {
        let mut b = ProgramBuilder::new(&[self.element_type], &[]);
        let mut x = b.push(Instruction::Input(0));
        for _ in 1..self.instructions {
            x = b.unary(Unary::Negate, x);
        }
        b.finish(x, self.element_type)
    }

    /// The case, and how its columns and its rows are distributed.
    fn described(&self) -> String {
        let Self { combine, element_type, instructions, rows, row_len } = self;
        let combining = Combining::new(*combine, *element_type, false);
        let division = division(&self.operands(true), &self.program(), combining);
        let operands = self.operands(false);
        let form = in_rows(&operands, *instructions, 16);
        let (grid, _) = form.blocks(&operands);
        let mut line = format!(
            "{combine:?} {element_type} of {instructions}, {rows} rows of {row_len}: {form:?} x {grid}"
        );
        match division {
            None => line += "; no columns",
            Some(Division { across, lanes, at_once, steps, vector, split, single }) => {
                let kind = if single { "single" } else { "lanes" };
                write!(line, "; columns {across} {lanes} {at_once} {steps} {vector} {split} {kind}").unwrap();
            }
        }
        line.replace("threads: ", "").replace(" vector: ", " ")
    }
}

/// Numbers around those at which another form is chosen.
fn cases() -> impl Iterator<Item = Case> {
    const ROWS: [u64; 12] = [1, 4, 31, 64, 250, 264, 1_000, 2_048, 4_099, 32_768, 65_544, 1 << 20];
    const LENS: [u64; 12] = [1, 3, 32, 100, 128, 516, 1_024, 1_025, 4_096, 16_384, 16_385, 1 << 20];
    const KINDS: [(Combine, ElementType, u64); 6] = [
        (Combine::Sum, F32, 1),
        (Combine::Sum, F64, 1),
        (Combine::Sum, F32, 20),
        (Combine::Sum, F64, 300),
        (Combine::Maximum, U8, 1),
        (Combine::ArgMaximum, F32, 1),
    ];
    KINDS.into_iter().flat_map(|(combine, element_type, instructions)| {
        ROWS.into_iter().flat_map(move |rows| {
            let case = move |row_len| Case { combine, element_type, instructions, rows, row_len };
            LENS.into_iter().map(case)
        })
    })
}

#[test]
fn elements_are_distributed_as_they_were() {
    let list: String = cases().map(|case| case.described() + "\n").collect();
    if std::env::var_os("DEVARRAY_WRITE_FORMS").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reductions/forms.txt");
        std::fs::write(file, &list).unwrap();
        return;
    }
    for (line, (described, known)) in list.lines().zip(LIST.lines()).enumerate() {
        assert_eq!(described, known, "line {}", line + 1);
    }
    assert_eq!(list.lines().count(), LIST.lines().count());
}

/// Inputs vote with the bytes of their elements for the axis along which they are nearer; one that
/// is reached by neither has no vote.
#[test]
fn inputs_vote_for_columns() {
    let with_inputs = |inputs: &[(ElementType, i64, i64)]| {
        let along = |of: fn(&(ElementType, i64, i64)) -> i64| {
            let strides = std::iter::once(4).chain(inputs.iter().map(of));
            [axis(8, strides)].into_iter().collect()
        };
        let kinds = inputs.iter().zip(0..).map(|(&(of, ..), nth)| Kind::Input(nth, of));
        ReduceOperands {
            kinds: std::iter::once(Kind::Result(F32)).chain(kinds).collect(),
            bases: vec![0; inputs.len() + 1],
            kept: along(|&(_, column, _)| column),
            reduced: along(|&(_, _, inner)| inner),
        }
    };
    for (inputs, has) in [
        (&[(F32, 4, 32)][..], true),
        (&[(F32, -4, 32)], true),
        (&[(F32, 32, 4)], false),
        (&[(F32, 32, -4)], false),
        (&[(F32, 4, 4)], false),
        (&[(F32, 4, 0)], false),
        (&[(F32, 0, 4)], false),
        (&[(F32, 4, 32), (F32, 32, 4)], false),
        (&[(F64, 8, 64), (F32, 32, 4)], true),
        (&[(F32, 4, 32), (F64, 64, 8)], false),
        (&[(F32, 4, 32), (F64, 0, 8)], true),
        (&[(F32, 32, 4), (F64, 8, 0)], false),
        (&[(F32, 4, 32), (U8, 8, 1), (U8, 8, 1)], true),
        (&[(F64, 64, 8), (U8, 1, 8), (U8, 1, 8)], false),
    ] {
        assert_eq!(has_columns(&with_inputs(inputs)), has, "{inputs:?}");
    }
    let mut one = with_inputs(&[(F32, 4, 32)]);
    one.reduced = Default::default();
    assert!(!has_columns(&one));
}

/// A thread of a tile has as many elements as registers hold, or four where the program is long.
#[test]
fn tiles_of_scans() {
    for (row_len, instructions, element_type, len) in [
        (1, 1, F32, 4),
        (5, 1, F32, 8),
        (1_024, 1, F32, 1_024),
        (1_025, 1, F32, 2_048),
        (4_097, 1, F32, 8_192),
        (1 << 20, 1, F32, 8_192),
        (1 << 20, 1, F64, 4_096),
        (1 << 20, 32, F32, 8_192),
        (1 << 20, 33, F32, 1_024),
        (1_025, 33, F64, 1_024),
        (5, 33, F64, 8),
    ] {
        let tile = tile(row_len, instructions, element_type);
        assert_eq!(tile.len(), len, "{row_len} elements of {element_type}, {instructions} instructions");
    }
}
