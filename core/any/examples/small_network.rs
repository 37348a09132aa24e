//! A small network learns: forward and backward passes, a softmax and its cross-entropy, plain gradient
//! descent. The loss after 100 steps has the same bits on every device.
//!
//! `DEVARRAY_DEVICE=host|mock|cuda` chooses a device; without it, all that are here learn.

use devarray::{
    Array, Compute, Context, Result, StreamHandle,
    function::{Operands as _, ReduceOperation, Reduction},
    math,
};
use devarray_any::AnyDevice;

const SAMPLES: usize = 96;
const FEATURES: usize = 6;
const HIDDEN: usize = 20;
const CLASSES: usize = 3;
const STEPS: usize = 100;
const RATE: f32 = 0.5;

/// The bits of the loss after all steps.
pub(crate) const LOSS_BITS: u32 = 0x3d80_a7b6;

/// Numbers between -1 and 1 that are always the same.
fn numbers(seed: u32, len: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(i16::from_ne_bytes([state.to_le_bytes()[2], state.to_le_bytes()[3]])) / 32_768.0
    };
    (0..len).map(|_| next()).collect()
}

/// Weights, and the bias of each output.
struct Layer<D: Compute> {
    weights: Array<f32, D>,
    bias: Array<f32, D>,
}

impl<D: Compute> Layer<D> {
    fn new(stream: &StreamHandle<D>, seed: u32, [inputs, outputs]: [usize; 2]) -> Result<Self> {
        let weights = Array::from_slice(stream, &[inputs, outputs], &numbers(seed, inputs * outputs))?;
        Ok(Self { weights, bias: Array::zeros(stream, &[outputs])? })
    }

    /// Goes down the slope of the loss by the layer's outputs, by one product and one sum.
    fn learn(
        &mut self,
        stream: &StreamHandle<D>,
        inputs: &Array<f32, D>,
        slopes: &Array<f32, D>,
    ) -> Result<()> {
        let down = |slope, weight, (rate,)| weight - rate * slope;
        inputs.view().transpose().matmul_update(stream, slopes, (RATE,), &mut self.weights, down)?;
        let slope = slopes.sum(stream, 0)?;
        self.bias.update(stream, (&slope, RATE), |bias, (slope, rate)| bias - rate * slope)
    }
}

/// Samples with their classes, a 1 among zeros: the one among three directions that a sample goes furthest
/// in.
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

/// Learns, and returns the loss before each step and after the last one.
pub(crate) fn losses<D: Compute>(context: &Context<D>) -> Result<Vec<f32>> {
    let stream = &context.stream()?;
    let [x, classes] = samples(stream)?;
    let mut first = Layer::new(stream, 2, [FEATURES, HIDDEN])?;
    let mut second = Layer::new(stream, 3, [HIDDEN, CLASSES])?;
    let share = 1.0 / SAMPLES as f32;
    let mut losses = Vec::with_capacity(STEPS + 1);
    loop {
        let hidden = x.matmul_map(stream, &first.weights, &first.bias, |y, bias| (y + bias).maximum(0.0))?;
        let scores = hidden.matmul_map(stream, &second.weights, &second.bias, |y, bias| y + bias)?;
        let logs = math::log_softmax(stream, &scores, -1)?;
        let sum = Reduction::new(ReduceOperation::Sum);
        losses.push(
            (&logs, &classes, share)
                .reduce_item(stream, &sum, |(log, class, share)| -(log * class) * share)?,
        );
        if losses.len() > STEPS {
            return Ok(losses);
        }
        let slopes =
            (&logs, &classes, share).map(stream, |(log, class, share)| (log.exp() - class) * share)?;
        let back = second.weights.view().transpose();
        let hidden_slopes =
            slopes.matmul_map(stream, &back, &hidden, |slope, hidden| hidden.gt(0.0).select(slope, 0.0))?;
        second.learn(stream, &hidden, &slopes)?;
        first.learn(stream, &x, &hidden_slopes)?;
    }
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
        let losses = losses(&Context::new(device)?)?;
        let (before, after) = (losses[0], losses[STEPS]);
        println!("{name}: from {before:.4} to {after:.4}, which is {:#010x}", after.to_bits());
        assert_eq!(after.to_bits(), LOSS_BITS, "the same bits everywhere");
        learned += 1;
    }
    assert!(learned > 1 || chosen.is_ok(), "the CPU and the simulator are everywhere");
    Ok(())
}
