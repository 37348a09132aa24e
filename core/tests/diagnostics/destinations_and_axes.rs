//! Destinations that cannot be written, and arguments that name no axes.

use devarray::{Array, ArrayView, Compute, Result, StreamHandle};

fn into_a_view<D: Compute>(s: &StreamHandle<D>, x: &Array<f32, D>, mut y: ArrayView<'_, f32, D>) -> Result<()> {
    x.map_into(s, &mut y, |x| x.sqrt())
}

fn by_name<D: Compute>(s: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    x.sum(s, "rows")
}

fn by_a_small_integer<D: Compute>(s: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    x.cumsum(s, 1_u8)
}

fn main() {}
