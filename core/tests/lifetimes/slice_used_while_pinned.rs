//! A slice is written while it is pinned.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(context: &Context<MockDevice>, data: &mut [u8]) {
    context.with_pinned(data, |_| data[0] = 1).unwrap();
}

fn main() {}
