//! A kernel that the simulator could not run.

use devarray::kernel::{Grid, Image, Out};

devarray::kernel! {
    pub struct Clear(to: Out<f32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 64) }
}

fn main() {}
