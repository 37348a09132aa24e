//! Fields that are named by strings.

use devarray::{Array, Device, Result};

fn split<D: Device>(array: &mut Array<[f32; 2], D>) -> Result<()> {
    array.view_mut().split_fields(("x", "y")).map(drop)
}

fn main() {}
