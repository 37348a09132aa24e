//! A reference into a pinned buffer does not outlive the buffer's move into a transfer.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &mut Array<u8, MockDevice>, host: PinnedBuffer<u8, MockDevice>) {
    let bytes = &host[..];
    let transfer = a.view_mut().upload(stream, host);
    println!("{bytes:?}");
    drop(transfer);
}

fn main() {}
