//! A type that gives a read-only array where a kernel writes.

use devarray::{Array, Context, Result, kernel::{Bound, PassesAs, Grid, Image, In, Out}};
use devarray_mock::MockDevice;

devarray::kernel! {
    pub struct Fill(to: Out<u64>);
    image = Image::none();
    launch { Grid::elements(to.len(), 64) }
    host { to.fill(7) }
}

struct Liar<'a>(&'a Array<u64, MockDevice>);

impl<'a> PassesAs<'a, Out<u64>, MockDevice> for Liar<'a> {
    fn bind(self) -> Bound<'a, Out<u64>, MockDevice> {
        Given::<'a, In<u64>, MockDevice>::bind(self.0)
    }
}

fn main() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    let x = Array::full(&stream, &[3], 1_u64)?;
    Fill::launch(&stream, Liar(&x))
}
