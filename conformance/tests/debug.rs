//! The `{:?}` output of every public type of the suite is short, for any device.

#[path = "../../core/tests/debug/shown.rs"]
mod shown;

use devarray::{
    Array, Context,
    backend::{Device, Stream},
    timeline::Profiled,
};
use devarray_conformance::{
    Call, Harness, Instrumented, Pattern, Rng, Step, Violation, all, probes,
    programs::{
        Away, Combined, End, Extras, Formula, Item, Op, Ordered, Program, Search, Start, Transform, part,
        raw::{Act, Bytes, Join},
    },
    rank_programs::{Functions, RankProgram, Twin},
    trace_events,
    wrap::{InstrumentedEvent, InstrumentedStream},
};
use devarray_mock::MockDevice;
use shown::Shown;

fn programs(shown: &mut Shown, harness: &Harness<MockDevice>) -> Result<(), Box<dyn std::error::Error>> {
    let whole = part(3, [Transform::Swap(0, 1), Transform::Whole]);
    shown.add("Transform", &whole.transforms[0]);
    shown.add("Part", &whole);
    shown.add("Item", &Item::Bytes3);
    shown.add("Start", &Start::UploadedF);
    shown.add("End", &End::Polled);
    shown.add("Away", &Away::Elsewhere);
    shown.add("Formula", &Formula::Fold);
    shown.add("Ordered", &Ordered::Descending);
    shown.add("Combined", &Combined::Added);
    shown.add("Extras", &Extras::<MockDevice>::none().functions().kernels());
    let bytes = Bytes { memory: 1, at: 100, len: 1000 };
    shown.add("Bytes", &bytes);
    shown.add("Act", &Act::Copy { to: bytes, from: bytes, rows: 10, gaps: [3, 4] });
    shown.add("Join", &Join::Earlier);
    let fill = Op::Fill { stream: 1, to: whole, value: 9 };
    shown.add("Op", &fill);
    shown.add("Program", &Program::new(Item::U8, 2, &[fill]));
    let search = Search::new().programs(1).after(|| Err(String::from("nothing is right")));
    shown.add("Search", &search);
    let found = search.run(harness).err().ok_or("accepted")?;
    shown.add("Failure", &found.failure);
    shown.add("Found", &found);
    Ok(())
}

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
    programs(&mut shown, &harness)?;
    shown.add("RankProgram", &RankProgram::drawn(7, 3));
    shown.add("Functions", &Functions::<MockDevice>::of_device());
    shown.add("Twin", &Twin::Backwards);
    shown.are_all_of([concat!(env!("CARGO_MANIFEST_DIR"), "/src")]);
    Ok(())
}
