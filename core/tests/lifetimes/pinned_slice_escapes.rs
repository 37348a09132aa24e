//! A slice outlives its pinning.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(context: &Context<MockDevice>, data: &mut [u8]) {
    let mut escaped: &mut [u8] = &mut [];
    context.with_pinned(data, |pinned| escaped = pinned).unwrap();
    escaped[0] = 1;
}

fn main() {}
