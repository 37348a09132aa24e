//! Proves on a real device that sorts, searches, counts and sums by index equal the CPU's, to the bit.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_orders:: --nocapture
//! --test-threads 1`. `CASES` sets the number of random calls, and `FIRST` the number of the first one.
#![expect(clippy::unwrap_used, reason = "tests")]

use devarray::{
    Context, ErasedArray, ErasedView, StreamHandle,
    backend::Compute,
    function::ElementType,
    order::{Call, Combining},
    prelude::*,
};
use devarray_conformance::Rng;
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;

use super::shards::number;

/// An input: its type, its shape, its bytes, and whether it is transposed.
type Input = (ElementType, Vec<usize>, Vec<u8>, bool);

/// A call and its inputs.
#[derive(Debug)]
struct Drawn {
    call: Call,
    inputs: Vec<Input>,
}

/// Makes elements with random bits, elements with few different values, or elements whose bits differ little.
fn bytes(rng: &mut Rng, of: ElementType, len: usize) -> Vec<u8> {
    let item = of.len_bytes();
    let words: Vec<u64> = (0..1 + rng.below(9)).map(|_| rng.bits()).collect();
    let form = rng.below(3);
    let mut bytes = Vec::with_capacity(len * item);
    for _ in 0..len {
        let word = match form {
            0 => rng.bits(),
            1 => words[rng.below(words.len())],
            _ => words[0] ^ (rng.bits() % 1000),
        };
        let word = if of == ElementType::Bool { word & 1 } else { word };
        bytes.extend_from_slice(&word.to_le_bytes()[..item]);
    }
    bytes
}

fn input(rng: &mut Rng, of: ElementType, shape: &[usize]) -> Input {
    let turned = rng.below(3) == 0;
    (of, shape.to_vec(), bytes(rng, of, shape.iter().product()), turned)
}

/// Makes indices from `from` to `end`, without `end`; sometimes some are `end`, which is out of range.
fn indices(rng: &mut Rng, of: ElementType, len: usize, (from, end): (i64, i64)) -> Input {
    let wrong = rng.below(8) == 0;
    let span = end.saturating_sub(from).max(1).cast_unsigned();
    let number = |rng: &mut Rng| {
        if wrong && rng.below(1 + len / 2) == 0 { end } else { from + (rng.bits() % span).cast_signed() }
    };
    let bytes = (0..len).flat_map(|_| number(rng).to_le_bytes()[..of.len_bytes()].to_vec()).collect();
    (of, vec![len], bytes, false)
}

fn index_type(rng: &mut Rng) -> ElementType {
    [ElementType::I32, ElementType::U32, ElementType::I64][rng.below(3)]
}

/// Draws a shape of one to three axes, sometimes with many elements.
fn shape(rng: &mut Rng) -> Vec<usize> {
    let most = [40, 3_000, 20_000, 150_000][rng.below(4)];
    let mut left = 1 + rng.below(most);
    let mut shape = Vec::new();
    for _ in 0..rng.below(3) {
        let extent = 1 + rng.below(left.min(60));
        shape.push(extent);
        left = (left / extent).max(1);
    }
    shape.insert(rng.below(shape.len() + 1), left);
    shape
}

fn combining(rng: &mut Rng) -> Combining {
    [Combining::Sum, Combining::Minimum, Combining::Maximum][rng.below(3)]
}

