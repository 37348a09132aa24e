//! Results of single PTX instructions, by the words of the PTX manual.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bits are bits"
)]

use std::str::FromStr;

use half::f16;

/// The value that an instruction of some type sets, from its operands.
pub(crate) fn compute(name: &[&str], (class, bits): (char, u32), inputs: &[u64]) -> u64 {
    let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let of = |at: usize| inputs[at] & mask;
    let signed = |at: usize| if bits == 64 { of(at) as i64 } else { i64::from(of(at) as u32 as i32) };
    let float = class == 'f';
    let value = match (name[0], name.get(1).copied()) {
        ("mov", _) => of(0),
        ("cvt", _) => return convert(name, inputs[0]),
        ("mad", Some("wide")) => {
            let product = i64::from(inputs[0] as i32) * i64::from(inputs[1] as i32);
            return product.wrapping_add(inputs[2] as i64) as u64;
        }
        ("mad", Some("lo")) => of(0).wrapping_mul(of(1)).wrapping_add(of(2)),
        ("mul", Some("lo")) => of(0).wrapping_mul(of(1)),
        ("mul", Some("wide")) => return of(0) * of(1),
        ("mul", Some("hi")) => ((u128::from(of(0)) * u128::from(of(1))) >> bits) as u64,
        ("add" | "sub" | "mul" | "div" | "sqrt" | "rcp" | "fma" | "neg" | "abs", _) if float => {
            return arithmetic(name[0], bits, inputs);
        }
        ("add", _) => of(0).wrapping_add(of(1)),
        ("sub", _) => of(0).wrapping_sub(of(1)),
        // PTX says nothing of a division by zero, and the hardware answers something.
        ("div" | "rem", _) if of(1) == 0 => 0xdead_beef_dead_beef,
        ("div", _) if class == 's' => signed(0).wrapping_div(signed(1)) as u64,
        ("div", _) => of(0) / of(1),
        ("rem", _) if class == 's' => signed(0).wrapping_rem(signed(1)) as u64,
        ("rem", _) => of(0) % of(1),
        ("and", _) => of(0) & of(1),
        ("or", _) => of(0) | of(1),
        ("xor", _) => of(0) ^ of(1),
        ("not", _) => !of(0),
        // Distances clamp.
        ("shl", _) => of(0).checked_shl(inputs[1] as u32).filter(|_| (inputs[1] as u32) < bits).unwrap_or(0),
        ("shr", _) if class == 's' => (signed(0) >> (inputs[1] as u32).min(bits - 1)) as u64,
        ("shr", _) => of(0).checked_shr(inputs[1] as u32).unwrap_or(0),
        ("popc", _) => of(0).count_ones().into(),
        ("clz", _) => (of(0).leading_zeros() - (64 - bits)).into(),
        ("min" | "max", _) if float => extreme(name[0], bits, of(0), of(1)),
        ("min", _) if class == 'u' => of(0).min(of(1)),
        ("max", _) if class == 'u' => of(0).max(of(1)),
        ("min", _) => signed(0).min(signed(1)) as u64,
        ("max", _) => signed(0).max(signed(1)) as u64,
        ("setp", Some(by)) => {
            let holds = compared(by, (class, bits), of(0), of(1), signed(0), signed(1));
            return (holds || name[2] == "or" && inputs[2] != 0).into();
        }
        ("selp", _) => {
            if inputs[2] != 0 {
                of(0)
            } else {
                of(1)
            }
        }
        ("bfe", _) => {
            let (from, len) = (inputs[1] as u32, inputs[2] as u32);
            let field = (of(0) >> from) & ((1 << len) - 1);
            let top = field << (64 - len);
            if class == 's' { ((top as i64) >> (64 - len)) as u64 } else { field }
        }
        ("prmt", _) => {
            let bytes = (of(0) & 0xffff_ffff) | of(1) << 32;
            // The highest bit of a selector asks for the sign of the byte, eight times.
            let byte = |nth: u32| {
                let selector = (inputs[2] >> (4 * nth)) & 15;
                let byte = (bytes >> (8 * (selector & 7))) & 0xff;
                if selector < 8 { byte } else { (byte >> 7) * 0xff }
            };
            (0..4).map(|nth| byte(nth) << (8 * nth)).sum()
        }
        _ => panic!("{name:?} is not known"),
    };
    value & mask
}

fn arithmetic(name: &str, bits: u32, inputs: &[u64]) -> u64 {
    macro_rules! of {
        ($at:ident) => {
            match name {
                "add" => $at(0) + $at(1),
                "sub" => $at(0) - $at(1),
                "mul" => $at(0) * $at(1),
                "div" => $at(0) / $at(1),
                "sqrt" => $at(0).sqrt(),
                "rcp" => 1.0 / $at(0),
                "fma" => $at(0).mul_add($at(1), $at(2)),
                "neg" => -$at(0),
                _ => $at(0).abs(),
            }
        };
    }
    // The NaN of the hardware, which is nobody else's.
    if bits == 32 {
        let at = |at: usize| f32::from_bits(inputs[at] as u32);
        let value = of!(at);
        return if value.is_nan() { 0x7fff_ffff } else { value.to_bits().into() };
    }
    let at = |at: usize| f64::from_bits(inputs[at]);
    let value = of!(at);
    if value.is_nan() { 0xfff8_0000_0000_1234 } else { value.to_bits() }
}

