//! Functions on the fake: the text is run thread by thread, and every byte compared.
#![allow(unsafe_code)] // makes operations without core
#![allow(clippy::cast_possible_truncation, reason = "bits are bits")]

use std::num::NonZeroUsize;

use devarray::{
    Error, Layout, Result,
    backend::{Buffer, Device, FreeOp, MapOp, Maps, Operand, Stream},
    function::{
        ElementType, Function,
        primitive::{Binary, Constant, Instruction, Program, ProgramBuilder, Unary},
    },
};
use devarray_conformance::Rng;
use devarray_cuda::{CudaBuffer, CudaDevice, CudaStream, driver};

use super::{
    cases::{alloc, download, free, upload},
    frozen::{Frozen, check_all},
    maps::Case,
    ptx::Text,
    state::Fake,
};

pub(crate) fn open(fake: &Fake) -> (CudaDevice, CudaStream) {
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    (device, stream)
}

/// Closes all, and looks whether anything was left or done wrong.
pub(crate) fn close(fake: &Fake, device: CudaDevice, stream: CudaStream) {
    assert_eq!(device.take_errors(), []);
    drop((stream, device));
    fake.assert_proper();
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// `x0 + k0`, of `i32`.
fn shifted() -> Program {
    let mut b = ProgramBuilder::new(&[ElementType::I32], &[ElementType::I32]);
    let (x, k) = (b.push(Instruction::Input(0)), b.push(Instruction::Scalar(0)));
    let sum = b.binary(Binary::Add, x, k);
    b.finish(sum, ElementType::I32)
}

/// The position plus a constant. There are many constants.
fn counted(from: u32) -> Program {
    let mut b = ProgramBuilder::new(&[], &[]);
    let at = b.push(Instruction::Position(0));
    let (low, from) = (b.unary(Unary::Wrap, at), b.constant(Constant::B32(from)));
    let sum = b.binary(Binary::Add, low, from);
    b.finish(sum, ElementType::U32)
}

fn map(
    (device, stream): (&CudaDevice, &CudaStream),
    program: &Program,
    (inputs, scalars): (&[(&CudaBuffer, &Layout)], &[u64]),
    result: (&CudaBuffer, &Layout),
) -> Result<()> {
    let operand = |(buffer, layout)| Operand::new(buffer, layout);
    let inputs: Vec<Operand<'_, CudaBuffer>> = inputs.iter().copied().map(operand).collect();
    // SAFETY: the tests' layouts lie inside their buffers, which are apart or the same.
    let op = unsafe { MapOp::new_unchecked(program, &inputs, scalars, operand(result)) };
    device.map(stream, &op)
}

/// Computes a function of new arrays, and frees all memory after success and failure.
pub(crate) fn program(device: &CudaDevice) -> Result<()> {
    let stream = device.open_stream()?;
    let buffer = stream.alloc(NonZeroUsize::new(400).unwrap())?;
    let layout = Layout::new(&[100], &[1], 0).unwrap();
    let computed = map((device, &stream), &counted(7), (&[], &[]), (&buffer, &layout));
    // SAFETY: nothing else uses the buffer.
    computed.and(stream.free(unsafe { FreeOp::new_unchecked(buffer) }))
}

#[test]
fn random_functions_on_random_layouts() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let number =
        |name: &str, otherwise| std::env::var(name).map_or(otherwise, |value| value.parse().unwrap());
    let (first, cases) = (number("FIRST", 0), number("CASES", 150));
    let mut frozen = Frozen::new(&fake, "random");
    for which in first..first + cases {
        let rng = &mut Rng::new(which);
        let case = Case::random(rng, 1500);
        for case in [&case, &case.on_other_layouts(rng, 1500)] {
            let expected = case.expected();
            assert!(case.interpreted() == expected, "case {which} interpreted: {case}");
            assert!(case.executed() == expected, "case {which} executed: {case}");
            case.compare(&case.run(&device, &stream), &expected, which);
        }
        frozen.case();
    }
    if (first, cases) == (0, 150) {
        frozen.check();
    }
    if let Ok(folder) = std::env::var("TEXTS") {
        let texts = fake.state(|state| std::mem::take(&mut state.written));
        for (nth, text) in texts.into_iter().enumerate() {
            std::fs::write(format!("{folder}/{nth}.ptx"), text).unwrap();
        }
    }
    close(&fake, device, stream);
}

