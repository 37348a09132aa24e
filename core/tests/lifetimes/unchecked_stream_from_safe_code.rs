//! Without tracking, the caller must vouch for the order.
#![allow(unused_imports)]

use devarray::{*, backend::*};
use devarray_mock::{MockBuffer, MockDevice};

fn attempt(context: &Context<MockDevice>) {
    let _ = context.unchecked_stream();
}

fn main() {}
