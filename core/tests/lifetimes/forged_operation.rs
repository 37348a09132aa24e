//! An operation is proof that core checked it: nobody else can make one.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt<'a>(buffer: &'a MockBuffer, plan: &'a copy::Plan) -> CopyOp<'a, MockBuffer> {
    CopyOp { dst: buffer, src: buffer, plan, checked: true }
}

fn main() {}
