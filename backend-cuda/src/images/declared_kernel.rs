//! A kernel that can be launched, and its limits.
#![allow(unsafe_code)] // asks the driver about a function, and sets what it allows

use std::{
    any::Any,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use devarray::{
    Error, Result,
    backend::{Buffer, LaunchOp},
    kernel::{Declaration, KernelError},
};

use crate::{
    context::Context,
    driver::{BACKEND, DYNAMIC_SHARED, sys},
    handle::{Handle, locked},
};

/// `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`, `CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`.
const MOST_THREADS: u32 = 0;
const STATIC_SHARED: u32 = 1;

/// Most blocks of a cluster that every device with clusters has room for.
const CLUSTER_BLOCKS: u64 = 8;

/// Locked while a function is allowed more shared memory: nobody else reads or sets it between.
static RAISING: Mutex<()> = Mutex::new(());

/// The error of a kernel that is not launched.
pub(super) fn refused(name: &'static str, error: KernelError) -> Error {
    Error::Kernel { backend: BACKEND, kernel: name, error }
}

/// The function of a kernel on one context.
pub(crate) struct DeclaredKernel {
    function: Handle<sys::CUfunc_st>,
    /// Most threads of a block, by the registers that it takes.
    most_threads: usize,
    /// Shared memory that the image declares.
    static_bytes: usize,
    /// Dynamic shared memory that the function is allowed so far, or less: other declarations of one image may have
    /// the same function.
    allowed_bytes: AtomicUsize,
    /// Keeps the function loaded, if the cache does not.
    _owner: Option<Box<dyn Any + Send + Sync>>,
}

impl DeclaredKernel {
    /// Asks the driver about a function, whose context is bound.
    pub(crate) fn new(
        context: &Context,
        declaration: &Declaration,
        function: sys::CUfunction,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Self> {
        let ask = |attribute| asked(context, declaration.name(), function, attribute);
        Ok(Self {
            function: Handle::new(function),
            most_threads: ask(MOST_THREADS)?,
            static_bytes: ask(STATIC_SHARED)?,
            allowed_bytes: AtomicUsize::new(0),
            _owner: owner,
        })
    }

    pub(super) fn function(&self) -> sys::CUfunction {
        self.function.raw()
    }

    /// Refuses a launch that the device or the function does not allow.
    pub(super) fn admit<B: Buffer>(&self, context: &Context, op: &LaunchOp<'_, B>) -> Result<()> {
        let (grid, name) = (op.grid(), op.declaration().name());
        let limit = |what, requested: u64, most: u64| {
            let refusal = || refused(name, KernelError::Limit { what, requested, most });
            if requested <= most { Ok(()) } else { Err(refusal()) }
        };
        limit(
            "threads of a block, with the registers that the kernel takes",
            grid.block_threads(),
            self.most_threads as u64,
        )?;
        let dynamic = grid.dynamic_shared_bytes();
        if dynamic > 0 {
            let all = context.info().properties.max_block_shared_memory_bytes;
            let most = all.saturating_sub(self.static_bytes);
            limit("bytes of shared memory of a block", dynamic as u64, most as u64)?;
            self.allow(context, name, dynamic)?;
        }
        let blocks = grid.blocks().iter().map(|&count| u64::from(count)).fold(1, u64::saturating_mul);
        if grid.is_cooperative() {
            limit("blocks that run at once", blocks, self.resident(context, op)?)?;
        }
        if let Some(cluster) = grid.cluster_blocks() {
            let has_clusters = context.info().properties.compute_capability >= Some((9, 0));
            let most = if has_clusters { CLUSTER_BLOCKS } else { 1 };
            limit("blocks of a cluster", cluster.iter().map(|&count| u64::from(count)).product(), most)?;
        }
        Ok(())
    }

    /// Allows the function `len_bytes` of dynamic shared memory. The allowance never falls, because launches of another
    /// declaration may count on it.
    fn allow(&self, context: &Context, name: &'static str, len_bytes: usize) -> Result<()> {
        if self.allowed_bytes.load(Relaxed) >= len_bytes {
            return Ok(());
        }
        let _raising = locked(&RAISING);
        if asked(context, name, self.function(), DYNAMIC_SHARED)? < len_bytes {
            let value = i32::try_from(len_bytes).unwrap_or(i32::MAX);
            context.call(name, |driver| {
                // SAFETY: the function is loaded, and its context bound.
                unsafe { driver.func_set_attribute(self.function(), DYNAMIC_SHARED, value) }
            })?;
        }
        self.allowed_bytes.fetch_max(len_bytes, Relaxed);
        Ok(())
    }

    /// Blocks that run at once.
    fn resident<B: Buffer>(&self, context: &Context, op: &LaunchOp<'_, B>) -> Result<u64> {
        let (function, mut blocks) = (self.function(), 0);
        let threads = i32::try_from(op.grid().block_threads()).unwrap_or(i32::MAX);
        let shared = op.grid().dynamic_shared_bytes();
        context.call(op.declaration().name(), |driver| {
            // SAFETY: the pointer is to a local of the right type; the function is loaded, and its
            // context bound.
            unsafe { driver.occupancy_max_active_blocks(&raw mut blocks, function, threads, shared) }
        })?;
        let multiprocessors = context.info().properties.multiprocessors as u64;
        Ok(u64::try_from(blocks).unwrap_or(0) * multiprocessors)
    }
}

/// The value of an attribute of a function that is loaded.
fn asked(context: &Context, name: &'static str, function: sys::CUfunction, attribute: u32) -> Result<usize> {
    let mut value = 0;
    context.call(name, |driver| {
        // SAFETY: the pointer is to a local of the right type; the function is loaded, and its context bound.
        unsafe { driver.func_get_attribute(&raw mut value, attribute, function) }
    })?;
    Ok(usize::try_from(value).unwrap_or(0))
}

impl std::fmt::Debug for DeclaredKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeclaredKernel({:?})", self.function)
    }
}
