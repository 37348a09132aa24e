//! The input of a check: a way to open fresh devices, and the number and seed of its generated
//! cases.

use std::{cell::RefCell, env, fmt, fmt::Display};

use devarray::{Context, Device};

use crate::{Outcome, Rng, Violation};

/// The number of cases that each generating check makes, unless told otherwise.
const DEFAULT_CASES: usize = 48;

/// The environment variable of another number.
const CASES: &str = "DEVARRAY_LAW_CASES";

/// The numbers of ranks that laws are tried with, unless told otherwise.
const RANK_COUNTS: [usize; 2] = [2, 3];

fn default_cases() -> usize {
    env::var(CASES).map_or(DEFAULT_CASES, |cases| {
        let number = cases.parse().ok().filter(|&number: &usize| number > 0);
        number.unwrap_or_else(|| panic!("{CASES} is a number of cases above 0, and not {cases:?}"))
    })
}

type Open<D> = Box<dyn Fn() -> Result<D, String>>;
type OpenNumber<D> = Box<dyn Fn(usize) -> Result<D, String>>;

/// Opens devices for checks, and makes their generated cases repeatable.
pub struct Harness<D> {
    open: Open<D>,
    /// Opens another device of the backend, if it has two.
    second: Option<Open<D>>,
    /// Opens the first device in another process, if the harness has one.
    other_process: Option<Open<D>>,
    /// The number of devices for ranks, and a function that opens each.
    ranks: Option<(usize, OpenNumber<D>)>,
    /// The numbers of ranks that laws are tried with.
    rank_counts: Vec<usize>,
    seed: u64,
    cases: usize,
    /// The reason why the law that is being checked is not run.
    not_run: RefCell<Option<String>>,
}

impl<D: Device> Harness<D> {
    /// A harness that runs checks on the device of `open`. It is called again for each check, and must not
    /// return a device in use.
    ///
    /// Checks make 48 generated cases, or as many as the environment variable `DEVARRAY_LAW_CASES` says: fewer under a
    /// sanitizer, more in a nightly run.
    ///
    /// # Panics
    ///
    /// If `DEVARRAY_LAW_CASES` is set and no number above 0.
    pub fn new<E: Display>(open: impl Fn() -> Result<D, E> + 'static) -> Self {
        Self {
            open: Box::new(move || open().map_err(|error| error.to_string())),
            second: None,
            other_process: None,
            ranks: None,
            rank_counts: RANK_COUNTS.to_vec(),
            seed: 0,
            cases: default_cases(),
            not_run: RefCell::new(None),
        }
    }

    /// Returns this harness with another device of the backend, for checks of two devices: `open` of
    /// [`new`](Self::new) then opens the first one. Without it, those checks use two contexts of the one
    /// device.
    #[must_use]
    pub fn with_second<E: Display>(mut self, open: impl Fn() -> Result<D, E> + 'static) -> Self {
        self.second = Some(Box::new(move || open().map_err(|error| error.to_string())));
        self
    }

    /// Returns this harness with a way to open the device of [`new`](Self::new) in another process. `open` is called after
    /// that device was opened. Without it, the [second device](Self::with_second) stands for the other process if it is the
    /// same device there; otherwise the law of two processes is not run.
    #[must_use]
    pub fn with_other_process<E: Display>(mut self, open: impl Fn() -> Result<D, E> + 'static) -> Self {
        self.other_process = Some(Box::new(move || open().map_err(|error| error.to_string())));
        self
    }

    /// Returns this harness with a device for each of up to `most` ranks, for a backend whose ranks each need
    /// their own device; laws of more ranks are left out. Without it, the first rank has the device of
    /// [`new`](Self::new), and the others have the one of [`with_second`](Self::with_second).
    #[must_use]
    pub fn with_ranks<E: Display>(
        mut self,
        most: usize,
        open: impl Fn(usize) -> Result<D, E> + 'static,
    ) -> Self {
        self.ranks = Some((most, Box::new(move |rank| open(rank).map_err(|error| error.to_string()))));
        self
    }

    /// Returns this harness with other numbers of ranks that each law of ranks is tried with, otherwise 2 and 3.
    /// Numbers below 2 are left out: laws are of ranks that exchange with another. With no other number, as on
    /// a machine with one device, laws of ranks are [not run](Self::not_run).
    ///
    /// # Panics
    ///
    /// If there are no numbers at all: laws that try nothing by mistake would look as if they held.
    #[must_use]
    #[track_caller]
    pub fn with_rank_counts(mut self, counts: &[usize]) -> Self {
        assert!(!counts.is_empty(), "a list of no numbers of ranks: laws of ranks would try nothing");
        self.rank_counts = counts.iter().copied().filter(|&count| count > 1).collect();
        self
    }

    /// The numbers of ranks that each law of ranks is tried with, without those that there are not enough devices for.
    #[must_use]
    pub fn rank_counts(&self) -> Vec<usize> {
        let most = self.ranks.as_ref().map_or(usize::MAX, |&(most, _)| most);
        self.rank_counts.iter().copied().filter(|&count| count <= most).collect()
    }

