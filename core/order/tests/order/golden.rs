//! Runs cases whose results independent programs computed.

use std::{fs, path::Path};

use devarray_function::ElementType;
use devarray_order::{Alone, Call, Combining, OrderError, OrderErrorKind};
use serde_json::Value;

use crate::array::{Array, call};

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

fn array(value: &Value) -> Array {
    let element_type = ElementType::from_name(text(value, "dtype")).expect("a type");
    Array::new(element_type, &shape(value), &bytes(value)).steps(value["steps"].as_str().unwrap_or(""))
}

fn combining(name: &str) -> Combining {
    match name {
        "add" | "sum" => Combining::Sum,
        "minimum" => Combining::Minimum,
        "maximum" => Combining::Maximum,
        other => panic!("no operation {other}"),
    }
}

fn call_of(case: &Value) -> Call {
    let args = &case["args"];
    let axis = || args["axis"].as_i64().expect("an axis").try_into().expect("64 bits");
    let number = |name: &str| args[name].as_u64().expect("a number").try_into().expect("small");
    let truth =
        |name: &str, default| args.get(name).map_or(default, |value| value.as_bool().expect("a truth value"));
    match text(case, "call") {
        "sort" => Call::Sort { axis: axis(), descending: truth("descending", false) },
        "argsort" => Call::ArgSort { axis: axis(), descending: truth("descending", false) },
        "topk" => Call::TopK { k: number("k"), axis: axis(), largest: truth("largest", true) },
        "unique" => Call::Unique,
        "searchsorted" => Call::SearchSorted { right: text(args, "side") == "right" },
        "bincount" => Call::BinCount { n: number("n") },
        "histogram" => Call::Histogram,
        "put" => Call::Put { operation: combining(text(args, "op")), axis: axis() },
        "segments" => Call::Segments { operation: combining(text(args, "op")) },
        "nonzero" => Call::NonZero,
        "quantile" => Call::Quantile { q: args["q"].as_f64().unwrap_or(f64::NAN), axis: axis() },
        other => panic!("no call {other}"),
    }
}

fn kind_name(error: &OrderError) -> &'static str {
    match error.kind() {
        OrderErrorKind::Type => "type",
        OrderErrorKind::Shape => "shape",
        OrderErrorKind::Empty => "empty",
        _ => "index",
    }
}

/// Runs a case, and returns what is wrong with the outcome.
fn run(case: &Value, shifted: bool) -> Result<(), String> {
    let shift = |array: Array| if shifted { array.shifted() } else { array };
    let this = call_of(case);
    let inputs: Vec<Array> =
        case["inputs"].as_array().expect("inputs").iter().map(|input| shift(array(input))).collect();
    let shapes: Vec<_> = inputs.iter().map(|input| (input.element_type, input.layout.shape())).collect();
    let expected = &case["expect"];
    let mut wrong_out = false;
    let out = match (this.outputs(&shapes), case.get("out")) {
        (Ok(declared), Some(out)) => {
            let out = out.as_array().expect("a list").iter().zip(&declared);
            let arrays: Vec<Array> = out
                .map(|(out, declared)| {
                    let fresh = Array::untouched(declared.element_type, &shape(out));
                    shift(fresh.steps(out["steps"].as_str().unwrap_or("")))
                })
                .collect();
            wrong_out = arrays
                .iter()
                .zip(&declared)
                .any(|(array, declared)| array.layout.shape() != &declared.shape[..]);
            Some(arrays)
        }
        _ => None,
    };
    let found = if wrong_out {
        Err("shape")
    } else {
        match call(&this, &inputs, out, &Alone) {
            Err(error) => Err(kind_name(&error)),
            Ok(called) => match called.outcome.wrong_index {
                Some(wrong) => Err(kind_name(&wrong.into())),
                None => Ok(called.outputs),
            },
        }
    };
    match (found, expected.as_array()) {
        (Err(found), None) if found == text(expected, "error") => Ok(()),
        (Err(found), _) => Err(format!("{found}, not {expected}")),
        (Ok(_), None) => Err(format!("no error, not {expected}")),
        (Ok(found), Some(expected)) => {
            if found.len() != expected.len() {
                return Err(format!("{} outputs, not {}", found.len(), expected.len()));
            }
            for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
                assert_eq!(expected["ulp"], 0, "exact");
                if found.element_type.name() != text(expected, "dtype")
                    || found.layout.shape() != shape(expected)
                {
                    return Err(format!("output {number} is {found:?}, not {expected}"));
                }
                if found.elements() != bytes(expected) {
                    return Err(format!("output {number} has {:x?}, not {expected}", found.elements()));
                }
                if case.get("out").is_some() && !found.rest_is_untouched() {
                    return Err(format!("output {number} was written beside its elements"));
                }
            }
            Ok(())
        }
    }
}

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/golden/calls.jsonl");
    let lines = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    lines.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

#[test]
fn golden_cases_give_the_bits_that_are_written_down() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for case in cases().iter().filter(|case| case["call"] != "matmul") {
        for shifted in [false, true] {
            tried += 1;
            if let Err(message) = run(case, shifted) {
                wrong.push(format!("{} {} {}: {message}", case["id"], case["call"], case["args"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried >= 800);
}

/// The twin: a case with one bit of its expectation changed must fail.
#[test]
fn a_changed_expectation_is_noticed() {
    let mut noticed = 0;
    for mut case in cases() {
        let Some(expected) = case["expect"].as_array_mut() else { continue };
        let data = text(&expected[0], "data").to_owned();
        if data.is_empty() || case["call"] == "matmul" {
            continue;
        }
        let changed = if data.starts_with('0') { "1" } else { "0" };
        case["expect"][0]["data"] = Value::from(format!("{changed}{}", &data[1..]));
        assert!(run(&case, false).is_err(), "{}", case["id"]);
        noticed += 1;
    }
    assert!(noticed > 250);
}
