//! The `{:?}` output of every public type of the simulator is short, although most of them refer to
//! the whole simulator.
#![expect(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code)] // lends memory, which stays allocated

#[path = "../../core/tests/debug/shown.rs"]
mod shown;

use std::{collections::BTreeMap, error::Error, num::NonZeroUsize};

use devarray::{
    Array, Context,
    backend::{Device, DeviceSymbols, ForeignMemory, FreeOp, Ipc, RegisterHost, Stream},
};
use devarray_mock::{
    Access, Explore, Failure, Fault, FaultKind, FaultPlan, Finding, MockDevice, Poison, Profile, ProfileSet,
    Schedule, Site, Statistics, Swept, Trace, Wrong,
    program::{Block, Expect, Op, Program, Unjudged, Verdict},
};
use shown::Shown;

/// Fills on one stream and reads on another, without an order between them.
fn race(device: MockDevice) -> devarray::Result<Vec<u8>> {
    let context = Context::new(device)?;
    // SAFETY: the simulator defines the effect of a missing order.
    let writer = unsafe { context.unchecked_stream() }?;
    // SAFETY: as above.
    let reader = unsafe { context.unchecked_stream() }?;
    Array::full(&writer, &[64], 7_u8)?.to_vec(&reader)
}

#[test]
fn every_public_type_is_short() -> Result<(), Box<dyn Error>> {
    let mut shown = Shown::default();
    device(&mut shown)?;
    findings(&mut shown)?;
    options(&mut shown)?;
    programs(&mut shown)?;
    shown.are_all_of([concat!(env!("CARGO_MANIFEST_DIR"), "/src")]);
    Ok(())
}

fn device(shown: &mut Shown) -> Result<(), Box<dyn Error>> {
    let device = MockDevice::new();
    shown.add("MockDevice", &device);
    let stream = device.open_stream()?;
    shown.add("MockStream", &stream);
    shown.add("MockStream", &device.null_stream());
    shown.add("Rank", &device.cluster(1, |rank| rank)[0]);
    // The output of `Communicator` includes it.
    shown.is_shown_elsewhere(["MockCommunicator"]);
    shown.add("MockEvent", &stream.record()?);
    let len_bytes = NonZeroUsize::new(4096).unwrap();
    let buffer = stream.alloc(len_bytes)?;
    shown.add("MockBuffer", &buffer);
    shown.add("BufferId", &buffer.id());
    shown.add("MockHostBuffer", &device.alloc_host(len_bytes)?);
    let mut memory = vec![0_u8; 4096];
    // SAFETY: the memory outlives the registration.
    let registration = unsafe { device.register_host(memory.as_mut_ptr(), len_bytes) }?;
    shown.add("MockRegistration", &registration);
    let report = device.report();
    shown.add("LiveBuffer", &report.buffers[0]);
    shown.add("LiveRegistration", &report.registrations[0]);
    let kept = device.alloc_host(len_bytes)?;
    shown.add("LiveHostBuffer", &device.report().host_buffers[0]);
    drop(kept);
    device.unregister_host(registration)?;
    // SAFETY: a list of variables.
    let module = unsafe { device.load_module(b"scale 16\ntable 4096\n") }?;
    shown.add("MockModule", &module);
    let address = devarray::backend::Buffer::address(&buffer);
    // SAFETY: the memory is allocated until it is freed below.
    let (adopted, adoption) = unsafe { device.adopt(address, 0..64) }?;
    shown.add("MockAdopted", &adoption);
    drop((adopted, adoption));
    let (exported, exportable) = device.alloc_exportable(len_bytes)?;
    shown.add("MockExportable", &exportable);
    let name = device.export_memory(&exported, 0..64)?;
    // SAFETY: the memory is exported until the end.
    let (opened, opening) = unsafe { device.other_process().open_memory(&name) }?;
    shown.add("MockOpened", &opening);
    drop((opened, opening, exported, exportable));
    // SAFETY: allocated on this stream, and used by nobody.
    stream.free(unsafe { FreeOp::new_unchecked(buffer) })?;
    device.finish();
    let statistics: Statistics = device.statistics();
    shown.add("Statistics", &statistics);
    shown.add("Counts", &statistics.executed);
    shown.add("Tally", &statistics.executed.allocs);
    Ok(())
}

