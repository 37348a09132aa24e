//! Runs random small programs under all schedules. The simulator leaves exactly the bytes that a brute-force oracle
//! gets from all allowed orders. So every schedule is legal, and every legal
//! outcome occurs.

use std::collections::BTreeSet;

use devarray::Result;
use devarray_conformance::Rng;
use devarray_mock::{MockBuffer, MockDevice, MockEvent};

use crate::{explore::outcomes, support::Queue};

const CELLS: usize = 3;
const STREAMS: usize = 2;

#[derive(Debug, Clone, Copy)]
enum Step {
    Fill {
        cell: usize,
        value: u8,
    },
    Copy {
        from: usize,
        to: usize,
    },
    Record,
    /// Waits for the event that the step with this index recorded.
    Wait(usize),
}

fn program(seed: u64, len: usize) -> Vec<(usize, Step)> {
    let mut rng = Rng::new(seed);
    let mut below = |bound: usize| rng.below(bound);
    let mut steps: Vec<(usize, Step)> = Vec::new();
    for index in 0..len {
        let records: Vec<usize> = (0..index).filter(|&i| matches!(steps[i].1, Step::Record)).collect();
        let step = match below(if records.is_empty() { 5 } else { 7 }) {
            0 | 1 => {
                Step::Fill { cell: below(CELLS), value: u8::try_from(index + 1).expect("programs are short") }
            }
            2 | 3 => {
                let from = below(CELLS);
                Step::Copy { from, to: (from + 1 + below(CELLS - 1)) % CELLS }
            }
            4 => Step::Record,
            _ => Step::Wait(records[below(records.len())]),
        };
        steps.push((below(STREAMS), step));
    }
    steps
}

/// The final bytes of every order in which each step comes after all earlier steps of its stream,
/// and each wait after its record.
fn oracle(steps: &[(usize, Step)]) -> BTreeSet<Vec<u8>> {
    fn go(steps: &[(usize, Step)], done: &mut Vec<usize>, cells: &[u8], found: &mut BTreeSet<Vec<u8>>) {
        if done.len() == steps.len() {
            found.insert(cells.to_vec());
        }
        for (index, &(stream, step)) in steps.iter().enumerate() {
            let after = |&other: &usize| {
                steps[other].0 == stream || matches!(step, Step::Wait(record) if record == other)
            };
            if done.contains(&index) || !(0..index).filter(after).all(|other| done.contains(&other)) {
                continue;
            }
            let mut cells = cells.to_vec();
            match step {
                Step::Fill { cell, value } => cells[cell] = value,
                Step::Copy { from, to } => cells[to] = cells[from],
                Step::Record | Step::Wait(_) => {}
            }
            done.push(index);
            go(steps, done, &cells, found);
            done.pop();
        }
    }
    let mut found = BTreeSet::new();
    go(steps, &mut Vec::new(), &[0; CELLS], &mut found);
    found
}

type State = (Vec<Queue>, MockBuffer);

fn prepare(device: &MockDevice) -> Result<State> {
    let queues: Vec<Queue> = (0..STREAMS).map(|_| Queue::open(device)).collect();
    let cells = queues[0].alloc(CELLS);
    queues[0].fill(&cells, 0, CELLS, 0)?;
    queues[0].synchronize();
    Ok((queues, cells))
}

fn simulate(device: &MockDevice, (queues, cells): &State, steps: &[(usize, Step)]) -> Result<()> {
    let mut events: Vec<Option<MockEvent>> = Vec::new();
    for &(stream, step) in steps {
        let queue = &queues[stream];
        let mut event = None;
        match step {
            Step::Fill { cell, value } => queue.fill(cells, cell, 1, value)?,
            Step::Copy { from, to } => queue.copy(cells, to, cells, from, 1)?,
            Step::Record => event = Some(queue.record()),
            Step::Wait(record) => queue.wait(events[record].as_ref().expect("the step recorded an event")),
        }
        events.push(event);
    }
    device.finish();
    Ok(())
}

#[test]
fn the_outcomes_are_those_of_all_legal_orders() {
    let mut ambiguous = 0;
    for seed in 0..120 {
        let steps = program(seed, 3 + usize::try_from(seed % 3).unwrap());
        let (seen, _) = outcomes(
            |device| prepare(device).unwrap(),
            |device, state| simulate(device, state, &steps).unwrap(),
            |device, (queues, cells)| queues[0].bytes(device, &cells, 0, CELLS),
        );
        let expected = oracle(&steps);
        assert_eq!(seen, expected, "program {seed}: {steps:?}");
        ambiguous += usize::from(expected.len() > 1);
    }
    assert!(ambiguous > 20, "only {ambiguous} programs had more than one outcome");
}
