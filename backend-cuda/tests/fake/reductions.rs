//! Reductions on the fake: the text is run thread by thread, and every byte compared.
#![allow(clippy::cast_possible_truncation, reason = "numbers of tests are small")]

use devarray::{
    Layout,
    backend::ReduceForm,
    function::{
        Combine,
        ElementType::{self, F16, F32, F64, I64, U8},
        primitive::{Binary, Constant, Instruction, Program, ProgramBuilder, Unary},
    },
};

use devarray_conformance::Rng;
use devarray_function::executor::execute_reduction;

use super::{
    frozen::{Frozen, check_all},
    functions::{assemble, close, open},
    reductions_of::{Reduced, same},
    state::Fake,
};

#[test]
fn random_reductions_of_random_layouts() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let number =
        |name: &str, otherwise| std::env::var(name).map_or(otherwise, |value| value.parse().unwrap());
    let (first, cases) = (number("FIRST", 0), number("CASES", 150));
    let mut frozen = Frozen::new(&fake, "random_reductions");
    for which in first..first + cases {
        // A few have parts of parts.
        let most = if which % 16 == 0 { 40_000 } else { 5_000 };
        let rng = &mut Rng::new(which);
        let case = Reduced::random(rng, most);
        let expected = case.expected();
        case.compare(&case.run(&device, &stream), &expected, which);
        assert!(case.on_host(execute_reduction) == expected, "case {which} on the CPU: {case}");
        if which % 4 == 0 {
            let (other, expected) = case.in_other_layouts(rng, &expected);
            other.compare(&other.run(&device, &stream), &expected, which);
        }
        frozen.case();
    }
    if (first, cases) == (0, 150) {
        frozen.check();
    }
    close(&fake, device, stream);
}

/// Rows whose ends lie around the ends of lanes, segments and tiles, twice on one stream: what an
/// operation leaves there does not change the next.
#[test]
fn rows_of_every_kind_of_length() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let mut rng = Rng::new(7);
    let (mut which, mut frozen) = (0, Frozen::new(&fake, "rows"));
    let mut check = |how, element_type, rows| {
        let case = Reduced::of_rows(&mut rng, how, element_type, rows);
        let expected = case.expected();
        for _ in 0..2 {
            case.compare(&case.run(&device, &stream), &expected, which);
        }
        which += 1;
        frozen.case();
    };
    for row_len in [1, 4, 31, 128, 129, 1_023, 1_025, 16_383, 16_384, 16_385, 32_769, 100_003] {
        check((Combine::Sum, ReduceForm::Total), F32, (1, row_len));
        check((Combine::Product, ReduceForm::Total), F64, (2, row_len));
        check((Combine::Minimum, ReduceForm::Total), U8, (3, row_len));
        check((Combine::ArgMaximum, ReduceForm::Total), I64, (1, row_len));
    }
    for row_len in [1, 5, 64, 127, 1_024, 1_025, 4_095, 4_096, 4_097, 12_288, 16_385, 40_961] {
        check((Combine::Sum, ReduceForm::Inclusive), F32, (2, row_len));
        check((Combine::Sum, ReduceForm::Exclusive), F64, (1, row_len));
        check((Combine::Maximum, ReduceForm::Inclusive), U8, (1, row_len));
    }
    check((Combine::Sum, ReduceForm::Inclusive), F64, (3, 10_000));
    frozen.check();
    close(&fake, device, stream);
}

/// A reduction that a stream remembers, with other operands: at other addresses, aligned as before
/// or not, and of other layouts and scalars of the finish.
#[test]
fn the_same_again_of_other_operands() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    for round in 0..4_u64 {
        for which in 0..24 {
            // Each round has these layouts, with other numbers and in other memory.
            let mut case = Reduced::random(&mut Rng::new(which % 8), 3_000);
            case.inputs.iter_mut().for_each(|input| input.1.rotate_left(usize::try_from(round).unwrap()));
            case.compare(&case.run(&device, &stream), &case.expected(), which);
        }
    }
    close(&fake, device, stream);
}

/// A reduction that a stream remembers serves none that does something else in the end.
#[test]
fn the_same_again_with_another_finish() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let mut case = Reduced::of_rows(&mut Rng::new(13), (Combine::Sum, ReduceForm::Total), I64, (3, 5));
    let mut b = ProgramBuilder::new(&[I64], &[]);
    let sum = b.push(Instruction::Input(0));
    let twice = b.binary(Binary::Add, sum, sum);
    let finishes = [case.finish.clone(), b.finish(twice, I64)];
    for finish in [0, 1, 0, 1] {
        case.finish.clone_from(&finishes[finish]);
        case.compare(&case.run(&device, &stream), &case.expected(), 0);
    }
    close(&fake, device, stream);
}

