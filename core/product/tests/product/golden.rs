//! Runs cases whose results independent programs computed.

use std::{fs, path::Path};

use devarray_function::{Alone, ElementType};
use devarray_layout::{IndexItem, Slice};
use devarray_product::product_shape;
use serde_json::Value;

use crate::array::{Array, product_into};

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is a text in {value}"))
}

fn shape(value: &Value) -> Vec<usize> {
    let extents = value["shape"].as_array().expect("a shape").iter();
    extents.map(|extent| extent.as_u64().expect("an extent").try_into().expect("small")).collect()
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = text(value, "data").as_bytes();
    let byte = |two| u8::from_str_radix(str::from_utf8(two).expect("ASCII"), 16).expect("two digits");
    digits.chunks(2).map(byte).collect()
}

/// Takes the view that the steps of a case make.
fn stepped(mut array: Array, value: &Value) -> Array {
    for step in value["steps"].as_str().unwrap_or("").split('/').filter(|step| !step.is_empty()) {
        let (name, rest) = step.split_once('(').expect("a step with arguments");
        let items: Vec<&str> =
            rest.strip_suffix(')').expect("closed").split(',').filter(|item| !item.is_empty()).collect();
        let numbers = || items.iter().map(|item| item.parse().expect("a number")).collect::<Vec<isize>>();
        array.layout = match name {
            "permute" => array.layout.permute(&numbers()[..]),
            "flip" => array.layout.flip(&numbers()[..]),
            "broadcast" => array
                .layout
                .broadcast_to(&numbers().iter().map(|extent| extent.cast_unsigned()).collect::<Vec<_>>()),
            "index" => array.layout.index(&items.iter().map(|item| index_item(item)).collect::<Vec<_>>()),
            other => panic!("no step {other}"),
        }
        .expect("steps that fit");
    }
    array
}

fn index_item(text: &str) -> IndexItem {
    let number = |text: &str| (!text.is_empty()).then(|| text.parse::<isize>().expect("a number"));
    match text {
        "..." => IndexItem::Ellipsis,
        "None" => IndexItem::NewAxis,
        _ if !text.contains(':') => IndexItem::At(text.parse().expect("a position")),
        _ => {
            let parts: Vec<&str> = text.split(':').collect();
            let step = parts.get(2).and_then(|part| number(part)).unwrap_or(1);
            IndexItem::Slice(Slice { start: number(parts[0]), stop: number(parts[1]), step })
        }
    }
}

/// Runs a case, and returns what is wrong with the outcome.
fn run(case: &Value, shifted: bool) -> Result<(), String> {
    let shift = |array: Array| if shifted { array.shifted() } else { array };
    let of = |value: &Value| ElementType::from_name(text(value, "dtype")).expect("a type");
    let array = |value: &Value| shift(stepped(Array::new(of(value), &shape(value), &bytes(value)), value));
    let [a, b] = [&case["inputs"][0], &case["inputs"][1]].map(array);
    let expected = &case["expect"];
    let declared = if a.element_type != b.element_type || a.element_type == ElementType::Bool {
        Err("type")
    } else {
        product_shape(a.layout.shape(), b.layout.shape()).map_err(|_| "shape")
    };
    let result = declared.and_then(|declared| match case.get("out") {
        None => Ok(shift(Array::untouched(a.element_type, &declared))),
        Some(out) => {
            let out = &out[0];
            let result = shift(stepped(Array::untouched(a.element_type, &shape(out)), out));
            if result.layout.shape() == &declared[..] { Ok(result) } else { Err("shape") }
        }
    });
    match (result, expected.as_array()) {
        (Err(found), None) if found == text(expected, "error") => Ok(()),
        (Err(found), _) => Err(format!("{found}, not {expected}")),
        (Ok(_), None) => Err(format!("no error, not {expected}")),
        (Ok(mut result), Some(expected)) => {
            product_into(&a, &b, &mut result, false, &Alone);
            let expected = &expected[0];
            assert_eq!(expected["ulp"], 0, "exact");
            if result.element_type != of(expected) || result.layout.shape() != shape(expected) {
                return Err(format!("{result:?}, not {expected}"));
            }
            let bits = Array::new(result.element_type, result.layout.shape(), &bytes(expected)).bits();
            if result.bits() != bits {
                return Err(format!("{:x?}, not {bits:x?}", result.bits()));
            }
            if result.rest_is_untouched() { Ok(()) } else { Err("written beside its elements".into()) }
        }
    }
}

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/golden/calls.jsonl");
    let lines = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a case"));
    all.filter(|case| case["call"] == "matmul").collect()
}

#[test]
fn golden_cases_give_the_bits_that_are_written_down() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for case in cases() {
        for shifted in [false, true] {
            tried += 1;
            if let Err(message) = run(&case, shifted) {
                wrong.push(format!("{}: {message}", case["id"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried >= 170, "{tried}");
}

/// The twin: a case with one bit of its expectation changed must fail.
#[test]
fn a_changed_expectation_is_noticed() {
    let mut noticed = 0;
    for mut case in cases() {
        let Some(expected) = case["expect"].as_array_mut() else { continue };
        let data = text(&expected[0], "data").to_owned();
        if data.is_empty() {
            continue;
        }
        let changed = if data.starts_with('0') { "1" } else { "0" };
        case["expect"][0]["data"] = Value::from(format!("{changed}{}", &data[1..]));
        assert!(run(&case, false).is_err(), "{}", case["id"]);
        noticed += 1;
    }
    assert!(noticed > 60, "{noticed}");
}
