//! Measures the cost of a device chosen at run time: small calls on a backend's device and on the
//! same device through `AnyDevice`, in turn. Prints nanoseconds per call: the median and the least
//! of 400 turns of 200 calls.
//!
//! `cargo run --release -p devarray-any --example cost`

use std::time::Instant;

use devarray::{Array, Compute, Context, Result, StreamHandle};
use devarray_any::AnyDevice;
use devarray_host::HostDevice;
use devarray_mock::{MockDevice, Schedule};

const ITEMS: usize = 16;
const CALLS: u32 = 200;
// Without optimization, the example only shows that it works.
const TURNS: usize = if cfg!(debug_assertions) { 4 } else { 400 };

/// Two arrays on a device, for small calls.
struct Calls<D: Compute> {
    stream: StreamHandle<D>,
    x: Array<f32, D>,
    y: Array<f32, D>,
}

/// The name of a call, and the call.
type Call<D> = (&'static str, fn(&mut Calls<D>) -> Result<()>);

impl<D: Compute> Calls<D> {
    const ALL: [Call<D>; 3] = [
        ("copy", |calls| calls.y.copy_from(&calls.stream, &calls.x)),
        ("map", |calls| calls.x.map_into(&calls.stream, &mut calls.y, |x| x + x)),
        ("sum", |calls| calls.x.view().sum(&calls.stream, ..).map(drop)),
    ];

    fn new(device: D) -> Result<Self> {
        let stream = Context::new(device)?.stream()?;
        let x = Array::full(&stream, &[ITEMS], 1.5_f32)?;
        let y = Array::zeros(&stream, &[ITEMS])?;
        Ok(Self { stream, x, y })
    }

    /// Measures the time of a call in nanoseconds.
    fn time(&mut self, call: fn(&mut Self) -> Result<()>) -> Result<f64> {
        let begun = Instant::now();
        for _ in 0..CALLS {
            call(self)?;
        }
        let passed = begun.elapsed();
        self.stream.synchronize()?;
        Ok(passed.as_secs_f64() * 1e9 / f64::from(CALLS))
    }
}

fn compare<D: Compute + Clone + Into<AnyDevice>>(device: &D) -> Result<()> {
    let (mut direct, mut chosen) = (Calls::new(device.clone())?, Calls::new(device.clone().into())?);
    for ((name, call), (_, same)) in Calls::ALL.into_iter().zip(Calls::ALL) {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..TURNS {
            times[0].push(direct.time(call)?);
            times[1].push(chosen.time(same)?);
        }
        times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let [[direct, least], [chosen, least_chosen]] = times.map(|times| [times[TURNS / 2], times[0]]);
        let backend = device.info().backend;
        println!(
            "{backend} {name:5} direct {direct:7.1} ({least:7.1})   AnyDevice {chosen:7.1} ({least_chosen:7.1})   {:+6.1} ns",
            chosen - direct
        );
    }
    assert_eq!(chosen.y.to_vec(&chosen.stream)?, [3.0; ITEMS]);
    Ok(())
}

fn main() -> Result<()> {
    compare(&HostDevice::builder().threads(1).build())?;
    compare(&MockDevice::builder().schedule(Schedule::Eager).judge(false).build())
}
