//! Trains a small network on several devices at once: each rank has its part of the samples, and the gradients
//! of all ranks are added before an update. On the CPU each rank is a thread; on the simulator one
//! rank runs at a time, in an order that the schedule chooses. A step may be recorded once and launched repeatedly,
//! by some ranks or by all. All ranks have the same bits after each step, on the CPU and on the simulator.

use std::thread;

use devarray::{
    Array, ArrayView, ArrayViewMut, Compute, Context, Result, StreamHandle,
    backend::Collects,
    collective::{Combination, Communicator, CommunicatorId},
    math,
    prelude::*,
};
use devarray_host::HostDevice;
use devarray_mock::{MockDevice, cluster};

const SAMPLES: usize = 96;
const FEATURES: usize = 6;
const HIDDEN: usize = 20;
const CLASSES: usize = 3;
const STEPS: usize = 40;
const RATE: f32 = 0.5;

/// Makes numbers between -1 and 1, the same in every run.
fn numbers(seed: u32, len: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(i16::from_ne_bytes([state.to_le_bytes()[2], state.to_le_bytes()[3]])) / 32_768.0
    };
    (0..len).map(|_| next()).collect()
}

/// The samples of a rank with their classes, which are a 1 among zeros. A sample's class is the one of three
/// directions in which it goes furthest.
fn samples<D: Compute>(stream: &StreamHandle<D>, rank: usize, ranks: usize) -> Result<[Array<f32, D>; 2]> {
    let len = SAMPLES / ranks;
    let features = &numbers(1, SAMPLES * FEATURES)[rank * len * FEATURES..(rank + 1) * len * FEATURES];
    let mut classes = vec![0.0; len * CLASSES];
    for (sample, features) in features.chunks(FEATURES).enumerate() {
        let along = |class: usize| features[2 * class] - features[2 * class + 1];
        let best = (1..CLASSES).fold(0, |best, class| if along(class) > along(best) { class } else { best });
        classes[sample * CLASSES + best] = 1.0;
    }
    let features = Array::from_slice(stream, &[len, FEATURES], features)?;
    Ok([features, Array::from_slice(stream, &[len, CLASSES], &classes)?])
}

/// The weights of a layer, and the bias of each output. Each rank has a copy of them.
struct Layer<D: Compute> {
    weights: Array<f32, D>,
    bias: Array<f32, D>,
}

impl<D: Compute + Collects> Layer<D> {
    /// Makes a layer; all ranks get the weights of rank 0.
    fn new(
        stream: &StreamHandle<D>,
        ranks: &mut Communicator<D>,
        seed: u32,
        [inputs, outputs]: [usize; 2],
    ) -> Result<Self> {
        let seed = seed + u32::try_from(ranks.rank()).unwrap_or(0);
        let mut weights = Array::from_slice(stream, &[inputs, outputs], &numbers(seed, inputs * outputs))?;
        ranks.broadcast(stream, 0, &mut weights)?;
        Ok(Self { weights, bias: Array::zeros(stream, &[outputs])? })
    }
}

type View<'a, D> = ArrayView<'a, f32, D>;
type ViewMut<'a, D> = ArrayViewMut<'a, f32, D>;

