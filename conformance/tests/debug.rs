//! `{:?}` of every public type of the suite is short, whatever device is behind it.

#[path = "../../core/tests/debug/shown.rs"]
mod shown;

use devarray::{
    Array, Context,
    backend::{Device, Stream},
    timeline::Profiled,
};
use devarray_conformance::{
    Call, Harness, Instrumented, Pattern, Rng, Step, Violation, all, probes, trace_events,
    wrap::{InstrumentedEvent, InstrumentedStream},
};
use devarray_mock::MockDevice;
use shown::Shown;

#[test]
fn every_public_type_is_short() -> Result<(), Box<dyn std::error::Error>> {
    let mut shown = Shown::default();
    let (device, log) = Instrumented::new(MockDevice::new());
    let stream: InstrumentedStream<_> = device.open_stream()?;
    let event: InstrumentedEvent<_> = stream.record()?;
    shown.add("InstrumentedStream", &stream);
    shown.add("InstrumentedEvent", &event);
    shown.add("Instrumented", &device);
    let s = Context::new(device)?.stream()?;
    for _ in 0..100 {
        assert_eq!(Array::full(&s, &[9], 7_u8)?.to_vec(&s)?, [7; 9]);
    }
    shown.add("Log", &log);
    shown.add("Call", &Call::EventSynchronize);
    let harness = Harness::new(|| Ok::<_, devarray::Error>(MockDevice::new()));
    shown.add("Harness", &harness);
    shown.add("Law", &all::<MockDevice>()[0]);
    shown.add("Probe", &probes::all::<MockDevice>()[0]);
    shown.add("Load", &probes::Load { bytes: 1 << 20, copies: 10 });
    let pattern = Pattern { base: vec![4, 5, 6], steps: vec![Step::Permute(vec![2, 0, 1]), Step::Repeat(3)] };
    shown.add("Step", &pattern.steps[0]);
    shown.add("Picture", &pattern.picture());
    shown.add("Pattern", &pattern);
    shown.add("Rng", &Rng::new(7));
    shown.add("Violation", &Violation::new("element 3 is 7, 8 is due"));
    let profiled = Context::new(Profiled::new(MockDevice::new())?)?;
    let s = profiled.stream()?;
    assert_eq!(Array::full(&s, &[9], 7_u8)?.to_vec(&s)?, [7; 9]);
    let mut json = Vec::new();
    profiled.device().timeline().write_json(&mut json)?;
    for event in trace_events(&json)? {
        shown.add("TraceEvent", &event);
        shown.add("TraceArgs", &event.args);
    }
    shown.are_all_of(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    Ok(())
}
