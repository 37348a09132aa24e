//! Elementary functions, for authors of backends: straight-line sequences of primitives, each written
//! once for the host and for programs.
//!
//! Functions of one `f32` are computed in `f64` and rounded once; they are correctly rounded for
//! every input. Functions of `f64`, and `atan2`, `hypot` and `pow`, are within 1 ulp. Special
//! values follow Annex F of C99.

mod error_function;
mod exponential;
mod host;
mod hyperbolic;
mod inverse_hyperbolic;
mod inverse_trigonometric;
mod logarithm;
mod pair;
mod payne_hanek;
mod power;
mod root;
mod trigonometric;

use std::cell::RefCell;

use super::arithmetic::{Arithmetic, Handle, Traced};
use super::primitive::{ProgramBuilder, Register, RegisterType};

#[cfg(feature = "executor")]
pub(crate) use host::{each_f32, each_f32_plain, each_f64, each_f64_plain};
pub use host::{evaluate_f32, evaluate_f64};

macro_rules! functions {
    (unary { $($unary:ident $unary_name:literal $f32:path, $f64:path;)* }
     binary { $($binary:ident $binary_name:literal $of_f32:path, $of_f64:path;)* }) => {
        /// An elementary function of floats.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the usual names")]
        pub enum Elementary {
            $($unary,)*
            $($binary,)*
        }

        impl Elementary {
            /// All functions.
            pub const ALL: &[Self] = &[$(Self::$unary,)* $(Self::$binary,)*];

            /// Its usual name, e.g. `"log1p"`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$unary => $unary_name,)*
                    $(Self::$binary => $binary_name,)*
                }
            }

            /// The number of its arguments: 1 or 2.
            #[must_use]
            pub fn arity(self) -> usize {
                match self {
                    $(Self::$unary => 1,)*
                    $(Self::$binary => 2,)*
                }
            }
        }

        /// Computes a function of `f32`. A function of one argument ignores `y`.
        #[inline(always)]
        fn of_f32<A: Arithmetic>(function: u8, x: A::F32, y: A::F32) -> A::F32 {
            match function {
                $(f if f == Elementary::$unary as u8 => $f32(x),)*
                $(f if f == Elementary::$binary as u8 => $of_f32(x, y),)*
                _ => x,
            }
        }

        /// Computes a function of `f64`. A function of one argument ignores `y`.
        #[inline(always)]
        fn of_f64<A: Arithmetic>(function: u8, x: A::F64, y: A::F64) -> A::F64 {
            match function {
                $(f if f == Elementary::$unary as u8 => $f64(x),)*
                $(f if f == Elementary::$binary as u8 => $of_f64(x, y),)*
                _ => x,
            }
        }

        /// Calls a macro with every function.
        macro_rules! for_every_function {
            ($function:ident => $call:ident $arguments:tt) => {
                match $function {
                    $(Elementary::$unary => $call::<{ Elementary::$unary as u8 }> $arguments,)*
                    $(Elementary::$binary => $call::<{ Elementary::$binary as u8 }> $arguments,)*
                }
            };
        }
        use for_every_function;
    };
}

mod single;

functions! {
    unary {
        Cbrt "cbrt" single::cbrt::<A>, root::cbrt::<A>;
        Exp "exp" single::exp::<A>, exponential::exp::<A>;
        Exp2 "exp2" single::exp2::<A>, exponential::exp2::<A>;
        Expm1 "expm1" single::expm1::<A>, exponential::expm1::<A>;
        Log "log" single::log::<A>, logarithm::log::<A>;
        Log2 "log2" single::log2::<A>, logarithm::log2::<A>;
        Log10 "log10" single::log10::<A>, logarithm::log10::<A>;
        Log1p "log1p" single::log1p::<A>, logarithm::log1p::<A>;
        Sin "sin" single::sin::<A>, trigonometric::sin::<A>;
        Cos "cos" single::cos::<A>, trigonometric::cos::<A>;
        Tan "tan" single::tan::<A>, trigonometric::tan::<A>;
        Asin "asin" single::asin::<A>, inverse_trigonometric::asin::<A>;
        Acos "acos" single::acos::<A>, inverse_trigonometric::acos::<A>;
        Atan "atan" single::atan::<A>, inverse_trigonometric::atan::<A>;
        Sinh "sinh" single::sinh::<A>, hyperbolic::sinh::<A>;
        Cosh "cosh" single::cosh::<A>, hyperbolic::cosh::<A>;
        Tanh "tanh" single::tanh::<A>, hyperbolic::tanh::<A>;
        Asinh "asinh" single::asinh::<A>, inverse_hyperbolic::asinh::<A>;
        Acosh "acosh" single::acosh::<A>, inverse_hyperbolic::acosh::<A>;
        Atanh "atanh" single::atanh::<A>, inverse_hyperbolic::atanh::<A>;
        Erf "erf" single::erf::<A>, error_function::erf::<A>;
        Erfc "erfc" single::erfc::<A>, error_function::erfc::<A>;
    }
    binary {
        Atan2 "atan2" single::atan2::<A>, inverse_trigonometric::atan2::<A>;
        Hypot "hypot" single::hypot::<A>, root::hypot::<A>;
        Pow "pow" single::pow::<A>, power::pow::<A>;
    }
}

/// Pushes the primitives that compute a function of `F32` or `F64` registers, which have one type,
/// and returns its result.
pub(super) fn expand(function: Elementary, builder: &mut ProgramBuilder, args: &[Register]) -> Register {
    assert_eq!(args.len(), function.arity(), "arguments of {}", function.name());
    let (x, y) = (args[0], args[args.len() - 1]);
    let register_type = builder.type_of(x);
    let tracer = RefCell::new(builder);
    let function = function as u8;
    match register_type {
        RegisterType::F32 => {
            of_f32::<Traced<'_, '_>>(function, Handle::new(&tracer, x), Handle::new(&tracer, y)).register()
        }
        _ => of_f64::<Traced<'_, '_>>(function, Handle::new(&tracer, x), Handle::new(&tracer, y)).register(),
    }
}

#[cfg(test)]
mod tests;
