//! A device that is borrowed: it is taken by value.

use devarray::{Context, Result};
use devarray_mock::MockDevice;

fn open(device: &MockDevice) -> Result<()> {
    Context::new(device).map(drop)
}

fn main() {}
