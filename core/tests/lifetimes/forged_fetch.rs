//! Bytes on their way to the host are taken by who asked for them: nobody else can name them.

use devarray::{Context, Result, backend::{Fetching, Stream}};
use devarray_mock::MockDevice;

fn main() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    if let Some(fetching) = stream.raw().fetching() {
        fetching.fetched(Fetching::new(0), &mut [0; 4]);
    }
    Ok(())
}
