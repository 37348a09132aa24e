//! Threads of the program do not wait for each other's operations.

use std::thread;

use devarray::{Array, Context, Device as _, Error, Result, StreamHandle, backend::Launch};
use devarray_host::HostDevice;
use devarray_mock::{MockDevice, Schedule};

use crate::gates::{self, Meet, Wait};

fn device() -> HostDevice {
    HostDevice::builder().capacity_bytes(256 << 20).threads(2).build()
}

/// Starts four threads on one context, each with an operation that ends only when all four
/// operations run at once, and returns whether they did.
fn meet<D: Launch>(device: D, limit_ms: u32) -> Result<bool> {
    let (context, gate) = (Context::new(device)?, gates::new());
    let call = || {
        let stream = context.stream()?;
        let mut array = Array::<u32, D>::zeros(&stream, &[1])?;
        Meet::launch(&stream, &mut array, gate, 4, limit_ms)?;
        Ok(array.to_vec(&stream)? == [1])
    };
    thread::scope(|scope| {
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
        let ended: Result<Vec<bool>> = calls.into_iter().map(|call| call.join().unwrap()).collect();
        Ok(ended?.into_iter().all(|met| met))
    })
}

#[test]
fn four_threads_are_inside_their_operations_at_the_same_time() -> Result<()> {
    assert!(meet(device(), 60_000)?);
    Ok(())
}

/// The twin: a device that runs one operation at a time.
#[test]
fn without_turns_they_are_not() -> Result<()> {
    assert!(!meet(MockDevice::builder().schedule(Schedule::Eager).build(), 50)?);
    Ok(())
}

#[test]
fn other_streams_go_on_while_an_operation_runs() -> Result<()> {
    let (context, gate) = (Context::new(device())?, gates::new());
    let (busy, stream) = (context.stream()?, context.stream()?);
    let mut waiting = Array::<u32, _>::zeros(&busy, &[3])?;
    let on_busy = Array::<u8, _>::zeros(&busy, &[8 << 20])?;
    thread::scope(|scope| {
        let long = scope.spawn(|| Wait::launch(&busy, &mut waiting, gate));
        gates::await_arrival(gate);

        // Everything that does not need the busy stream.
        let x = Array::from_slice(&stream, &[1000], &[3.0_f32; 1000])?;
        assert_eq!(x.view().map(&stream, |x| x * x)?.sum(&stream, ..)?.item(&stream)?, 9000.0);
        drop(x);
        stream.synchronize()?;
        assert_eq!(context.statistics().launches, 1);
        drop(context.stream()?);
        assert!(context.take_errors().is_empty());

        // Calls that need the busy stream only for its order.
        let event = busy.record()?;
        assert!(!event.query()?, "the operation runs");
        let used_bytes = context.pool_statistics()?.used_bytes;
        drop(on_busy);
        assert_eq!(context.pool_statistics()?.used_bytes, used_bytes, "freed in the order of its stream");
        drop(Array::<u8, _>::zeros(&stream, &[100])?);

        gates::open(gate);
        event.synchronize()?;
        long.join().unwrap()?;
        assert!(context.pool_statistics()?.used_bytes < used_bytes - (8 << 20) + 4096);
        Ok::<(), Error>(())
    })?;
    assert_eq!(waiting.to_vec(&busy)?, [1; 3]);
    Ok(())
}

devarray::kernel! {
    /// Calls a device, which a host function must not do.
    struct Calls(to: devarray::kernel::InOut<u32>);
    image = devarray::kernel::Image::none();
    launch { devarray::kernel::Grid::elements(to.len(), 32) }
    host {
        to.iter_mut().for_each(|to| *to += 1);
        CALLED.with_borrow(|called| called.as_ref().unwrap()());
    }
}

thread_local! {
    static CALLED: std::cell::RefCell<Option<Box<dyn Fn()>>> = const { std::cell::RefCell::new(None) };
}

#[test]
fn a_host_function_that_calls_a_device_panics_and_others_go_on() -> Result<()> {
    let context = Context::new(device())?;
    let (stream, other) = (context.stream()?, context.stream()?);
    let mut array = Array::<u32, _>::zeros(&stream, &[2])?;
    type Call = fn(&StreamHandle<HostDevice>) -> Result<()>;
    let calls: [Call; 4] = [
        |stream| stream.synchronize(),
        |stream| Array::<u8, _>::zeros(stream, &[5]).map(drop),
        |stream| stream.record().map(drop),
        |stream| devarray::backend::Stream::synchronize(stream.raw()).into_result(),
    ];
    for (count, call) in (1..).zip(calls.into_iter().flat_map(|call| [(call, &stream), (call, &other)])) {
        let (call, on) = (call.0, call.1.clone());
        CALLED.set(Some(Box::new(move || call(&on).unwrap())));
        let panic =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Calls::launch(&stream, &mut array)));
        let message = panic.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("host function of `Calls` called a device"), "{message}");
        CALLED.set(None);
        assert_eq!(array.to_vec(&stream)?, [count; 2], "it had its turn, which is over");
    }
    Ok(())
}

#[test]
fn uploads_and_downloads_take_no_staging_memory() -> Result<()> {
    let context = Context::new(device())?;
    let stream = context.stream()?;
    let values: Vec<u16> = (0..1_000_000_u32).map(|k| (k % 65_521) as u16).collect();
    let array = Array::from_slice(&stream, &[1000, 1000], &values)?;
    let turned = array.view().transpose().to_vec(&stream)?;
    assert!((0..1_000_000).all(|k| turned[k] == values[k % 1000 * 1000 + k / 1000]));
    let counts = context.statistics();
    assert_eq!((counts.uploads, counts.downloads, counts.copies), (1, 1, 0));
    assert_eq!(context.device().memory()?.total_bytes - context.device().memory()?.free_bytes, 2_000_000);
    Ok(())
}
