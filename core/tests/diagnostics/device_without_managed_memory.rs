//! A device without a feature that a function needs.

use devarray::{Context, Device, ManagedArray, Result, backend::ManagedMemory};

fn managed<D: ManagedMemory>(context: &Context<D>) -> Result<()> {
    ManagedArray::<f32, D>::zeros(context, &[3]).map(drop)
}

fn any<D: Device>(context: &Context<D>) -> Result<()> {
    managed(context)
}

fn main() {}
