//! The stand-in of a communicator is gone when the closure of its recording returns.
#![allow(unused_imports)]

use devarray::{collective::Communicator, *, backend::*};
use devarray_mock::MockDevice;

fn attempt(stream: &StreamHandle<MockDevice>, ranks: &mut Communicator<MockDevice>) -> Result<()> {
    let mut kept = None;
    drop(stream.record_work((ranks,), |_, (ranks,)| {
        kept = Some(ranks);
        Ok(())
    })?);
    kept.map_or(Ok(()), |ranks| ranks.barrier())
}

fn main() {}
