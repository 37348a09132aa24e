//! The kernels that are shipped as machine code: what they compute, and that they are loaded
//! instead of compiled.

use devarray::{
    Array, Context, Order, Result, StreamHandle,
    function::{Computable, Float, Number, ReduceOperation, Reduction, Scan, ScanOperation, WholeNumber},
    math,
};
use devarray_cuda::CudaDevice;

use super::state::Fake;

type Stream = StreamHandle<CudaDevice>;
type Elements<T> = Array<T, CudaDevice>;

/// Elements of an array: enough that threads take as many as they do of any larger one.
const LEN: usize = 1 << 16;

/// Calls functions on two arrays.
macro_rules! call {
    ($stream:expr, $x:expr, $y:expr; $($one:ident)*; $($two:ident)*) => {{
        $(let _ = math::$one($stream, $x)?;)*
        $(let _ = math::$two($stream, $x, $y)?;)*
    }};
}

/// Calls with a type of numbers: arrays with arrays and with scalars, into new arrays and in place.
fn numbers<T: Number>(stream: &Stream, k: T) -> Result<[Elements<T>; 2]> {
    let [mut x, y] = [Array::zeros(stream, &[LEN])?, Array::zeros(stream, &[LEN])?];
    call!(stream, &x, &y; abs square;
        add subtract multiply minimum maximum equal not_equal less less_equal greater greater_equal);
    call!(stream, &x, k; ; add subtract multiply minimum maximum equal less greater);
    let _ = math::clip(stream, &x, k, k)?;
    x.view_mut().update(stream, (&y,), |x, (y,)| x + y)?;
    x.view_mut().update(stream, (&y,), |x, (y,)| x - y)?;
    x.view_mut().update(stream, (&y,), |x, (y,)| x * y)?;
    x.view_mut().update(stream, (k,), |x, (k,)| x + k)?;
    x.view_mut().update(stream, (k,), |x, (k,)| x * k)?;
    Ok([x, y])
}

fn whole_numbers<T: WholeNumber>(stream: &Stream, k: T) -> Result<Elements<T>> {
    let [x, y] = numbers(stream, k)?;
    call!(stream, &x, &y; ; floor_divide remainder bitwise_and bitwise_or bitwise_xor);
    Ok(x)
}

fn floats<T: Float>(stream: &Stream, k: T) -> Result<Elements<T>> {
    let [mut x, y] = numbers(stream, k)?;
    call!(stream, &x, &y;
        negate sign reciprocal sqrt rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh
        tanh asinh acosh atanh erf erfc sigmoid floor ceil trunc rint is_nan is_infinite is_finite;
        divide floor_divide remainder power atan2 hypot copysign);
    call!(stream, &x, k; ; divide power);
    let _ = math::divide(stream, k, &x)?;
    let _ = math::fma(stream, &x, &y, &y)?;
    let _ = math::fma(stream, &x, k, &y)?;
    let _ = math::select(stream, &Array::zeros(stream, &[LEN])?, &x, &y)?;
    x.view_mut().update(stream, (&y,), |x, (y,)| x / y)?;
    x.view_mut().update(stream, (&y, k), |x, (y, k)| x + y * k)?;
    Ok(x)
}

fn casts<T: Computable>(stream: &Stream, x: &Elements<T>) -> Result<()> {
    let _ = math::cast::<f32, _, _>(stream, x)?;
    let _ = math::cast::<f64, _, _>(stream, x)?;
    Ok(())
}

/// Reduces all elements of an array, more than one launch combines, and rows.
fn reductions<T: Float>(stream: &Stream) -> Result<()> {
    use ReduceOperation::{ArgMaximum, ArgMinimum, Maximum, Mean, Minimum, Sum, Variance};
    let rows = Array::<T, _>::zeros(stream, &[1 << 10, 1 << 10])?;
    let many = Array::<T, _>::zeros(stream, &[1 << 25])?;
    let x = rows.view().reshape(&[1 << 20], Order::C)?;
    for operation in [Sum, Mean, Minimum, Maximum] {
        for all in [&x, &many.view()] {
            let _ = all.reduce_as::<T>(stream, &Reduction::new(operation))?;
        }
        let _ = rows.reduce_as::<T>(stream, &Reduction::new(operation).axes(&[1]))?;
    }
    for operation in [ArgMinimum, ArgMaximum] {
        let _ = x.reduce_as::<i64>(stream, &Reduction::new(operation))?;
        let _ = rows.reduce_as::<i64>(stream, &Reduction::new(operation).axes(&[1]))?;
    }
    let _ = rows.reduce_as::<T>(stream, &Reduction::new(Variance).axes(&[1]))?;
    let _ = x.scan_as::<T>(stream, Scan::new(ScanOperation::Sum, 0))?;
    let _ = math::softmax(stream, &rows, 1)?;
    let _ = math::softmax(stream, &Array::<T, _>::zeros(stream, &[2, 1 << 14])?, 1)?;
    Ok(())
}