fn draw(rng: &mut Rng) -> Drawn {
    let shape = shape(rng);
    let axis = rng.below(shape.len());
    let of = ElementType::ALL[rng.below(ElementType::ALL.len())];
    let number = if of == ElementType::Bool { ElementType::U8 } else { of };
    let float = ElementType::ALL[9 + rng.below(4)];
    let whole = ElementType::ALL[1 + rng.below(8)];
    let (len, along) = (shape.iter().product::<usize>(), shape[axis]);
    let at = axis.cast_signed();
    let descending = rng.below(2) == 0;
    let (call, inputs) = match rng.below(12) {
        0 => (Call::Sort { axis: at, descending }, vec![input(rng, of, &shape)]),
        1 => (Call::ArgSort { axis: at, descending }, vec![input(rng, of, &shape)]),
        2 => {
            let most = 1 + rng.below(300);
            let k = rng.below(along.min(most) + 1);
            (Call::TopK { k, axis: at, largest: descending }, vec![input(rng, of, &shape)])
        }
        3 => (Call::Unique, vec![input(rng, of, &shape)]),
        4 => (Call::SearchSorted { right: descending }, {
            let ascending = sorted(bytes(rng, of, along), of);
            vec![(of, vec![along], ascending, false), input(rng, of, &shape)]
        }),
        5 => {
            let most = if whole.len_bytes() == 1 { 127 } else { 20_000 };
            let n = 1 + rng.below(most);
            let mut x = indices(rng, whole, len, (0, i64::try_from(n).unwrap()));
            x.1.clone_from(&shape);
            let weights = input(rng, of, &shape);
            (Call::BinCount { n }, if descending { vec![x] } else { vec![x, weights] })
        }
        6 => (Call::Histogram, {
            let count = 2 + rng.below(40);
            let edges = sorted(bytes(rng, number, count), number);
            vec![input(rng, number, &shape), (number, vec![count], edges, false)]
        }),
        7 => {
            let count = 1 + rng.below(2 * len / along.max(1) + 30);
            let mut v = shape.clone();
            v[axis] = count;
            let of_indices = index_type(rng);
            let extent = i64::try_from(along).unwrap();
            let from = if of_indices == ElementType::U32 { 0 } else { -extent };
            let i = indices(rng, of_indices, count, (from, extent));
            let inputs = vec![input(rng, number, &shape), i, input(rng, number, &v)];
            (Call::Put { operation: combining(rng), axis: at }, inputs)
        }
        8 => {
            let operation = combining(rng);
            let groups = 1 + rng.below(shape[0] + 3);
            let mut offsets: Vec<i64> =
                (0..=groups).map(|_| rng.below(shape[0] + 1).cast_signed() as i64).collect();
            if rng.below(6) > 0 {
                offsets.sort_unstable();
            }
            let of_offsets = index_type(rng);
            let item = of_offsets.len_bytes();
            let bytes = offsets.iter().flat_map(|offset| offset.to_le_bytes()[..item].to_vec()).collect();
            let offsets = (of_offsets, vec![groups + 1], bytes, false);
            (Call::Segments { operation }, vec![input(rng, of, &shape), offsets])
        }
        9 => sparse(rng, number),
        10 => (Call::NonZero, vec![input(rng, of, &shape)]),
        _ => {
            let q = [0.0, 0.5, 1.0, rng.below(1000) as f64 / 1000.0][rng.below(4)];
            (Call::Quantile { q, axis: at }, vec![input(rng, float, &shape)])
        }
    };
    Drawn { call, inputs }
}

/// Draws a product of a sparse matrix whose rows have a few lengths. Sometimes an index is out of range.
fn sparse(rng: &mut Rng, of: ElementType) -> (Call, Vec<Input>) {
    let lengths: Vec<usize> =
        (0..1 + rng.below(4)).map(|_| [0, 5, 10, 40, 300, 600, 1500, 40_000][rng.below(8)]).collect();
    let (mut offsets, most) = (vec![rng.below(4)], 1 + rng.below(150_000));
    let rows = [3, 100, 5_000][rng.below(3)];
    while offsets.len() <= rows && offsets[offsets.len() - 1] < most {
        let len = lengths[rng.below(lengths.len())];
        offsets.push(offsets[offsets.len() - 1] + rng.below(2 * len + 1));
    }
    let last = offsets[offsets.len() - 1];
    if rng.below(4) == 0 {
        // Appends rows without elements. Then the average row is short, though other rows may be long.
        offsets.resize(offsets.len() + rng.below(30_000), last);
    }
    let len = last + rng.below(4);
    if rng.below(8) == 0 {
        let at = rng.below(offsets.len());
        offsets[at] = rng.below(2 * len + 1);
    }
    let of_offsets = index_type(rng);
    let item = of_offsets.len_bytes();
    let bytes = offsets.iter().flat_map(|offset| offset.to_le_bytes()[..item].to_vec()).collect();
    let offsets = (of_offsets, vec![offsets.len()], bytes, false);
    let (extent, of_columns) = (1 + rng.below(3_000), index_type(rng));
    let end = i64::try_from(extent).unwrap();
    let from = if of_columns == ElementType::U32 { 0 } else { -end };
    let columns = indices(rng, of_columns, len, (from, end));
    let inner = [1, 1, 1, 2, 16, 0][rng.below(6)];
    let x = if inner == 1 && rng.below(2) == 0 { vec![extent] } else { vec![extent, inner] };
    (Call::CsrDot, vec![input(rng, of, &[len]), columns, offsets, input(rng, of, &x)])
}

