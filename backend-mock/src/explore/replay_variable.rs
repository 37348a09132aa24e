//! A search that panics like a test, or the single run that an environment variable asks for.

use std::env::{self, VarError};

use super::{Explore, Failure};
use crate::MockDevice;

/// The variable that names one run to repeat.
const REPLAY: &str = "DEVARRAY_REPLAY";

/// Panics if the search finds a wrong run, or if the single run that is asked for is wrong.
#[track_caller]
pub(crate) fn like_a_test<R, F: Fn(MockDevice) -> R>(
    exploration: &Explore,
    program: F,
    search: impl FnOnce(F) -> Result<(), Failure>,
) {
    let outcome = match env::var(REPLAY) {
        Ok(text) => match text.parse::<Failure>() {
            Ok(run) => {
                let exploration = exploration.clone().profiles([run.profile]).faults(*run.plan);
                exploration.replay(run.trace, program).map(drop)
            }
            Err(error) => panic!("{REPLAY}: {error}"),
        },
        Err(VarError::NotPresent) => search(program),
        Err(VarError::NotUnicode(_)) => panic!("{REPLAY}: it is not text"),
    };
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
