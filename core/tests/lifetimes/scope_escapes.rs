//! The handle of a scope does not outlive it.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>) {
    let mut kept = None;
    let _ = stream.scope(|s| kept = Some(s));
    let _ = kept;
}

fn main() {}
