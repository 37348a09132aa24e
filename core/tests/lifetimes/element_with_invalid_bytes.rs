//! Every byte a device may write is a valid element.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(_: Array<bool, MockDevice>) {}

fn main() {}
