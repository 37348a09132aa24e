//! Layouts agree with NumPy on every case of `conformance/golden/layout.jsonl`, elements and
//! strides; `DEVARRAY_GOLDEN` names further files of that format.
#![allow(clippy::unwrap_used)] // helpers of tests

use super::model;
use std::{env, error::Error, fs};

use devarray::{
    Layout, LayoutError, Order,
    layout::{IndexItem, Slice},
};
use model::Model;
use serde_json::Value;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// An array on the host: its memory, its layout there, and whether any step copied.
struct Array {
    memory: Vec<usize>,
    layout: Layout,
    copied: bool,
}

impl Array {
    fn new(shape: &[usize]) -> Outcome<Self> {
        let layout = Layout::contiguous(shape, Order::C)?;
        Ok(Self { memory: (0..layout.len()).collect(), layout, copied: false })
    }

    fn values(&self) -> Vec<usize> {
        Model::of(&self.layout).values.into_iter().map(|place| self.memory[place]).collect()
    }

    fn copy(&mut self, dense: Layout) -> Outcome<()> {
        let mut memory = vec![usize::MAX; dense.len()];
        Model::of(&dense).values.into_iter().zip(self.values()).for_each(|(place, v)| memory[place] = v);
        *self = Self { memory, layout: dense, copied: true };
        Ok(())
    }

    /// A view if one is possible, or a copy in the intended order and a view of that copy.
    fn view_or_copy(
        &mut self,
        order: Order,
        dense: fn(&Layout, Order) -> Result<Layout, LayoutError>,
        view: impl Fn(&Layout, Order) -> Result<Layout, LayoutError>,
    ) -> Outcome<()> {
        self.layout = match view(&self.layout, order) {
            Err(LayoutError::NeedsCopy) => {
                let order = self.layout.resolve(order);
                self.copy(dense(&self.layout, order)?)?;
                view(&self.layout, order)?
            }
            other => other?,
        };
        Ok(())
    }

    /// Carries out one step on elements of four bytes.
    fn step(&mut self, step: &Value) -> Outcome<()> {
        self.step_of_any_bytes(step)?;
        self.layout.len_bytes(4)?;
        Ok(())
    }

    fn step_of_any_bytes(&mut self, step: &Value) -> Outcome<()> {
        let layout = &self.layout;
        let take = || Ok::<_, Box<dyn Error>>(usize::try_from(step["take"].as_i64().ok_or("take")?)?);
        let unsigned = |field: &str| Ok::<_, Box<dyn Error>>(usize::try_from(integer(&step[field])?)?);
        self.layout = match step["do"].as_str().ok_or("do")? {
            "index" => layout.index(&list(&step["items"], index_item)?)?,
            "permute" => layout.permute(&list(&step["axes"], integer)?)?,
            "flip" if step["axes"].is_null() => {
                layout.flip(&(0..layout.rank()).map(usize::cast_signed).collect::<Vec<_>>())?
            }
            "flip" => layout.flip(&list(&step["axes"], integer)?)?,
            "squeeze" if step["axes"].is_null() => layout.squeeze(),
            "squeeze" => layout.squeeze_axes(&list(&step["axes"], integer)?)?,
            "broadcast" => {
                layout.broadcast_to(&list(&step["shape"], |v| Ok(usize::try_from(integer(v)?)?))?)?
            }
            "split" => layout.split(unsigned("section")?)?.nth(take()?).ok_or("take")?,
            "array_split" => {
                let mut parts = layout.array_split(integer(&step["axis"])?, unsigned("sections")?)?;
                parts.nth(take()?).ok_or("take")?
            }
            "split_at" => {
                let at = list(&step["at"], integer)?;
                layout.split_at(integer(&step["axis"])?, &at)?.nth(take()?).ok_or("take")?
            }
            "copy" => return self.copy(layout.dense_like(order(step)?)?),
            "ravel" => return self.view_or_copy(order(step)?, Layout::dense_to_ravel, Layout::ravel),
            "reshape" => {
                let shape = list(&step["shape"], integer)?;
                return self.view_or_copy(order(step)?, Layout::dense_like, |layout, order| {
                    layout.reshape(&shape, order)
                });
            }
            other => return Err(format!("unknown step {other}").into()),
        };
        Ok(())
    }
}

fn integer(value: &Value) -> Outcome<isize> {
    Ok(isize::try_from(value.as_i64().ok_or_else(|| format!("no integer: {value}"))?)?)
}

