//! A transfer, which may be forgotten, owns its memory.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut Array<u8, MockDevice>, data: &[u8]) {
    let _ = a.view_mut().upload(stream, data);
}

fn main() {}
