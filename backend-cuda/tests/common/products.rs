//! Random products with functions behind them, or onto what is there.

use std::fmt;

use devarray::{
    ErasedArray, ErasedView, StreamHandle,
    backend::Compute,
    function::{ElementType, Function},
};
use devarray_conformance::Rng;

/// Functions of the product's element and two operands of its type, with a scalar of it.
const FUNCTIONS: [&str; 7] = [
    "x0",
    "maximum(x0 + x1, cast(0, i32))",
    "x0 * k0 + x1",
    "cast(x0, f64) + cast(x1, f64) * cast(x2, f64)",
    "where(x0 < x1, x2, k0 - x0)",
    "x0 < x2",
    "cast(x0 * x1, u16)",
];

/// An operand: its shape in memory, its bytes, and its axes, which may be turned and broadcast.
#[derive(Debug, Clone)]
struct Given {
    shape: Vec<usize>,
    bytes: Vec<u8>,
    is_turned: bool,
    /// A row is left out in front, so that rows are not aligned.
    is_shifted: bool,
}

/// The use of the product.
#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Map(usize),
    Update(usize),
    Onto,
}

pub(crate) struct Drawn {
    of: ElementType,
    what: What,
    operands: [Given; 2],
    others: [Given; 2],
    result: Given,
    scalar: u64,
}

/// Small numbers, whose products and sums have bits to round, and a few of any bits.
fn bytes(rng: &mut Rng, of: ElementType, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len * of.len_bytes());
    for _ in 0..len {
        let small = rng.below(4001) as f32 / 7.0 - 285.0;
        let word = match of {
            _ if rng.below(40) == 0 => rng.bits(),
            ElementType::F64 => f64::from(small).to_bits(),
            ElementType::F32 => small.to_bits().into(),
            ElementType::BF16 => (small.to_bits() >> 16).into(),
            ElementType::F16 => half::f16::from_f32(small).to_bits().into(),
            _ => rng.bits(),
        };
        bytes.extend_from_slice(&word.to_le_bytes()[..of.len_bytes()]);
    }
    bytes
}

fn given(rng: &mut Rng, of: ElementType, shape: &[usize]) -> Given {
    let (is_turned, is_shifted) =
        (rng.below(3) == 0 && shape.len() > 1, rng.below(4) == 0 && !shape.is_empty());
    let mut shape = shape.to_vec();
    if is_turned {
        let rank = shape.len();
        shape.swap(rank - 2, rank - 1);
    }
    if is_shifted {
        *shape.last_mut().unwrap() += 1;
    }
    let len = shape.iter().product();
    Given { bytes: bytes(rng, of, len), shape, is_turned, is_shifted }
}

/// A shape that broadcasts to another.
fn narrower(rng: &mut Rng, shape: &[usize]) -> Vec<usize> {
    let kept = rng.below(shape.len() + 1);
    shape[shape.len() - kept..].iter().map(|&extent| if rng.below(3) == 0 { 1 } else { extent }).collect()
}

/// A call by chance, on matrices of at most `most` rows, columns and k; with more k than a chain has, if
/// `most` is large.
pub(crate) fn drawn(rng: &mut Rng, most: usize) -> Drawn {
    // Not `Bool`, which has no products.
    let of = ElementType::ALL[1 + rng.below(ElementType::ALL.len() - 1)];
    let what = match rng.below(5) {
        0 => What::Onto,
        1 => What::Update([0, 1, 2, 4][rng.below(4)]),
        _ => What::Map(rng.below(FUNCTIONS.len())),
    };
    let extent = |rng: &mut Rng| match rng.below(6) {
        0 => 1,
        1 => 1 + rng.below(16),
        2 => 8 * (1 + rng.below(most.div_ceil(8))),
        _ => 1 + rng.below(most),
    };
    let [m, n] = [extent(rng), extent(rng)];
    let k = match rng.below(12) {
        0 if most > 100 => 4096 + rng.below(9000),
        1 => 0,
        _ => extent(rng),
    };
    let batch: Vec<usize> = match rng.below(4) {
        0 => vec![1 + rng.below(20)],
        1 if m * n < 2000 => vec![1 + rng.below(5), 1 + rng.below(7)],
        _ => Vec::new(),
    };
    let with = |last: &[usize]| [&batch[..], last].concat();
    let (a, b, product) = match rng.below(8) {
        0 => (vec![k], with(&[k, n]), with(&[n])),
        1 => (with(&[m, k]), vec![k], with(&[m])),
        2 => (vec![m, k], with(&[k, n]), with(&[m, n])),
        _ => (with(&[m, k]), with(&[k, n]), with(&[m, n])),
    };
    let operands = [given(rng, of, &a), given(rng, of, &b)];
    let others = [narrower(rng, &product), narrower(rng, &product)].map(|shape| given(rng, of, &shape));
    let result = given(rng, of, &product);
    let scalar = u64::from_le_bytes({
        let mut word = [0; 8];
        word[..of.len_bytes()].copy_from_slice(&bytes(rng, of, 1));
        word
    });
    Drawn { of, what, operands, others, result, scalar }
}