/// Every call whose kernels are shipped.
fn every_call(stream: &Stream) -> Result<()> {
    let x = floats(stream, 0.0_f32)?;
    let _ = math::cast::<f64, _, _>(stream, &x)?;
    reductions::<f32>(stream)?;
    let _ = math::cast::<u8, _, _>(stream, &x)?;
    let x = floats(stream, 0.0_f64)?;
    let _ = math::cast::<f32, _, _>(stream, &x)?;
    reductions::<f64>(stream)?;
    casts(stream, &whole_numbers(stream, 0_i32)?)?;
    casts(stream, &whole_numbers(stream, 0_i64)?)?;
    casts(stream, &numbers(stream, 0_u8)?[0])?;
    casts(stream, &Array::<u16, _>::zeros(stream, &[LEN])?)
}

/// Makes every call on a fake device, and answers what was loaded: as machine code, and the texts.
fn loaded(generation: (i32, i32), machine_code: bool) -> (u64, Vec<String>) {
    loaded_by(every_call, generation, machine_code)
}

fn loaded_by(
    calls: impl Fn(&Stream) -> Result<()>,
    generation: (i32, i32),
    machine_code: bool,
) -> (u64, Vec<String>) {
    let fake = Fake::new();
    fake.state(|state| {
        (state.idle, state.total_bytes) = (true, 1 << 30);
        (state.generation, state.machine_code) = (generation, machine_code);
    });
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    calls(&context.stream().unwrap()).unwrap();
    let statistics = context.device().function_statistics();
    let texts = fake.state(|state| std::mem::take(&mut state.written));
    assert_eq!(statistics.compiled, texts.len() as u64);
    drop(context);
    fake.assert_proper();
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    (statistics.shipped, texts)
}

#[test]
fn shipped_functions_are_not_compiled() {
    // Texts that were written since are compiled until the file is written again, which another
    // step asks for.
    let (shipped, compiled) = loaded((9, 0), true);
    assert!(shipped > 100, "{shipped} are shipped, {} are compiled", compiled.len());
    assert_eq!(loaded((8, 6), true).0, shipped);
    // The twins: a driver that refuses machine code, and a device for which there is none, compile
    // all of them.
    let all = shipped + compiled.len() as u64;
    for (generation, machine_code) in [((9, 0), false), ((12, 0), true)] {
        let (shipped, compiled) = loaded(generation, machine_code);
        assert_eq!((shipped, compiled.len() as u64), (0, all));
    }
}

/// The kernel that combines parts has one text, whatever their number, so that sums of all large
/// arrays are shipped if one is.
#[test]
fn sums_of_all_large_arrays_have_the_same_kernels() {
    let texts = [(1 << 24) + 1, 1 << 25, 3 << 24, 1 << 26].map(|len| {
        let sum = |stream: &Stream| Array::<f32, _>::zeros(stream, &[len])?.sum(stream, ..).map(drop);
        loaded_by(sum, (9, 0), false).1
    });
    assert_eq!(texts[0].len(), 2);
    assert!(texts.iter().all(|each| *each == texts[0]));
}

/// Writes the texts to the folder `TEXTS`, for `kernels/shipped.py`.
#[test]
#[ignore = "writes files: TEXTS=... cargo test -p devarray-cuda --test fake shipped_texts -- --ignored"]
fn shipped_texts() {
    let folder = std::env::var("TEXTS").expect("TEXTS is a folder");
    for (nth, text) in loaded((9, 0), false).1.into_iter().enumerate() {
        std::fs::write(format!("{folder}/{nth:04}.ptx"), text).unwrap();
    }
}
