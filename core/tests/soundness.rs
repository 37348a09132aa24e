//! Safe programs that try to reach memory that is not theirs: by forgetting, unwinding, dropping in
//! any order, false layouts, and positions that overflow. Each ends with the right elements or a
//! typed error; under AddressSanitizer, there is also no bad access.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "soundness/bytes.rs"]
mod bytes;
#[path = "soundness/fields.rs"]
mod fields;
#[path = "soundness/host_views.rs"]
mod host_views;
#[path = "soundness/inconsistent_layouts.rs"]
mod inconsistent_layouts;
#[path = "soundness/liars.rs"]
mod liars;
#[path = "soundness/ndarray.rs"]
mod ndarray;
#[path = "soundness/plans.rs"]
mod plans;
#[path = "soundness/scopes.rs"]
mod scopes;
#[path = "soundness/transfers.rs"]
mod transfers;
#[path = "soundness/unused_strides.rs"]
mod unused_strides;

use devarray::{Context, StreamHandle};
use devarray_mock::{MockDevice, Schedule};

type Mock = MockDevice;

/// Devices that run work as late as possible, in either order.
fn devices() -> impl Iterator<Item = Mock> {
    let schedules = [Schedule::Lazy, Schedule::ReverseLazy];
    schedules.into_iter().map(|schedule| MockDevice::builder().schedule(schedule).build())
}

fn open(device: &Mock) -> (Context<Mock>, StreamHandle<Mock>) {
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    (context, stream)
}

/// Every order of `count` items.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let longer = all.iter().flat_map(|order: &Vec<usize>| {
            (0..=order.len()).map(|at| {
                let mut order = order.clone();
                order.insert(at, next);
                order
            })
        });
        all = longer.collect();
    }
    all
}
