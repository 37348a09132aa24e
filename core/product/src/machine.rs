//! The instructions of the processor, chosen at run time.

use crate::{
    lanes::{self, Lanes},
    number::Number,
};

/// A set of instructions for which products are compiled. Bits do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "only tests choose")]
pub enum Machine {
    /// The instructions that every processor of the target has; on aarch64 these include NEON.
    Plain,
    /// AVX2 with FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 as the first servers had it.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Machine {
    /// Every set that this processor has, the best first.
    #[must_use]
    pub fn all() -> &'static [Self] {
        #[cfg(target_arch = "x86_64")]
        {
            const ALL: [Machine; 3] = [Machine::Avx512, Machine::Avx2, Machine::Plain];
            macro_rules! has {
                ($($feature:tt)*) => { $(std::is_x86_feature_detected!($feature))&&* };
            }
            if has!("avx2" "fma" "f16c" "bmi1" "bmi2" "lzcnt" "popcnt") {
                if has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
                    return &ALL;
                }
                return &ALL[1..];
            }
        }
        &[Self::Plain]
    }

    /// The best set that this processor has.
    #[must_use]
    pub fn detected() -> Self {
        Self::all()[0]
    }
}

/// Numbers that have lanes on each machine.
pub(crate) trait Compiled: Number {
    type Plain: Lanes<Number = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: Lanes<Number = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx512: Lanes<Number = Self>;
}

macro_rules! compiled {
    ($($number:ident: $count:literal, $avx2:ident, $avx512:ident;)*) => {$(
        impl Compiled for $number {
            type Plain = lanes::Plain<Self, $count>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = lanes::avx2::$avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = lanes::avx512::$avx512;
        }
    )*};
}

compiled! {
    f32: 4, F32x8, F32x16;
    f64: 2, F64x4, F64x8;
    u32: 4, U32x8, U32x16;
    u64: 2, U64x4, U64x8;
}
