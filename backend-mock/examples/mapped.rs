//! Shares one memory between host and device, like Numba's `cuda.mapped_array` and `cuda.managed_array`, and
//! pins memory that exists already, like `cuda.pinned`.
//!
//! ```text
//! m = cuda.mapped_array((4, 6), dtype=np.float32)
//! m[:] = 1                  # the host writes; nothing keeps it from doing so while a kernel runs
//! row = m[2]                # its device pointer is null
//! with cuda.pinned(a):
//!     d = cuda.to_device(a, stream=stream)
//! ```
//!
//! In Numba, the host may touch the memory at any time, and a slice has no device pointer. Here, a slice is a
//! view of the same memory, and the host can access the memory only while no operation uses it.

use devarray::{
    Array, Context, ManagedArray, MappedArray, Result,
    backend::{Location, ManagedMemory, MapHost, RegisterHost},
};
use devarray_mock::MockDevice;

/// The host fills a table in place; the device sets one row of it, and the host reads it in place.
fn mapped<D: MapHost>(context: &Context<D>) -> Result<Vec<f32>> {
    let stream = context.stream()?;
    let mut table = MappedArray::zeros(context, &[4, 6])?;
    table.host_mut()?.fill(1.0);
    table.view_mut().slice_axis(0, 2..3)?.fill(&stream, 7.0)?; // in the background
    Ok(table.host()?.to_vec()) // waits for it
}

/// Moves managed memory to the device, and then to the host, each time ahead of its use.
fn managed<D: ManagedMemory>(context: &Context<D>, rows: usize) -> Result<f32> {
    let stream = context.stream()?;
    let mut table = ManagedArray::zeros(context, &[rows, 6])?;
    table.prefetch(&stream, Location::Device)?;
    table.view_mut().slice_axis(1, ..3)?.fill(&stream, 2.0)?;
    table.prefetch(&stream, Location::Host)?;
    Ok(table.host()?.iter().sum())
}

/// Pins memory of the program while the closure runs. Copies from and to the slice then run
/// asynchronously, and each scope waits for its copies at its end.
fn pinned<D: RegisterHost>(context: &Context<D>, data: &mut [f32]) -> Result<()> {
    let stream = context.stream()?;
    let mut array = Array::uninit(&stream, &[data.len()])?;
    context.with_pinned(data, |data| {
        stream.scope(|s| s.upload(data, &mut array.view_mut()))??;
        array.view_mut().slice_axis(0, ..3)?.fill(&stream, 0.5)?;
        stream.scope(|s| s.download(&array.view(), data))?
    })?
}

fn main() -> Result<()> {
    let device = MockDevice::new();
    let context = Context::new(device.clone())?;
    let table = mapped(&context)?;
    assert!(table[..12] == [1.0; 12] && table[12..18] == [7.0; 6] && table[18..] == [1.0; 6]);
    assert!((managed(&context, 10)? - 60.0).abs() < f32::EPSILON);
    let mut data = vec![3.0; 6];
    pinned(&context, &mut data)?;
    assert_eq!(data, [0.5, 0.5, 0.5, 3.0, 3.0, 3.0]);
    println!("{table:?}\n{data:?}");

    drop(context);
    let report = device.report();
    assert!(report.is_clean(), "{report}");
    println!("the simulator's report: {report}");
    Ok(())
}
