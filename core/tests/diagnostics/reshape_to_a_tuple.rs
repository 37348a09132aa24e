//! A shape that is no list of integers.

use devarray::{Array, Device, Order, Result};

fn rows<D: Device>(array: &Array<f32, D>) -> Result<()> {
    array.reshape(&(2, 3), Order::C).map(drop)?;
    array.reshape(&[2_u64, 3], Order::C).map(drop)
}

fn main() {}
