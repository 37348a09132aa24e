//! Safe code calls the macro's internal function, and so skips the checks in `launch`.

use devarray::{Context, Result, kernel::{self, Grid, Image, Out}};
use devarray_mock::MockDevice;

devarray::kernel! {
    pub struct Clear(to: Out<f32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 64) }
    host { to.fill(0.0) }
}

fn main() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    kernel::submit::<Clear, _>(&stream, |_| Ok(Grid::elements(1, 1)), &[])
}
