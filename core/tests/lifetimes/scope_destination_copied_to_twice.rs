//! Within a scope two copies do not write to one slice.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &Array<u8, MockDevice>, host: &mut [u8]) {
    let _ = stream.scope(|s| {
        let _ = s.download(&a.view(), host);
        let _ = s.download(&a.view(), host);
    });
}

fn main() {}
