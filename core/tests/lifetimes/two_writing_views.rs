//! There is one writing view at a time.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(a: &mut Array<u8, MockDevice>) {
    let x = a.view_mut();
    let y = a.view_mut();
    drop((x, y));
}

fn main() {}
