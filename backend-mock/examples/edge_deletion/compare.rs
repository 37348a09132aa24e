//! Compares the judge with the oracle on the same programs.

use std::collections::BTreeMap;

use devarray_mock::{
    MockDevice, Schedule,
    program::{Expect, Program, Verdict},
};
use serde_json::Value;

use crate::{generator, oracle};

/// The agreement of judge and oracle on some programs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) programs: u64,
    /// The number of programs for each kind of verdict of the oracle.
    pub(crate) kinds: BTreeMap<String, u64>,
    /// The programs on which judge and oracle disagree, in text form.
    pub(crate) disagreements: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.programs += other.programs;
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.disagreements.extend(other.disagreements);
    }

    /// Judges one program under a schedule drawn from its number.
    fn compare(&mut self, program: &Value, number: u64) {
        let expected = oracle::expect(program);
        let kind = expected["kind"].as_str().unwrap_or("ok").to_owned();
        *self.kinds.entry(kind).or_default() += 1;
        self.programs += 1;
        let parsed = Program::parse(program.to_string().as_bytes()).expect("generated programs are programs");
        let schedule = match number % 4 {
            0 => Schedule::Eager,
            1 => Schedule::Lazy,
            2 => Schedule::ReverseLazy,
            _ => Schedule::Random,
        };
        let device = MockDevice::builder().schedule(schedule).seed(number).build();
        let played = parsed.play_on_mock(&device).expect("small programs fit");
        let expect: Expect = serde_json::from_value(expected.clone()).expect("the form of files");
        if !Verdict::new(&parsed, &played).meets(&expect) {
            self.disagreements.push(format!("{program}\noracle: {expected}\njudge: {played:?}"));
        }
    }
}

/// Compares on the correct programs `from..to`, where the judge may report nothing; then on each without one of
/// its edges; then on arbitrary programs.
pub(crate) fn run(from: u64, to: u64, most_ops: usize) -> [Tally; 3] {
    let [mut intact, mut cut, mut any] = [const { None::<Tally> }; 3].map(Option::unwrap_or_default);
    for number in from..to {
        let mut seed = number.wrapping_mul(1_000_003);
        let mut rng = generator::Rng::new(number);
        let (program, shorter) = loop {
            let program = generator::right(seed, most_ops);
            if let Some(shorter) = generator::without_an_edge(&program, &mut rng) {
                break (program, shorter);
            }
            seed += 1;
        };
        intact.compare(&program, number);
        cut.compare(&shorter, number);
        any.compare(&generator::any(seed, most_ops), number);
    }
    [intact, cut, any]
}
