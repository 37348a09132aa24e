//! Runs a program under every schedule, by replaying it with every list of choices.

use std::collections::BTreeSet;

use devarray_mock::{MockDevice, Schedule};

use crate::support::builder;

/// The values that `read` returns after `program` under every schedule that exists, and the number
/// of schedules. `prepare` and `read` run with the harmless choices.
///
/// The choices are enumerated like the digits of a number: the last choice that can be increased is increased,
/// and the choices after it start at 0. A replay limits each choice to the existing ways, which shows that
/// a choice cannot be increased.
pub(crate) fn outcomes<S, T: Ord>(
    prepare: impl Fn(&MockDevice) -> S,
    program: impl Fn(&MockDevice, &S),
    read: impl Fn(&MockDevice, S) -> T,
) -> (BTreeSet<T>, usize) {
    let run = |choices: Vec<usize>| {
        let device = builder().schedule(Schedule::Replay(choices.into())).record_trace(true).build();
        let trace = || device.trace().unwrap_or_default().choices().to_vec();
        let state = prepare(&device);
        let first = trace().len();
        program(&device, &state);
        let choices = trace();
        (read(&device, state), first, choices)
    };
    let mut seen = BTreeSet::new();
    let mut count = 0;
    let mut next = Some(run(Vec::new()));
    while let Some((outcome, first, choices)) = next {
        seen.insert(outcome);
        count += 1;
        next = (first..choices.len()).rev().find_map(|position| {
            let mut larger = choices[..=position].to_vec();
            larger[position] += 1;
            let grown = run(larger.clone());
            (grown.2[position] == larger[position]).then_some(grown)
        });
    }
    (seen, count)
}
