//! Random numbers, for simulations and tests: Philox 4x32-10, a function of a key and a position,
//! without a hidden state.
//!
//! An element's number depends only on the [`Key`] and on the element's position, counted in
//! row-major order from the key's position. So it is the same on every backend, however the
//! elements are divided into blocks: elements 500 to 999 may come from a separate call with
//! [`Key::at`]`(500)`.
//!
//! ```
//! use devarray::{Array, Context, random::{self, Key}};
//! use devarray_mock::MockDevice;
//!
//! let stream = Context::new(MockDevice::new())?.stream()?;
//! let key = Key::new(42);
//! let x: Array<f32, _> = random::uniform(&stream, &[4, 3], key)?;
//! let last_row: Array<f32, _> = random::uniform(&stream, &[3], key.at(9))?;
//! assert_eq!(x.to_vec(&stream)?[9..], last_row.to_vec(&stream)?);
//!
//! let dice: Array<u8, _> = random::integers(&stream, &[100], 1..=6, key.sequence(1))?;
//! assert!(dice.to_vec(&stream)?.iter().all(|pips| (1..=6).contains(pips)));
//! # Ok::<(), devarray::Error>(())
//! ```
//!
//! [`Draw`] does the same inside a function, so that a mask of dropout, for example, is never
//! stored. The [manual](crate::manual::_9_random_numbers) states how bits become numbers.
//!
//! None of the calls synchronizes. Nothing is enqueued for an array without elements.

mod draw;
mod fill;
mod normal;
mod philox;

use std::ops::RangeBounds;

pub use draw::Draw;
pub use normal::normal_pair;
pub use philox::philox4x32;

use crate::{
    Array, Result,
    array::AsArrayViewMut,
    backend::Compute,
    function::{ElementType, Float, WholeNumber},
    stream::StreamHandle,
};
use fill::{Filling, numbers_of};

/// The source of random numbers: the key of the generator, the number of a sequence, and the
/// position of the first number in it.
#[doc(alias = "default_rng")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub(crate) seed: u64,
    pub(crate) sequence: u64,
    pub(crate) position: u64,
}

impl Key {
    /// The start of sequence 0 of a key.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, sequence: 0, position: 0 }
    }

    /// The start of another sequence of the same key. All 2^64 sequences are independent.
    #[must_use]
    pub const fn sequence(self, number: u64) -> Self {
        Self { sequence: number, position: 0, ..self }
    }

    /// This sequence from another position on, counted in elements.
    #[must_use]
    pub const fn at(self, position: u64) -> Self {
        Self { position, ..self }
    }
}

/// The number of elements that share a counter of 16 random bytes. Each takes the bytes of its
/// type, but at least 4.
const fn shared(element_type: ElementType) -> usize {
    if element_type.len_bytes() == 8 { 2 } else { 4 }
}

/// Emits the calls, which differ in how they use the bits.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident $into:ident [$bound:ident] ($($argument:ident: $type:ty)?) $(#[$error:meta])*
        => $shared:expr, $arguments:expr, $number:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// Does not synchronize.
        ///
        /// # Errors
        ///
        /// - Out of memory, and the errors of [`Operands::map`](crate::function::Operands::map).
        /// - [`LayoutError::Overflow`](crate::LayoutError::Overflow): there are not as many
        ///   positions left.
        $(#[$error])*
        #[track_caller]
        pub fn $name<T: $bound, D: Compute>(
            stream: &StreamHandle<D>,
            shape: &[usize],
            $($argument: $type,)?
            key: Key,
        ) -> Result<Array<T, D>> {
            let mut result = Array::uninit(stream, shape)?;
            $into(stream, &mut result.view_mut(), $($argument,)? key)?;
            Ok(result)
        }

        #[doc = concat!("Like [`", stringify!($name), "`](fn@", stringify!($name), "), into elements that exist.")]
        /// Elements that are not contiguous are made in another array and copied.
        ///
        /// Does not synchronize.
        ///
        /// # Errors
        ///
        #[doc = concat!("The errors of [`", stringify!($name), "`](fn@", stringify!($name), ").")]
        #[track_caller]
        pub fn $into<T: $bound, D: Compute>(
            stream: &StreamHandle<D>,
            result: &mut impl AsArrayViewMut<T, D>,
            $($argument: $type,)?
            key: Key,
        ) -> Result<()> {
            let filling = Filling { key, shared: $shared, arguments: $arguments, number: $number };
            filling.fill(stream, &mut result.as_array_view_mut())
        }
    )*};
}

calls! {
    /// Integers whose every bit is random.
    bits bits_into [WholeNumber] ()
    => shared(T::TYPE), [0; 2], |draw, _| draw.bits();

    /// Floats from 0 up to but without 1: the multiples of 2^-24 (`f32`), 2^-53 (`f64`), 2^-11
    /// (`f16`) or 2^-8 (`bf16`), all equally likely.
    #[doc(alias = "rand", alias = "random_sample")]
    uniform uniform_into [Float] ()
    => shared(T::TYPE), [0; 2], |draw, _| draw.uniform();

    /// Floats of the normal distribution with mean 0 and variance 1.
    #[doc(alias = "randn", alias = "standard_normal")]
    normal normal_into [Float] ()
    => shared(T::TYPE), [0; 2], |draw, _| draw.normal();

    /// Integers of a range: their probabilities differ by less than a part in 2^32.
    #[doc(alias = "randint")]
    integers integers_into [WholeNumber] (range: impl RangeBounds<T>)
    /// - [`Error::Function`](crate::Error::Function): there is no number in the range.
    => shared(T::TYPE) / 2, numbers_of(&range)?, |draw, [low, count]| draw.integer(low.cast::<T>(), count);
}