#[test]
fn a_function_is_compiled_once() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let program = shifted();
    let numbers: Vec<u8> = (0..1000_i32).flat_map(i32::to_le_bytes).collect();
    // Other memory, other scalars, another alignment: which is another kernel only for the last.
    for (offset, by, kernels) in [(0, 5, 1), (0, 9, 1), (4, -3, 1), (1, 2, 2), (1, 3, 2), (0, 1, 2)] {
        let (from, to) = (upload(&stream, &numbers), alloc(&stream, 4000));
        let (source, result) =
            (Layout::new(&[900], &[1], offset).unwrap(), Layout::new(&[900], &[1], 0).unwrap());
        let scalar = [u64::from(i32::cast_unsigned(by))];
        map((&device, &stream), &program, (&[(&from, &source)], &scalar), (&to, &result)).unwrap();
        let offset = i32::try_from(offset).unwrap();
        let expected: Vec<u8> = (0..900).flat_map(|at| (at + offset + by).to_le_bytes()).collect();
        assert!(download(&stream, &to)[..3600] == expected);
        assert_eq!(device.function_statistics().compiled, kernels);
        free(&stream, from);
        free(&stream, to);
    }
    let statistics = device.function_statistics();
    assert_eq!((statistics.kept, statistics.launches, statistics.evicted), (2, 6, 0));
    assert_eq!(device.driver().calls(driver::Function::ModuleLoadDataEx), 2);
    close(&fake, device, stream);
}

/// Where rows or columns are repeated in a large result, a thread takes several rows.
#[test]
fn large_results_of_repeated_rows_and_columns() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let program = Function::parse("x0 * 3 - x1", &[ElementType::U8; 2], &[]).unwrap().expand();
    let (rows, len) = (520, 512);
    for strides in
        [[[0, 1], [1, 0]], [[len, 1], [0, 1]], [[1, 0], [len, 1]], [[len, -1], [0, 1]], [[0, 2], [len, 1]]]
    {
        let mut case = Case::of(&mut Rng::new(7), program.clone(), &[rows, 512]);
        for (input, strides) in case.inputs.iter_mut().zip(strides) {
            let offset = if strides[1] < 0 { 511 } else { 0 };
            input.0 = Layout::new(&[rows, 512], &strides, offset).unwrap();
        }
        case.compare(&case.run(&device, &stream), &case.interpreted(), 0);
    }
    check_all(&fake, "large_results_of_repeated_rows_and_columns");
    close(&fake, device, stream);
}

/// Where all that is read is repeated, a thread takes pieces of a row.
#[test]
fn large_results_of_what_is_repeated() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let program = Function::parse("x0 * 3 - x1", &[ElementType::F32; 2], &[]).unwrap().expand();
    let (rows, len) = (33, 8_192);
    // The last two are not aligned, and a thread takes one vector.
    for (along, [offset, gap], stores) in
        [(1, [0, 0], 2), (1, [0, 4], 2), (0, [0, 0], 2), (-1, [0, 0], 2), (1, [1, 0], 1), (1, [3, 4], 1)]
    {
        let mut case = Case::of(&mut Rng::new(7), program.clone(), &[rows, len]);
        let of = |strides: [isize; 2], offset| Layout::new(&[rows, len], &strides, offset).unwrap();
        case.inputs[0].0 = of([0, along], if along < 0 { len - 1 } else { 0 });
        case.inputs[1].0 = of([1, 0], 0);
        case.result.0 = of([(len + gap).cast_signed(), 1], offset);
        case.result.1.resize(4 * (offset + rows * (len + gap)), 0xa5);
        case.compare(&case.run(&device, &stream), &case.interpreted(), 0);
        let text = fake.state(|state| state.written.last().cloned().unwrap());
        assert_eq!(text.matches("st.global.v4").count(), stores, "{case}");
    }
    check_all(&fake, "large_results_of_what_is_repeated");
    close(&fake, device, stream);
}

#[test]
fn what_the_driver_says_of_a_text_is_shown_with_it() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    fake.state(|state| state.refusal = Some("line 7: no such instruction".to_owned()));
    let buffer = alloc(&stream, 400);
    let layout = Layout::new(&[100], &[1], 0).unwrap();
    let computed = map((&device, &stream), &counted(0), (&[], &[]), (&buffer, &layout));
    let Err(Error::Driver { backend: "cuda", operation: "map", code: 218, name }) = computed else {
        panic!("{computed:?}");
    };
    assert!(name.contains("line 7: no such instruction") && name.contains(".visible .entry map("), "{name}");
    fake.state(|state| state.refusal = None);
    assert_eq!(map((&device, &stream), &counted(0), (&[], &[]), (&buffer, &layout)), Ok(()));
    free(&stream, buffer);
    close(&fake, device, stream);
}