fn view<'a, D: Compute>(array: &'a ErasedArray<D>, of: &Given) -> ErasedView<'a, D> {
    let mut view = array.view();
    if of.is_shifted {
        view = view.slice_axis(-1, 1..).unwrap();
    }
    if of.is_turned {
        let mut axes: Vec<isize> = (0..of.shape.len()).map(usize::cast_signed).collect();
        let rank = axes.len();
        axes.swap(rank - 2, rank - 1);
        view = view.permute(&axes[..]).unwrap();
    }
    view
}

fn array<D: Compute>(stream: &StreamHandle<D>, of: ElementType, given: &Given) -> ErasedArray<D> {
    ErasedArray::from_bytes(stream, &given.shape, of.len_bytes(), &given.bytes).unwrap()
}

/// The bytes of what a call gives, and of the memory around it.
pub(crate) fn result<D: Compute>(stream: &StreamHandle<D>, drawn: &Drawn) -> Vec<u8> {
    let Drawn { of, what, operands, others, result, scalar } = drawn;
    let [a, b] = operands.each_ref().map(|given| array(stream, *of, given));
    let (left, right) = (view(&a, &operands[0]), view(&b, &operands[1]));
    let arrays = others.each_ref().map(|given| array(stream, *of, given));
    let views = [view(&arrays[0], &others[0]), view(&arrays[1], &others[1])];
    let function = |number: usize| {
        let text = FUNCTIONS[number].replace("cast(0, i32)", &format!("cast(0, {of})"));
        Function::parse(&text, &[*of; 3], &[*of]).unwrap()
    };
    let mut to = array(stream, *of, result);
    {
        let mut place = to.view_mut();
        if result.is_shifted {
            place = place.slice_axis(-1, 1..).unwrap();
        }
        if result.is_turned {
            let mut axes: Vec<isize> = (0..result.shape.len()).map(usize::cast_signed).collect();
            let rank = axes.len();
            axes.swap(rank - 2, rank - 1);
            place = place.permute(&axes[..]).unwrap();
        }
        match *what {
            What::Onto => left.matmul_onto(stream, *of, &right, &mut place).unwrap(),
            What::Update(number) => left
                .matmul_update(stream, *of, &right, &function(number), &views[..1], &[*scalar], &mut place)
                .unwrap(),
            What::Map(number) if function(number).result_type() == *of => left
                .matmul_apply_into(stream, *of, &right, &function(number), &views, &[*scalar], &mut place)
                .unwrap(),
            What::Map(number) => {
                let new = left.matmul_apply(stream, *of, &right, &function(number), &views, &[*scalar]);
                return new.unwrap().view().to_bytes(stream).unwrap();
            }
        }
    }
    to.view().to_bytes(stream).unwrap()
}

/// The call, and the shapes.
impl fmt::Debug for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = |given: &Given| (given.shape.clone(), given.is_turned, given.is_shifted);
        let (operands, others) = (self.operands.each_ref().map(form), self.others.each_ref().map(form));
        write!(f, "{:?} of {} {operands:?}, {others:?} to {:?}", self.what, self.of, form(&self.result))
    }
}
