//! An array of structs that derive nothing: the message names `Pod`.

use devarray::{Array, Device, Result, StreamHandle};

#[derive(Clone, Copy)]
struct Particle {
    mass: f32,
}

fn particles<D: Device>(stream: &StreamHandle<D>) -> Result<()> {
    Array::from_slice(stream, &[1], &[Particle { mass: 1.0 }]).map(drop)
}

fn main() {}