#[test]
fn evicted_kernels_stay_until_nothing_runs_them() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let buffer = alloc(&stream, 400);
    let layout = Layout::new(&[100], &[1], 0).unwrap();
    let mut next = 0;
    let mut compute = |times: u32| {
        for _ in 0..times {
            // A stream that is closed while it may still work.
            let other = device.open_stream().unwrap();
            map((&device, &other), &counted(next), (&[], &[]), (&buffer, &layout)).unwrap();
            next += 1;
        }
    };
    let modules = || fake.state(|state| state.live.values().filter(|kind| **kind == "module").count());
    let evicted = || device.function_statistics().evicted;
    compute(1_024);
    assert_eq!((modules(), evicted()), (1_024, 0));
    // Nothing ends any more.
    fake.state(|state| state.query = 600);
    compute(50);
    assert_eq!((modules(), evicted(), device.function_statistics().kept), (1_074, 50, 1_024));
    // All has ended.
    fake.state(|state| state.query = 0);
    compute(3);
    assert_eq!(evicted(), 53);
    assert!(modules() <= 1_024 + 3, "{}", modules());
    free(&stream, buffer);
    close(&fake, device, stream);
}

/// A small text, word for word, to be read with the manual of PTX.
#[test]
fn a_text() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let (from, to) = (upload(&stream, &[0; 64]), alloc(&stream, 64));
    let layout = Layout::new(&[16], &[1], 0).unwrap();
    map((&device, &stream), &shifted(), (&[(&from, &layout)], &[1]), (&to, &layout)).unwrap();
    let written = fake.state(|state| state.written.concat());
    let expected = include_str!("functions/shifted.ptx");
    if std::env::var_os("WRITE").is_some() {
        std::fs::write("tests/fake/functions/shifted.ptx", &written).unwrap();
    }
    assert_eq!(written, expected);
    assert!(from.len_bytes() == 64);
    free(&stream, from);
    free(&stream, to);
    close(&fake, device, stream);
}

/// The fake refuses texts that combine predicates, so every test of a text shows that it does not.
#[test]
fn texts_do_not_combine_predicates() {
    let parsed = |line: &str| {
        let text = format!(".param .align 8 .b8 p[8]\n.maxntid 256, 1, 1\n{{\n    {line};\n    ret;\n}}\n");
        Text::parse(&text).map(drop)
    };
    assert_eq!(parsed("and.b32 %r2, %r0, %r1"), Ok(()));
    assert_eq!(parsed("setp.lt.u32 %p2, %r0, %r1"), Ok(()));
    for line in [
        "and.pred %p2, %p0, %p1",
        "or.pred %p2, %p0, %p1",
        "xor.pred %p2, %p0, %p1",
        "not.pred %p2, %p0",
        "setp.lt.and.u32 %p2, %r0, %r1, %p0",
        "setp.nan.or.f32 %p2, %f0, %f1, %p2",
    ] {
        assert_eq!(parsed(line), Err(format!("not known: {line}")));
    }
}

/// The text of a function of one input, in one launch.
fn written(program: &Program, bytes: usize) -> String {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let (from, to) = (upload(&stream, &vec![0; bytes]), alloc(&stream, bytes));
    let layout = Layout::new(&[16], &[1], 0).unwrap();
    map((&device, &stream), program, (&[(&from, &layout)], &[]), (&to, &layout)).unwrap();
    let text = fake.state(|state| state.written.concat());
    free(&stream, from);
    free(&stream, to);
    close(&fake, device, stream);
    text
}

/// The assembler takes `-2.5 < |x|` for true, of NaN too, if it knows the constant.
#[test]
fn constants_beside_absolute_values_are_in_memory() {
    let compared = |absolute: bool| {
        let mut b = ProgramBuilder::new(&[ElementType::F32], &[]);
        let x = b.push(Instruction::Input(0));
        let x = if absolute { b.unary(Unary::Absolute, x) } else { x };
        let constant = b.constant(Constant::F32(0xc020_0000));
        let less = b.binary(Binary::Less, constant, x);
        written(&b.finish(less, ElementType::Bool), 64)
    };
    assert!(compared(true).contains("ld.const.f32"));
    assert!(!compared(false).contains("ld.const.f32"));
}

