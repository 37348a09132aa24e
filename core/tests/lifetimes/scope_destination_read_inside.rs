//! A slice that a scope writes to is not read before the scope ends.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &Array<u8, MockDevice>) {
    let mut host = vec![0; 4];
    let _ = stream.scope(|s| {
        let _ = s.download(&a.view(), &mut host);
        println!("{}", host[0]);
    });
}

fn main() {}
