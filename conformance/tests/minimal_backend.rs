//! A whole backend in one file keeps every law: the one that the manual's page "Write a backend"
//! explains.
//!
//! It is the template.
#![allow(
    unexpected_cfgs,
    unreachable_pub,
    reason = "the file is of another package, with features that break it"
)]

#[path = "../template/src/host.rs"]
mod backend;

devarray_conformance::suite!(
    Ok::<_, devarray::Error>(backend::HostDevice::new()),
    extras = [functions, reductions, gathers, orders, products, recordings]
);
