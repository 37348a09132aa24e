//! Host arrays print like NumPy's arrays: compared with text that NumPy wrote
//! (`display/golden.py`).
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use std::{fmt::Display, str::FromStr};

use devarray::{Bool, HostArray};
use serde_json::Value;

fn print<T: FromStr<Err: std::fmt::Debug> + Display + 'static>(shape: &[usize], data: &[String]) -> String {
    let data = data.iter().map(|text| text.parse().unwrap()).collect();
    HostArray::<T>::new(shape, data).unwrap().to_string()
}

#[test]
fn numpy_prints_the_same() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("display/golden.json")).unwrap();
    assert!(cases.len() > 500);
    let mut wrong = 0;
    for case in &cases {
        let shape: Vec<usize> =
            case["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
        let data: Vec<String> = match case["modulus"].as_u64() {
            Some(modulus) => {
                (0..shape.iter().product()).map(|k: usize| (k as u64 % modulus).to_string()).collect()
            }
            None => case["data"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().into()).collect(),
        };
        let text = match case["dtype"].as_str().unwrap() {
            "int8" => print::<i8>(&shape, &data),
            "uint8" => print::<u8>(&shape, &data),
            "int16" => print::<i16>(&shape, &data),
            "int32" => print::<i32>(&shape, &data),
            "int64" => print::<i64>(&shape, &data),
            "uint64" => print::<u64>(&shape, &data),
            "float16" => print::<half::f16>(&shape, &data),
            "float32" => print::<f32>(&shape, &data),
            "float64" => print::<f64>(&shape, &data),
            "bool" => {
                let data = data
                    .iter()
                    .map(|text| Bool::from(text == "True" || text.parse().is_ok_and(|n: u8| n > 0)))
                    .collect();
                HostArray::new(&shape, data).unwrap().to_string()
            }
            other => panic!("{other}"),
        };
        if text != case["text"].as_str().unwrap() {
            wrong += 1;
            eprintln!(
                "{} {:?}\nexpected:\n{}\nfound:\n{text}\n",
                case["dtype"],
                shape,
                case["text"].as_str().unwrap()
            );
        }
    }
    assert_eq!(wrong, 0, "of {}", cases.len());
}
