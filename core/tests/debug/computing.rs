//! Functions, walks along axes, comparisons and array files.

use std::{error::Error, io::Cursor};

use devarray::{
    Array, HostArray, Layout, Order, Pad,
    backend::{
        Device, GatherOp, LaunchArgument, LaunchOp, MapOp, Operand, OrderOp, OrderSide, Parameter,
        ProductFunction, ProductOp, ReduceForm, ReduceOp, Stream, StreamOwner,
    },
    compare::{Tolerance, difference},
    function::{
        BinaryOperation, Combine, ElementType, Expression, Function, FunctionBuilder, FunctionErrorKind,
        ReduceOperation, Reduction, Scan, ScanOperation, SliceInput, UnaryOperation,
        elementary::Elementary,
        interpreter::{InputElements, Reducing, ResultElements},
        primitive::{Binary, Constant, ProgramBuilder, RegisterType, Unary},
    },
    gather::{
        Direction, Finished, GatherMemory, GatherOperation, Gathering, IndexError, IndexType, IndexedAxis,
        OutOfRange, Repeats,
    },
    kernel::{Grid, HostArgument, Image, In, Kernel, KernelError, Out, Passed, Permission, Refusal, Running},
    npy::{self, Header, NpyError, NpyReader, npz},
    order::{Alone, Call, IndexFault, OrderMemory, Side},
    random::{Draw, Key},
};
use devarray_mock::MockDevice;

use super::{NonZeroUsize, Shown, open};

pub(crate) fn functions(shown: &mut Shown) -> Result<(), Box<dyn Error>> {
    let long = (0..40).fold("x0".to_owned(), |text, _| format!("sin({text})"));
    let function = Function::parse(&long, &[ElementType::F32], &[])?;
    shown.add("Function", &function);
    shown.add("Node", &function.nodes()[1]);
    shown.add("Operation", &function.nodes()[1].operation());
    shown.add("Value", &function.result());
    shown.add("FunctionBuilder", &FunctionBuilder::new(&[ElementType::F32; 16], &[])?);
    let refused = Function::parse("x0 + y", &[ElementType::F32], &[]).err();
    shown.add("FunctionError", &refused.ok_or("accepted")?);
    shown.add("FunctionErrorKind", &FunctionErrorKind::Type);
    shown.add("ElementType", &ElementType::BF16);
    shown.add("Elementary", &Elementary::Exp);
    shown.add("BinaryOperation", &BinaryOperation::GreaterEqual);
    shown.add("UnaryOperation", &UnaryOperation::BitwiseCount);
    shown.add("Combine", &Combine::ArgMaximum);
    shown.add("ReduceOperation", &ReduceOperation::StandardDeviation);
    shown.add("Reduction", &Reduction::new(ReduceOperation::CountNonzero).axes(&[0, -1]).keep_axes());
    shown.add("ScanOperation", &ScanOperation::Product);
    shown.add("SliceInput", &SliceInput::from(&[1.0_f32; 300]));
    shown.add("Scan", &Scan::new(ScanOperation::Sum, -1).exclusive());
    shown.add("Expression", &Expression::constant(1.0_f32));
    shown.add("Key", &Key::new(u64::MAX).sequence(u64::MAX));
    shown.add("Draw", &Draw::new(u64::MAX, u64::MAX));
    shown.add("Alone", &Alone);
    shown.is_shown_elsewhere(["Arguments", "Call", "FloatEnvironment"]);

    let program = function.expand();
    shown.add("Program", &program);
    shown.add("ProgramBuilder", &ProgramBuilder::new(&[ElementType::F32], &[]));
    shown.add("Instruction", &program.instructions()[1]);
    shown.add("Register", &program.result());
    shown.add("RegisterType", &RegisterType::B32);
    shown.add("Constant", &Constant::F64(u64::MAX));
    shown.add("Lit", &devarray::function::lit(i64::MIN));
    shown.add("Unary", &Unary::UnsignedToF64);
    shown.add("Binary", &Binary::ShiftRightSigned);

    shown.add("Refusal", &Refusal::from(KernelError::NoEntry { entry: "scale" }));
    // SAFETY: it is dropped at once.
    shown.add("Running", &unsafe { Running::new("Scale") });
    let layout = Layout::contiguous(&[10, 20, 30], Order::C)?;
    let mut memory = [0_u8; 8];
    shown.add("InputElements", &InputElements { start: memory.as_ptr(), layout: &layout });
    shown.add("ResultElements", &ResultElements { start: memory.as_mut_ptr(), layout: &layout });
    let device = MockDevice::new();
    let buffer = device.open_stream()?.alloc(NonZeroUsize::MIN)?;
    let operand = || Operand::new(&buffer, &layout);
    shown.add("Operand", &operand());
    let inputs = [operand(), operand()];
    // SAFETY: it is named, and never submitted.
    let op = unsafe { MapOp::new_unchecked(&program, &inputs, &[], operand()) };
    shown.add("MapOp", &op);
    let finish = (&program, &[][..]);
    let work = Reducing {
        program: &program,
        scalars: &[],
        combine: Combine::Sum,
        finish: finish.0,
        finish_scalars: finish.1,
    };
    shown.add("Reducing", &work);
    assert_eq!(format!("{work:?}"), format!("Reducing(Sum of {program:?})"));
    shown.add("ReduceForm", &ReduceForm::Exclusive);
    // SAFETY: as above.
    let op = unsafe { ReduceOp::new_unchecked(work, ReduceForm::Total, &[10], &[], operand()) };
    shown.add("ReduceOp", &op);
    let reductions = [op];
    // SAFETY: named, and never submitted.
    let fused = unsafe { devarray::backend::FusedOp::new_unchecked(&reductions, None) };
    shown.add("FusedOp", &fused);
    let [op] = &reductions;
    // SAFETY: as above.
    let total = unsafe {
        devarray::backend::TotalOp::new_unchecked(*op.work(), op.shape(), op.inputs(), op.result().layout())
    };
    shown.add("TotalOp", &total);
    shown.add("FetchSource", &devarray::backend::FetchSource::Total(total));
    Ok(())
}