    /// Returns this harness with another seed for generated cases.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Returns this harness with another number of generated cases for each check.
    ///
    /// # Panics
    ///
    /// If it is 0: laws that try nothing would look as if they held.
    #[must_use]
    #[track_caller]
    pub fn with_cases(mut self, cases: usize) -> Self {
        assert!(cases > 0, "0 generated cases: laws would try nothing");
        self.cases = cases;
        self
    }

    /// The number of generated cases in a check.
    #[must_use]
    pub fn cases(&self) -> usize {
        self.cases
    }

    /// The seed of its generated cases.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A fresh device. If none opens, that is a violation: a suite that did not run must not look as if it
    /// had passed.
    ///
    /// # Errors
    ///
    /// The error of the backend.
    pub fn open(&self) -> Result<D, Violation> {
        (self.open)().map_err(|error| Violation::new(format!("the device does not open: {error}")))
    }

    /// The context of a fresh device.
    ///
    /// # Errors
    ///
    /// The error of the backend.
    pub fn context(&self) -> Result<Context<D>, Violation> {
        Ok(Context::new(self.open()?)?)
    }

    /// Another context: of the second device if there is one, otherwise of the first.
    ///
    /// # Errors
    ///
    /// The error of the backend.
    pub fn second_context(&self) -> Result<Context<D>, Violation> {
        let Some(open) = &self.second else { return self.context() };
        let device =
            open().map_err(|error| Violation::new(format!("the second device does not open: {error}")))?;
        Ok(Context::new(device)?)
    }

    /// The first device in another process; otherwise as [`second_context`](Self::second_context).
    ///
    /// # Errors
    ///
    /// The error of the backend.
    pub(crate) fn other_process_context(&self) -> Result<Context<D>, Violation> {
        let Some(open) = &self.other_process else { return self.second_context() };
        let device = open().map_err(|error| {
            Violation::new(format!("the device does not open in another process: {error}"))
        })?;
        Ok(Context::new(device)?)
    }

    /// A context for each of `count` ranks, one of [`rank_counts`](Self::rank_counts).
    ///
    /// # Errors
    ///
    /// The error of the backend.
    pub fn rank_contexts(&self, count: usize) -> Result<Vec<Context<D>>, Violation> {
        let open = |rank: usize| match &self.ranks {
            Some((_, open)) => {
                let device = open(rank)
                    .map_err(|error| Violation::new(format!("device {rank} does not open: {error}")))?;
                Ok(Context::new(device)?)
            }
            None if rank == 0 => self.context(),
            None => self.second_context(),
        };
        (0..count).map(open).collect()
    }

    /// The reason why the law that was checked last was not run, such as a library that is not on this machine;
    /// `None` if it was run. A law that was not run neither holds nor is broken.
    #[must_use]
    pub fn not_run(&self) -> Option<String> {
        self.not_run.borrow().clone()
    }

    /// A law begins, and is run unless it says otherwise.
    pub(crate) fn begin(&self) {
        *self.not_run.borrow_mut() = None;
    }

    /// The law that is being checked is not run, for this reason.
    pub(crate) fn leave_out(&self, reason: impl Into<String>) {
        *self.not_run.borrow_mut() = Some(reason.into());
    }

    /// One source of choices for each generated case, the same in every run with this seed.
    pub fn rngs(&self) -> impl Iterator<Item = Rng> + '_ {
        (0..self.cases as u64).map(|case| Rng::new(self.seed.wrapping_mul(0x1_0000).wrapping_add(case)))
    }
}

/// `Ok` if the context has no background errors, which no call could return.
///
/// # Errors
///
/// The first of them.
pub(crate) fn no_background_errors<D: Device>(context: &Context<D>) -> Outcome {
    match context.take_errors().first() {
        Some(error) => Err(Violation::new(format!("an error was met in the background: {error}"))),
        None => Ok(()),
    }
}

impl<D> fmt::Debug for Harness<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Harness")
            .field("seed", &self.seed)
            .field("cases", &self.cases)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use devarray_mock::MockDevice;

    use super::*;

    fn harness() -> Harness<MockDevice> {
        Harness::new(|| Ok::<_, devarray::Error>(MockDevice::new()))
    }

    #[test]
    #[should_panic(expected = "0 generated cases")]
    fn no_cases_are_refused() {
        drop(harness().with_cases(0));
    }

    #[test]
    #[should_panic(expected = "no numbers of ranks")]
    fn no_numbers_of_ranks_are_refused() {
        drop(harness().with_rank_counts(&[]));
    }

    #[test]
    fn one_case_is_enough_and_one_rank_is_left_out() {
        assert_eq!(harness().with_cases(1).rngs().count(), 1);
        assert_eq!(harness().with_rank_counts(&[1, 2]).rank_counts(), [2]);
        assert!(harness().with_rank_counts(&[1]).rank_counts().is_empty());
    }
}