fn list<T>(value: &Value, item: impl Fn(&Value) -> Outcome<T>) -> Outcome<Vec<T>> {
    value.as_array().ok_or_else(|| format!("no list: {value}"))?.iter().map(item).collect()
}

fn order(step: &Value) -> Outcome<Order> {
    match step["order"].as_str() {
        Some("C") => Ok(Order::C),
        Some("F") => Ok(Order::F),
        Some("A") => Ok(Order::A),
        Some("K") => Ok(Order::K),
        _ => Err("order".into()),
    }
}

fn index_item(value: &Value) -> Outcome<IndexItem> {
    let optional = |v: &Value| if v.is_null() { Ok(None) } else { integer(v).map(Some) };
    Ok(match value {
        Value::Null => IndexItem::NewAxis,
        Value::String(dots) if dots == "..." => IndexItem::Ellipsis,
        Value::Object(slice) => IndexItem::Slice(Slice {
            start: optional(&slice["start"])?,
            stop: optional(&slice["stop"])?,
            step: optional(&slice["step"])?.unwrap_or(1),
        }),
        _ => IndexItem::At(integer(value)?),
    })
}

/// The differences from the expected result, if there are any.
fn differences(case: &Value) -> Outcome<Vec<String>> {
    let mut array = Array::new(&list(&case["base"], |v| Ok(usize::try_from(integer(v)?)?))?)?;
    let expect = &case["expect"];
    let steps = case["steps"].as_array().ok_or("steps")?;
    let outcome = steps.iter().try_for_each(|step| array.step(step));
    match (outcome, expect["error"] == true) {
        (Err(_), true) => return Ok(vec![]),
        (Err(error), false) => return Ok(vec![format!("error: {error}")]),
        (Ok(()), true) => return Ok(vec!["an error was expected".into()]),
        (Ok(()), false) => {}
    }
    let layout = &array.layout;
    let mut differences = vec![];
    let mut compare = |field: &str, found: Value| {
        if expect[field] != found {
            differences.push(format!("{field}: expected {}, found {found}", expect[field]));
        }
    };
    compare("shape", layout.shape().into());
    compare("c", layout.is_c_contiguous().into());
    compare("f", layout.is_f_contiguous().into());
    if layout.is_empty() {
        return Ok(differences);
    }
    let strides = layout.strides().iter().zip(layout.shape());
    compare("strides", strides.map(|(&stride, &extent)| (extent != 1).then_some(stride)).collect());
    compare("copied", array.copied.into());
    compare("values", array.values().into());
    if !array.copied {
        compare("offset", layout.offset().into());
    }
    Ok(differences)
}

fn run(path: &str) -> (usize, usize) {
    let (mut passed, mut failed) = (0, 0);
    for line in fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let differences = differences(&case).unwrap();
        if differences.is_empty() {
            passed += 1;
        } else {
            failed += 1;
            println!("{}: {}", case["id"], differences.join("; "));
        }
    }
    println!("{path}: {passed} passed, {failed} failed");
    (passed, failed)
}

#[test]
fn all_golden_cases_pass() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/golden/layout.jsonl");
    assert_eq!(run(own), (1500, 0));
    for path in env::var("DEVARRAY_GOLDEN").unwrap_or_default().split_whitespace() {
        assert_eq!(run(path).1, 0);
    }
}

/// The comparison can fail: it notices each field of a correct expectation when that field is
/// falsified.
#[test]
fn a_false_expectation_is_noticed() {
    let case = |field: &str, value: &str| {
        let mut case: Value = serde_json::from_str(
            r#"{"base":[2,4],"steps":[{"do":"index","items":[1,{"start":null,"stop":null,"step":-2}]}],"expect":
            {"shape":[2],"c":false,"f":false,"copied":false,"strides":[-2],"offset":7,"values":[7,5]}}"#,
        )
        .unwrap();
        if !field.is_empty() {
            case["expect"][field] = serde_json::from_str(value).unwrap();
        }
        differences(&case).unwrap().len()
    };
    assert_eq!(case("", ""), 0);
    let falsified = [
        ("shape", "[1]"),
        ("c", "true"),
        ("f", "true"),
        ("copied", "true"),
        ("strides", "[2]"),
        ("offset", "3"),
        ("values", "[5,7]"),
        ("error", "true"),
    ];
    assert_eq!(falsified.map(|(field, value)| case(field, value)), [1; 8]);
}
