//! Device code in a crate that forbids `unsafe`.
#![forbid(unsafe_code)]

use devarray::kernel::{Grid, Image, Out};

devarray::kernel! {
    pub struct Clear(to: Out<f32>);
    // SAFETY: nobody launches it.
    image = unsafe { Image::ptx("", "clear") };
    launch { Grid::elements(to.len(), 64) }
    host { to.fill(0.0) }
}

fn main() {}
