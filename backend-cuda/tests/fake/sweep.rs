//! Every driver call of a whole program fails once, in turn: a typed error, nothing lost, and the
//! next try works.

use std::{num::NonZeroI32, sync::Arc};

use devarray::{
    Array, Context, Error, ManagedArray, MappedArray, Result, StreamHandle,
    backend::{Advice, Location},
};
use devarray_cuda::{
    CudaDevice,
    driver::{Driver, Fault, Function},
};

use super::state::Fake;

/// Uses every function of the driver but the host function, and returns what the context's error
/// sink was told.
fn program(device: CudaDevice) -> (Result<()>, Vec<Error>) {
    let context = match Context::new(device) {
        Ok(context) => context,
        Err(error) => return (Err(error), Vec::new()),
    };
    let result = super::functions::program(context.device()).and_then(|()| work(&context));
    (result, context.take_errors())
}

fn work(context: &Context<CudaDevice>) -> Result<()> {
    let (one, two) = (context.stream()?, context.stream()?);
    // First, so that a context that a failed wait leaves open has the images already.
    super::launches::program(&one)?;
    let numbers: Vec<u32> = (0..8000).collect();
    let source = Array::from_slice(&one, &[20, 20, 20], &numbers)?;
    // Linear, fills of each width, and a kernel's fill.
    let mut cube = Array::<u32, _>::zeros(&one, &[20, 20, 20])?;
    cube.view_mut().copy_from(&one, &source.view())?;
    let _ = Array::full(&one, &[9], 0x0201_u16)?;
    let _ = Array::full(&one, &[9], 0x0403_0201_u32)?;
    let _ = Array::full(&one, &[9], 0x0807_0605_0403_0201_u64)?;
    // Rows, slices, and a transpose, on the other stream.
    let mut rows = Array::<u32, _>::uninit(&two, &[20, 18])?;
    let plane = source.view().slice_axis(0, 3..4)?.squeeze();
    rows.view_mut().copy_from(&two, &plane.slice_axis(1, 1..19)?)?;
    let mut slices = Array::<u32, _>::uninit(&two, &[20, 18, 18])?;
    let inner = source.view().slice_axis(1, 1..19)?.slice_axis(2, 1..19)?;
    slices.view_mut().copy_from(&two, &inner)?;
    let back = source.view().transpose().to_vec(&one)?;
    assert!(back[1] == 400 && back[20] == 20);
    // Order.
    let event = two.record()?;
    one.wait(&event)?;
    event.query()?;
    event.synchronize()?;
    // Time.
    let (start, end) = (one.record_timed()?, one.record_timed()?);
    end.event().synchronize()?;
    end.elapsed_since(&start)?;
    assert_eq!(cube.view().to_vec(&one)?, numbers);
    host_kinds(context, &one, &cube)?;
    super::graphs::program(&one)?;
    super::interop::program(context, &one)?;
    one.synchronize()?;
    two.synchronize()
}

/// Memory that is registered, mapped, managed.
fn host_kinds(
    context: &Context<CudaDevice>,
    stream: &StreamHandle<CudaDevice>,
    cube: &Array<u32, CudaDevice>,
) -> Result<()> {
    let mut mapped = MappedArray::<u32, _>::zeros(context, &[20, 20, 20])?;
    mapped.view_mut().copy_from(stream, &cube.view())?;
    let mut managed = ManagedArray::<u32, _>::zeros(context, &[20, 20, 20])?;
    managed.advise(Advice::ReadMostly)?;
    managed.prefetch(stream, Location::Device)?;
    managed.view_mut().copy_from(stream, &mapped.view())?;
    assert_eq!(managed.host()?[4321], 4321);
    let mut back = vec![0; 8000];
    // Not in a scope: one whose wait fails ends the process.
    context.with_pinned(&mut back, |back| managed.view().copy_to_slice(stream, back))??;
    assert_eq!(back[1234], 1234);
    Ok(())
}

/// Opens a device, runs the program, closes everything.
fn run(driver: &Arc<Driver>) -> (Result<()>, Vec<Error>) {
    match CudaDevice::open_with(driver, 0) {
        Ok(device) => program(device),
        Err(error) => (Err(error), Vec::new()),
    }
}

/// The functions that the program calls, in order.
fn calls() -> Vec<Function> {
    let fake = Fake::new();
    let driver = fake.driver();
    assert_eq!(run(&driver), (Ok(()), Vec::new()));
    assert_eq!(driver.take_errors(), []);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
    fake.state(|state| state.log.clone())
}

