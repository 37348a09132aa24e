//! A small network learns by forward and backward passes, a softmax and its cross-entropy, and plain
//! gradient descent. The loss after 100 steps has the same bits on every device.
//!
//! With `--recorded` a step is recorded once and launched 100 times, and compared with the same steps call by
//! call: the bits are the same, and the example prints how long a step takes in each way.
//!
//! `DEVARRAY_DEVICE=host|mock|cuda` chooses a device; without it, all available devices learn.

use std::time::{Duration, Instant};

use devarray::{
    Array, ArrayView, ArrayViewMut, Compute, Context, Result, StreamHandle,
    function::{Operands as _, ReduceOperation, Reduction},
    math,
    recorded::{Reads, Recording, Writes},
};
use devarray_any::AnyDevice;

const SAMPLES: usize = 96;
const FEATURES: usize = 6;
const HIDDEN: usize = 20;
const CLASSES: usize = 3;
const STEPS: u32 = 100;
const RATE: f32 = 0.5;

/// The bits of the loss after all steps.
pub(crate) const LOSS_BITS: u32 = 0x3d80_a7b6;

/// Numbers between -1 and 1, the same in every run.
fn numbers(seed: u32, len: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(i16::from_ne_bytes([state.to_le_bytes()[2], state.to_le_bytes()[3]])) / 32_768.0
    };
    (0..len).map(|_| next()).collect()
}

/// The weights of a layer, and the bias of each output.
struct Layer<D: Compute> {
    weights: Array<f32, D>,
    bias: Array<f32, D>,
}

impl<D: Compute> Layer<D> {
    fn new(stream: &StreamHandle<D>, seed: u32, [inputs, outputs]: [usize; 2]) -> Result<Self> {
        let weights = Array::from_slice(stream, &[inputs, outputs], &numbers(seed, inputs * outputs))?;
        Ok(Self { weights, bias: Array::zeros(stream, &[outputs])? })
    }
}

/// The elements of a layer, to be read and written.
struct Parameters<'v, D: Compute> {
    weights: ArrayViewMut<'v, f32, D>,
    bias: ArrayViewMut<'v, f32, D>,
}

impl<D: Compute> Parameters<'_, D> {
    /// Takes a step of gradient descent, given the gradient of the loss with respect to the layer's outputs: one
    /// product and one sum.
    fn learn(
        &mut self,
        on: &StreamHandle<D>,
        inputs: &ArrayView<'_, f32, D>,
        slopes: &Array<f32, D>,
    ) -> Result<()> {
        let down = |slope, weight, (rate,)| weight - rate * slope;
        inputs.transpose().matmul_update(on, slopes, (RATE,), &mut self.weights, down)?;
        let slope = slopes.sum(on, 0)?;
        self.bias.update(on, (&slope, RATE), |bias, (slope, rate)| bias - rate * slope)
    }
}

/// Samples with their classes, which are a 1 among zeros. A sample's class is the one of three directions
/// in which it goes furthest.
fn samples<D: Compute>(stream: &StreamHandle<D>) -> Result<[Array<f32, D>; 2]> {
    let features = numbers(1, SAMPLES * FEATURES);
    let mut classes = vec![0.0; SAMPLES * CLASSES];
    for (sample, features) in features.chunks(FEATURES).enumerate() {
        let along = |class: usize| features[2 * class] - features[2 * class + 1];
        let best = (1..CLASSES).fold(0, |best, class| if along(class) > along(best) { class } else { best });
        classes[sample * CLASSES + best] = 1.0;
    }
    Ok([
        Array::from_slice(stream, &[SAMPLES, FEATURES], &features)?,
        Array::from_slice(stream, &[SAMPLES, CLASSES], &classes)?,
    ])
}

