//! Only the caller that asked for bytes from the device takes them: nobody else can name them.

use devarray::{Context, Result, backend::{Fetches, Fetching}};
use devarray_mock::MockDevice;

fn main() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    stream.raw().fetched(Fetching::new(0), &mut [0; 4]);
    Ok(())
}
