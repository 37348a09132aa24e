//! Divisions of functions on the fake: those that are done without a division, and where they
//! cannot be.
#![allow(clippy::cast_possible_truncation, reason = "bits are bits")]

use devarray::{
    Layout,
    function::{ElementType, Function},
};

use devarray_conformance::Rng;

use super::{
    frozen::check_all,
    functions::{close, open},
    maps::Case,
    state::Fake,
};

/// Divisions by what many elements are divided by, of every kind of number.
#[test]
fn divisions_without_division() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let case_of = |text: &str, strides: [isize; 2], divisors: Option<&[f32]>| {
        let (inputs, scalars) = ([ElementType::F32; 2], [ElementType::F32]);
        let program = Function::parse(text, &inputs, &scalars).unwrap().expand();
        let mut case = Case::of(&mut Rng::new(text.len() as u64), program, &[40, 64]);
        let mut rng = Rng::new(strides[0].unsigned_abs() as u64);
        for bytes in case.inputs[0].1.chunks_exact_mut(4) {
            // Every exponent, zeros and NaN, and most elements in range.
            let bits = match rng.below(40) {
                0 => rng.bits() as u32,
                1 => *rng.pick(&[0, 1 << 31, 0xff80_0001]),
                _ => (rng.bits() as u32 & 0x8fff_ffff) + 0x3000_0000,
            };
            bytes.copy_from_slice(&bits.to_le_bytes());
        }
        case.inputs[1].0 = Layout::new(&[40, 64], &strides, 0).unwrap();
        for (bytes, divisor) in
            case.inputs[1].1.chunks_exact_mut(4).zip(divisors.into_iter().flatten().cycle())
        {
            bytes.copy_from_slice(&divisor.to_le_bytes());
        }
        case.scalars = vec![0x4040_0000];
        case.compare(&case.run(&device, &stream), &case.interpreted(), 0);
    };
    let nice = [255.0, 3.0, 0.1, 1e-10, 1.999_999_9, 0.229, 1e8, 1.0];
    let nasty = [0.0, -3.0, f32::INFINITY, f32::NAN, 1e-42, 1e30, -0.0, 7.0];
    for text in
        ["x0 / 255.0 + x1 * 0", "x0 / 1e-6 - x1 * 0", "x0 / k0 + x1 * 0", "x0 / -3.0 + x1 * 0", "x0 / x1"]
    {
        for strides in [[1, 0], [0, 0]] {
            case_of(text, strides, Some(&nice));
            case_of(text, strides, Some(&nasty));
        }
        case_of(text, [64, 1], None);
    }
    let texts = fake.state(|state| state.written.clone());
    let quick = |text: &&String| text.contains("fma.rn.f32") && text.contains("neg.f32");
    assert!(texts.iter().filter(quick).count() >= 5);
    // Threads that divide plainly take as many elements, with as wide accesses.
    let wide =
        |text: &str| text.matches("div.rn.f32").count() > 4 && text.matches("st.global.v4").count() > 1;
    assert!(texts.iter().filter(quick).all(|text| wide(text)));
    check_all(&fake, "divisions_without_division");
    close(&fake, device, stream);
}

/// An image of bytes to planes of floats: a thread divides so often that the plain way is taken one
/// pixel at a time.
#[test]
fn images_over_the_deviations_of_their_channels() {
    use ElementType::{F32, U8};
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let (height, width) = (9, 44);
    let program =
        Function::parse("(cast(x0, f32) / 255.0 - x1) / x2", &[U8, F32, F32], &[]).unwrap().expand();
    for divisors in [[0.229_f32, 0.224, 0.225], [0.0, 1e-42, 3.0], [f32::NAN, -1.0, 1e30]] {
        let shape = [2, 3, height, width];
        let mut case = Case::of(&mut Rng::new(5), program.clone(), &shape);
        let pixels = (3 * height * width).cast_signed();
        let layout = |strides: [isize; 4]| Layout::new(&shape, &strides, 0).unwrap();
        case.inputs[0].0 = layout([pixels, 1, 3 * width.cast_signed(), 3]);
        case.inputs[1].0 = layout([0, 1, 0, 0]);
        case.inputs[2].0 = layout([0, 1, 0, 0]);
        let means = [0.485_f32, 0.456, 1e-39];
        for (at, (mean, divisor)) in means.into_iter().zip(divisors).enumerate() {
            case.inputs[1].1[4 * at..][..4].copy_from_slice(&mean.to_le_bytes());
            case.inputs[2].1[4 * at..][..4].copy_from_slice(&divisor.to_le_bytes());
        }
        case.compare(&case.run(&device, &stream), &case.interpreted(), 0);
    }
    let written = fake.state(|state| state.written.concat());
    // One kernel: three lines of a pixel, which all its threads can take.
    assert_eq!((device.function_statistics().compiled, written.matches("div.rn.f32").count()), (1, 3));
    check_all(&fake, "images_over_the_deviations_of_their_channels");
    close(&fake, device, stream);
}

/// Integers over a constant are never divided, and need no second way for what is out of range.
#[test]
fn integers_over_constants() {
    use ElementType::{I32, I64, U8, U64};
    for (of, by, is_quick) in [
        (U8, "255.0", true),
        (I32, "3.0", true),
        (I64, "1e-10", true),
        (U64, "1e8", true),
        // The twins: divisors that are out of range, or negative.
        (U8, "1e30", false),
        (I32, "-3.0", false),
    ] {
        let fake = Fake::new();
        let (device, stream) = open(&fake);
        let text = format!("cast(x0, f32) / {by}");
        let program = Function::parse(&text, &[of], &[]).unwrap().expand();
        let mut case = Case::of(&mut Rng::new(7), program, &[1_003]);
        // Every byte is among them, and so are the least and the greatest number of each type.
        let len = of.len_bytes();
        for (nth, element) in case.inputs[0].1.chunks_exact_mut(len).enumerate().take(256) {
            element.fill(0);
            element[(nth / 128 * 3).min(len - 1)] = nth.to_le_bytes()[0];
        }
        case.compare(&case.run(&device, &stream), &case.interpreted(), 0);
        let written = fake.state(|state| state.written.concat());
        assert_eq!(written.contains("div.rn.f32"), !is_quick, "{text} of {of}");
        close(&fake, device, stream);
    }
}