fn findings(shown: &mut Shown) -> Result<(), Box<dyn Error>> {
    let failure: Failure = Explore::new().run(race).unwrap_err();
    shown.add("Failure", &failure);
    shown.add("FailedCalls", &*failure.failed);
    shown.add("Wrong", &failure.wrong);
    let Wrong::Found(finding) = &failure.wrong else { panic!("{failure}") };
    let finding: &Finding = finding;
    shown.add("Finding", finding);
    shown.add("Operation", &finding.operation);
    shown.add("Memory", &finding.memory);
    shown.add("Access", &Access::Lifetime);
    shown.add("Code", &finding.code);
    shown.add("Class", &finding.code.class());
    // The text of the finding is complete.
    assert!(finding.to_string().contains("no happens-before path"), "{finding}");
    let device = MockDevice::new();
    drop(race(device.clone()));
    shown.add("Report", &device.report());
    let swept: Swept =
        Explore::new().sweep(|device| Context::new(device)?.stream().map(drop)).map_err(Box::new)?;
    shown.add("Swept", &swept);
    shown.add(
        "Exhausted",
        &Explore::new().exhaustive(100, |device| Context::new(device).map(drop)).map_err(Box::new)?,
    );
    shown.add("Trace", &Trace::from((0..1000).collect::<Vec<_>>()));
    let stream = Context::new(device)?.stream()?;
    let unwritten = Array::<u64, _>::uninit(&stream, &[1])?.to_vec(&stream)?;
    let poison: Poison = Poison::decode(unwritten[0].to_ne_bytes()).unwrap();
    shown.add("Poison", &poison);
    shown.add("PoisonKind", &poison.kind);
    Ok(())
}

fn options(shown: &mut Shown) -> Result<(), Box<dyn Error>> {
    shown.add("Builder", &MockDevice::builder().seed(7));
    shown.add("Explore", &Explore::new().profiles(Profile::ALL));
    shown.add("Schedule", &Schedule::Priorities { depth: 3, steps: 1000 });
    shown.add("Schedule", &Schedule::Replay(Trace::from(vec![2; 1000])));
    shown.add("Profile", &Profile::Cuda12Discrete);
    shown.add("ProfileSet", &Profile::ALL.into_iter().collect::<ProfileSet>());
    let rules = Profile::Strict.rules();
    shown.add("Rules", &rules);
    shown.add("SourceRead", &rules.pageable_upload[0]);
    shown.add("NullStream", &rules.null_stream);
    let plan = FaultPlan::new().nth(Site::Copy, 3, FaultKind::Refused).budget_bytes(4096).hold_freed();
    shown.add("FaultPlan", &plan);
    let device = MockDevice::builder().faults("open_stream#0=refused".parse()?).build();
    assert!(device.open_stream().is_err());
    shown.add("Fired", &device.faults_fired()[0]);
    shown.add("Site", &Site::Copy);
    shown.add("FaultKind", &FaultKind::Torn);
    let error = devarray::Error::DeviceMismatch { backend: "mock", operation: "copy" };
    shown.add("Fault", &Fault::Error(error));
    shown.add("ParseFaultPlanError", &"copy#x".parse::<FaultPlan>().unwrap_err());
    shown.add("ParseProfileError", &"cuda13".parse::<Profile>().unwrap_err());
    shown.add("ParseTraceError", &"0.x".parse::<Trace>().unwrap_err());
    shown.add("ParseReplayError", &"v0:".parse::<Failure>().unwrap_err());
    Ok(())
}

fn programs(shown: &mut Shown) -> Result<(), Box<dyn Error>> {
    let line = r#"{"id":"early","buffers":[{"id":"b","bytes":8,"init":true}],"hosts":[{"id":"h","bytes":8}],
        "streams":1,"events":0,"ops":[{"do":"download","stream":0,"src":"b","src_off":0,"host":"h","host_off":0,"len":8},
        {"do":"host_read","host":"h","off":0,"len":8}]}"#;
    let program = Program::parse(line.as_bytes())?;
    shown.add("Program", &program);
    shown.add("Verdict", &Verdict::new(&program, &program.play_on_mock(&MockDevice::new())?));
    shown.add("Unjudged", &Unjudged);
    let hosts = BTreeMap::from([("h".to_owned(), "00".repeat(8))]);
    shown.add("Expect", &Expect::Ok { hosts });
    let block = Block::row(8, 16);
    shown.add("Block", &block);
    shown.add("Op", &Op::Copy { stream: 0, src: 1, from: block, dst: 2, to: block });
    shown.add("ParseProgramError", &Program::parse(b"{}").unwrap_err());
    Ok(())
}