/// Whether a failure of this function may leave something behind: it releases something, or a wait
/// before that.
fn may_leak(function: Function) -> bool {
    matches!(
        function,
        Function::CtxGetCurrent
            | Function::CtxSetCurrent
            | Function::CtxSynchronize
            | Function::EventDestroy
            | Function::EventQuery
            | Function::EventSynchronize
            | Function::GraphDestroy
            | Function::GraphExecDestroy
            | Function::IpcCloseMemHandle
            | Function::MemFree
            | Function::MemFreeAsync
            | Function::MemFreeHost
            | Function::ModuleUnload
            | Function::PrimaryCtxRelease
            | Function::StreamDestroy
            | Function::StreamSynchronize
    )
}

/// Whether a call is one from the creation of a stream that captures to the end of its graph.
fn is_in_a_capture(called: &[Function], nth: usize) -> bool {
    let begins = |at: &usize| {
        let opens = called[*at..].iter().take(5);
        called.get(*at + 1) == Some(&Function::StreamCreate)
            && opens.clone().any(|&call| call == Function::StreamBeginCapture)
    };
    let Some(begin) = (0..=nth).rev().find(begins) else { return false };
    !called[begin..nth].contains(&Function::GraphDestroy)
}

#[test]
fn the_program_calls_every_function() {
    let called = calls();
    for &function in Function::ALL {
        let expected = !matches!(function, Function::LaunchHostFunc | Function::GetErrorName);
        // Memory is asked about only by who runs out of it.
        let about_memory = matches!(function, Function::MemPoolGetAttribute);
        assert_eq!(called.contains(&function), expected && !about_memory, "{function:?}");
    }
}

#[test]
fn calls_fail_for_want_of_memory() {
    calls_fail(0, [2, 400]);
}

#[test]
fn calls_fail_with_a_lost_device() {
    calls_fail(1, [700, 917]);
}

/// Every call fails with each of the codes. A debug build is slow: every second one fails there, from this one on, with the
/// first code.
fn calls_fail(first: usize, codes: [i32; 2]) {
    let called = calls();
    let (codes, first, step) =
        if cfg!(debug_assertions) { (&codes[..1], first, 2) } else { (&codes[..], 0, 1) };
    for &code in codes {
        for (nth, &function) in called.iter().enumerate().skip(first).step_by(step) {
            let fake = Fake::new();
            let driver = fake.driver();
            driver.fail(Fault::new(nth as u64, NonZeroI32::new(code).unwrap()));
            let (result, mut told) = run(&driver);
            assert!(driver.heal(), "the fault struck");
            told.extend(driver.take_errors());
            told.extend(result.err());
            let what = format!("{function:?}, call {nth}, failing with {code}: {told:?}");

            // Five kinds of call have a second try that may succeed: an allocation that ran out of
            // memory, which gives back what it can first, an allocation of staging memory, for which idle
            // slots make room, the query of such a slot, which a wait follows, the end of a pinning, and the
            // capture of recorded calls, which are made one by one instead. Nothing else is passed over.
            let binds = |call: &Function| matches!(call, Function::CtxGetCurrent | Function::CtxSetCurrent);
            let call = called[nth..].iter().copied().find(|call| !binds(call)).unwrap_or(function);
            let again = matches!(call, Function::EventQuery | Function::MemHostUnregister);
            let allocates = matches!(
                call,
                Function::MemAllocFromPoolAsync
                    | Function::MemAlloc
                    | Function::MemHostAlloc
                    | Function::MemAllocManaged
                    | Function::MemGetInfo
            );
            let second_try = again || allocates && code == 2 || is_in_a_capture(&called, nth);
            assert!(!told.is_empty() || second_try, "{what}");
            let opens = matches!(function, Function::IpcOpenMemHandle | Function::IpcOpenEventHandle);
            let typed = |error: &Error| match error {
                Error::OutOfMemory { backend: "cuda", .. } => code == 2,
                Error::DeviceLost { backend: "cuda", code: kept, .. } => code == 700 && *kept == code,
                Error::Driver { backend: "cuda", code: kept, .. } => *kept == code,
                Error::Handle { backend: "cuda", .. } => code == 400 && opens,
                Error::Unavailable { backend: "cuda", .. } => true,
                _ => false,
            };
            assert!(told.iter().all(typed), "{what}");
            fake.assert_proper();
            let mut leaks = fake.state(|state| state.leaks());
            assert!(leaks.is_empty() || may_leak(function), "{what}: {leaks:?}");

            // Another run works, and leaves behind no more.
            assert_eq!(run(&driver), (Ok(()), Vec::new()), "{what}");
            // A context that is left behind keeps what the first whole run loads; the next one loads nothing.
            if leaks.iter().any(|leak| leak.starts_with("context")) {
                leaks = fake.state(|state| state.leaks());
                assert_eq!(run(&driver), (Ok(()), Vec::new()), "{what}");
            }
            // A context that is left behind may have destroyed an event and made another.
            let sorted = |mut leaks: Vec<String>| {
                leaks.sort();
                leaks
            };
            assert_eq!(sorted(fake.state(|state| state.leaks())), sorted(leaks), "{what}");
            fake.assert_proper();
        }
    }
}
