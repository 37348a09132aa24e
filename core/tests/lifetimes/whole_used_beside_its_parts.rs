//! A view is not used while a reborrow of it lives.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut Array<u8, MockDevice>) -> Result<()> {
    let mut whole = a.view_mut();
    let mut parts = whole.reborrow().split(2)?;
    whole.fill(stream, 1)?;
    parts.next().unwrap().fill(stream, 2)
}

fn main() {}
