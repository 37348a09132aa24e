//! The instructions of the processor, chosen at run time. Every loop is compiled for each choice
//! from one source.
#![allow(unsafe_code)] // calls code compiled for instructions that this processor has

/// A set of instructions for which loops are compiled. On aarch64 the plain one includes NEON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// The instructions that every processor of the target has.
    Plain,
    /// AVX2 with FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 as the first servers had it.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Bytes of a cache line.
pub(super) const LINE_BYTES: usize = 64;

/// The operands of a kernel: elements that need no alignment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) operands: [*const u8; 3],
    pub(super) out: *mut u8,
    pub(super) len: usize,
}

/// A kernel that is compiled for a machine.
///
/// # Safety
///
/// The processor has the instructions. From each operand of the kernel `len` elements may be read,
/// and `len` elements may be written to `out`, which shares no byte with the operands.
pub(super) type Compiled = unsafe fn(&Call);

/// A loop over elements. Everything in it is inlined.
pub(super) trait Kernel {
    /// # Safety
    ///
    /// The conditions of [`Compiled`].
    unsafe fn run(call: &Call);
}

/// A longer computation with its own arguments. Everything in it is inlined.
pub(super) trait Work {
    type Output;

    fn run(self) -> Self::Output;
}

impl Machine {
    /// The best set that this processor has.
    pub(crate) fn detected() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! has {
                ($($feature:tt)*) => { $(is_x86_feature_detected!($feature))&&* };
            }
            if has!("avx2" "fma" "f16c" "bmi1" "bmi2" "lzcnt" "popcnt") {
                if has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
                    return Self::Avx512;
                }
                return Self::Avx2;
            }
        }
        Self::Plain
    }

    /// Every set that this processor has, the best first.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        match Self::detected() {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => vec![Self::Avx512, Self::Avx2, Self::Plain],
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => vec![Self::Avx2, Self::Plain],
            Self::Plain => vec![Self::Plain],
        }
    }

    /// Compiles a kernel for this machine.
    pub(super) fn compiled<K: Kernel>(self) -> Compiled {
        match self {
            Self::Plain => K::run,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => kernel_avx2::<K>,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => kernel_avx512::<K>,
        }
    }

    /// Does the work with the instructions of this machine.
    #[inline]
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Plain => work.run(),
            // SAFETY: a machine is made only where the processor has its instructions
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { work_avx2(work) },
            // SAFETY: as above
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { work_avx512(work) },
        }
    }
}

/// # Safety
///
/// The conditions of [`Compiled`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn kernel_avx2<K: Kernel>(call: &Call) {
    // SAFETY: as the caller promises
    unsafe { K::run(call) }
}

/// # Safety
///
/// The conditions of [`Compiled`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
unsafe fn kernel_avx512<K: Kernel>(call: &Call) {
    // SAFETY: as the caller promises
    unsafe { K::run(call) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn work_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn work_avx512<W: Work>(work: W) -> W::Output {
    work.run()
}
