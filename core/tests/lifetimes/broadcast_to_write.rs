//! A writing view cannot reach an element twice.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(a: &mut Array<u8, MockDevice>) {
    // The layout can be asked for, from every value that has one. A view of it cannot be made.
    let _: Result<ArrayViewMut<'_, u8, MockDevice>, LayoutError> = a.view_mut().broadcast_to(&[4, 4]);
}

fn main() {}
