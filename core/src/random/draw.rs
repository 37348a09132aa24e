//! The random numbers of one element, inside a function.

use crate::function::{Computable, ElementType, Expression, Float, IntoExpression, WholeNumber};

use super::{normal, normal_pair, philox4x32};

/// The random numbers of one element, inside a function: [`uniform`](super::uniform) and its like
/// as expressions.
///
/// Every number of one draw is made from the same bits. Independent numbers need other positions or
/// sequences.
///
/// ```
/// use devarray::{Array, Context, function::{Expression, Operands}, random::Draw};
/// use devarray_mock::MockDevice;
///
/// let stream = Context::new(MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[4], &[1.0_f32, 2.0, 3.0, 4.0])?;
/// let seed = 7_u64; // an argument: another seed compiles nothing
/// let dropped = (&x, seed).map(&stream, |(x, seed)| {
///     let draw = Draw::new(seed, Expression::position(0).cast::<u64>());
///     draw.uniform::<f32>().less(0.5).select(x * 2.0, 0.0)
/// })?;
/// assert!(dropped.to_vec(&stream)?.iter().zip(1_u8..).all(|(&y, x)| [0.0, f32::from(2 * x)].contains(&y)));
/// # Ok::<(), devarray::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    seed: Expression<u64>,
    sequence: Expression<u64>,
    place: Place,
}

/// Where an element's bits come from.
#[derive(Debug, Clone, Copy)]
enum Place {
    Position(Expression<u64>),
    /// The counter, and which part of its four words belongs to the element.
    Split {
        counter: Expression<u64>,
        part: Expression<u64>,
    },
}

impl Draw {
    /// The draw at a position of sequence 0, with a [`Key`](super::Key)'s seed.
    #[must_use]
    pub fn new(seed: impl IntoExpression<u64>, position: impl IntoExpression<u64>) -> Self {
        let place = Place::Position(position.into_expression());
        Self { seed: seed.into_expression(), sequence: Expression::constant(0), place }
    }

    /// The draw at this position of another sequence.
    #[must_use]
    pub fn sequence(self, number: impl IntoExpression<u64>) -> Self {
        Self { sequence: number.into_expression(), ..self }
    }

    /// The draw of one part of a counter's words. A thread that computes the elements of all parts
    /// computes what they share once.
    pub(super) fn split(seed: Expression<u64>, counter: Expression<u64>, part: Expression<u64>) -> Self {
        Self { seed, sequence: Expression::constant(0), place: Place::Split { counter, part } }
    }

    /// The counter of the element, which 2^`shared_log2` elements share, and the element's number
    /// among them.
    fn counter(self, shared_log2: u64) -> (Expression<u64>, Expression<u32>) {
        let (counter, part) = match self.place {
            Place::Position(position) => (position >> shared_log2, position & ((1 << shared_log2) - 1)),
            Place::Split { counter, part } => (counter, part),
        };
        (counter, part.cast())
    }

    fn words(self, counter: Expression<u64>) -> [Expression<u32>; 4] {
        let halves = |x: Expression<u64>| [x.cast(), (x >> 32).cast()];
        let ([low, high], [third, fourth]) = (halves(counter), halves(self.sequence));
        philox4x32([low, high, third, fourth], halves(self.seed))
    }

    /// The words of a counter as two pairs. The first word of a pair is the lower half.
    fn pairs(self, counter: Expression<u64>) -> [Expression<u64>; 2] {
        let [a, b, c, d] = self.words(counter).map(Expression::cast::<u64>);
        [a | b << 32, c | d << 32]
    }

    /// The element's quarter of a counter's words.
    fn word(self) -> Expression<u32> {
        let (counter, part) = self.counter(2);
        chosen(part, self.words(counter))
    }

    /// The element's half of a counter's words.
    fn two_words(self) -> Expression<u64> {
        let (counter, part) = self.counter(1);
        let [a, b] = self.pairs(counter);
        part.equal(0).select(a, b)
    }

    /// Like [`bits`](super::bits).
    #[must_use]
    pub fn bits<T: WholeNumber>(self) -> Expression<T> {
        if T::TYPE.len_bytes() == 8 { self.two_words().cast() } else { self.word().cast() }
    }

    /// Like [`uniform`](super::uniform).
    #[must_use]
    pub fn uniform<T: Float>(self) -> Expression<T> {
        let digits = match T::TYPE {
            ElementType::F16 => 11,
            ElementType::BF16 => 8,
            ElementType::F64 => return ((self.two_words() >> 11).cast::<f64>() * 2.0_f64.powi(-53)).cast(),
            _ => 24,
        };
        ((self.word() >> (32 - digits)).cast::<f32>() * (1.0 / (1_u32 << digits) as f32)).cast()
    }

    /// Like [`normal`](fn@super::normal).
    #[must_use]
    pub fn normal<T: Float>(self) -> Expression<T> {
        if T::TYPE == ElementType::F64 {
            let (counter, part) = self.counter(1);
            let [first, second] = normal::wide_pair(self.pairs(counter));
            return part.equal(0).select(first, second).cast();
        }
        let (counter, part) = self.counter(2);
        let [a, b, c, d] = self.words(counter);
        if let Place::Split { .. } = self.place {
            // All four numbers are computed once, for the four elements that share them.
            let ([a, b], [c, d]) = (normal_pair([a, b]), normal_pair([c, d]));
            return chosen(part, [a, b, c, d]).cast();
        }
        let is_first = part.less(2);
        let [first, second] = normal_pair([is_first.select(a, c), is_first.select(b, d)]);
        (part & 1).equal(0).select(first, second).cast()
    }

    /// Like [`integers`](super::integers), for the `count` numbers from `low` on; a `count` of 0
    /// stands for 2^64.
    #[must_use]
    pub fn integer<T: WholeNumber>(
        self,
        low: impl IntoExpression<T>,
        count: impl IntoExpression<u64>,
    ) -> Expression<T> {
        let (low, count) = (low.into_expression(), count.into_expression());
        let (bits, above) = if T::TYPE.len_bytes() < 8 {
            let bits = self.two_words();
            (bits, bits.multiply_high(count))
        } else {
            // The top 64 bits of the product of a 128-bit number and a 64-bit number.
            let [lower, upper] = self.pairs(self.counter(0).0);
            let (product, carried) = (upper * count, lower.multiply_high(count));
            let carry = (product + carried).less(product).cast::<u64>();
            (upper, upper.multiply_high(count) + carry)
        };
        (low.cast::<u64>() + count.equal(0).select(bits, above)).cast()
    }
}

/// Selects one of four, by its number.
fn chosen<T: Computable>(number: Expression<u32>, [a, b, c, d]: [Expression<T>; 4]) -> Expression<T> {
    let is = |other: u32| number.equal(other);
    is(0).select(a, is(1).select(b, is(2).select(c, d)))
}
