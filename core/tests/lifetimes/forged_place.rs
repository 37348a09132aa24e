//! A place of the host is had by who promises to use it for one reduction: else two could share it.

use devarray::{Context, Result, backend::Stream};
use devarray_mock::MockDevice;

fn main() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    if let Some(fetching) = stream.raw().fetching() {
        fetching.place(4)?;
    }
    Ok(())
}
