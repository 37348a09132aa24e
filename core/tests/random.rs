//! Random numbers: published vectors, an independent Philox, Box and Muller in `f64`, moments, and
//! blocks cut anywhere.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "bits are bits"
)]
#![expect(clippy::unwrap_used, reason = "tests")]

use devarray::{
    Array, Context, Error, LayoutError, StreamHandle,
    function::{Expression, FunctionErrorKind, Operands},
    random::{self, Draw, Key, normal_pair, philox4x32},
};
use devarray_mock::MockDevice;

type Result<T = (), E = Error> = std::result::Result<T, E>;

fn stream() -> Result<StreamHandle<MockDevice>> {
    Context::new(MockDevice::new())?.stream()
}

/// Philox 4x32-10 according to its paper, on the host.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [a, b, c, d] = counter;
        let products = [u64::from(a) * 0xd251_1f53, u64::from(c) * 0xcd9e_8d57];
        let ([high_a, high_c], [low_a, low_c]) =
            (products.map(|p| (p >> 32) as u32), products.map(|p| p as u32));
        counter = [high_c ^ b ^ key[0], low_c, high_a ^ d ^ key[1], low_a];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

/// The words of a sequence from a position on; positions count words.
fn words(seed: u64, sequence: u64, from: u64, count: usize) -> Vec<u32> {
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let word = |at: u64| {
        let ([a, b], [c, d]) = (halves(at / 4), halves(sequence));
        philox([a, b, c, d], halves(seed))[(at % 4) as usize]
    };
    (from..from + count as u64).map(word).collect()
}

/// The words in pairs, the lower half first; positions count pairs.
fn pairs(seed: u64, sequence: u64, from: u64, count: usize) -> Vec<u64> {
    let words = words(seed, sequence, 2 * from, 2 * count);
    words.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect()
}

/// Counter, key and words, published by Random123.
const KNOWN: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
    ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
    ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
    (
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
        [0xa409_3822, 0x299f_31d0],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ),
];

#[test]
fn published_vectors() -> Result {
    let stream = stream()?;
    for (counter, key, due) in KNOWN {
        assert_eq!(philox(counter, key), due, "the Philox of this test");
        let mut result = Array::<u32, _>::zeros(&stream, &[4])?;
        let [a, b, c, d] = counter;
        (a, b, c, d, key[0], key[1]).map_into(&stream, &mut result.view_mut(), |(a, b, c, d, k, l)| {
            let ([a, b, c, d], at) = (philox4x32([a, b, c, d], [k, l]), Expression::position(0));
            at.equal(0).select(a, at.equal(1).select(b, at.equal(2).select(c, d)))
        })?;
        assert_eq!(result.to_vec(&stream)?, due);
    }
    Ok(())
}

/// The results of `curand(&state)` after `curand_init(42, 7, 5, &state)`, from cuRAND's Philox on
/// an H200.
#[test]
fn words_are_those_of_curand() -> Result {
    let stream = stream()?;
    let found: Array<u32, _> = random::bits(&stream, &[8], Key::new(42).sequence(7).at(5))?;
    let due = [
        0x600f_6196,
        0x8fcd_f8f1,
        0x2c8e_d839,
        0x24ec_fc6e,
        0xf000_aacd,
        0x571a_4cf0,
        0xd301_a3d5,
        0x945b_cada,
    ];
    assert_eq!(found.to_vec(&stream)?, due);
    Ok(())
}

#[test]
fn bits_are_those_of_philox() -> Result {
    let stream = stream()?;
    let (seed, sequence) = (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210);
    // Short and long, from every position in a counter and beyond 32 bits of counters.
    for from in [0, 1, 2, 3, (1 << 34) - 2, u64::MAX - 40_000] {
        for len in [1, 2, 3, 5, 64, 16_383, 16_384, 16_389, 16_400] {
            let key = Key::new(seed).sequence(sequence).at(from);
            let found: Array<u32, _> = random::bits(&stream, &[len], key)?;
            assert_eq!(found.to_vec(&stream)?, words(seed, sequence, from, len), "{len} from {from}");
            let key = key.at(from / 4);
            let found: Array<u64, _> = random::bits(&stream, &[len], key)?;
            assert_eq!(found.to_vec(&stream)?, pairs(seed, sequence, from / 4, len), "{len} from {from}");
        }
    }
    let bytes: Array<u8, _> = random::bits(&stream, &[16_390], Key::new(5))?;
    let due: Vec<u8> = words(5, 0, 0, 16_390).into_iter().map(|word| word as u8).collect();
    assert_eq!(bytes.to_vec(&stream)?, due);
    Ok(())
}

