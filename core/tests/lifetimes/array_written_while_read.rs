//! An array is not written while it is viewed.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut Array<u8, MockDevice>) -> Result<()> {
    let old = a.view();
    a.view_mut().copy_from(stream, &old)
}

fn main() {}
