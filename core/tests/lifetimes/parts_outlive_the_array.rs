//! The parts of a split borrow the array.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>) -> Result<Vec<ArrayViewMut<'static, u8, MockDevice>>> {
    let mut a = Array::zeros(stream, &[4])?;
    Ok(a.view_mut().split(2)?.collect())
}

fn main() {}
