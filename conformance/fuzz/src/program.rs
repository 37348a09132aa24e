//! Stream programs: the verdict on a program is the same under every schedule.

use devarray_mock::{Finding, MockDevice, Schedule, program::Program};

/// The most operations of a program that is played; longer programs are only read.
const MOST_OPS: usize = 48;
/// The memory of either kind in bytes.
const MOST_BYTES: usize = 1 << 14;

/// The bytes are one line of a file.
pub fn run(data: &[u8]) {
    let Ok(program) = Program::parse(data) else { return };
    let _ = (program.id(), program.expect(), (0..=program.len()).map(|at| program.op_text(at)).count());
    if program.len() > MOST_OPS {
        return;
    }
    let first = verdict(&program, Schedule::Eager);
    for schedule in [Schedule::Lazy, Schedule::ReverseLazy, Schedule::Random] {
        assert_eq!(verdict(&program, schedule.clone()), first, "under {schedule:?}");
    }
}

/// The bytes of pinned memories, or the mistake; none if there was not enough memory.
type Verdict = Option<Result<Vec<Vec<u8>>, (String, u64)>>;

fn verdict(program: &Program, schedule: Schedule) -> Verdict {
    let device =
        MockDevice::builder().schedule(schedule).memory_limit_bytes(MOST_BYTES).host_limit_bytes(MOST_BYTES);
    let mistake = |finding: Finding| (format!("{:?}", finding.code), finding.operation.number);
    Some(program.play_on_mock(&device.build()).ok()?.map_err(mistake))
}
