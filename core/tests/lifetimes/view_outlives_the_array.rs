//! A view borrows its array.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>) -> Result<ArrayView<'static, u8, MockDevice>> {
    let a = Array::zeros(stream, &[4])?;
    Ok(a.view())
}

fn main() {}
