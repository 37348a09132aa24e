//! Differences between a result and the expected one.

use devarray::function::ElementType;

use super::{
    case::{ComputeExpect, ComputeFound, hexadecimal},
    run::ComputeOutcome,
};

/// The differences, each as `name: found … expected …`; empty if there are none.
#[must_use]
pub fn differences(expect: &ComputeExpect, outcome: &ComputeOutcome) -> Vec<String> {
    let expected_kind = match expect {
        ComputeExpect::Error(kind) => Some(*kind),
        ComputeExpect::Array(..) => None,
    };
    match (expect, outcome) {
        (ComputeExpect::Array(expected, ulp), Ok(found)) => differences_of_arrays(expected, found, *ulp),
        (ComputeExpect::Error(_), Err(failed)) if failed.kind == expected_kind => Vec::new(),
        (ComputeExpect::Error(kind), Err(failed)) => {
            vec![format!("{kind:?} error expected, found: {}", one_line(&failed.message))]
        }
        (ComputeExpect::Error(kind), Ok(found)) => {
            vec![format!("found {} {:?}, expected a {kind:?} error", found.element_type, found.shape)]
        }
        (ComputeExpect::Array(..), Err(failed)) => vec![format!("error: {}", one_line(&failed.message))],
    }
}

/// The differences between a device and the simulator, which must agree to the bit.
#[must_use]
pub fn differences_of_backends(device: &ComputeOutcome, simulator: &ComputeOutcome) -> Vec<String> {
    let all = match (device, simulator) {
        (Ok(device), Ok(simulator)) => differences_of_arrays(simulator, device, 0),
        (Err(device), Err(simulator)) if device.kind == simulator.kind => Vec::new(),
        _ => vec!["one gives an error".to_owned()],
    };
    all.into_iter().map(|difference| format!("simulator: {difference}")).collect()
}

/// The first line of a message: a message about a place in a text has a picture below.
pub(in crate::golden) fn one_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// The differences between two arrays, whose elements may differ by a tolerance.
pub(in crate::golden) fn differences_of_arrays(
    expected: &ComputeFound,
    found: &ComputeFound,
    ulp: u64,
) -> Vec<String> {
    let mut all = Vec::new();
    if found.element_type != expected.element_type {
        all.push(format!("dtype: found {}, expected {}", found.element_type, expected.element_type));
    }
    if found.shape != expected.shape {
        all.push(format!("shape: found {:?}, expected {:?}", found.shape, expected.shape));
    }
    if found.spilled {
        all.push("bytes outside the view were written".to_owned());
    }
    if all.is_empty() {
        let item = found.element_type.len_bytes();
        let pairs = found.bytes.chunks(item).zip(expected.bytes.chunks(item));
        let far = pairs.enumerate().filter(|(_, (a, b))| {
            // Elements without a distance must not differ.
            distance(found.element_type, a, b).is_none_or(|distance| distance > ulp)
        });
        let far: Vec<_> = far.collect();
        if let Some((at, (a, b))) = far.first() {
            let (a, b, count) = (hexadecimal(a), hexadecimal(b), far.len());
            all.push(format!("element {at}: found {a}, expected {b} ({count} elements differ)"));
        }
    }
    all
}

/// The number of representable numbers between two elements; 0 for equal bits. None for NaN, and
/// for unequal elements of a type that is no float.
fn distance(element_type: ElementType, a: &[u8], b: &[u8]) -> Option<u64> {
    let bits = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
    let (a, b) = (bits(a), bits(b));
    let infinity = match element_type {
        _ if a == b => return Some(0),
        ElementType::F16 => 0x7c00,
        ElementType::BF16 => 0x7f80,
        ElementType::F32 => 0x7f80_0000,
        ElementType::F64 => 0x7ff0_0000_0000_0000,
        _ => return None,
    };
    let sign = 1 << (element_type.len_bytes() * 8 - 1);
    let (a_size, b_size) = (a & !sign, b & !sign);
    if a_size > infinity || b_size > infinity {
        return None;
    }
    // Both zeros count as 0, so −0 equals +0 only if a distance is allowed.
    Some(match (a ^ b) & sign {
        0 => a_size.abs_diff(b_size),
        _ => (a_size + b_size).max(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_neighbours() {
        let f32 = |a: f32, b: f32| distance(ElementType::F32, &a.to_le_bytes(), &b.to_le_bytes());
        assert_eq!(f32(1.0, 1.0_f32.next_up()), Some(1));
        assert_eq!(f32(f32::MAX, f32::INFINITY), Some(1));
        assert_eq!(f32(f32::from_bits(1), -f32::from_bits(1)), Some(2));
        assert_eq!(f32(-0.0, 0.0), Some(1));
        assert_eq!(f32(f32::NAN, f32::NAN), Some(0));
        assert_eq!(f32(f32::NAN, f32::INFINITY), None);
        assert_eq!(f32(1.0, -f32::NAN), None);
        assert_eq!(distance(ElementType::I32, &[1, 0, 0, 0], &[2, 0, 0, 0]), None);
    }
}