#[test]
fn any_cut_gives_the_same() -> Result {
    let stream = stream()?;
    let key = Key::new(11).sequence(3);
    let whole: Array<f32, _> = random::normal(&stream, &[131, 257], key)?;
    let whole = whole.to_vec(&stream)?;
    let mut parts = Array::<f32, _>::zeros(&stream, &[131, 257])?;
    for (from, to) in [(0_usize, 1_usize), (1, 66), (66, 67), (67, 131)] {
        let mut rows = parts.view_mut().slice_axis(0, from..to)?;
        random::normal_into(&stream, &mut rows, key.at(from as u64 * 257))?;
    }
    assert!(same(&parts.to_vec(&stream)?, &whole));

    // Non-contiguous elements take the numbers of their index in C order.
    let mut wide = Array::<f32, _>::zeros(&stream, &[257, 262])?;
    let mut view = wide.view_mut().slice_axis(1, 131..)?.flip(&[0])?.transpose();
    random::normal_into(&stream, &mut view, key)?;
    let found = view.as_view().to_vec(&stream)?;
    assert!(same(&found, &whole));
    Ok(())
}

fn same(found: &[f32], due: &[f32]) -> bool {
    found.iter().map(|x| x.to_bits()).eq(due.iter().map(|x| x.to_bits()))
}

#[test]
fn uniform_numbers_are_the_highest_bits() -> Result {
    let stream = stream()?;
    let len = 16_401;
    let found: Array<f32, _> = random::uniform(&stream, &[len], Key::new(1))?;
    let due: Vec<f32> = words(1, 0, 0, len).iter().map(|word| (word >> 8) as f32 / 16_777_216.0).collect();
    assert_eq!(found.to_vec(&stream)?, due);
    let found: Array<f64, _> = random::uniform(&stream, &[len], Key::new(1))?;
    let scale = 1.0 / (1_u64 << 53) as f64;
    let due: Vec<f64> = pairs(1, 0, 0, len).iter().map(|bits| (bits >> 11) as f64 * scale).collect();
    assert_eq!(found.to_vec(&stream)?, due);
    Ok(())
}

#[cfg(feature = "half")]
#[test]
fn halves_have_as_many_bits_as_they_hold() -> Result {
    use half::{bf16, f16};

    let stream = stream()?;
    let words = words(1, 0, 0, 300);
    let found: Array<f16, _> = random::uniform(&stream, &[300], Key::new(1))?;
    let due: Vec<f16> = words.iter().map(|word| f16::from_f32((word >> 21) as f32 / 2048.0)).collect();
    assert_eq!(found.to_vec(&stream)?, due);
    let found: Array<bf16, _> = random::uniform(&stream, &[300], Key::new(1))?;
    let due: Vec<bf16> = words.iter().map(|word| bf16::from_f32((word >> 24) as f32 / 256.0)).collect();
    assert_eq!(found.to_vec(&stream)?, due);
    let wide: Array<f32, _> = random::normal(&stream, &[300], Key::new(1))?;
    let found: Array<f16, _> = random::normal(&stream, &[300], Key::new(1))?;
    let due: Vec<f16> = wide.to_vec(&stream)?.into_iter().map(f16::from_f32).collect();
    assert_eq!(found.to_vec(&stream)?, due);
    Ok(())
}

