//! A borrowed device: a context takes it by value.

use devarray::{Context, Result};
use devarray_mock::MockDevice;

fn open(device: &MockDevice) -> Result<()> {
    Context::new(device).map(drop)
}

fn main() {}
