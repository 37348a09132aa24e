//! Memory that ends with the closure ends before the wait.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut Array<u8, MockDevice>) {
    let _ = stream.scope(|s| {
        let data = vec![0; 4];
        let _ = s.upload(&data, &mut a.view_mut());
    });
}

fn main() {}
