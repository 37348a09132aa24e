//! The numbers in which elements are multiplied.

/// Numbers in which a product is computed.
pub(crate) trait Number: Copy + Send + Sync + std::fmt::Debug + 'static {
    const ZERO: Self;

    /// `a * b + y`, rounded once.
    fn fma(a: Self, b: Self, y: Self) -> Self;

    fn add(self, other: Self) -> Self;

    /// Every NaN becomes the canonical one.
    fn canonical(self) -> Self;
}

macro_rules! reals {
    ($($real:ident),*) => {$(
        impl Number for $real {
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn fma(a: Self, b: Self, y: Self) -> Self {
                a.mul_add(b, y)
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn canonical(self) -> Self {
                if self.is_nan() { Self::NAN } else { self }
            }
        }
    )*};
}

macro_rules! wholes {
    ($($whole:ident),*) => {$(
        impl Number for $whole {
            const ZERO: Self = 0;

            #[inline(always)]
            fn fma(a: Self, b: Self, y: Self) -> Self {
                a.wrapping_mul(b).wrapping_add(y)
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn canonical(self) -> Self {
                self
            }
        }
    )*};
}

reals!(f32, f64);
wholes!(u32, u64);
