//! Minima and maxima, and their positions.
//!
//! Elements are compared as integers. The bits of a float are turned so that they rise with its
//! value, and −0 is below +0. NaN is looked for separately, because one NaN makes the outcome NaN.
//! In searches for positions, NaN is beyond all numbers.

use bytemuck::{Pod, Zeroable};

use super::{
    machine::{Machine, Work},
    raw::Raw,
    rows::RowSink,
};

/// A type whose elements are compared.
pub(super) trait Keyed: Pod {
    type Key: Pod + Ord;

    const NAN: Self;

    fn key(self) -> Self::Key;

    fn of_key(key: Self::Key) -> Self;

    fn is_nan(self) -> bool;

    /// The key for extremes. NaN is beyond all other elements.
    fn extreme_key<const GREATER: bool>(self) -> Self::Key;

    /// The element with this key.
    fn of_extreme(key: Self::Key) -> Self;

    /// The key for positions. Zeros are equal, and NaN is beyond all other elements.
    fn position_key<const GREATER: bool>(self) -> Self::Key;
}

macro_rules! integer_keys {
    ($($type:ident)*) => {$(
        impl Keyed for $type {
            type Key = Self;

            const NAN: Self = 0;

            #[inline(always)]
            fn key(self) -> Self {
                self
            }

            #[inline(always)]
            fn of_key(key: Self) -> Self {
                key
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }

            #[inline(always)]
            fn extreme_key<const GREATER: bool>(self) -> Self {
                self
            }

            #[inline(always)]
            fn of_extreme(key: Self) -> Self {
                key
            }

            #[inline(always)]
            fn position_key<const GREATER: bool>(self) -> Self {
                self
            }
        }
    )*};
}

integer_keys! { i8 u8 i16 u16 i32 u32 i64 u64 }

/// An `f16` (`false`) or a `bf16` (`true`).
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Half<const BRAIN: bool>(u16);

macro_rules! float_keys {
    ([$($generics:tt)*] $type:ty, $key:ident, $bits:ident, |$a:ident| $to_bits:expr, $of_bits:expr, $infinity:expr, $nan:expr) => {
        impl<$($generics)*> Keyed for $type {
            type Key = $key;

            const NAN: Self = $of_bits($nan);

            #[inline(always)]
            fn key(self) -> $key {
                let $a = self;
                let bits = $to_bits.cast_signed();
                bits ^ ((bits >> ($bits::BITS - 1)) & $key::MAX)
            }

            #[inline(always)]
            fn of_key(key: $key) -> Self {
                $of_bits((key ^ ((key >> ($bits::BITS - 1)) & $key::MAX)).cast_unsigned())
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                let $a = self;
                $to_bits & ($bits::MAX >> 1) > $infinity
            }

            #[inline(always)]
            fn extreme_key<const GREATER: bool>(self) -> $key {
                // Both keys belong to NaNs.
                let beyond = if GREATER { $key::MAX } else { $key::MIN };
                if self.is_nan() { beyond } else { self.key() }
            }

            #[inline(always)]
            fn of_extreme(key: $key) -> Self {
                let element = Self::of_key(key);
                if element.is_nan() { Self::NAN } else { element }
            }

            #[inline(always)]
            fn position_key<const GREATER: bool>(self) -> $key {
                // The keys of −0 and +0 are −1 and 0.
                let key = if self.key() == -1 { 0 } else { self.key() };
                let beyond = if GREATER { $key::MAX } else { $key::MIN };
                if self.is_nan() { beyond } else { key }
            }
        }
    };
}

float_keys! { [] f32, i32, u32, |a| a.to_bits(), f32::from_bits, 0x7f80_0000, 0x7fc0_0000 }
float_keys! { [] f64, i64, u64, |a| a.to_bits(), f64::from_bits, 0x7ff0 << 48, 0x7ff8 << 48 }
float_keys! { [] Half<false>, i16, u16, |a| a.0, Half::<false>, 0x7c00, 0x7e00 }
float_keys! { [] Half<true>, i16, u16, |a| a.0, Half::<true>, 0x7f80, 0x7fc0 }

/// The lesser or the greater of two keys.
#[inline(always)]
pub(super) fn better<const GREATER: bool, K: Ord + Copy>(a: K, b: K) -> K {
    if GREATER {
        if b > a { b } else { a }
    } else if b < a {
        b
    } else {
        a
    }
}

/// Whether the second key replaces the first.
#[inline(always)]
pub(super) fn is_better<const GREATER: bool, K: Ord + Copy>(a: K, b: K) -> bool {
    if GREATER { b > a } else { b < a }
}

/// The extreme of a row so far.
pub(super) struct Extremes<T: Keyed, const GREATER: bool> {
    machine: Machine,
    /// Whether the caller wants the position instead of the value.
    arg: bool,
    count: usize,
    found: Option<T::Key>,
    /// The element that was found, and its position.
    element: T,
    position: i64,
}

/// The number of elements whose best key is found before its position is looked for.
const LOOKED_AT: usize = 2048;

impl<T: Keyed, const GREATER: bool> Extremes<T, GREATER> {
    pub(super) fn new(machine: Machine, arg: bool) -> Self {
        Self { machine, arg, count: 0, found: None, element: T::zeroed(), position: 0 }
    }

    /// Sets the position of the next element.
    pub(super) fn start_at(&mut self, position: usize) {
        self.count = position;
    }