/// Deviations from means, of rows that fit into shared memory and of others; short rows share a
/// block.
#[test]
fn what_comes_out_goes_in_again() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let mut rng = Rng::new(11);
    let lens = [4, 5, 12, 128, 132, 1_000, 1_024, 1_028, 4_000, 5_001, 8_192, 16_380, 16_384, 16_388];
    for (which, row_len) in lens.into_iter().enumerate() {
        for element_type in [F32, F64, F16] {
            let both = Reduced::of_deviations(
                &mut rng,
                element_type,
                (if row_len < 200 { 300 } else { 2 }, row_len),
            );
            let launches = device.function_statistics().launches;
            let found = Reduced::run_twice(&both, &device, &stream);
            both[1].compare(&found, &both[1].expected(), which as u64);
            let fits = row_len % 4 == 0 && row_len <= 16_384;
            assert_eq!(
                device.function_statistics().launches - launches == 1,
                fits,
                "{row_len} {element_type}"
            );
        }
    }
    check_all(&fake, "what_comes_out_goes_in_again");
    close(&fake, device, stream);
}

/// Elements that the second does not read are not at hand for the first in its launch.
#[test]
fn what_is_not_read_again_is_reduced_by_itself() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let mut both = Reduced::of_deviations(&mut Rng::new(12), F32, (3, 128));
    let mut b = ProgramBuilder::new(&[F32, F32], &[]);
    let mean = b.push(Instruction::Input(1));
    both[1].program = b.finish(mean, F32);
    both[1].scalars.clear();
    let launches = device.function_statistics().launches;
    let found = Reduced::run_twice(&both, &device, &stream);
    both[1].compare(&found, &both[1].expected(), 0);
    assert_eq!(device.function_statistics().launches - launches, 2);
    check_all(&fake, "what_is_not_read_again_is_reduced_by_itself");
    close(&fake, device, stream);
}

/// Programs that are short together are written for every element that a thread keeps in registers;
/// longer ones once, in a loop over shared memory.
#[test]
fn two_reductions_of_few_instructions_keep_a_row_in_registers() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    for (shape, more, in_shared_memory) in [((1, 16_384), 20, 0), ((1, 16_384), 40, 1), ((300, 4), 600, 2)] {
        let mut both = Reduced::of_deviations(&mut Rng::new(14), F32, shape);
        let mut b = ProgramBuilder::new(&[F32], &[]);
        let (mut x, one) = (b.push(Instruction::Input(0)), b.constant(Constant::F32(1.0_f32.to_bits())));
        (0..more).for_each(|_| x = b.binary(Binary::Multiply, x, one));
        both[0].program = b.finish(x, F32);
        let launches = device.function_statistics().launches;
        let found = Reduced::run_twice(&both, &device, &stream);
        both[1].compare(&found, &both[1].expected(), more);
        assert_eq!(device.function_statistics().launches - launches, 1, "{more} more");
        assert_eq!(fake.state(|state| state.dynamic_bytes.len()), in_shared_memory, "{more} more");
    }
    check_all(&fake, "two_reductions_of_few_instructions_keep_a_row_in_registers");
    close(&fake, device, stream);
}

/// A program with enough instructions to make tiles small. Its result is its input.
fn long_program(element_type: ElementType) -> Program {
    let mut b = ProgramBuilder::new(&[element_type], &[]);
    let mut x = b.push(Instruction::Input(0));
    for _ in 0..40 {
        x = b.unary(Unary::Negate, x);
    }
    b.finish(x, element_type)
}

/// There are enough tiles that wait for one another to be in groups.
#[test]
fn a_running_form_of_groups_of_tiles() {
    let fake = Fake::new();
    fake.state(|state| state.total_bytes = 1 << 28);
    let (device, stream) = open(&fake);
    let how = (Combine::Sum, ReduceForm::Inclusive);
    let mut case = Reduced::of_rows(&mut Rng::new(3), how, F32, (2, 262_144 + 5_000));
    case.program = long_program(F32);
    case.compare(&case.run(&device, &stream), &case.expected(), 0);
    check_all(&fake, "a_running_form_of_groups_of_tiles");
    close(&fake, device, stream);
}

/// Very many rows of two tiles: the operation mostly allocates totals of tiles, and the running
/// totals before them.
#[test]
fn a_running_form_of_many_short_rows() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let mut case =
        Reduced::of_rows(&mut Rng::new(4), (Combine::Sum, ReduceForm::Inclusive), F64, (160, 1_025));
    case.program = long_program(F64);
    case.compare(&case.run(&device, &stream), &case.expected(), 0);
    check_all(&fake, "a_running_form_of_many_short_rows");
    close(&fake, device, stream);
}

