//! The traits whose methods programs call: `use devarray::prelude::*;`.

pub use crate::{
    backend::{Compute, Device},
    function::{DeviceFunction, Operands},
    layout::NdLayout,
    order::DeviceCall,
};
