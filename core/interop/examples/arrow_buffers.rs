//! Computes with a column of arrow-rs, and makes the result a buffer of arrow-rs, with no copy at
//! either end: on the simulator, whose memory is the host's.

use arrow_buffer::{Buffer, ScalarBuffer};
use devarray::{Array, Context};
use devarray_interop::{
    Tensor,
    arrow_rs::{adopt_buffer, buffer_of_pinned, lend_buffer},
};
use devarray_mock::MockDevice;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(MockDevice::builder().adopts_host_memory(true).build())?;
    let stream = context.stream()?;
    let celsius = Buffer::from_vec(vec![-40.0_f64, 0.0, 36.6, 100.0]);

    // In, through a function, and out: the column stays in the memory of arrow-rs, and the result
    // in the memory of this library.
    let column = adopt_buffer::<f64, _>(&stream, &celsius)?;
    let fahrenheit = Tensor::from(column.view::<f64>()?.map(&stream, |x| x * 1.8 + 32.0)?);
    let result = ScalarBuffer::<f64>::from(lend_buffer(&fahrenheit, &stream)?);
    assert_eq!(result[..2], [-40.0, 32.0]);
    println!("{celsius:?}\n{result:?}");

    // A device that has memory of its own needs one copy each way, the transfer: the buffer is
    // uploaded from its own memory, and the pinned memory of a download becomes a buffer.
    let array = Array::from_slice(&stream, &[4], celsius.typed_data::<f64>())?;
    let pinned = array.view().download(&stream, context.pinned(4)?)?.wait()?;
    assert_eq!(buffer_of_pinned(pinned).typed_data::<f64>(), celsius.typed_data::<f64>());
    Ok(())
}