/// Two normal numbers from two words, by their description, in `f64`.
fn pair_of(a: u32, b: u32) -> [f64; 2] {
    let radius = (-2.0 * (f64::from((a | 1) as f32) / 2_f64.powi(32)).ln()).sqrt();
    let signed = if b >> 29 & 1 == 1 {
        f64::from(b & 0x3fff_ffff) - 2_f64.powi(30)
    } else {
        f64::from(b & 0x3fff_ffff)
    };
    let angle = (1.0 + signed / 2_f64.powi(29)) * std::f64::consts::FRAC_PI_4;
    let sign = |bit: u32| if b >> bit & 1 == 1 { -1.0 } else { 1.0 };
    [sign(31) * radius * angle.cos(), sign(30) * radius * angle.sin()]
}

#[test]
fn normal_numbers_are_those_of_box_and_muller() -> Result {
    let stream = stream()?;
    let edges =
        [0, 1, 2, 3, 0xff, 0x1fff_ffff, 0x2000_0000, 0x2000_0001, 0x3fff_ffff, 0x4000_0000, 0x7fff_ffff];
    let mut edges: Vec<u32> = edges.into_iter().flat_map(|word| [word, !word]).collect();
    // Arguments at which the logarithm passes from one power of two to the next.
    edges.extend(
        (1..32)
            .flat_map(|n| [-64_i64, 0, 64].map(|at| ((2_f64.powf(f64::from(n) + 0.5)) as i64 + at) as u32)),
    );
    let both = edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b)));
    let (a, b): (Vec<u32>, Vec<u32>) =
        both.chain(words(9, 0, 0, 20_000).chunks(2).map(|w| (w[0], w[1]))).unzip();
    let shape = [a.len()];
    let (on_device, other) =
        (Array::from_slice(&stream, &shape, &a)?, Array::from_slice(&stream, &shape, &b)?);
    for which in 0..2 {
        let found =
            (&on_device, &other).map(&stream, |(a, b)| normal_pair([a, b])[which])?.to_vec(&stream)?;
        for (at, &x) in found.iter().enumerate() {
            let due = pair_of(a[at], b[at])[which];
            assert!((f64::from(x) - due).abs() < 2e-6, "{x} for {due} of {:#x} and {:#x}", a[at], b[at]);
            assert!(x.abs() < 6.67);
        }
    }

    // Elements 2n and 2n + 1 come from words 2n and 2n + 1, whether they are computed alone or four
    // together.
    for len in [100, 16_390] {
        let drawn: Array<f32, _> = random::normal(&stream, &[len], Key::new(9))?;
        let words = words(9, 0, 0, len);
        let columns = |n: usize| words.iter().skip(n).step_by(2).copied().collect::<Vec<u32>>();
        let (a, b) = (columns(0), columns(1));
        let (a, b) =
            (Array::from_slice(&stream, &[len / 2], &a)?, Array::from_slice(&stream, &[len / 2], &b)?);
        let both = [0, 1].map(|which| (&a, &b).map(&stream, |(a, b)| normal_pair([a, b])[which]));
        let [first, second] = both;
        let (first, second) = (first?.to_vec(&stream)?, second?.to_vec(&stream)?);
        let due: Vec<f32> = first.into_iter().zip(second).flat_map(|(x, y)| [x, y]).collect();
        assert!(same(&drawn.to_vec(&stream)?, &due), "{len}");
    }
    Ok(())
}

#[test]
fn wide_normal_numbers_come_in_pairs() -> Result {
    let stream = stream()?;
    let len = 16_386;
    let found: Array<f64, _> = random::normal(&stream, &[len], Key::new(4).at(1))?;
    let found = found.to_vec(&stream)?;
    let bits = pairs(4, 0, 0, len + 2);
    for (at, &x) in (1..).zip(&found) {
        let (first, second) = (bits[at / 2 * 2], bits[at / 2 * 2 + 1]);
        let radius = (-2.0 * (((first >> 12) as f64 + 0.5) / (1_u64 << 52) as f64).ln()).sqrt();
        let angle = std::f64::consts::TAU * (second >> 11) as f64 / (1_u64 << 53) as f64;
        let due = if at % 2 == 0 { radius * angle.cos() } else { radius * angle.sin() };
        assert!((x - due).abs() <= 1e-14, "{x} for {due} at {at}");
    }
    Ok(())
}

