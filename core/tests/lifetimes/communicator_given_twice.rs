//! A launch has its communicator to itself.
#![allow(unused_imports)]

use devarray::{collective::Communicator, *, backend::*};
use devarray_mock::MockDevice;

fn attempt(stream: &StreamHandle<MockDevice>, ranks: &mut Communicator<MockDevice>) -> Result<()> {
    stream.record_work((&mut *ranks, &mut *ranks), |_, _| Ok(())).map(drop)
}

fn main() {}
