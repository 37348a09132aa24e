//! Bytes are written while their array is viewed.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut Array<u16, MockDevice>) {
    let bytes = a.view().bytes().unwrap();
    a.view_mut().bytes_mut().unwrap().copy_from_host(stream, 0, &[1]).unwrap();
    bytes.to_vec(stream).unwrap();
}

fn main() {}
