//! A backend must say that it vouches for the contract.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

#[derive(Debug)]
struct Mine;

impl Buffer for Mine {
    fn len_bytes(&self) -> usize {
        1
    }

    fn address(&self) -> u64 {
        256
    }
}

fn main() {}