/// The number of a range that these bits choose.
fn scaled(bits: u128, width: u32, low: i128, count: u128) -> i128 {
    // The high part of a product of up to 192 bits.
    let (high, low_bits) = (bits >> 64, bits & u128::from(u64::MAX));
    let above = match width {
        64 => (low_bits * count) >> 64,
        _ => (high * count + ((low_bits * count) >> 64)) >> 64,
    };
    low + i128::try_from(above).unwrap()
}

#[test]
fn integers_are_scaled_bits() -> Result {
    let stream = stream()?;
    let len = 16_390;
    let key = Key::new(8).sequence(2);
    let narrow: Vec<u128> = pairs(8, 2, 0, len).into_iter().map(u128::from).collect();
    let wide = pairs(8, 2, 0, 2 * len);
    let wide: Vec<u128> =
        wide.chunks(2).map(|pair| u128::from(pair[0]) | u128::from(pair[1]) << 64).collect();
    macro_rules! check {
        ($($type:ty, $bits:expr, $width:expr, $range:expr, $low:expr, $count:expr;)*) => {$(
            let found: Array<$type, _> = random::integers(&stream, &[len], $range, key)?;
            let due: Vec<$type> = $bits
                .iter()
                .map(|&bits| scaled(bits, $width, $low, $count) as $type)
                .collect();
            assert_eq!(found.to_vec(&stream)?, due, "{}", stringify!($type, $range));
        )*};
    }
    check! {
        i8, narrow, 64, -3..4, -3, 7;
        u8, narrow, 64, .., 0, 256;
        u16, narrow, 64, 65_000..=u16::MAX, 65_000, 536;
        i32, narrow, 64, i32::MIN.., i128::from(i32::MIN), 1 << 32;
        u32, narrow, 64, ..3_000_000_000, 0, 3_000_000_000;
        i64, wide, 128, -5..=5, -5, 11;
        u64, wide, 128, 1.., 1, (1 << 64) - 1;
        i64, wide, 128, i64::MIN..i64::MAX, i128::from(i64::MIN), (1 << 64) - 1;
    }
    let all: Array<i64, _> = random::integers(&stream, &[len], .., key)?;
    let due: Vec<i64> = wide.iter().map(|bits| ((bits >> 64) as i64).wrapping_add(i64::MIN)).collect();
    assert_eq!(all.to_vec(&stream)?, due);
    Ok(())
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "ranges without numbers are what is tried")]
fn ranges_without_numbers_are_refused() -> Result {
    let stream = stream()?;
    let key = Key::new(1);
    let mut elements = Array::from_slice(&stream, &[2], &[1, 2])?;
    for range in [3..3, 3..-3] {
        let error = random::integers_into(&stream, &mut elements.view_mut(), range, key);
        assert!(matches!(error, Err(Error::Function(error)) if error.kind() == FunctionErrorKind::Empty));
    }
    assert_eq!(elements.to_vec(&stream)?, [1, 2]);
    let past = random::bits::<u32, _>(&stream, &[3], key.at(u64::MAX - 1));
    assert!(matches!(past, Err(Error::Layout(LayoutError::Overflow, ..))));
    assert_eq!(random::bits::<u32, _>(&stream, &[2], key.at(u64::MAX - 1))?.len(), 2);
    assert!(random::uniform::<f32, _>(&stream, &[0, 3], key)?.is_empty());
    Ok(())
}

