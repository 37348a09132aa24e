//! Planting a bug that a GPU shows once in a thousand runs, and finding it at once.
#![allow(unsafe_code)] // opens unchecked streams, which is where waits can be missing

use devarray::{Array, Context, Device, Result};
use devarray_mock::{Explore, explore};

/// Uploads on one stream, computes on another: a pipeline that orders its streams by hand.
fn pipeline<D: Device>(device: D, waits: bool) -> Result<Vec<f32>> {
    let context = Context::new(device)?;
    // SAFETY: each access is ordered after the other stream's by events, as long as `waits`
    // is true.
    let copies = unsafe { context.unchecked_stream() }?;
    // SAFETY: as above.
    let work = unsafe { context.unchecked_stream() }?;
    let mut image = Array::<f32, D>::zeros(&work, &[4, 6])?;
    copies.wait(&work.record()?)?;

    image.view_mut().copy_from_slice(&copies, &[0.5; 24])?;
    if waits {
        work.wait(&copies.record()?)?;
    }
    let turned = image.view().transpose().to_contiguous(&work, devarray::Order::C)?;
    let result = turned.to_vec(&work);
    copies.synchronize()?;
    result
}

fn main() {
    // On an idle device the bug shows nothing; the judge needs one run.
    let failure = Explore::new().run(|device| pipeline(device, false)).expect_err("a wait is missing");
    println!("{failure}");
    let text = failure.to_string();
    assert!(text.starts_with("error[DA01]: write/read race on buffer "));
    assert!(text.contains("help: record an event on stream "));

    // With the wait there, two hundred schedules find nothing.
    explore(1, 200, |device| assert_eq!(pipeline(device, true).expect("nothing fails"), [0.5; 24]));
}
