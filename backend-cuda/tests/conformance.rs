//! An NVIDIA device keeps every law. Run with `--ignored`; without a device it fails.

/// The second device, or the first where there is one.
fn second() -> usize {
    devarray_cuda::devices().map_or(0, |devices| devices.len().min(2).saturating_sub(1))
}

devarray_conformance::suite!(
    devarray_cuda::CudaDevice::open(0),
    second = devarray_cuda::CudaDevice::open(second()),
    ignored = "needs a CUDA device: run with --ignored",
    extras = [
        timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
        orders, products, recordings, kernels
    ]
);