#[test]
fn moments() -> Result {
    let stream = stream()?;
    let len = 1 << 18;
    let n = f64::from(len);
    let moment = |values: &[f64], k: i32| values.iter().map(|x| x.powi(k)).sum::<f64>() / n;
    let shape = [len as usize];
    let wide = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<_>>();

    // The bounds are five standard errors of each statistic.
    let normal = wide(random::normal::<f32, _>(&stream, &shape, Key::new(2026))?.to_vec(&stream)?);
    for (k, due, variance) in [(1, 0.0, 1.0_f64), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
        let found = moment(&normal, k);
        assert!((found - due).abs() < 5.0 * (variance / n).sqrt(), "moment {k} is {found}");
    }
    let uniform = wide(random::uniform::<f32, _>(&stream, &shape, Key::new(2027))?.to_vec(&stream)?);
    for (k, due, variance) in [(1, 0.5, 1.0 / 12.0), (2, 1.0 / 3.0, 4.0 / 45.0), (4, 0.2, 16.0 / 225.0_f64)] {
        let found = moment(&uniform, k);
        assert!((found - due).abs() < 5.0 * (variance / n).sqrt(), "moment {k} is {found}");
    }
    let neighbours = uniform.windows(2).map(|pair| (pair[0] - 0.5) * (pair[1] - 0.5)).sum::<f64>() / n;
    assert!(neighbours.abs() < 5.0 / 12.0 / n.sqrt(), "neighbours are correlated: {neighbours}");

    // Chi square of 100 counts, whose standard deviation is the root of 2 · 99.
    let classes = random::integers::<u8, _>(&stream, &shape, 0..100, Key::new(2028))?.to_vec(&stream)?;
    let mut counts = [0.0; 100];
    classes.iter().for_each(|&class| counts[usize::from(class)] += 1.0);
    let chi_square =
        |counts: &[f64]| counts.iter().map(|c| (c - n / 100.0).powi(2) / (n / 100.0)).sum::<f64>();
    let found = chi_square(&counts);
    assert!((found - 99.0).abs() < 5.0 * 198.0_f64.sqrt(), "chi square is {found}");
    // The twin: one number in two hundred is counted in the neighbouring class.
    counts[0] += 0.5 * counts[1];
    counts[1] *= 0.5;
    assert!((chi_square(&counts) - 99.0).abs() > 5.0 * 198.0_f64.sqrt());
    Ok(())
}

#[test]
fn draws_inside_functions_are_the_same() -> Result {
    let stream = stream()?;
    let x = Array::from_slice(&stream, &[2, 3], &[1.0_f32; 6])?;
    let seed = 31_u64;
    let noisy = (&x, seed).map(&stream, |(x, seed)| {
        let position = Expression::position(0) * 3 + Expression::position(1);
        x + Draw::new(seed, position.cast::<u64>()).sequence(5).normal::<f32>()
    })?;
    let noise: Array<f32, _> = random::normal(&stream, &[6], Key::new(31).sequence(5))?;
    let due: Vec<f32> = noise.to_vec(&stream)?.into_iter().map(|x| 1.0 + x).collect();
    assert!(same(&noisy.to_vec(&stream)?, &due));
    Ok(())
}

#[test]
fn products_of_the_high_half() -> Result {
    let stream = stream()?;
    macro_rules! check {
        ($($type:ty, $wide:ty;)*) => {$(
            let edges = [0, 1, 2, 3, <$type>::MAX / 3, <$type>::MAX / 2, <$type>::MAX / 2 + 1, <$type>::MAX - 1, <$type>::MAX];
            let (a, b): (Vec<$type>, Vec<$type>) = edges.iter().flat_map(|&a| edges.map(|b| (a, b))).unzip();
            let high = |(&a, &b): (&$type, &$type)| ((<$wide>::from(a) * <$wide>::from(b)) >> <$type>::BITS) as $type;
            let due: Vec<$type> = a.iter().zip(&b).map(high).collect();
            let (a, b) = (Array::from_slice(&stream, &[81], &a)?, Array::from_slice(&stream, &[81], &b)?);
            let found = (&a, &b).map(&stream, |(a, b)| a.multiply_high(b))?;
            assert_eq!(found.to_vec(&stream)?, due);
        )*};
    }
    check! { u8, u16; u16, u32; u32, u64; u64, u128; }
    let signed = Array::from_slice(&stream, &[1], &[1_i32])?.map(&stream, |x| x.multiply_high(x));
    assert!(matches!(signed, Err(Error::Function(error)) if error.kind() == FunctionErrorKind::Type));
    Ok(())
}
