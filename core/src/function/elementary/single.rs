//! Functions of one `f32`: computed in `f64`, rounded once.

use super::{
    error_function, exponential, hyperbolic, inverse_hyperbolic, inverse_trigonometric, logarithm, root,
    trigonometric,
};
use crate::function::arithmetic::Arithmetic;

macro_rules! narrowed {
    ($($name:ident $f64:path;)*) => { $(
        #[inline(always)]
        pub(super) fn $name<A: Arithmetic>(x: A::F32) -> A::F32 {
            A::narrow($f64(A::widen(x)))
        }
    )* };
}

narrowed! {
    cbrt root::cbrt::<A>;
    exp exponential::exp::<A>;
    exp2 exponential::exp2::<A>;
    expm1 exponential::expm1::<A>;
    log logarithm::log::<A>;
    log2 logarithm::log2::<A>;
    log10 logarithm::log10::<A>;
    log1p logarithm::log1p::<A>;
    sin trigonometric::sin::<A>;
    cos trigonometric::cos::<A>;
    tan trigonometric::tan::<A>;
    asin inverse_trigonometric::asin::<A>;
    acos inverse_trigonometric::acos::<A>;
    atan inverse_trigonometric::atan::<A>;
    sinh hyperbolic::sinh::<A>;
    cosh hyperbolic::cosh::<A>;
    tanh hyperbolic::tanh::<A>;
    asinh inverse_hyperbolic::asinh::<A>;
    acosh inverse_hyperbolic::acosh::<A>;
    atanh inverse_hyperbolic::atanh::<A>;
    erf error_function::erf::<A>;
    erfc error_function::erfc::<A>;
}
