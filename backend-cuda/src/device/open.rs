//! Objects that a device keeps for all its handles and streams while any of them is alive.

use std::sync::{Arc, Mutex};

use devarray::backend::DeviceInfo;

use crate::{
    context::{Context, Resources},
    event::Crossing,
    fast_product::FastProducts,
    fetch::HostSlots,
    function::Functions,
    gather::Gathers,
    images::Images,
    kernels::CopyKernels,
    order::Orders,
    peer::Peers,
    product::Products,
    stream::Streams,
    strided::MemorySpeed,
};

/// The context owns it and closes it; handles and streams of the device share it.
#[derive(Debug)]
pub(super) struct OpenDevice {
    pub(super) streams: Arc<Streams>,
    pub(super) functions: Functions,
    pub(super) gathers: Gathers,
    pub(super) products: Products,
    pub(super) fast_products: FastProducts,
    pub(super) orders: Orders,
    pub(super) images: Images,
    /// Host memory that receives a few bytes at a time.
    pub(super) host_slots: HostSlots,
    /// The event that orders streams of other code.
    pub(super) crossing: Crossing,
    /// The contexts whose memory this context reaches.
    pub(super) peers: Peers,
    /// The number of bytes of managed memory alive. It is locked while more is allocated, so that
    /// two threads do not both take the last bytes.
    pub(super) managed_bytes: Mutex<usize>,
}

impl OpenDevice {
    pub(super) fn new(info: &DeviceInfo) -> Self {
        let major = info.properties.compute_capability.map_or(0, |(major, _)| major);
        let streams = Arc::new(Streams::new(CopyKernels::new(major, MemorySpeed::of(&info.properties))));
        Self {
            functions: Functions::new(&streams),
            streams,
            gathers: Gathers::new(major),
            products: Products::new(major),
            fast_products: FastProducts::default(),
            orders: Orders::new(major, info.properties.multiprocessors),
            images: Images::default(),
            host_slots: HostSlots::default(),
            crossing: Crossing::default(),
            peers: Peers::default(),
            managed_bytes: Mutex::default(),
        }
    }
}

impl Resources for OpenDevice {
    fn close(&self, context: &Context) {
        // Pool memory belongs to the device, not to the context, and would stay reserved otherwise
        // (cuda.h, `cuCtxDestroy`).
        if let Err(error) = context.trim_to("close", 0) {
            context.driver().report(error);
        }
        context.release("close", |driver| self.functions.unload(driver));
        context.release("close", |driver| self.gathers.close(driver));
        context.release("close", |driver| self.products.close(driver));
        self.fast_products.close(context);
        context.release("close", |driver| self.orders.close(driver));
        context.release("close", |driver| self.images.unload(driver));
        context.release("close", |driver| self.host_slots.free(driver));
        context.release("close", |driver| self.crossing.close(driver));
        self.streams.close(context);
    }
}
