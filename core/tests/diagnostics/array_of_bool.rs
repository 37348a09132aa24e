//! An array of truth values: the message names `Bool`.

use devarray::{Array, Result, StreamHandle};
use devarray_mock::MockDevice;

fn mask(stream: &StreamHandle<MockDevice>) -> Result<Array<bool, MockDevice>> {
    Array::from_slice(stream, &[2], &[true, false])
}

fn main() {}
