//! A program that is wrong, but fails only under some schedules.

use devarray::{Array, Context};
use devarray_mock::MockDevice;

/// The judge has no finding here, but the program relies on the answer of a query: the event need not be
/// ready at once.
pub(crate) fn impatient(device: MockDevice) {
    let context = Context::new(device).unwrap();
    let stream = context.stream().unwrap();
    let mut array = Array::<u8, _>::zeros(&stream, &[16]).unwrap();
    array.view_mut().fill(&stream, 1).unwrap();
    assert!(stream.record().unwrap().query().unwrap(), "surely it is done by now");
}
