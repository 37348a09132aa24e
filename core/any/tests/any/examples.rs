//! Runs the examples that state which bits they compute.

use devarray::Context;
use devarray_any::AnyDevice;

#[expect(dead_code, reason = "an example has a `main`")]
#[path = "../../examples/small_network.rs"]
mod small_network;

use small_network::{LOSS_BITS, losses, recorded_losses};

#[test]
fn a_small_network_learns_the_same_on_every_device() {
    let losses = ["host", "mock"].map(|name| {
        let context = Context::new(AnyDevice::named(name).expect("it is everywhere")).expect("a context");
        let recorded = recorded_losses(&context).expect("losses of recorded steps");
        let losses = losses(&context).expect("losses");
        assert_eq!(recorded, losses, "{name}: recorded, and call by call");
        losses
    });
    let bits = losses.each_ref().map(|of| of.iter().map(|loss| loss.to_bits()).collect::<Vec<_>>());
    assert_eq!(bits[0], bits[1], "after every step");
    assert_eq!(bits[0].last(), Some(&LOSS_BITS));
    assert!(losses[0][0] > 1.0 && losses[0][losses[0].len() - 1] < 0.1, "it learns");
}
