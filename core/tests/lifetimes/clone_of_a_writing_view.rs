//! A writing view has no clone.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(a: &mut Array<u8, MockDevice>) {
    let view = a.view_mut();
    let _ = (view.clone(), view);
}

fn main() {}
