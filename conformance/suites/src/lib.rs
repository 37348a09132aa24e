#![doc = include_str!("../README.md")]

use devarray_any::AnyDevice;
use devarray_conformance::{
    Law, all, foreign, functions, gathers, ipc, kernels, managed, mapped, orders, peer, pool, products,
    ranks, recordings, reductions, registered, timing,
};

/// Every law, in the order of the registry.
#[must_use]
pub fn laws() -> Vec<Law<AnyDevice>> {
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
        orders(),
        products(),
        recordings(),
        kernels(),
        ranks(),
    ];
    all().into_iter().chain(extras.into_iter().flatten()).collect()
}
