//! Fast products on a library of our own: the calls that it gets, the memory that it uses, and the
//! fallback when it is absent or fails.

use std::{num::NonZeroI32, sync::Arc};

use devarray::{Array, Context, Error, Order, Result, StreamHandle, function::Number, product::Precision};
use devarray_conformance::Rng;
use devarray_cuda::{
    CudaDevice,
    driver::{Driver, Fault, Function},
};
use half::{bf16, f16};

use super::{cublaslt, fast_of::random_product, state::Fake};

type Stream = StreamHandle<CudaDevice>;

/// Bytes of memory of algorithms.
const WORKSPACE_BYTES: usize = 32 << 20;

/// A fake with a library whose algorithms need memory, and a driver of both.
fn fake(needs_bytes: usize) -> (Fake, Arc<Driver>) {
    let fake = Fake::new();
    fake.state(|state| {
        state.total_bytes = 1 << 28;
        state.cublaslt.needs_bytes = needs_bytes;
    });
    (fake, cublaslt::driver())
}

fn stream(driver: &Arc<Driver>) -> Result<Stream> {
    Context::new(CudaDevice::open_with(driver, 0)?)?.stream()
}

fn assert_clean(fake: &Fake, driver: &Driver) {
    fake.assert_proper();
    assert_eq!(driver.take_errors(), []);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// A product of `[m, k]` and `[k, n]`.
fn multiply<T: Number>(s: &Stream, one: T, [m, k, n]: [usize; 3]) -> Result<Vec<T>> {
    let (a, b) = (Array::full(s, &[m, k], one)?, Array::full(s, &[k, n], one)?);
    a.matmul_with(s, &b, Precision::Fast)?.to_vec(s)
}

/// Whether the exact kernels were launched, which the fake does not run: their image is no text of its own.
fn exact_kernels_were_asked_for<T>(found: &Result<T>) -> bool {
    matches!(found, Err(Error::Driver { code: 218, operation: "matmul", .. }))
}

#[test]
fn products_of_any_layout_are_within_the_bound() {
    let (fake, driver) = fake(4096);
    let s = stream(&driver).unwrap();
    let mut rng = Rng::new(7);
    for case in 0..600 {
        let found = match case % 3 {
            0 => random_product::<f16, _>(&s, &mut rng, 20, |_| ()),
            1 => random_product::<bf16, _>(&s, &mut rng, 20, |_| ()),
            _ => random_product::<f32, _>(&s, &mut rng, 20, |_| ()),
        };
        assert_eq!(found.unwrap(), Ok(()), "case {case}");
    }
    drop(s);
    assert_clean(&fake, &driver);
}

#[test]
fn the_twin_a_product_beyond_the_bound_is_noticed() {
    let (_fake, driver) = fake(0);
    let s = stream(&driver).unwrap();
    let mut rng = Rng::new(7);
    let change = |found: &mut [f32]| found[0] = found[0] * 1.01 + f32::MIN_POSITIVE;
    let wrong = (0..50).filter(|_| random_product::<f32, _>(&s, &mut rng, 20, change).unwrap().is_err());
    assert!(wrong.count() > 25);
}

#[test]
fn types_without_a_fast_form_never_ask_for_the_library() {
    let fake = Fake::new();
    let without = fake.driver();
    let s = stream(&without).unwrap();
    assert!(exact_kernels_were_asked_for(&multiply(&s, 1.0_f64, [2, 3, 4])));
    assert!(exact_kernels_were_asked_for(&multiply(&s, 1_i32, [2, 3, 4])));
    // The twin.
    let refused = multiply(&s, 1.0_f32, [2, 3, 4]).unwrap_err();
    let Error::Library { backend: "cuda", operation: "matmul", library: "cuBLASLt", reason } = refused else {
        panic!("{refused}");
    };
    assert!(reason.contains("no library goes with it"), "{reason}");
    // A call without products needs no library.
    assert_eq!(multiply(&s, 1.0_f32, [2, 0, 2]).unwrap(), [0.0; 4]);
    assert!(multiply(&s, 1.0_f32, [0, 3, 2]).unwrap().is_empty());
    drop(s);
    assert_clean(&fake, &without);
}

#[test]
fn the_exact_product_asks_for_no_library() {
    let (fake, driver) = fake(0);
    let s = stream(&driver).unwrap();
    let a = Array::full(&s, &[4, 4], 1.0_f32).unwrap();
    assert!(exact_kernels_were_asked_for(&a.matmul(&s, &a).map(drop)));
    assert_eq!(fake.state(|state| state.cublaslt.log.len()), 0);
}

#[test]
fn a_shape_without_an_algorithm_is_left_to_the_exact_kernels() {
    let (fake, driver) = fake(0);
    fake.state(|state| state.cublaslt.lacks_algorithms = true);
    let s = stream(&driver).unwrap();
    for _ in 0..2 {
        assert!(exact_kernels_were_asked_for(&multiply(&s, 1.0_f32, [2, 3, 4])));
    }
    assert_eq!(fake.state(|state| state.cublaslt.count("find")), 1, "that is known the second time");
    // More calls than are made for one product.
    fake.state(|state| state.cublaslt.lacks_algorithms = false);
    let (a, b) = (Array::full(&s, &[65, 1, 2, 2], 1.0_f32), Array::full(&s, &[66, 2, 2], 1.0_f32));
    let found = a.unwrap().matmul_with(&s, &b.unwrap(), Precision::Fast);
    assert!(exact_kernels_were_asked_for(&found.map(drop)));
    let (a, b) = (Array::full(&s, &[64, 1, 2, 2], 1.0_f32), Array::full(&s, &[66, 2, 2], 1.0_f32));
    let found = a.unwrap().matmul_with(&s, &b.unwrap(), Precision::Fast).unwrap();
    assert_eq!(found.to_vec(&s).unwrap(), vec![2.0; 64 * 66 * 4]);
    assert_eq!(fake.state(|state| state.cublaslt.count("multiply")), 64);
    drop((found, s));
    assert_clean(&fake, &driver);
}

#[test]
fn a_batch_by_one_matrix_is_one_product() {
    let (fake, driver) = fake(0);
    let s = stream(&driver).unwrap();
    let a = Array::full(&s, &[5, 6, 7, 8], 1.0_f32).unwrap();
    let b = Array::full(&s, &[8, 3], 1.0_f32).unwrap();
    let found = a.matmul_with(&s, &b, Precision::Fast).unwrap();
    assert_eq!(found.to_vec(&s).unwrap(), vec![8.0; 5 * 6 * 7 * 3]);
    let counts =
        || fake.state(|state| (state.cublaslt.count("multiply"), state.cublaslt.count("layout_set")));
    assert_eq!(counts(), (1, 0), "without a batch");
    let turned = b.transpose().matmul_with(&s, &a.view().permute(&[0, 1, 3, 2]).unwrap(), Precision::Fast);
    assert_eq!(turned.unwrap().to_vec(&s).unwrap(), vec![8.0; 5 * 6 * 7 * 3]);
    assert_eq!(counts(), (2, 6), "whose columns are apart");
}

#[test]
fn an_algorithm_is_chosen_once_for_a_shape_and_its_alignment() {
    let (fake, driver) = fake(0);
    let s = stream(&driver).unwrap();
    let finds = || fake.state(|state| state.cublaslt.count("find"));
    for _ in 0..3 {
        multiply(&s, f16::ONE, [8, 8, 8]).unwrap();
    }
    assert_eq!(finds(), 1);
    multiply(&s, bf16::ONE, [8, 8, 8]).unwrap();
    assert_eq!(finds(), 2, "of another type");
    let odd = Array::full(&s, &[65], f16::ONE).unwrap();
    let (a, b) = (odd.slice_axis(0, 1..).unwrap(), Array::full(&s, &[8, 8], f16::ONE).unwrap());
    let a = a.reshape(&[8, 8], Order::C).unwrap();
    for _ in 0..2 {
        drop(a.matmul_with(&s, &b, Precision::Fast).unwrap());
    }
    assert_eq!(finds(), 3, "at other addresses");
    fake.assert_proper();
}

#[test]
fn a_stream_has_its_own_memory_for_algorithms() {
    let (fake, driver) = fake(1 << 20);
    let one = stream(&driver).unwrap();
    let two = one.context().stream().unwrap();
    let workspaces =
        || fake.state(|state| state.memory.values().filter(|of| of.len_bytes == WORKSPACE_BYTES).count());
    assert_eq!(workspaces(), 0);
    for s in [&one, &two, &one, &two] {
        multiply(s, 1.0_f32, [4, 5, 6]).unwrap();
    }
    assert_eq!(workspaces(), 2);
    let used = fake.state(|state| state.cublaslt.products.clone());
    let [(first, at), (second, also)] = [used[0], used[1]];
    assert!(first != second && at != also, "two streams share nothing");
    assert_eq!(used, [(first, at), (second, also), (first, at), (second, also)]);
    // The twin: an algorithm without need has none.
    drop(two);
    assert_eq!(workspaces(), 1, "freed with its stream");
    fake.state(|state| state.cublaslt.needs_bytes = 0);
    let three = one.context().stream().unwrap();
    multiply(&three, 1.0_f32, [4, 5, 7]).unwrap();
    assert_eq!(workspaces(), 1);
    drop((one, three));
    assert_clean(&fake, &driver);
}

#[test]
fn memory_for_algorithms_makes_room() {
    let (fake, driver) = fake(1 << 20);
    let one = stream(&driver).unwrap();
    multiply(&one, 1.0_f32, [4, 5, 6]).unwrap();
    let used = fake.state(|state| {
        state.total_bytes = state.used_bytes() + state.cached_bytes + (1 << 20);
        state.used_bytes()
    });
    assert!(used >= WORKSPACE_BYTES);
    let large = Array::<u8, _>::zeros(&one, &[WORKSPACE_BYTES]).unwrap();
    // And there is none for another while that is alive.
    let full = multiply(&one, 1.0_f32, [4, 5, 6]).unwrap_err();
    assert!(matches!(full, Error::OutOfMemory { requested_bytes: WORKSPACE_BYTES, .. }), "{full}");
    drop(large);
    assert_eq!(multiply(&one, 1.0_f32, [1, 5, 1]).unwrap(), [5.0]);
    drop(one);
    assert_clean(&fake, &driver);
}

/// A program that makes every call: copies of all sides, a batch in several calls, a plain product.
fn program(driver: &Arc<Driver>) -> (Result<()>, Vec<Error>) {
    let run = |s: &Stream| -> Result<()> {
        let a = Array::full(s, &[6, 10], 1.0_f32)?;
        let every_other = a.view().index(&devarray::ix![.., ..; 2])?;
        let mut wide = Array::full(s, &[6, 12], 0.5_f32)?;
        let mut to = wide.view_mut().index(&devarray::ix![.., ..; 2])?;
        every_other.matmul_with_into(s, &Array::full(s, &[5, 6], 2.0_f32)?, Precision::Fast, &mut to)?;
        assert_eq!(wide.to_vec(s)?, [10.0, 0.5].repeat(36));
        let batch = Array::full(s, &[3, 1, 2, 2], 1.0_f32)?;
        let other = Array::full(s, &[4, 2, 2], 1.0_f32)?;
        assert_eq!(batch.matmul_with(s, &other, Precision::Fast)?.to_vec(s)?, [2.0; 48]);
        Ok(())
    };
    let s = match stream(driver) {
        Ok(s) => s,
        Err(error) => return (Err(error), Vec::new()),
    };
    let result = run(&s);
    let context = s.context().clone();
    drop(s);
    (result, context.take_errors())
}

#[test]
fn every_call_of_the_library_fails_once() {
    let (clean, driver) = fake(4096);
    assert_eq!(program(&driver), (Ok(()), Vec::new()));
    assert_clean(&clean, &driver);
    let calls = clean.state(|state| state.cublaslt.log.clone());
    let all = [
        "create",
        "destroy",
        "description_create",
        "description_destroy",
        "description_set",
        "layout_create",
        "layout_destroy",
        "layout_set",
        "preference_create",
        "preference_destroy",
        "preference_set",
        "find",
        "multiply",
    ];
    assert!(all.iter().all(|name| calls.contains(name)), "{calls:?}");
    for (nth, name) in calls.iter().enumerate() {
        for status in [13, 999] {
            let (fake, driver) = fake(4096);
            fake.state(|state| state.cublaslt.fails = Some((nth, status)));
            let (result, mut told) = program(&driver);
            told.extend(driver.take_errors());
            told.extend(result.err());
            let what = format!("{name}, call {nth}, answering {status}: {told:?}");
            let typed = |error: &Error| {
                matches!(error, Error::Driver { backend: "cuda", operation: "matmul", code, name }
                    if *code == status && (status == 999 || name.starts_with("CUBLAS_STATUS_")))
            };
            assert!(!told.is_empty() && told.iter().all(typed), "{what}");
            fake.assert_proper();
            let leaks = fake.state(|state| state.leaks());
            assert!(leaks.is_empty() || name.ends_with("destroy"), "{what}: {leaks:?}");
            fake.state(|state| state.cublaslt.fails = None);
            assert_eq!(program(&driver), (Ok(()), Vec::new()), "{what}");
        }
    }
}

/// Kernels of the library do not tell copies when to begin, so these wait until all before them is done.
#[test]
fn no_copy_begins_while_the_library_works() {
    let (fake, driver) = fake(0);
    let s = stream(&driver).unwrap();
    let a = Array::full(&s, &[40, 40], 1.0_f32).unwrap();
    let launches = || {
        let kinds = [Function::LaunchKernelEx, Function::LaunchKernel];
        let before = kinds.map(|kind| driver.calls(kind));
        drop(a.view().transpose().to_contiguous(&s, Order::C).unwrap());
        [0, 1].map(|at| driver.calls(kinds[at]) - before[at])
    };
    assert_eq!(launches(), [1, 0], "the twin: a copy begins while another works");
    drop(a.matmul_with(&s, &a, Precision::Fast).unwrap());
    assert_eq!(launches(), [0, 1]);
    fake.assert_proper();
}

/// Work enqueued before a call that failed is waited for.
#[test]
fn a_failed_product_waits() {
    let (fake, driver) = fake(4096);
    let s = stream(&driver).unwrap();
    multiply(&s, 1.0_f32, [3, 3, 3]).unwrap();
    let a = Array::full(&s, &[3, 3], 1.0_f32).unwrap();
    let waits = || driver.calls(Function::StreamSynchronize);
    let before = waits();
    drop(a.matmul_with(&s, &a, Precision::Fast).unwrap());
    assert_eq!(waits(), before, "the twin: a product does not wait");
    let at = fake.state(|state| state.cublaslt.log.len());
    fake.state(|state| state.cublaslt.fails = Some((at, 13)));
    a.matmul_with(&s, &a, Precision::Fast).unwrap_err();
    assert_eq!(waits(), before + 1);
}

#[test]
fn every_call_of_the_driver_fails_once() {
    let (clean, driver) = fake(4096);
    assert_eq!(program(&driver), (Ok(()), Vec::new()));
    let calls = clean.state(|state| state.log.clone());
    for (nth, function) in calls.into_iter().enumerate() {
        let (fake, driver) = fake(4096);
        driver.fail(Fault::new(nth as u64, NonZeroI32::new(700).unwrap()));
        let (result, mut told) = program(&driver);
        assert!(driver.heal());
        told.extend(driver.take_errors());
        told.extend(result.err());
        let typed =
            |error: &Error| matches!(error, Error::DeviceLost { code: 700, .. } | Error::Unavailable { .. });
        assert!(told.iter().all(typed), "{function:?}, call {nth}: {told:?}");
        assert!(!told.is_empty() || function == Function::EventQuery, "{function:?}, call {nth}");
        fake.assert_proper();
        assert_eq!(program(&driver), (Ok(()), Vec::new()), "{function:?}, call {nth}");
    }
}
