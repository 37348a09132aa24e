//! A slice that a scope reads is not written before the scope ends.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut Array<u8, MockDevice>) {
    let mut data = vec![0; 4];
    let _ = stream.scope(|s| {
        let _ = s.upload(&data, &mut a.view_mut());
        data[0] = 1;
    });
}

fn main() {}