/// Takes a step of gradient descent in one layer, along the gradient of the loss of all ranks.
fn descend<D: Compute + Collects>(
    on: &StreamHandle<D>,
    ranks: &mut Communicator<D>,
    [weights, bias]: [&mut ViewMut<'_, D>; 2],
    inputs: &View<'_, D>,
    slopes: &Array<f32, D>,
) -> Result<()> {
    let mut of_weights = inputs.transpose().matmul(on, slopes)?;
    let mut of_bias = slopes.sum(on, 0)?;
    ranks.all_reduce_in_place(on, Combination::Mean, &mut of_weights)?;
    ranks.all_reduce_in_place(on, Combination::Mean, &mut of_bias)?;
    weights.update(on, (&of_weights, RATE), |weight, (slope, rate)| weight - rate * slope)?;
    bias.update(on, (&of_bias, RATE), |bias, (slope, rate)| bias - rate * slope)
}

/// Makes a step of both layers, without knowing of recordings. Sets `loss` to the loss of all ranks before the step.
fn step<D: Compute + Collects>(
    on: &StreamHandle<D>,
    ranks: &mut Communicator<D>,
    [x, classes]: [&View<'_, D>; 2],
    [mut first, mut second]: [[ViewMut<'_, D>; 2]; 2],
    loss: &mut ViewMut<'_, D>,
) -> Result<()> {
    let share = ranks.ranks() as f32 / SAMPLES as f32;
    let [weights, bias] = first.each_ref().map(ViewMut::as_view);
    let hidden = x.matmul_map(on, &weights, &bias, |y, bias| (y + bias).maximum(0.0))?;
    let [weights, bias] = second.each_ref().map(ViewMut::as_view);
    let scores = hidden.matmul_map(on, &weights, &bias, |y, bias| y + bias)?;
    let logs = math::log_softmax(on, &scores, -1)?;
    let own = (&logs, classes, share).map(on, |(log, class, share)| -(log * class) * share)?.sum(on, ..)?;
    ranks.all_reduce_into(on, Combination::Mean, &own, loss)?;
    let slopes = (&logs, classes, share).map(on, |(log, class, share)| (log.exp() - class) * share)?;
    let back = slopes
        .matmul_map(on, &weights.transpose(), &hidden, |slope, hidden| hidden.gt(0.0).select(slope, 0.0))?;
    descend(on, ranks, second.each_mut(), &hidden.view(), &slopes)?;
    descend(on, ranks, first.each_mut(), x, &back)
}

/// The loss of all ranks before each step, and the bits of the first layer's weights at the end.
type Learnt = (Vec<f32>, Vec<u32>);

/// Trains the network, step by step: each step is a call, or a launch of recorded work.
fn learn<D: Compute + Collects>(
    device: D,
    id: &CommunicatorId,
    (rank, count): (usize, usize),
    is_recorded: bool,
) -> Result<Learnt> {
    let context = Context::new(device)?;
    let on = &context.stream()?;
    let mut ranks = Communicator::join(&context, id, rank, count)?;
    let [x, classes] = samples(on, rank, count)?;
    let Layer { weights: mut w1, bias: mut b1 } = Layer::new(on, &mut ranks, 2, [FEATURES, HIDDEN])?;
    let Layer { weights: mut w2, bias: mut b2 } = Layer::new(on, &mut ranks, 30, [HIDDEN, CLASSES])?;
    let mut loss = Array::zeros(on, &[])?;
    let mut losses = Vec::new();
    if is_recorded {
        let arguments = (&x, &classes, &mut w1, &mut b1, &mut w2, &mut b2, &mut loss, &mut ranks);
        let recorded = on.record_work(arguments, |on, (x, classes, w1, b1, w2, b2, mut loss, ranks)| {
            step(on, ranks, [&x, &classes], [[w1, b1], [w2, b2]], &mut loss)
        })?;
        for _ in 0..STEPS {
            let arguments = (&x, &classes, &mut w1, &mut b1, &mut w2, &mut b2, &mut loss, &mut ranks);
            recorded.launch(on, arguments)?;
            losses.push(loss.item(on)?);
        }
    } else {
        for _ in 0..STEPS {
            let layers = [[w1.view_mut(), b1.view_mut()], [w2.view_mut(), b2.view_mut()]];
            step(on, &mut ranks, [&x.view(), &classes.view()], layers, &mut loss.view_mut())?;
            losses.push(loss.item(on)?);
        }
    }
    Ok((losses, w1.to_vec(on)?.into_iter().map(f32::to_bits).collect()))
}

/// Trains on the CPU, with a thread for each rank.
fn on_the_host(count: usize, is_recorded: bool) -> Result<Vec<Learnt>> {
    let id = &CommunicatorId::new();
    let run = |rank| learn(HostDevice::builder().threads(1).build(), id, (rank, count), is_recorded);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|rank| scope.spawn(move || run(rank))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    })
}

fn main() -> Result<()> {
    for count in [1, 2, 3] {
        let outcomes = on_the_host(count, false)?;
        let (losses, _) = &outcomes[0];
        println!("{count} ranks: from {:.4} to {:.4}", losses[0], losses[STEPS - 1]);
        assert!(losses[STEPS - 1] < losses[0] / 2.0, "it learns");
        assert!(outcomes.iter().all(|of| *of == outcomes[0]), "all ranks have the same bits");

        assert!(on_the_host(count, true)? == outcomes, "launches have the bits of calls");

        // Ranks of even number launch a recorded step, and the others call it.
        let simulated = MockDevice::new().cluster(count, |rank| {
            learn(rank.device(), &rank.id(0), (rank.number(), count), rank.number() % 2 == 0)
        });
        for of in simulated {
            assert!(of? == outcomes[0], "the simulator has the bits of the CPU");
        }
    }
    // Explores many orders of the ranks and their streams, each judged. This costs time, so it is done on request.
    if std::env::args().any(|argument| argument == "--explore") {
        cluster(2, |rank| learn(rank.device(), &rank.id(0), (rank.number(), 2), true).expect("it learns"));
    }
    Ok(())
}