/// Sorts elements on the CPU.
fn sorted(elements: Vec<u8>, of: ElementType) -> Vec<u8> {
    let stream = Context::new(HostDevice::new()).unwrap().stream().unwrap();
    let len = elements.len() / of.len_bytes();
    let x = ErasedArray::from_bytes(&stream, &[len], of.len_bytes(), &elements).unwrap();
    let made = Call::Sort { axis: 0, descending: false }.apply(&stream, &[(of, x.view())]).unwrap();
    made[0].view().to_bytes(&stream).unwrap()
}

/// The results of a call on a device, or its error.
fn made<D: Compute>(stream: &StreamHandle<D>, drawn: &Drawn) -> Result<Vec<Vec<u8>>, String> {
    let told = |error: devarray::Error| {
        let text = error.to_string();
        text.split_once(": ").map_or_else(|| text.clone(), |(_, rest)| rest.to_owned())
    };
    let arrays: Vec<ErasedArray<D>> = drawn
        .inputs
        .iter()
        .map(|(of, shape, bytes, turned)| {
            let shape: Vec<usize> =
                if *turned { shape.iter().rev().copied().collect() } else { shape.clone() };
            ErasedArray::from_bytes(stream, &shape, of.len_bytes(), bytes).unwrap()
        })
        .collect();
    let views: Vec<(ElementType, ErasedView<'_, D>)> = arrays
        .iter()
        .zip(&drawn.inputs)
        .map(|(array, (of, _, _, turned))| {
            let view = array.view();
            (*of, if *turned { view.transpose() } else { view })
        })
        .collect();
    let results = drawn.call.apply(stream, &views).map_err(told)?;
    let waited = stream.synchronize().map_err(told);
    // Even if the wait fails, all results that are not wrong have their values.
    let bytes = results.iter().map(|result| result.view().to_bytes(stream).unwrap()).collect();
    waited.map(|()| bytes)
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn random_calls_are_the_cpus() {
    let card = Context::new(CudaDevice::open(0).expect("a CUDA device is needed")).unwrap().stream().unwrap();
    let cpu = Context::new(HostDevice::new()).unwrap().stream().unwrap();
    let (first, cases) = (number("FIRST", 0), number("CASES", 2_000));
    let (mut refused, mut by_name) = (0_u64, std::collections::BTreeMap::new());
    for which in first..first + cases {
        let drawn = draw(&mut Rng::new(which));
        let (found, due) = (made(&card, &drawn), made(&cpu, &drawn));
        let shapes: Vec<_> = drawn.inputs.iter().map(|(of, shape, _, turned)| (of, shape, turned)).collect();
        assert!(
            found == due,
            "case {which}: {:?} of {shapes:?}: {:?}, {:?}",
            drawn.call,
            found.err(),
            due.err()
        );
        refused += u64::from(due.is_err());
        *by_name.entry(drawn.call.name()).or_insert(0_u64) += 1;
    }
    println!("{cases} random calls equal the CPU's, {refused} of them errors: {by_name:?}");
}

/// Needs no device: the drawn calls are valid, and most of them give results.
#[test]
fn most_of_what_is_drawn_is_a_call() {
    let cpu = Context::new(HostDevice::new()).unwrap().stream().unwrap();
    let given = (0..40).filter(|&which| made(&cpu, &draw(&mut Rng::new(which))).is_ok()).count();
    assert!((25..40).contains(&given), "{given} of 40 give results");
}
