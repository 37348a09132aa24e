//! Elements on a device, and what `{:?}` writes for types that hold them.

use std::{fmt, sync::Arc};

use crate::{
    allocation::{Allocation, AllocationAccess},
    backend::Device,
    debug_text::{DeviceName, type_name},
    hazards::Footprint,
    layout::{Layout, List},
};

/// Elements of one allocation. The layout is known to lie inside it.
#[derive(Debug)]
pub(crate) struct Elements<'a, D: Device> {
    pub(crate) allocation: &'a Arc<Allocation<D>>,
    pub(crate) layout: &'a Layout,
    pub(crate) item_bytes: usize,
}

impl<'a, D: Device> Elements<'a, D> {
    pub(crate) fn touch(&self, write: bool) -> AllocationAccess<'a, D> {
        let footprint = Footprint::of(self.layout, self.item_bytes);
        AllocationAccess { allocation: self.allocation, footprint, write }
    }
}

/// Typed elements: `Array<f32>[2, 3, 4] C on mock:0`.
pub(crate) fn typed<T, D: Device>(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    elements: &Elements<'_, D>,
) -> fmt::Result {
    write!(f, "{kind}<{}>", type_name::<T>())?;
    placed(f, elements)
}

/// Elements of a known size: `ErasedArray<4 bytes>[2, 3, 4] C on mock:0`.
pub(crate) fn erased<D: Device>(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    elements: &Elements<'_, D>,
) -> fmt::Result {
    write!(f, "{kind}<{} bytes>", elements.item_bytes)?;
    placed(f, elements)
}

fn placed<D: Device>(f: &mut fmt::Formatter<'_>, elements: &Elements<'_, D>) -> fmt::Result {
    write!(f, "{} on {}", Form(elements.layout), DeviceName(&elements.allocation.core.device))
}

/// Shape and order: `[2, 3, 4] C`. Strides where there is no order.
struct Form<'l>(&'l Layout);

impl fmt::Display for Form<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", List(self.0.shape()))?;
        match (self.0.is_c_contiguous(), self.0.is_f_contiguous()) {
            (true, _) => f.write_str(" C"),
            (false, true) => f.write_str(" F"),
            (false, false) => write!(f, " strides {:?}", List(self.0.strides())),
        }
    }
}