/// Makes one step: forward, loss, backward, update. It works on any stream, without knowing of recordings.
fn step<D: Compute>(
    on: &StreamHandle<D>,
    [x, classes]: [&ArrayView<'_, f32, D>; 2],
    [first, second]: [&mut Parameters<'_, D>; 2],
    loss: &mut ArrayViewMut<'_, f32, D>,
) -> Result<()> {
    let share = 1.0 / SAMPLES as f32;
    let hidden = x.matmul_map(on, &first.weights, &first.bias, |y, bias| (y + bias).maximum(0.0))?;
    let scores = hidden.matmul_map(on, &second.weights, &second.bias, |y, bias| y + bias)?;
    let logs = math::log_softmax(on, &scores, -1)?;
    let sum = Reduction::new(ReduceOperation::Sum);
    (&logs, classes, share).reduce_into(on, &sum, loss, |(log, class, share)| -(log * class) * share)?;
    let slopes = (&logs, classes, share).map(on, |(log, class, share)| (log.exp() - class) * share)?;
    let hidden_slopes =
        slopes.matmul_map(on, &second.weights.as_view().transpose(), &hidden, |slope, hidden| {
            hidden.gt(0.0).select(slope, 0.0)
        })?;
    second.learn(on, &hidden.view(), &slopes)?;
    first.learn(on, x, &hidden_slopes)
}

/// A recorded step. Its arguments are samples and classes, the weights and biases of both layers,
/// and the loss.
type RecordedStep<D> = Recording<D, (In, In, InOut, InOut, InOut, InOut, InOut)>;
type In = Reads<f32>;
type InOut = Writes<f32>;

/// All arrays of a step.
struct Network<D: Compute> {
    samples: [Array<f32, D>; 2],
    first: Layer<D>,
    second: Layer<D>,
    loss: Array<f32, D>,
}

impl<D: Compute> Network<D> {
    fn new(stream: &StreamHandle<D>) -> Result<Self> {
        Ok(Self {
            samples: samples(stream)?,
            first: Layer::new(stream, 2, [FEATURES, HIDDEN])?,
            second: Layer::new(stream, 3, [HIDDEN, CLASSES])?,
            loss: Array::zeros(stream, &[])?,
        })
    }

    fn step(&mut self, stream: &StreamHandle<D>) -> Result<()> {
        let Self { samples: [x, classes], first, second, loss } = self;
        let [mut first, mut second] =
            [first, second].map(|of| Parameters { weights: of.weights.view_mut(), bias: of.bias.view_mut() });
        step(stream, [&x.view(), &classes.view()], [&mut first, &mut second], &mut loss.view_mut())
    }

    fn record(&mut self, stream: &StreamHandle<D>) -> Result<RecordedStep<D>> {
        let Self { samples: [x, classes], first, second, loss } = self;
        let ([w1, w2], [b1, b2]) =
            ([&mut first.weights, &mut second.weights], [&mut first.bias, &mut second.bias]);
        stream.record_work(
            (&*x, &*classes, w1, b1, w2, b2, loss),
            |on, (x, classes, w1, b1, w2, b2, mut loss)| {
                let mut first = Parameters { weights: w1, bias: b1 };
                let mut second = Parameters { weights: w2, bias: b2 };
                step(on, [&x, &classes], [&mut first, &mut second], &mut loss)
            },
        )
    }

    fn launch(&mut self, stream: &StreamHandle<D>, step: &RecordedStep<D>) -> Result<()> {
        let Self { samples: [x, classes], first, second, loss } = self;
        let ([w1, w2], [b1, b2]) =
            ([&mut first.weights, &mut second.weights], [&mut first.bias, &mut second.bias]);
        step.launch(stream, (&*x, &*classes, w1, b1, w2, b2, loss))
    }
}

/// Learns, and returns the loss before each step and after the last one.
pub(crate) fn losses<D: Compute>(context: &Context<D>) -> Result<Vec<f32>> {
    let stream = &context.stream()?;
    let mut network = Network::new(stream)?;
    (0..=STEPS)
        .map(|_| {
            network.step(stream)?;
            network.loss.item(stream)
        })
        .collect()
}

/// Computes the same losses as [`losses`], by launches of a step that was recorded once.
pub(crate) fn recorded_losses<D: Compute>(context: &Context<D>) -> Result<Vec<f32>> {
    let stream = &context.stream()?;
    let mut network = Network::new(stream)?;
    let step = network.record(stream)?;
    (0..=STEPS)
        .map(|_| {
            network.launch(stream, &step)?;
            network.loss.item(stream)
        })
        .collect()
}

/// Measures the time of one step, averaged over many.
fn time_a_step<D: Compute>(
    stream: &StreamHandle<D>,
    mut step: impl FnMut() -> Result<()>,
) -> Result<Duration> {
    step()?;
    stream.synchronize()?;
    let begun = Instant::now();
    for _ in 0..STEPS {
        step()?;
    }
    stream.synchronize()?;
    Ok(begun.elapsed() / STEPS)
}

/// Trains in both ways, compares the losses, and prints the times of a step.
fn both_ways(name: &str, context: &Context<AnyDevice>) -> Result<()> {
    let stream = &context.stream()?;
    let mut called = Network::new(stream)?;
    let plain = time_a_step(stream, || called.step(stream))?;
    let mut launched = Network::new(stream)?;
    let step = launched.record(stream)?;
    let recorded = time_a_step(stream, || launched.launch(stream, &step))?;
    let bits = |of: &Network<AnyDevice>| of.loss.item(stream).map(f32::to_bits);
    assert_eq!(bits(&launched)?, bits(&called)?, "the same loss both ways");
    assert_eq!(recorded_losses(context)?, losses(context)?, "the same losses after every step");
    let way = if step.is_captured() { "as one" } else { "call by call" };
    println!(
        "{name}: a step of {} calls takes {plain:.2?}, recorded {recorded:.2?}, launched {way}",
        step.len()
    );
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let chosen = std::env::var("DEVARRAY_DEVICE");
    let names = chosen.as_ref().map_or(vec!["host", "mock", "cuda"], |name| vec![name]);
    let mut learned = 0;
    for name in names {
        let device = match AnyDevice::named(name) {
            Ok(device) => device,
            Err(error) if chosen.is_err() => {
                println!("{error}");
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let context = Context::new(device)?;
        if std::env::args().any(|argument| argument == "--recorded") {
            both_ways(name, &context)?;
        }
        let losses = losses(&context)?;
        let (before, after) = (losses[0], losses[STEPS as usize]);
        println!("{name}: from {before:.4} to {after:.4}, which is {:#010x}", after.to_bits());
        assert_eq!(after.to_bits(), LOSS_BITS, "the same bits everywhere");
        learned += 1;
    }
    assert!(learned > 1 || chosen.is_ok(), "the CPU and the simulator are everywhere");
    Ok(())
}
