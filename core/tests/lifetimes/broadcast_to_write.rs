//! A writing view cannot reach an element twice.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(a: &mut Array<u8, MockDevice>) {
    // The layout can be asked for, as of everything that has one. A view of it cannot be had.
    let _: Result<ArrayViewMut<'_, u8, MockDevice>, LayoutError> = a.view_mut().broadcast_to(&[4, 4]);
}

fn main() {}