devarray::kernel! {
    struct Scale(from: In<f32>, to: Out<f32>, weights: [f32; 8]);
    // SAFETY: no device receives it.
    image = unsafe { Image::ptx(".version 8.0", "scale") };
    constants { "table" => &[1.0_f32; 100] }
    launch { Grid::elements(to.len(), 256) }
    host { for (to, from) in to.iter_mut().zip(from) { *to = weights[0] * from } }
}

pub(crate) fn gathers(shown: &mut Shown) -> Result<(), Box<dyn Error>> {
    let (context, s) = open()?;
    let shape = [1_usize; 6];
    let layout = Layout::contiguous(&shape, Order::C)?;
    let axis = IndexedAxis { extent: usize::MAX, stride: isize::MIN };
    let work = Gathering {
        operation: GatherOperation::TakeAlongAxis,
        axis: Some(255),
        direction: Direction::Gather,
        out_of_range: OutOfRange::Error,
        repeats: Repeats::Last,
        width_bytes: 16,
        shape: &shape,
        indexed_axes: &[axis],
        indexed: &layout,
        indices: &layout,
        index_type: IndexType::I64,
        positions: &shape,
        mask: None,
        elements: &layout,
    };
    let of = s.raw().alloc(NonZeroUsize::MIN)?;
    shown.add("Gathering", &work);
    // SAFETY: it is named, and never submitted.
    shown.add("GatherOp", &unsafe { GatherOp::new_unchecked(u64::MAX, work, &of, &of, None, &of) });
    let (operation, axis_of) = (GatherOperation::PutAlongAxis, Some(usize::MAX));
    let (call, inputs) = (Call::Unique, [OrderSide::new(0, ElementType::F32, Some(&of), &layout)]);
    shown.add("OrderSide", &inputs[0]);
    // SAFETY: it is named, and never submitted.
    shown.add("OrderOp", &unsafe { OrderOp::new_unchecked(u64::MAX, call, &inputs, &[], None) });
    let operand = || Operand::new(&of, &layout);
    // SAFETY: it is named, and never submitted.
    let product = unsafe { ProductOp::new_unchecked(ElementType::F64, operand(), operand(), operand()) };
    shown.add("ProductOp", &product);
    let twice = Function::parse("x0 + x1", &[ElementType::F64; 2], &[])?.expand();
    let others = [operand()];
    shown.add("ProductFunction", &ProductFunction::new(&twice, &others, &[], &layout));
    shown.add("Unique", &Array::full(&s, &[3, 3], 7_u8)?.unique_all(&s)?);
    shown.add("OrderMemory", &OrderMemory { inputs: &[], results: &[], count: None });
    shown.add("Side", &Side::Right);
    let error = IndexError {
        operation,
        fault: IndexFault::Outside,
        axis: axis_of,
        position: u64::MAX,
        value: i64::MIN,
        bound: u64::MAX,
    };
    shown.add("IndexError", &error);
    // SAFETY: no device is asked about it.
    shown.add("Finished", &unsafe { Finished::new_unchecked(u64::MAX) });
    shown.add("GatherOperation", &operation);
    shown.add("IndexedAxis", &axis);
    shown.add("IndexType", &IndexType::U32);
    shown.add("Direction", &Direction::Scatter);
    shown.add("OutOfRange", &OutOfRange::Clamp);
    shown.add("Repeats", &Repeats::None);
    shown.add("Precision", &devarray::product::Precision::Fast);
    let mut runs = Vec::new();
    let _ = work.visit(|_| 0, |_| true, |run| runs.push(run));
    shown.add("GatherRun", &runs[0]);
    let nowhere = std::ptr::null_mut();
    let memory = GatherMemory { indexed: nowhere, indices: nowhere, mask: nowhere, elements: nowhere };
    shown.add("GatherMemory", &memory);
    drop(context);
    Ok(())
}

