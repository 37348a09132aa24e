//! The raw door is unsafe.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt<'a>(buffer: &'a MockBuffer, plan: &'a copy::Plan) -> CopyOp<'a, MockBuffer> {
    CopyOp::new_unchecked(buffer, buffer, plan)
}

fn main() {}
