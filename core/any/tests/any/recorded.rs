//! Recorded work: a device chosen at run time makes the same calls in the same order as its backend.

use devarray::{Array, Compute, Context, Result, ix};
use devarray_any::AnyDevice;
use devarray_mock::{MockDevice, Schedule};

/// Launches calls that do not conflict: the simulator chooses an order for them.
fn launch<D: Compute>(device: D) -> Result<Vec<f32>> {
    let stream = Context::new(device)?.stream()?;
    let x = Array::from_slice(&stream, &[4], &[1.0_f32, 2.0, 3.0, 4.0])?;
    let mut y = Array::zeros(&stream, &[4])?;
    let recorded = stream.record_work((&x, &mut y), |on, (x, mut y)| {
        (0..4).try_for_each(|at| {
            let place = at..at + 1;
            x.index(&ix![place.clone()])?.map_into(on, &mut y.reborrow().index(&ix![place])?, |x| x * 2.0)
        })
    })?;
    recorded.launch(&stream, (&x, &mut y))?;
    y.to_vec(&stream)
}

#[test]
fn the_simulator_chooses_the_order_of_the_calls_of_a_launch() -> Result<()> {
    let device = |schedule| MockDevice::builder().schedule(schedule).record_trace(true).build();
    let mut traces = Vec::new();
    for schedule in [Schedule::ReverseLazy, Schedule::Eager] {
        let (alone, chosen) = (device(schedule.clone()), device(schedule));
        assert_eq!(launch(alone.clone())?, [2.0, 4.0, 6.0, 8.0]);
        assert_eq!(launch(AnyDevice::from(chosen.clone()))?, [2.0, 4.0, 6.0, 8.0]);
        assert_eq!(chosen.trace(), alone.trace());
        traces.push(chosen.trace());
    }
    assert_ne!(traces[0], traces[1], "the schedules choose");
    Ok(())
}
