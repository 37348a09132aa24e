//! A value whose type is not the declared one.

use devarray::{Array, Context, Result, kernel::{Grid, Image, In, Out, has_len}};
use devarray_mock::MockDevice;

devarray::kernel! {
    pub struct Scale(from: In<f32>, to: Out<f32>, k: f32);
    image = Image::none();
    launch { has_len(from, to.len())?; Grid::elements(to.len(), 64) }
    host { for (to, from) in to.iter_mut().zip(from) { *to = k * from } }
}

fn main() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    let x = Array::full(&stream, &[3], 1.0_f32)?;
    let mut y = Array::full(&stream, &[3], 1.0_f32)?;
    Scale::launch(&stream, &x, &mut y, 2_u64)
}