/// Elements added along two axes lie side by side along the outer one, and the inner one is cut
/// into segments.
#[test]
fn segments_that_lie_side_by_side() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    for (which, (combine, element_type)) in
        [(Combine::Sum, F32), (Combine::Sum, I64), (Combine::ArgMaximum, F32)].into_iter().enumerate()
    {
        for inner in [16_384, 32_768, 16_380] {
            let how = (combine, ReduceForm::Total);
            let mut case = Reduced::of_rows(&mut Rng::new(5), how, element_type, (6, inner));
            case.shape = vec![2, 3, inner];
            case.inputs[0].0 = Layout::new(&case.shape, &[3 * inner.cast_signed(), 1, 3], 0).unwrap();
            case.result.0 = Layout::new(&[2], &[1], 0).unwrap();
            case.compare(&case.run(&device, &stream), &case.expected(), which as u64);
        }
    }
    check_all(&fake, "segments_that_lie_side_by_side");
    close(&fake, device, stream);
}

/// Positions of columns whose segments are shared by blocks: parts of parts, with an index each.
#[test]
fn positions_in_columns_of_many_parts() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let (columns, len) = (8, 16_400);
    let how = (Combine::ArgMaximum, ReduceForm::Total);
    let mut case = Reduced::of_rows(&mut Rng::new(6), how, F32, (columns, len));
    case.inputs[0].0 = Layout::new(&case.shape, &[1, columns.cast_signed()], 0).unwrap();
    let launches = device.function_statistics().launches;
    case.compare(&case.run(&device, &stream), &case.expected(), 0);
    assert_eq!(device.function_statistics().launches - launches, 3);
    check_all(&fake, "positions_in_columns_of_many_parts");
    close(&fake, device, stream);
}

/// The texts of many reductions pass NVIDIA's own assembler: `PTXAS` is its path.
#[test]
#[ignore = "needs ptxas: PTXAS=... cargo test -p devarray-cuda --test fake reductions_assemble -- --ignored"]
fn reductions_assemble() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    for which in 0..150 {
        Reduced::random(&mut Rng::new(which), 2_000).run(&device, &stream);
    }
    assemble(&fake);
    close(&fake, device, stream);
}

/// The extreme of rows with NaN, with zeros of both signs or with infinities, found in lanes and
/// given to the second reduction, whose elements are all equal to it.
#[test]
fn extremes_of_special_numbers() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let special = |element_type: ElementType, row: usize, at: usize| {
        let number: f64 = match (row, at % 7) {
            (0, 3) => [0.0, f64::NAN][usize::from(at == 94)],
            (1, _) => -f64::INFINITY,
            (2, _) => at as f64 + 0.5,
            (6, _) => -0.5 - at as f64,
            (3, _) => [-0.0, 0.0][usize::from(at == 33)],
            (4, _) => [-0.0, 0.0][usize::from(at != 33)],
            (5, 1) => f64::INFINITY,
            _ => (at as f64 - 60.0) * 0.25,
        };
        match element_type {
            F64 => number.to_le_bytes().to_vec(),
            _ => (number as f32).to_le_bytes().to_vec(),
        }
    };
    let cases = [((7, 132), 0), ((7, 1_028), 0), ((1, 16_384), 40)];
    let kinds = [F32, F64].map(|of| [(of, Combine::Maximum), (of, Combine::Minimum)]);
    for ((shape, more), (element_type, combine)) in
        cases.into_iter().flat_map(|case| kinds.as_flattened().iter().map(move |&kind| (case, kind)))
    {
        let mut both = Reduced::of_deviations(&mut Rng::new(15), element_type, shape);
        let elements = (0..shape.0).flat_map(|row| (0..shape.1).map(move |at| (row, at)));
        let elements: Vec<u8> = elements.flat_map(|(row, at)| special(element_type, row, at)).collect();
        let mut b = ProgramBuilder::new(&[element_type], &[]);
        let mut x = b.push(Instruction::Input(0));
        (0..more).for_each(|_| x = b.unary(Unary::Negate, x));
        both[0].program = b.finish(x, element_type);
        // The extreme, or if that is NaN, any element.
        let mut b = ProgramBuilder::new(&[element_type; 2], &[]);
        let (x, extreme) = (b.push(Instruction::Input(0)), b.push(Instruction::Input(1)));
        let number = b.binary(Binary::Equal, extreme, extreme);
        let chosen = b.select(number, extreme, x);
        both[1].program = b.finish(chosen, element_type);
        for one in &mut both {
            (one.combine, one.finish) = (combine, same(element_type));
            (one.scalars, one.finish_scalars) = (Vec::new(), Vec::new());
            one.inputs[0].1.clone_from(&elements);
        }
        both[1].inputs[1].1 = both[0].expected();
        let launches = device.function_statistics().launches;
        let found = Reduced::run_twice(&both, &device, &stream);
        both[1].compare(&found, &both[1].expected(), more);
        assert_eq!(device.function_statistics().launches - launches, 1, "{shape:?} {element_type}");
    }
    check_all(&fake, "extremes_of_special_numbers");
    close(&fake, device, stream);
}
