//! Every byte that a device may write is valid in an element.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(_: Array<bool, MockDevice>) {}

fn main() {}
