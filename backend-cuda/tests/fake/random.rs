//! Random numbers on the fake: the simulator's, four of one counter in one thread.

use devarray::{Array, Context, random};
use devarray_cuda::CudaDevice;
use devarray_mock::MockDevice;

use super::{
    random_of::{keys, kinds},
    state::Fake,
};

#[test]
fn numbers_are_the_simulators() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let (stream, simulated) = (context.stream().unwrap(), Context::new(MockDevice::new()).unwrap());
    let simulated = simulated.stream().unwrap();
    for ((name, of, found), (_, _, due)) in kinds().into_iter().zip(kinds()) {
        for (key, shape) in keys().into_iter().zip([&[7, 9][..], &[16_391]]) {
            let (found, due) = (found(&stream, shape, key).unwrap(), due(&simulated, shape, key).unwrap());
            assert_eq!(found, due, "{name} of {of}, {shape:?}, {key:?}");
        }
    }
}

/// The multiplications of Philox stand in the text as often as one counter has them, for elements
/// side by side and for one alone: not once for each element.
#[test]
fn four_elements_share_a_counter() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    let _: Array<f32, _> = random::normal(&stream, &[1 << 14], random::Key::new(1)).unwrap();
    let texts = fake.state(|state| state.written.clone());
    if let Some(folder) = std::env::var_os("TEXTS") {
        for (nth, text) in texts.iter().enumerate() {
            std::fs::write(std::path::Path::new(&folder).join(format!("{nth}.ptx")), text).unwrap();
        }
    }
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("st.global.v4.f32"), "{}", texts[0]);
    assert_eq!(texts[0].matches("mul.wide.u32").count(), 20, "for one counter");
    assert_eq!(texts[0].matches("mul.hi.u32").count(), 1, "where a thread finds its row");
}