/// The assembler loses a carry where 64 bits are subtracted from what `mul.hi.u32` gives.
#[test]
fn high_halves_are_of_whole_products() {
    let mut b = ProgramBuilder::new(&[ElementType::U32], &[]);
    let x = b.push(Instruction::Input(0));
    let high = b.binary(Binary::MultiplyHigh, x, x);
    let text = written(&b.finish(high, ElementType::U32), 64);
    assert!(text.contains("mul.wide.u32") && !text.contains("mul.hi.u32"), "{text}");
}

/// Checks that the texts that were written pass NVIDIA's own assembler.
pub(crate) fn assemble(fake: &Fake) {
    let ptxas = std::env::var_os("PTXAS").expect("PTXAS is the path of ptxas");
    let texts = fake.state(|state| std::mem::take(&mut state.written));
    let folder = tempfile::tempdir().unwrap();
    for (nth, text) in texts.iter().enumerate() {
        let (from, to) = (folder.path().join("a.ptx"), folder.path().join("a.cubin"));
        std::fs::write(&from, text).unwrap();
        let target = ["sm_70", "sm_80", "sm_90"][nth % 3];
        let mut command = std::process::Command::new(&ptxas);
        let output = command.arg(format!("-arch={target}")).arg(&from).arg("-o").arg(&to).output().unwrap();
        assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    }
    println!("{} texts", texts.len());
}

/// The texts of many functions and layouts pass NVIDIA's own assembler: `PTXAS` is its path.
#[test]
#[ignore = "needs ptxas: PTXAS=... cargo test -p devarray-cuda --test fake texts_assemble -- --ignored"]
fn texts_assemble() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    for which in 0..250 {
        Case::random(&mut Rng::new(which), 4000).run(&device, &stream);
    }
    assemble(&fake);
    close(&fake, device, stream);
}

/// Functions that have long sides which are rarely taken, next to what is not.
#[test]
fn elementary_functions() {
    use ElementType::{BF16, F16, F32, F64, I32};
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    for (nth, (text, of)) in [
        ("sin(x0) + cos(x1)", F32),
        ("tan(x0) - log(x1)", F64),
        ("where(x0 < x1, sin(x0), exp(x1))", F32),
        ("x0 ** x1", F32),
        ("x0 % x1", F64),
        ("tanh(x0) * erf(x1)", F16),
        ("atan2(x0, x1)", BF16),
        ("x0 // x1", I32),
    ]
    .into_iter()
    .enumerate()
    {
        let program = Function::parse(text, &[of, of], &[]).unwrap().expand();
        let case = Case::of(&mut Rng::new(nth as u64), program, &[700]);
        case.compare(&case.run(&device, &stream), &case.interpreted(), nth as u64);
    }
    let branches = |text: &String| text.contains("    @!%p");
    assert!(fake.state(|state| state.written.iter().filter(|text| branches(text)).count()) >= 3);
    check_all(&fake, "elementary_functions");
    close(&fake, device, stream);
}

/// Code for few elements is behind one branch around all of a thread; code for nearly all is not
/// behind any.
#[test]
fn what_is_seldom_needed_is_skipped_for_a_whole_thread() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    // Huge angles are seldom, of `tan` their quadrant too; the inputs that are listed with their
    // results are one in a billion, and the rest is not behind a branch for them.
    for (text, of, branches) in [
        ("sin(x0)", ElementType::F32, 1 + 4 + 1),
        ("tan(x0)", ElementType::F32, 1 + 4 + 1),
        ("cos(x0)", ElementType::F64, 1 + 2 + 1),
        ("log(x0)", ElementType::F32, 0),
        ("tanh(x0)", ElementType::F32, 0),
    ] {
        let program = Function::parse(text, &[of], &[]).unwrap().expand();
        let mut case = Case::of(&mut Rng::new(7), program, &[4096]);
        let layout = Layout::new(&[4096], &[1], 0).unwrap();
        for (into, bytes) in case.inputs.iter_mut().chain([&mut case.result]) {
            *into = layout.clone();
            bytes.resize(4096 * of.len_bytes(), 0x5c);
        }
        case.compare(&case.run(&device, &stream), &case.interpreted(), 0);
        let written = fake.state(|state| state.written.last().cloned().unwrap());
        assert_eq!(written.matches("    @!%p").count(), branches, "{text}\n{written}");
    }
    check_all(&fake, "what_is_seldom_needed_is_skipped_for_a_whole_thread");
    close(&fake, device, stream);
}