    /// Takes the next elements of the row.
    fn take(&mut self, elements: &[Raw<T>]) {
        let Some(&first) = elements.first() else { return };
        if self.arg {
            let mut part = None;
            for (number, elements) in elements.chunks(LOOKED_AT).enumerate() {
                let best = self.machine.run(BestPosition::<T, GREATER> { elements });
                if self.found.is_none_or(|found| is_better::<GREATER, _>(found, best)) {
                    self.found = Some(best);
                    part = Some((number * LOOKED_AT, elements, best));
                }
            }
            if let Some((start, elements, key)) = part {
                let at = self.machine.run(Found::<T, GREATER> { elements, key });
                self.element = elements[at].get();
                self.position = (self.count + start + at).cast_signed() as i64;
            }
        } else {
            let start = self.found.unwrap_or(first.get().extreme_key::<GREATER>());
            self.found = Some(self.machine.run(Best::<T, GREATER> { elements, start }));
        }
        self.count += elements.len();
    }

    /// Joins the result of a later part of the row.
    pub(super) fn join(&mut self, element: T, position: i64) {
        let key = if self.arg { element.position_key::<GREATER>() } else { element.extreme_key::<GREATER>() };
        if self.found.is_none_or(|found| is_better::<GREATER, _>(found, key)) {
            (self.found, self.element, self.position) = (Some(key), element, position);
        }
    }

    /// The value, or the element whose position is wanted; and the position.
    pub(super) fn found(&self) -> (T, i64) {
        match self.found {
            _ if self.arg => (self.element, self.position),
            Some(key) => (T::of_extreme(key), 0),
            None => (T::NAN, 0),
        }
    }

    fn ended(&mut self) -> (T, i64) {
        let found = self.found();
        (self.count, self.found) = (0, None);
        found
    }

    /// A sink that returns the positions as values.
    pub(super) fn positions(&mut self) -> Positions<'_, T, GREATER> {
        Positions(self)
    }
}

impl<T: Keyed, const GREATER: bool> RowSink<T> for Extremes<T, GREATER> {
    type Element = T;

    fn add(&mut self, elements: &[Raw<T>], _values: &mut Vec<T>) {
        self.take(elements);
    }

    fn end(&mut self, values: &mut Vec<T>) {
        values.push(self.ended().0);
    }
}

/// Collects the positions of the extremes of rows.
pub(super) struct Positions<'a, T: Keyed, const GREATER: bool>(&'a mut Extremes<T, GREATER>);

impl<T: Keyed, const GREATER: bool> RowSink<i64> for Positions<'_, T, GREATER> {
    type Element = T;

    fn add(&mut self, elements: &[Raw<T>], _values: &mut Vec<i64>) {
        self.0.take(elements);
    }

    fn end(&mut self, values: &mut Vec<i64>) {
        values.push(self.0.ended().1);
    }
}

/// Finds the best key of values, starting from a given key.
struct Best<'a, T: Keyed, const GREATER: bool> {
    elements: &'a [Raw<T>],
    start: T::Key,
}

impl<T: Keyed, const GREATER: bool> Work for Best<'_, T, GREATER> {
    type Output = T::Key;

    #[inline(always)]
    fn run(self) -> T::Key {
        best_of::<T, GREATER>(self.elements, self.start, T::extreme_key::<GREATER>)
    }
}

/// Finds the best key for positions.
struct BestPosition<'a, T: Keyed, const GREATER: bool> {
    elements: &'a [Raw<T>],
}

impl<T: Keyed, const GREATER: bool> Work for BestPosition<'_, T, GREATER> {
    type Output = T::Key;

    #[inline(always)]
    fn run(self) -> T::Key {
        let start = self.elements[0].get().position_key::<GREATER>();
        best_of::<T, GREATER>(self.elements, start, T::position_key::<GREATER>)
    }
}

/// The best key. Keys are made in one loop and compared in another, so that both loops use vector
/// registers. In a single loop, a branch for NaN can keep the compiler from recognizing a maximum.
#[inline(always)]
fn best_of<T: Keyed, const GREATER: bool>(
    elements: &[Raw<T>],
    start: T::Key,
    key: impl Fn(T) -> T::Key,
) -> T::Key {
    const TOGETHER: usize = 256;
    let mut keys = [start; TOGETHER];
    let mut best = start;
    for chunk in elements.chunks(TOGETHER) {
        let keys = &mut keys[..chunk.len()];
        for (to, element) in keys.iter_mut().zip(chunk) {
            *to = key(element.get());
        }
        for &key in &*keys {
            best = better::<GREATER, _>(best, key);
        }
    }
    best
}

/// Finds the first element that has a key. One has it.
struct Found<'a, T: Keyed, const GREATER: bool> {
    elements: &'a [Raw<T>],
    key: T::Key,
}

impl<T: Keyed, const GREATER: bool> Work for Found<'_, T, GREATER> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        /// The number of elements that are compared together.
        const TOGETHER: usize = 128;
        let Self { elements, key } = self;
        let (chunks, _) = elements.as_chunks::<TOGETHER>();
        let has = |chunk: &&[Raw<T>; TOGETHER]| {
            chunk
                .iter()
                .fold(0_u8, |has, element| has | u8::from(element.get().position_key::<GREATER>() == key))
                == 0
        };
        let first = chunks.iter().take_while(has).count() * TOGETHER;
        let is_it = |element: &Raw<T>| element.get().position_key::<GREATER>() == key;
        first + elements[first..].iter().position(is_it).unwrap_or(0)
    }
}
