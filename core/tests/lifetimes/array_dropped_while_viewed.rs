//! An array cannot be dropped while it is viewed.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: Array<u8, MockDevice>) -> Result<Vec<u8>> {
    let view = a.view();
    drop(a);
    view.to_vec(stream)
}

fn main() {}
