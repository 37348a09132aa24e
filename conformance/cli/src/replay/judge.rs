//! Judges a program under many schedules.

use anyhow::Result;
use devarray_mock::{Builder, Finding, MockDevice, Profile, Schedule, program::Program};

use crate::limits;

/// The outcome of a program.
#[derive(Debug)]
#[non_exhaustive]
pub struct Judged {
    /// The result under the first schedule: the bytes of its pinned memories, or the mistake.
    pub played: Result<Vec<Vec<u8>>, Finding>,
    /// A schedule under which the result was different. There should be none: a mistake is found
    /// under every schedule, and a program without one gives the same bytes under all of them.
    pub differing: Option<String>,
}

/// The three fixed schedules, then random ones with seeds from `seed` on.
fn schedules(seed: u64, random: u64) -> impl Iterator<Item = (Schedule, u64)> {
    let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy].map(|schedule| (schedule, 0));
    fixed.into_iter().chain((0..random).map(move |k| (Schedule::Random, seed.wrapping_add(k))))
}

/// The conditions under which programs are tried.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "made by the command line")]
pub struct Tries {
    /// The behaviour of the devices beyond the contract.
    pub profile: Profile,
    /// The seed of the first random schedule.
    pub seed: u64,
    /// The number of random schedules, besides the three fixed ones.
    pub random: u64,
    /// Plants a bug in the judge, like [`Builder::forgets_waits`]. For tests of tests.
    #[doc(hidden)]
    pub forgets_waits: bool,
}

impl Tries {
    pub(super) fn device(self, schedule: Schedule, seed: u64) -> Builder {
        let builder = MockDevice::builder().profile(self.profile).schedule(schedule).seed(seed);
        let builder = builder.forgets_waits(self.forgets_waits);
        builder.memory_limit_bytes(limits::PROGRAM_BYTES).host_limit_bytes(limits::PROGRAM_HOST_BYTES)
    }

    pub(super) fn schedules(self) -> impl Iterator<Item = (Schedule, u64)> {
        schedules(self.seed, self.random)
    }
}

/// Plays a program under the three fixed schedules and the random ones.
///
/// # Errors
///
/// There is not enough memory for it.
pub fn judge(program: &Program, tries: Tries) -> Result<Judged> {
    let play =
        |(schedule, seed): (Schedule, u64)| program.play_on_mock(&tries.device(schedule, seed).build());
    let played = play((Schedule::Eager, 0))?;
    let mut differing = None;
    for (schedule, seed) in tries.schedules().skip(1) {
        let name = format!("{schedule:?} {seed}");
        if !same(&play((schedule, seed))?, &played) && differing.is_none() {
            differing = Some(name);
        }
    }
    Ok(Judged { played, differing })
}

/// Whether two results are equal: the same bytes, or the same mistake of the same operations. (The
/// place of a buffer on the device depends on the schedule.)
fn same(one: &Result<Vec<Vec<u8>>, Finding>, two: &Result<Vec<Vec<u8>>, Finding>) -> bool {
    let mistake = |finding: &Finding| {
        let with: Vec<u64> = finding.with.iter().map(|(operation, _)| operation.number).collect();
        (finding.code, finding.operation.number, with, finding.bytes.clone())
    };
    match (one, two) {
        (Ok(one), Ok(two)) => one == two,
        (Err(one), Err(two)) => mistake(one) == mistake(two),
        _ => false,
    }
}