/// The lesser or the greater of two floats: -0 is less than 0, and a NaN counts only beside another.
fn extreme(name: &str, bits: u32, a: u64, b: u64) -> u64 {
    let (infinity, sign, nan) = match bits {
        32 => (f32::INFINITY.to_bits().into(), 1 << 31, 0x7fff_ffff),
        _ => (f64::INFINITY.to_bits(), 1 << 63, 0x7fff_ffff_ffff_ffff),
    };
    let is_nan = |value: u64| value & (sign - 1) > infinity;
    let order = |value: u64| if value & sign == 0 { value + sign } else { sign - 1 - (value ^ sign) };
    match (is_nan(a), is_nan(b)) {
        (true, true) => nan,
        (true, false) => b,
        (false, true) => a,
        (false, false) if (order(a) < order(b)) == (name == "min") => a,
        (false, false) => b,
    }
}

fn compared(by: &str, (class, bits): (char, u32), a: u64, b: u64, signed_a: i64, signed_b: i64) -> bool {
    let order = match (class, bits) {
        ('f', 32) => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        ('f', _) => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        ('s', _) => Some(signed_a.cmp(&signed_b)),
        _ => Some(a.cmp(&b)),
    };
    match by {
        "num" => order.is_some(),
        "nan" => order.is_none(),
        "eq" => order.is_some_and(|order| order.is_eq()),
        "ne" => order.is_some_and(|order| order.is_ne()),
        "lt" => order.is_some_and(|order| order.is_lt()),
        "le" => order.is_some_and(|order| order.is_le()),
        "gt" => order.is_some_and(|order| order.is_gt()),
        "ge" => order.is_some_and(|order| order.is_ge()),
        _ => panic!("no comparison: {by}"),
    }
}

/// `cvt`: the last two parts of the name are the types, the one before may be a rounding.
fn convert(name: &[&str], bits: u64) -> u64 {
    let (to, from) = (name[name.len() - 2], name[name.len() - 1]);
    let rounding = if name.len() == 4 { name[1] } else { "" };
    let narrow = f32::from_bits(bits as u32);
    let wide = f64::from_bits(bits);
    match (to, from, rounding) {
        ("s64", "s32", "") => i64::from(bits as i32) as u64,
        ("u64", "u32", "") | ("u32", "u64", "") => bits & 0xffff_ffff,
        ("u16", "u32", "") | ("u32", "u16", "") => bits & 0xffff,
        ("f64", "f32", "") => f64::from(narrow).to_bits(),
        ("f32", "f64", "rn") => (wide as f32).to_bits().into(),
        ("f32", "f16", "") => f16::from_bits(bits as u16).to_f32().to_bits().into(),
        ("f16", "f32", "rn") => f16::from_f32(narrow).to_bits().into(),
        ("f32", "s32", "rn") => (bits as i32 as f32).to_bits().into(),
        ("f32", "u32", "rn") => (bits as u32 as f32).to_bits().into(),
        ("f32", "s64", "rn") => (bits as i64 as f32).to_bits().into(),
        ("f32", "u64", "rn") => (bits as f32).to_bits().into(),
        ("f64", "s32", "rn") => f64::from(bits as i32).to_bits(),
        ("f64", "u32", "rn") => f64::from(bits as u32).to_bits(),
        ("f64", "s64", "rn") => (bits as i64 as f64).to_bits(),
        ("f64", "u64", "rn") => (bits as f64).to_bits(),
        ("f32", "f32", "rzi") => narrow.trunc().to_bits().into(),
        ("f32", "f32", "rmi") => narrow.floor().to_bits().into(),
        ("f32", "f32", "rpi") => narrow.ceil().to_bits().into(),
        ("f32", "f32", "rni") => narrow.round_ties_even().to_bits().into(),
        ("f64", "f64", "rzi") => wide.trunc().to_bits(),
        ("f64", "f64", "rmi") => wide.floor().to_bits(),
        ("f64", "f64", "rpi") => wide.ceil().to_bits(),
        ("f64", "f64", "rni") => wide.round_ties_even().to_bits(),
        ("s32", "f32", "rzi") => u64::from(narrow as i32 as u32),
        ("u32", "f32", "rzi") => u64::from(narrow as u32),
        // All others make the number of the highest bit alone from a NaN.
        ("s32" | "u32", "f64", "rzi") if wide.is_nan() => 1 << 31,
        ("s64" | "u64", "f64", "rzi") if wide.is_nan() => 1 << 63,
        ("s64" | "u64", "f32", "rzi") if narrow.is_nan() => 1 << 63,
        ("s32", "f64", "rzi") => u64::from(wide as i32 as u32),
        ("u32", "f64", "rzi") => u64::from(wide as u32),
        ("s64", "f32", "rzi") => narrow as i64 as u64,
        ("u64", "f32", "rzi") => narrow as u64,
        ("s64", "f64", "rzi") => wide as i64 as u64,
        ("u64", "f64", "rzi") => wide as u64,
        _ => panic!("{name:?} is not known"),
    }
}

/// The bytes of the constants that a text declares.
pub(crate) fn constants(text: &str) -> Option<Vec<u8>> {
    let Some((_, list)) = text.split_once("] = {") else { return Some(Vec::new()) };
    let numbers = list.split_once('}')?.0.split(", ").map(number);
    Some(numbers.collect::<Option<Vec<u64>>>()?.into_iter().flat_map(u64::to_le_bytes).collect())
}

/// The bits of a number.
pub(crate) fn number(text: &str) -> Option<u64> {
    if let Some(bits) =
        text.strip_prefix("0f").or_else(|| text.strip_prefix("0d")).or_else(|| text.strip_prefix("0x"))
    {
        return u64::from_str_radix(bits, 16).ok();
    }
    text.parse::<i64>().map(i64::cast_unsigned).ok().or_else(|| text.parse().ok())
}

/// The number between two marks.
pub(super) fn between<T: FromStr>(text: &str, before: &str, after: &str) -> Option<T> {
    text.split_once(before)?.1.split_once(after)?.0.trim().parse().ok()
}
