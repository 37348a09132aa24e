//! A program that only some schedules show to be wrong.

use devarray::{Array, Context};
use devarray_mock::MockDevice;

/// The judge finds nothing wrong in it. But it relies on the answer of a query: nobody promises
/// that the event is ready at once.
pub(crate) fn impatient(device: MockDevice) {
    let context = Context::new(device).unwrap();
    let stream = context.stream().unwrap();
    let mut array = Array::<u8, _>::zeros(&stream, &[16]).unwrap();
    array.view_mut().fill(&stream, 1).unwrap();
    assert!(stream.record().unwrap().query().unwrap(), "surely it is done by now");
}
