//! A backend promises that a total has its result memory to itself; else two could share it.

use devarray::backend::{ReduceOp, TotalOp};
use devarray_mock::MockBuffer;

fn attempt<'a>(total: &'a TotalOp<'a, MockBuffer>, place: &'a MockBuffer) -> ReduceOp<'a, MockBuffer> {
    total.to(place)
}

fn main() {}
