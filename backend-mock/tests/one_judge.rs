//! There is only one judge: a bug planted in its clocks changes the verdict on a program that
//! is played, and also the verdict on equal user code.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{Array, Context};
use devarray_mock::{Code, Explore, MockDevice, Wrong, program::Program};

/// Two streams, ordered by an event.
const RIGHT: &str = r#"{"id":"right","buffers":[{"id":"b","bytes":8,"init":true}],"hosts":[{"id":"h","bytes":8}],
    "streams":2,"events":1,"ops":[
        {"do":"fill","stream":0,"buf":"b","off":0,"len":8,"value":1},
        {"do":"record","stream":0,"event":0},
        {"do":"wait","stream":1,"event":0},
        {"do":"download","stream":1,"src":"b","src_off":0,"host":"h","host_off":0,"len":8},
        {"do":"sync_device"}]}"#;

fn device(broken: bool) -> MockDevice {
    MockDevice::builder().forgets_waits(broken).build()
}

/// The first mistake in the program.
fn played(broken: bool) -> Option<Code> {
    let program = Program::parse(RIGHT.as_bytes()).unwrap();
    program.play_on_mock(&device(broken)).unwrap().err().map(|finding| finding.code)
}

/// Two streams that wait automatically.
fn program(device: MockDevice) {
    let context = Context::new(device).unwrap();
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let mut array = Array::<u8, _>::zeros(&one, &[8]).unwrap();
    array.view_mut().fill(&one, 7).unwrap();
    assert_eq!(array.to_vec(&two).unwrap(), [7; 8]);
}

/// The first mistake in the program, on one device.
fn used(broken: bool) -> Option<Code> {
    let device = device(broken);
    program(device.clone());
    device.first_finding().map(|finding| finding.code)
}

/// The first mistake in the program that exploring finds.
fn explored(broken: bool) -> Option<Code> {
    let failure = Explore::new().schedules(2).forgets_waits(broken).run(program).err()?;
    let Wrong::Found(finding) = failure.wrong else { panic!("{failure}") };
    Some(finding.code)
}

#[test]
fn a_bug_in_the_clocks_changes_every_verdict() {
    assert_eq!((played(false), used(false), explored(false)), (None, None, None));
    let due = (Some(Code::Race), Some(Code::UseBeforeAlloc), Some(Code::UseBeforeAlloc));
    assert_eq!((played(true), used(true), explored(true)), due);
}
