//! Two arguments of one name.

use devarray::kernel::{Grid, Image, Out};

devarray::kernel! {
    pub struct Fill(to: Out<f32>, k: f32, k: f32);
    image = Image::none();
    launch { Grid::elements(to.len(), 64) }
    host { to.fill(k) }
}

fn main() {}
