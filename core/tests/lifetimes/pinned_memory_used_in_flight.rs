//! A pinned buffer in flight belongs to the transfer.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(stream: &StreamHandle<MockDevice>, a: &Array<u8, MockDevice>, host: PinnedBuffer<u8, MockDevice>) {
    let transfer = a.view().download(stream, host);
    println!("{}", host[0]);
    drop(transfer);
}

fn main() {}