pub(crate) fn kernels(shown: &mut Shown) -> Result<(), Box<dyn Error>> {
    let declaration = Scale::declaration();
    shown.add("Declaration", declaration);
    shown.add("Image", declaration.image());
    shown.add("ImageCode", &declaration.image().code());
    shown.add("Constant", &declaration.constants()[0]);
    let first = declaration.arguments()[0];
    shown.add("ArgumentDeclaration", &first);
    shown.add("ArgumentKind", &first.kind);
    shown.add("Permission", &Permission::ReadWrite);
    shown.add("Passed", &Passed::Strided { rank: 32 });
    shown.add(
        "Grid",
        &Grid::new([usize::MAX; 3], [1024, 1024, 64]).shared_bytes(227 << 10).cluster([8, 8, 8]),
    );
    let (argument, declared_bytes, found_bytes) = ("weights", 100, 200);
    shown.add(
        "KernelError",
        &KernelError::ParameterSize { index: 100, argument, declared_bytes, found_bytes },
    );
    shown.add("Refusal", &Refusal::from(KernelError::NoEntry { entry: "scale" }));
    // SAFETY: it is dropped at once.
    shown.add("Running", &unsafe { Running::new("Scale") });
    let layout = Layout::contiguous(&[10, 20, 30], Order::C)?;
    let mut memory = [0_u8; 8];
    shown.add("HostArgument", &HostArgument::elements(memory.as_mut_ptr(), &layout));
    shown.add("Parameter", &Parameter::Number(u64::MAX));
    let device = MockDevice::new();
    let buffer = device.open_stream()?.alloc(NonZeroUsize::MIN)?;
    let elements = || LaunchArgument::Elements { buffer: Some(&buffer), layout: &layout };
    shown.add("LaunchArgument", &elements());
    let arguments = [elements(), elements(), LaunchArgument::Value(&memory)];
    // SAFETY: it is named, and never submitted.
    let op = unsafe { LaunchOp::new_unchecked(declaration, Grid::elements(6000, 256), &arguments) };
    shown.add("LaunchOp", &op);
    shown.is_shown_elsewhere(["In", "Out", "InOut", "Flat", "Dense", "Strided", "Bound", "Passing"]);
    shown.is_shown_elsewhere(["HostView", "HostViewMut", "ArgumentLayout"]);
    Ok(())
}

pub(crate) fn walks_and_files(shown: &mut Shown) -> Result<(), Box<dyn Error>> {
    let (_, s) = open()?;
    let array = Array::<f32, _>::zeros(&s, &[4, 5, 6])?;
    shown.add("AxisViews", &array.axis_iter(0)?);
    shown.add("AxisIter", &array.layout().axis_iter(0)?);
    shown.add("Pad", &Pad::<f32>::Reflect);
    shown.add("Indexing", &devarray::layout::Indexing::Xy);
    shown.add("StreamOwner", &StreamOwner::new("mock", 7));
    shown.is_shown_elsewhere(["DeclaredAccess"]);

    shown.add("Tolerance", &Tolerance::relative(1e-6));
    let ones = HostArray::new(&[4, 5, 6], vec![1.0_f32; 120])?;
    let found = difference(&array, &ones, &s)?.ok_or("no difference")?;
    shown.add("Difference", &found);
    shown.add("Differing", &found.elements);

    shown.add("Header", &Header::new("'<f4'", Order::C, &[4, 5, 6])?);
    shown.add("NpyError", &NpyError::TooLong { expected: 480 });
    let mut file = Vec::new();
    npy::write(&mut file, &ones)?;
    let mut reader = NpyReader::new(&file[..])?;
    reader.next_piece()?;
    shown.add("NpyReader", &reader);
    let mut writer = npz::NpzWriter::new(Cursor::new(Vec::new()));
    writer.write("ones", &ones)?;
    shown.add("NpzWriter", &writer);
    shown.add("NpzReader", &npz::NpzReader::new(writer.finish()?)?);
    Ok(())
}

pub(crate) fn launched(shown: &mut Shown) {
    let read = |rank: &str| {
        let known = ["WORLD_SIZE", "LOCAL_WORLD_SIZE"];
        devarray::processes::Launched::from_variables(|name| match name {
            "RANK" => Some(rank.to_owned()),
            name => known.contains(&name).then(|| "1".to_owned()),
        })
    };
    shown.add("ProcessError", &read("1").expect_err("rank 1 of 1"));
    let launched = read("0").expect("rank 0 of 1");
    shown.add("Launched", &launched);
    shown.add("Launcher", &launched.launcher());
}
