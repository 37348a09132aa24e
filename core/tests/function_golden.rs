//! Functions on host memory agree with every case of `conformance/golden/compute.jsonl`;
//! `DEVARRAY_GOLDEN_COMPUTE` names further files of that format.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "function_support/case.rs"]
mod case;

use std::{env, fs};

use case::{Found, Outcome, bytes, compute, element_type, shape};
use devarray::function::ElementType;
use serde_json::Value;

/// The distance of two elements in representable numbers, from their bits; NaN is near NaN only.
fn distance(element_type: ElementType, a: &[u8], b: &[u8]) -> u64 {
    let bits = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
    let (a, b) = (bits(a), bits(b));
    if a == b {
        return 0;
    }
    let infinity = match element_type {
        ElementType::F16 => 0x7c00,
        ElementType::BF16 => 0x7f80,
        ElementType::F32 => 0x7f80_0000,
        ElementType::F64 => 0x7ff0_0000_0000_0000,
        _ => return u64::MAX,
    };
    let sign = 1 << (element_type.len_bytes() * 8 - 1);
    let (a_size, b_size) = (a & !sign, b & !sign);
    if a_size > infinity || b_size > infinity {
        return u64::MAX;
    }
    // Both zeros are at 0, so they are equal only where a distance is allowed.
    if (a ^ b) & sign == 0 { a_size.abs_diff(b_size) } else { (a_size + b_size).max(1) }
}

/// The difference from the expected result, if there is one.
fn difference(case: &Value) -> Outcome<Option<String>> {
    let (found, expect): (Found, &Value) = (compute(case)?, &case["expect"]);
    let (found_type, found_shape, found) = match (found, expect["error"].as_str()) {
        (Err(kind), Some(expected)) if kind.name() == expected => return Ok(None),
        (Err(kind), expected) => return Ok(Some(format!("error {}, expected {expected:?}", kind.name()))),
        (Ok(_), Some(expected)) => return Ok(Some(format!("no error, expected {expected}"))),
        (Ok(found), None) => found,
    };
    if found_type != element_type(expect)? || found_shape != shape(expect)? {
        return Ok(Some(format!("{found_type} {found_shape:?}")));
    }
    let (expected, item) = (bytes(expect)?, found_type.len_bytes());
    let allowed = expect["ulp"].as_u64().unwrap_or(0);
    let mut elements = found.chunks(item).zip(expected.chunks(item)).enumerate();
    let wrong = elements.find(|(_, (found, expected))| distance(found_type, found, expected) > allowed);
    Ok(wrong.map(|(at, (found, expected))| format!("element {at}: {found:02x?}, expected {expected:02x?}")))
}

#[test]
fn every_golden_case_of_functions_holds() {
    let mut files =
        vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/golden/compute.jsonl").to_owned()];
    files.extend(
        env::var("DEVARRAY_GOLDEN_COMPUTE").ok().iter().flat_map(|list| list.split(':').map(str::to_owned)),
    );
    let (mut cases, mut wrong) = (0, Vec::new());
    for line in files
        .iter()
        .flat_map(|file| fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
    {
        let case: Value = serde_json::from_str(&line).unwrap();
        cases += 1;
        if let Some(difference) = difference(&case).unwrap() {
            wrong.push(format!("{}: {}: {difference}", case["id"], case["expr"]));
        }
    }
    assert!(cases >= 605, "only {cases} cases");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn distances_count_neighbours() {
    let f32 = |a: f32, b: f32| distance(ElementType::F32, &a.to_le_bytes(), &b.to_le_bytes());
    assert_eq!(f32(0.0, -0.0), 1);
    assert_eq!(f32(1.0, 1.0_f32.next_up()), 1);
    assert_eq!(f32(f32::MAX, f32::INFINITY), 1);
    assert_eq!(f32(f32::from_bits(1), -f32::from_bits(1)), 2);
    assert_eq!(f32(f32::NAN, f32::INFINITY), u64::MAX);
    assert_eq!(distance(ElementType::I32, &[1, 0, 0, 0], &[2, 0, 0, 0]), u64::MAX);
}
