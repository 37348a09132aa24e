//! The compiled loop of an elementary function.
#![allow(unsafe_code)] // kernels read and write the elements that the caller of a kernel vouches for

use std::marker::PhantomData;

use bytemuck::Pod;

#[cfg(target_arch = "x86_64")]
use super::wide;
use super::{
    kernels::{by_float, constant_kernels},
    last::Loops,
    machine::{Call, Kernel, Machine},
};
use crate::{
    ElementType,
    elementary::{self, Elementary},
};

/// A float type.
trait Number: Pod {
    /// The results of a function, compiled for the instructions of whoever calls it.
    fn here<const FUNCTION: u8>(x: &[Self], y: &[Self], results: &mut [Self]);

    /// The results, by the loops that other callers use too.
    fn shared<const FUNCTION: u8>(x: &[Self], y: &[Self], results: &mut [Self]);
}

macro_rules! numbers {
    ($($number:ident $here:ident $shared:ident;)*) => { $(
        impl Number for $number {
            #[inline(always)]
            fn here<const FUNCTION: u8>(x: &[Self], y: &[Self], results: &mut [Self]) {
                elementary::$here::<FUNCTION>(x, y, results);
            }

            fn shared<const FUNCTION: u8>(x: &[Self], y: &[Self], results: &mut [Self]) {
                elementary::$shared::<FUNCTION>(x, y, results);
            }
        }
    )* };
}

numbers! {
    f32 each_f32_plain each_f32;
    f64 each_f64_plain each_f64;
}

constant_kernels! {
    Here Number call => aligned::<OP, T, true>(call);
    Shared Number call => aligned::<OP, T, false>(call);
}

/// Passes aligned elements to the loop of a function, and copies of others.
///
/// # Safety
///
/// The conditions of a kernel of two operands.
#[inline(always)]
unsafe fn aligned<const OP: u8, T: Number, const HERE: bool>(call: &Call) {
    const COPIED: usize = 64;
    let [a, b, _] = call.operands.map(|operand| operand.cast::<T>());
    let out = call.out.cast::<T>();
    let is_aligned = a.is_aligned() && b.is_aligned() && out.is_aligned();
    let mut copies = [[T::zeroed(); COPIED]; 3];
    let mut at = 0;
    while at < call.len {
        let len = if is_aligned { call.len } else { COPIED.min(call.len - at) };
        let [x, y, results] = &mut copies;
        let (mut places, mut to) = ([a, b], out);
        if !is_aligned {
            for (place, copy) in places.iter_mut().zip([x, y]) {
                // SAFETY: the caller promises as many elements; the copy has room for them
                unsafe {
                    place
                        .wrapping_add(at)
                        .cast::<u8>()
                        .copy_to_nonoverlapping(copy.as_mut_ptr().cast(), len * size_of::<T>())
                };
                *place = copy.as_ptr();
            }
            to = results.as_mut_ptr();
        }
        // SAFETY: as many elements are there, aligned, and the result shares no byte with them
        let [x, y] = places.map(|place| unsafe { std::slice::from_raw_parts(place, len) });
        // SAFETY: as above
        let results = unsafe { std::slice::from_raw_parts_mut(to, len) };
        // Called by name: a closure would not always be inlined, and would then lack the
        // instructions.
        if HERE {
            T::here::<OP>(x, y, results)
        } else {
            T::shared::<OP>(x, y, results)
        }
        if !is_aligned {
            let to = out.wrapping_add(at).cast::<u8>();
            // SAFETY: as many elements may be written
            unsafe { to.copy_from_nonoverlapping(copies[2].as_ptr().cast(), len * size_of::<T>()) };
        }
        at += len;
    }
}

/// The loops of an elementary function of `f32` or `f64`.
pub(super) fn elementary(machine: Machine, function: Elementary, of: ElementType) -> Loops {
    use Elementary as Op;
    #[cfg(target_arch = "x86_64")]
    if let (Machine::Avx512, ElementType::F32) = (machine, of) {
        macro_rules! by_tables {
            ($($name:ident)*) => {
                match function {
                    $(Op::$name => {
                        return wide::kernels::<{ Op::$name as u8 }, Here<{ Op::$name as u8 }, f32>>();
                    })*
                    _ => {}
                }
            };
        }
        by_tables! { Exp Log Log2 Log10 Tanh Pow }
    }
    macro_rules! all {
        ($machine:expr, $kernel:ident) => {
            all!($machine, $kernel, Cbrt Exp Exp2 Expm1 Log Log2 Log10 Log1p Sin Cos Tan Asin Acos Atan Sinh
                Cosh Tanh Asinh Acosh Atanh Erf Erfc Atan2 Hypot Pow)
        };
        ($machine:expr, $kernel:ident, $($name:ident)*) => {
            match function {
                $(Op::$name => by_float!(of, T => $machine.compiled::<$kernel<{ Op::$name as u8 }, T>>()),)*
            }
        };
    }
    #[cfg(target_arch = "x86_64")]
    if machine == Machine::Avx512 {
        return Loops { step: all!(machine, Here), last: None };
    }
    // These are the loops that other callers use, which are compiled for AVX2 with FMA, too.
    Loops { step: all!(Machine::Plain, Shared), last: None }
}
