//! An NVIDIA device keeps every law. Run with `--ignored`; without a device it fails.

devarray_conformance::suite!(
    devarray_cuda::CudaDevice::open(0),
    ignored = "needs a CUDA device: run with --ignored"
);
