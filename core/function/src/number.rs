//! The Rust types of elements that functions compute.

use devarray_layout::{Bool, Element};

use super::{ElementType, IntoExpression};

mod sealed {
    #[expect(unnameable_types, reason = "that seals what it bounds")]
    pub trait Sealed {}
}

/// A type whose elements functions read and write: [`Bool`], the integers of 8 to 64 bits, `half`'s
/// `f16` and `bf16` (with the feature `half`), `f32` and `f64`. Sealed.
#[diagnostic::on_unimplemented(
    message = "functions cannot compute on elements of type `{Self}`",
    note = "they compute on `Bool`, `i8` to `i64`, `u8` to `u64`, `half::f16`, `half::bf16`, `f32` and `f64`; not on `bool`, which is `devarray::Bool` in device memory"
)]
pub trait Computable: Element + IntoExpression<Self> + sealed::Sealed {
    /// Its element type.
    const TYPE: ElementType;

    /// The bits of a value, with zero bits above.
    fn to_bits(self) -> u64;
}

/// A number: every [`Computable`] type but [`Bool`].
#[diagnostic::on_unimplemented(message = "`{Self}` is no number that functions compute with")]
pub trait Number: Computable {}

/// A number with negative values.
#[diagnostic::on_unimplemented(message = "`{Self}` has no negative values")]
pub trait Signed: Number {}

/// An integer.
#[diagnostic::on_unimplemented(message = "`{Self}` is no integer")]
pub trait WholeNumber: Bits + Number {}

/// An integer, or [`Bool`]: operands of `&`, `|`, `^` and `!` have such types.
#[diagnostic::on_unimplemented(message = "`{Self}` is neither an integer nor `Bool`")]
pub trait Bits: Computable {}

/// A type next to whose expressions a literal may be an `f64` or an `i32`: the floating-point
/// numbers.
#[diagnostic::on_unimplemented(
    message = "a literal of another type cannot stand beside an `Expression<{Self}>`",
    label = "not a number of type `{Self}`",
    note = "beside floats a literal may be an `f64` or an `i32`: `x * 0.5`, `x + 1`; beside integers it has their type, and a float needs a `cast` before",
    note = "where the type is a parameter that is no `Float`, write `lit(1)` for `1`: `devarray::function::lit` makes a literal of any type"
)]
pub trait TakesLiteral: Computable {}

/// A floating-point number.
#[diagnostic::on_unimplemented(message = "`{Self}` is no floating-point number; `cast` makes one")]
pub trait Float: Signed + TakesLiteral {}

macro_rules! computable {
    ($($type:ty: $element_type:ident, |$value:ident| $bits:expr, [$($class:ident),*];)*) => {$(
        impl sealed::Sealed for $type {}

        impl Computable for $type {
            const TYPE: ElementType = ElementType::$element_type;

            fn to_bits(self) -> u64 {
                let $value = self;
                $bits
            }
        }

        $(impl $class for $type {})*
    )*};
}

computable! {
    Bool: Bool, |value| u64::from(bool::from(value)), [Bits];
    i8: I8, |value| u64::from(value.cast_unsigned()), [Number, Signed, Bits, WholeNumber];
    u8: U8, |value| u64::from(value), [Number, Bits, WholeNumber];
    i16: I16, |value| u64::from(value.cast_unsigned()), [Number, Signed, Bits, WholeNumber];
    u16: U16, |value| u64::from(value), [Number, Bits, WholeNumber];
    i32: I32, |value| u64::from(value.cast_unsigned()), [Number, Signed, Bits, WholeNumber];
    u32: U32, |value| u64::from(value), [Number, Bits, WholeNumber];
    i64: I64, |value| value.cast_unsigned(), [Number, Signed, Bits, WholeNumber];
    u64: U64, |value| value, [Number, Bits, WholeNumber];
    f32: F32, |value| u64::from(value.to_bits()), [Number, Signed, TakesLiteral, Float];
    f64: F64, |value| value.to_bits(), [Number, Signed, TakesLiteral, Float];
}

#[cfg(feature = "half")]
computable! {
    half::f16: F16, |value| u64::from(value.to_bits()), [Number, Signed, TakesLiteral, Float];
    half::bf16: BF16, |value| u64::from(value.to_bits()), [Number, Signed, TakesLiteral, Float];
}
