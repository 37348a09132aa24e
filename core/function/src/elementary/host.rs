//! Computes the functions on numbers of the host, with the same bits as a device.
#![allow(unsafe_code)] // calls code compiled for an instruction after checking that this processor has it

use super::{Elementary, for_every_function, of_f32, of_f64, single, trigonometric};
use crate::arithmetic::{Host, Numbers};

/// The number of elements that are checked together before the rare part of a function is left out.
const CHUNK: usize = 256;

macro_rules! evaluate {
    ($(#[$doc:meta])* $evaluate:ident $each:ident $each_fma:ident $each_plain:ident $number:ident $of:ident $huge:expr) => {
        $(#[$doc])*
        ///
        /// Blocks until it is done. Does nothing for empty slices.
        ///
        /// # Panics
        ///
        /// If the slices differ in length. A function of one argument ignores `y`.
        pub fn $evaluate(function: Elementary, x: &[$number], y: &[$number], results: &mut [$number]) {
            let y = if function.arity() == 1 { x } else { y };
            assert!(x.len() == results.len() && y.len() == results.len(), "slices of one length");
            for_every_function!(function => $each(x, y, results));
        }

        /// The results of a function, as many as the shortest slice has.
        pub(crate) fn $each<const FUNCTION: u8>(x: &[$number], y: &[$number], results: &mut [$number]) {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2") {
                // SAFETY: this processor has both instruction sets.
                return unsafe { $each_fma::<FUNCTION>(x, y, results) };
            }
            $each_plain::<FUNCTION>(x, y, results);
        }

        /// Compiled with the instruction. Without it, a library call computes the same bits fifty
        /// times slower.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $each_fma<const FUNCTION: u8>(x: &[$number], y: &[$number], results: &mut [$number]) {
            $each_plain::<FUNCTION>(x, y, results);
        }

        /// Compiled for the instructions of whoever calls it.
        #[inline(always)]
        pub(crate) fn $each_plain<const FUNCTION: u8>(
            x: &[$number],
            y: &[$number],
            results: &mut [$number],
        ) {
            use Elementary as Op;
            let is_angle =
                FUNCTION == Op::Sin as u8 || FUNCTION == Op::Cos as u8 || FUNCTION == Op::Tan as u8;
            if !is_angle {
                for ((&x, &y), result) in x.iter().zip(y).zip(results) {
                    *result = $of::<Host>(FUNCTION, x, y);
                }
                return;
            }
            // The part for arguments from `HUGE` on costs more than the rest, so chunks without such an
            // argument leave it out.
            for (x, results) in x.chunks(CHUNK).zip(results.chunks_mut(CHUNK)) {
                if x.iter().fold(true, |all, x| all & (x.abs() < $huge)) {
                    for (&x, result) in x.iter().zip(results) {
                        *result = $of::<Numbers<false>>(FUNCTION, x, x);
                    }
                } else {
                    for (&x, result) in x.iter().zip(results) {
                        *result = $of::<Host>(FUNCTION, x, x);
                    }
                }
            }
        }
    };
}

evaluate! {
    /// Computes a function of each `x`, or of each `x` and `y`. The bits are a device's, except for
    /// the bits of a NaN.
    evaluate_f32 each_f32 each_f32_fma each_f32_plain f32 of_f32 single::HUGE
}

evaluate! {
    /// Computes a function of each `x`, or of each `x` and `y`. The bits are a device's, except for
    /// the bits of a NaN.
    evaluate_f64 each_f64 each_f64_fma each_f64_plain f64 of_f64 trigonometric::HUGE
}

impl Elementary {
    /// Computes the function of one `x`, or of `x` and `y`, on the host. The bits are a device's,
    /// except for the bits of a NaN. A function of one argument ignores `y`.
    ///
    /// ```
    /// use devarray::function::elementary::Elementary;
    ///
    /// assert_eq!(Elementary::Exp.of_f32(1.0, 0.0), std::f32::consts::E);
    /// assert_eq!(Elementary::Hypot.of_f32(3.0, 4.0), 5.0);
    /// ```
    #[must_use]
    pub fn of_f32(self, x: f32, y: f32) -> f32 {
        let mut results = [0.0];
        evaluate_f32(self, &[x], &[y], &mut results);
        results[0]
    }

    /// Like [`of_f32`](Self::of_f32), for `f64`.
    #[must_use]
    pub fn of_f64(self, x: f64, y: f64) -> f64 {
        let mut results = [0.0];
        evaluate_f64(self, &[x], &[y], &mut results);
        results[0]
    }
}
