#![doc = include_str!("../README.md")]

use devarray::backend::{
    Compute, ForeignMemory, Ipc, Launch, ManagedMemory, MapHost, PeerAccess, PoolControl, RegisterHost,
    Timing,
};
use devarray_conformance::{
    Law, all, foreign, functions, gathers, ipc, kernels, managed, mapped, peer, pool, reductions, registered,
    timing,
};
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;
use devarray_mock::MockDevice;

/// Every law, for the simulator, in the order of the registry.
#[must_use]
pub fn simulator() -> Vec<Law<MockDevice>> {
    every_law()
}

/// Every law, for the host, in the order of the registry.
#[must_use]
pub fn host() -> Vec<Law<HostDevice>> {
    every_law()
}

/// Every law, for CUDA devices, in the order of the registry.
#[must_use]
pub fn cuda() -> Vec<Law<CudaDevice>> {
    every_law()
}

fn every_law<D>() -> Vec<Law<D>>
where
    D: Timing + RegisterHost + MapHost + ForeignMemory + PeerAccess + Ipc + ManagedMemory + PoolControl,
    D: Compute + Launch,
{
    let extras = [
        timing(),
        registered(),
        mapped(),
        managed(),
        foreign(),
        peer(),
        ipc(),
        pool(),
        functions(),
        reductions(),
        gathers(),
        kernels(),
    ];
    all().into_iter().chain(extras.into_iter().flatten()).collect()
}
