//! Plays recorded work of ranks on the simulator. Each call is judged, and launches that do not match are found, with
//! the lines of the recorded calls.

use devarray::{
    Array, ArrayView, ArrayViewMut, Context, Result, StreamHandle,
    collective::{Combination, Communicator},
    ix,
    prelude::*,
};
use devarray_mock::{Code, Explore, Failure, MockDevice, Rank, Wrong};

/// The mistake of rank 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A recording of fewer elements is launched.
    OtherCount,
    /// Another combination is recorded.
    OtherCombination,
    /// The second launch is left out.
    SkippedLaunch,
    /// The calls are made instead of a launch, and one of them differs.
    OtherCall,
    /// Two recordings are launched in reverse order.
    OtherOrder,
    /// The rank panics between two launches.
    Panics,
}

use Mistake::*;

/// One step of gradient descent.
fn step(
    on: &StreamHandle<MockDevice>,
    x: &ArrayView<'_, f32, MockDevice>,
    weights: &mut ArrayViewMut<'_, f32, MockDevice>,
    (ranks, combination): (&mut Communicator<MockDevice>, Combination),
) -> Result<()> {
    let mut slopes = (x, &weights.as_view()).map(on, |(x, w)| (x * w - 0.5) * x)?;
    ranks.all_reduce_in_place(on, combination, &mut slopes)?;
    let all = ranks.all_gather(on, &slopes)?;
    weights.update(on, (&slopes, &all.index(&ix![1])?), |w, (slope, last)| w - slope * last * 0.1)
}

fn train(rank: &Rank, mistake: Mistake) -> Result<Vec<f32>> {
    let (here, context) = (rank.number(), Context::new(rank.device())?);
    let (stream, other) = (context.stream()?, context.stream()?);
    let does = |what: Mistake| mistake == what && here == 1;
    let mut ranks = Communicator::join(&context, &rank.id(0), here, 2)?;
    let mut losses = Communicator::join(&context, &rank.id(1), here, 2)?;
    let x = Array::from_slice(&stream, &[4], &[1.0_f32, 2.0, 3.0, 4.0].map(|x| x + here as f32))?;
    let mut weights = Array::full(&stream, &[4], 1.0_f32)?;
    let mut loss = Array::full(&stream, &[4], 1.0_f32)?;
    let shown = if does(OtherCount) { 0..3 } else { 0..4 };
    let combination = if does(OtherCombination) { Combination::Sum } else { Combination::Mean };
    let learns = stream.record_work(
        (&x.slice_axis(0, shown.clone())?, &mut weights.view_mut().slice_axis(0, shown.clone())?, &mut ranks),
        |on, (x, mut weights, ranks)| step(on, &x, &mut weights, (ranks, combination)),
    )?;
    let tells = stream
        .record_work((&weights, &mut loss, &mut losses), |on, (weights, mut loss, losses)| {
            losses.all_reduce_into(on, Combination::Sum, &weights, &mut loss)
        })?;
    for round in 0..3 {
        let on = if round == 1 { &other } else { &stream };
        let x = x.slice_axis(0, shown.clone())?;
        if does(OtherOrder) {
            tells.launch(on, (&weights, &mut loss, &mut losses))?;
        }
        let mut learnt = weights.view_mut().slice_axis(0, shown.clone())?;
        match (round, mistake) {
            (1, SkippedLaunch) if here == 1 => {}
            (1, OtherCall) if here == 1 => step(on, &x, &mut learnt, (&mut ranks, Combination::Maximum))?,
            // A call on one rank matches a launch of this call on the other.
            (2, None) if here == 1 => step(on, &x, &mut learnt, (&mut ranks, combination))?,
            _ => learns.launch(on, (&x, &mut learnt, &mut ranks))?,
        }
        if !does(OtherOrder) {
            tells.launch(on, (&weights, &mut loss, &mut losses))?;
        }
        assert!(!does(Panics), "on purpose");
    }
    loss.to_vec(&other)
}

fn run(schedules: u64, mistake: Mistake) -> Result<u64, Failure> {
    Explore::new().schedules(schedules).run(|device| device.cluster(2, |rank| train(&rank, mistake)))
}

#[test]
fn launches_of_two_ranks_are_right_under_many_schedules() {
    run(30, None).unwrap_or_else(|failure| panic!("{failure}"));
    let outcomes = MockDevice::new().cluster(2, |rank| train(&rank, None).unwrap());
    assert_eq!(outcomes[0], outcomes[1]);
}

#[test]
fn launches_that_do_not_fit_are_found_with_the_lines_of_recorded_calls() {
    let sum = "all_reduce(mean) of 4 f32";
    for (mistake, code, due) in [
        (OtherCount, Code::RanksDisagree, [sum, "all_reduce(mean) of 3 f32"]),
        (OtherCombination, Code::RanksDisagree, [sum, "all_reduce(sum) of 4 f32"]),
        (SkippedLaunch, Code::RanksStuck, [sum, "all_reduce(sum) of 4 f32"]),
        (OtherCall, Code::RanksDisagree, [sum, "all_reduce(maximum) of 4 f32"]),
        (OtherOrder, Code::RanksStuck, [sum, "all_reduce(sum) of 4 f32"]),
        (Panics, Code::RankGone, [sum, "rank 1 has panicked"]),
    ] {
        let failure = run(0, mistake).expect_err("a mistake");
        let Wrong::Found(finding) = &failure.wrong else { panic!("{mistake:?}: {failure}") };
        assert_eq!(finding.code, code, "{mistake:?}: {failure}");
        let notes = finding.notes.join("\n");
        assert!(due.iter().all(|due| notes.contains(due)), "{mistake:?}: {notes}");
        let lines = notes.matches("cluster_recorded.rs:").count();
        assert_eq!(lines, if code == Code::RankGone { 1 } else { 2 }, "{mistake:?}: {notes}");
    }
}
