//! The description of element types for kernels.

use std::ffi::CStr;

use devarray::function::ElementType;

use super::params::{Params, SIGNED, TRUTH};

/// The kernels of a family by element type: of 1 and 2 bytes, of integers of 4 and 8, of floats of 4
/// and 8.
pub(super) type Names = [&'static CStr; 6];

/// The kernels of a family, by the end of their names.
macro_rules! names {
    ($end:literal) => {{
        const NAMES: &$crate::order::kinds::Names = &[
            $crate::order::kinds::name(concat!("w8", $end, "\0")),
            $crate::order::kinds::name(concat!("w16", $end, "\0")),
            $crate::order::kinds::name(concat!("w32", $end, "\0")),
            $crate::order::kinds::name(concat!("w64", $end, "\0")),
            $crate::order::kinds::name(concat!("f32", $end, "\0")),
            $crate::order::kinds::name(concat!("f64", $end, "\0")),
        ];
        NAMES
    }};
}
pub(super) use names;

/// A name that ends with a zero.
pub(super) const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("one zero, at the end"),
    }
}

/// Picks the kernel of a type.
pub(super) fn by_type(names: &'static Names, of: ElementType) -> &'static CStr {
    let place = match of {
        ElementType::F32 => 4,
        ElementType::F64 => 5,
        _ => of.len_bytes().ilog2() as usize,
    };
    names[place]
}

/// Picks the kernel of words as wide as a type.
pub(super) fn by_width(names: &'static Names, of: ElementType) -> &'static CStr {
    names[of.len_bytes().ilog2() as usize]
}

/// The parameter with what the order needs to know of a type. `turned`: the greatest first.
pub(super) fn of_type(of: ElementType, turned: bool) -> Params {
    let bits = 8 * of.len_bytes();
    let sign = if of.is_signed() && !of.is_float() { 1 << (bits - 1) } else { 0 };
    let all = u64::MAX >> (64 - bits);
    let infinity = match of {
        ElementType::F16 => 0x7c00,
        ElementType::BF16 => 0x7f80,
        ElementType::F32 => 0x7f80_0000,
        ElementType::F64 => 0x7ff0_0000_0000_0000,
        _ => 0,
    };
    let signed = if of.is_signed() && !of.is_float() { SIGNED } else { 0 };
    let truth = if of == ElementType::Bool { TRUTH } else { 0 };
    Params {
        turn: if turned { sign ^ all } else { sign },
        infinity,
        flags: signed | truth,
        ..Params::default()
    }
}
