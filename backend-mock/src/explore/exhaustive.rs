//! Tries every order that makes a difference, and no other.

mod races;
mod search;

use super::{Explore, Failure};
use crate::{MockDevice, Schedule, Trace};
use search::Search;

/// The result of an [exhaustive search](Explore::exhaustive) that found nothing wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exhausted {
    /// The number of runs.
    pub runs: u64,
    /// Whether nothing is left to try. If not, the limit of runs was reached.
    pub is_complete: bool,
}

impl Explore {
    /// Runs a small program in every order of its operations that can make a difference. Two orders differ if
    /// these change places: two operations that touch a common byte, one of them writing it; an event's
    /// operation and a query of it; or a free and a query of free memory. A program that orders all of that
    /// itself has one order. Makes at most `most_runs` runs; a program that polls soon needs many.
    ///
    /// Operations run whole, at fresh addresses, and times are ignored: torn operations, reuse of addresses
    /// and clocks are left to the random schedules. The program must do the same whenever the device does, so
    /// it must not start threads.
    ///
    /// ```
    /// use devarray::{Array, Context, Result};
    /// use devarray_mock::{Explore, MockDevice};
    ///
    /// fn ordered(device: MockDevice) -> Result<()> {
    ///     let context = Context::new(device)?;
    ///     let (one, two) = (context.stream()?, context.stream()?);
    ///     let (a, b) = (Array::full(&one, &[8], 1_u8)?, Array::full(&two, &[8], 2_u8)?);
    ///     assert_eq!([a.to_vec(&two)?, b.to_vec(&one)?], [[1; 8], [2; 8]]);
    ///     Ok(())
    /// }
    ///
    /// // The staging memory of transfers is polled once before it is used again, and that can be answered in either way.
    /// let exhausted = Explore::new().exhaustive(100, ordered).unwrap();
    /// assert!(exhausted.is_complete && exhausted.runs < 10);
    /// ```
    ///
    /// # Errors
    ///
    /// The first run that is wrong, as for [`run`](Self::run).
    pub fn exhaustive<R>(
        &self,
        most_runs: u64,
        program: impl Fn(MockDevice) -> R,
    ) -> Result<Exhausted, Failure> {
        let all = self.under_each(|exploration| exploration.exhaustive_under_one(most_runs, &program))?;
        let add = |one: Exhausted, two: &Exhausted| Exhausted {
            runs: one.runs + two.runs,
            is_complete: one.is_complete && two.is_complete,
        };
        Ok(all.iter().fold(Exhausted { runs: 0, is_complete: true }, add))
    }

    fn exhaustive_under_one<R>(
        &self,
        most_runs: u64,
        program: &impl Fn(MockDevice) -> R,
    ) -> Result<Exhausted, Failure> {
        let mut search = Search::reduced();
        let mut next = Some(Trace::default());
        for runs in 0..most_runs {
            let Some(trace) = next else { return Ok(Exhausted { runs, is_complete: true }) };
            let mut options = self.options(Schedule::Replay(trace), 0);
            options.keep_history = true;
            let run = options.run_or_shrink(runs, program)?;
            next = search.next(&run.history, &run.trace);
        }
        Ok(Exhausted { runs: most_runs, is_complete: next.is_none() })
    }
}

#[cfg(test)]
mod tests;
