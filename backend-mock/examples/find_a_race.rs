//! Plants a bug that a GPU shows once in a thousand runs, and finds it in one run.
#![allow(unsafe_code)] // opens unchecked streams, because only there can a wait be missing

use devarray::{Array, Context, Device, Result};
use devarray_mock::{Explore, explore};

/// Uploads on one stream and computes on another. The program orders both streams itself.
fn pipeline<D: Device>(device: D, waits: bool) -> Result<Vec<f32>> {
    let context = Context::new(device)?;
    // SAFETY: events order each access after the other stream's accesses, as long as `waits`
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
    // On an idle device the bug has no effect; the judge finds it in one run.
    let failure = Explore::new().run(|device| pipeline(device, false)).expect_err("a wait is missing");
    println!("{failure}");
    let text = failure.to_string();
    assert!(text.starts_with("error[DA01]: write/read race on buffer "));
    assert!(text.contains("help: record an event on stream "));

    // With the wait in place, two hundred schedules find no mistake.
    explore(1, 200, |device| assert_eq!(pipeline(device, true).expect("nothing fails"), [0.5; 24]));
}
