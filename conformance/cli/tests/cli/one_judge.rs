//! `replay` has no judge of its own: a bug planted in the clocks of the simulator's judge changes the
//! verdict of `replay` on a program, and also the verdict of `explore` on equal user code.

use devarray::{Array, Context};
use devarray_cli::replay::{Tries, judge};
use devarray_mock::{Code, Explore, MockDevice, Wrong, program::Program};

/// A fill, and a download by another stream that waits for it.
const RIGHT: &str = r#"{"id":"right","buffers":[{"id":"b","bytes":8,"init":true}],"hosts":[{"id":"h","bytes":8}],"streams":2,"events":1,"ops":[
    {"do":"fill","stream":0,"buf":"b","off":0,"len":8,"value":7},{"do":"record","stream":0,"event":0},
    {"do":"wait","stream":1,"event":0},
    {"do":"download","stream":1,"src":"b","src_off":0,"host":"h","host_off":0,"len":8},{"do":"sync_device"}]}"#;

fn replayed(forgets_waits: bool) -> Option<Code> {
    let program = Program::parse(RIGHT.as_bytes()).unwrap();
    let tries = Tries { random: 4, forgets_waits, ..Tries::default() };
    judge(&program, tries).unwrap().played.err().map(|finding| finding.code)
}

/// Runs the program as user code, with streams that wait automatically.
fn fill_and_download(device: MockDevice) {
    let context = Context::new(device).unwrap();
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let mut array = Array::<u8, _>::zeros(&one, &[8]).unwrap();
    one.synchronize().unwrap();
    array.view_mut().fill(&one, 7).unwrap();
    assert_eq!(array.to_vec(&two).unwrap(), [7; 8]);
}

fn explored(forgets_waits: bool) -> Option<Code> {
    let failure = Explore::new().schedules(4).forgets_waits(forgets_waits).run(fill_and_download).err()?;
    let Wrong::Found(finding) = failure.wrong else { panic!("{failure}") };
    Some(finding.code)
}

#[test]
fn a_bug_in_the_clocks_changes_what_replay_and_explore_say_alike() {
    assert_eq!((replayed(false), explored(false)), (None, None));
    assert_eq!((replayed(true), explored(true)), (Some(Code::Race), Some(Code::Race)));
}
