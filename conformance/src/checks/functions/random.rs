//! Random functions, with values that are computed while the functions are written.

use devarray::{backend::Compute, function::ElementType};

use super::value::{Value, half_bits, half_value};
use crate::{
    Harness, Outcome, Rng,
    computing::{Line, computing, gives},
};

/// The number of elements of each input.
const LEN: usize = 37;

/// A part of a function: its text, and its value for each element.
struct Part {
    text: String,
    values: Vec<Value>,
}

/// The operands of the functions: one input and one scalar of each of some types; bool comes first.
struct Grammar {
    types: Vec<ElementType>,
    inputs: Vec<Vec<Value>>,
    scalars: Vec<Value>,
    rng: Rng,
}

/// Random functions give the same bits as a scalar evaluator that shares no code with core.
pub fn random<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    for rng in harness.rngs() {
        let mut grammar = Grammar::new(rng);
        let at = grammar.rng.below(grammar.types.len());
        let depth = 1 + grammar.rng.below(4);
        let part = grammar.part(at, depth);
        let of = grammar.types[at];
        let line = |of: ElementType, values: &[Value]| Line {
            of,
            bits: values.iter().map(|value| value.bits(of)).collect(),
        };
        let inputs: Vec<Line> =
            grammar.types.iter().zip(&grammar.inputs).map(|(&of, values)| line(of, values)).collect();
        let scalars: Vec<_> =
            grammar.types.iter().zip(&grammar.scalars).map(|(&of, value)| (of, value.bits(of))).collect();
        gives(&stream, &part.text, &inputs, &scalars, &line(of, &part.values))?;
    }
    Ok(())
}

impl Grammar {
    fn new(mut rng: Rng) -> Self {
        let mut types = vec![ElementType::Bool];
        let order = rng.permutation(ElementType::ALL.len() - 1);
        types.extend(order.into_iter().take(4).map(|at| ElementType::ALL[at + 1]));
        let inputs = types.iter().map(|&of| (0..LEN).map(|_| element(&mut rng, of)).collect()).collect();
        let scalars = types.iter().map(|&of| element(&mut rng, of)).collect();
        Self { types, inputs, scalars, rng }
    }

    fn choice<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.below(of.len())]
    }

    /// A part whose type is the one with this number.
    fn part(&mut self, at: usize, depth: usize) -> Part {
        let of = self.types[at];
        if depth == 0 {
            return match self.rng.below(4) {
                0 => Part { text: format!("k{at}"), values: vec![self.scalars[at]; LEN] },
                1 if of == ElementType::I64 => {
                    Part { text: "i0".to_owned(), values: (0..LEN as i128).map(Value::Int).collect() }
                }
                _ => Part { text: format!("x{at}"), values: self.inputs[at].clone() },
            };
        }
        match self.rng.below(8) {
            0 => self.choice_of_two(at, depth),
            1 => self.cast(at, depth),
            2 => self.unary(at, depth),
            _ if of == ElementType::Bool => self.truth(depth),
            _ => {
                let integers: &[&str] =
                    &["+", "-", "*", "//", "%", "fmod", "&", "|", "^", "<<", ">>", "minimum", "maximum"];
                let floats: &[&str] = &["+", "-", "*", "/", "minimum", "maximum", "fmin", "fmax"];
                let name = self.choice(if of.is_float() { floats } else { integers });
                self.binary(name, at, depth)
            }
        }
    }

    fn binary(&mut self, name: &str, at: usize, depth: usize) -> Part {
        let (a, b, of) = (self.part(at, depth - 1), self.part(at, depth - 1), self.types[at]);
        let call = name.chars().all(char::is_alphabetic);
        let text = if call {
            format!("{name}({}, {})", a.text, b.text)
        } else {
            format!("({} {name} {})", a.text, b.text)
        };
        let values = a.values.iter().zip(&b.values).map(|(&a, &b)| Value::binary(of, name, a, b));
        Part { text, values: values.collect() }
    }

    fn truth(&mut self, depth: usize) -> Part {
        if self.rng.below(3) == 0 {
            let name = self.choice(&["&", "|", "^", "=="]);
            return self.binary(name, 0, depth);
        }
        let at = 1 + self.rng.below(self.types.len() - 1);
        let name = self.choice(&["==", "!=", "<", "<=", ">", ">="]);
        self.binary(name, at, depth)
    }

    fn choice_of_two(&mut self, at: usize, depth: usize) -> Part {
        let (c, a, b) = (self.part(0, depth - 1), self.part(at, depth - 1), self.part(at, depth - 1));
        let each = c.values.iter().zip(a.values.iter().zip(&b.values));
        let values = each.map(|(c, (&a, &b))| if c.is_true() { a } else { b }).collect();
        Part { text: format!("where({}, {}, {})", c.text, a.text, b.text), values }
    }

    fn cast(&mut self, at: usize, depth: usize) -> Part {
        let (from, to) = (self.rng.below(self.types.len()), self.types[at]);
        // The evaluator converts integers to halves through an f64, which holds only 53 bits.
        let wide = self.types[from].is_integer() && self.types[from].len_bytes() == 8;
        let from = if wide && to.is_float() && to.len_bytes() == 2 { 0 } else { from };
        let a = self.part(from, depth - 1);
        let values = a.values.iter().map(|value| value.cast(to)).collect();
        Part { text: format!("cast({}, {to})", a.text), values }
    }

    fn unary(&mut self, at: usize, depth: usize) -> Part {
        let (a, of) = (self.part(at, depth - 1), self.types[at]);
        let of_all = |form: &str, right: &dyn Fn(Value) -> Value| Part {
            text: form.replace("{}", &a.text),
            values: a.values.iter().map(|&value| right(value)).collect(),
        };
        let minus_one = Value::Int(-1).cast(of);
        match of {
            ElementType::Bool => of_all("~({})", &|value| Value::Bool(!value.is_true())),
            float if float.is_float() => match self.rng.below(4) {
                0 => of_all("-({})", &|value| on_float(of, value, |x| -x, |x| -x)),
                1 => of_all("abs({})", &|value| on_float(of, value, f32::abs, f64::abs)),
                2 => of_all("sqrt({})", &|value| on_float(of, value, f32::sqrt, f64::sqrt)),
                _ => of_all("floor({})", &|value| on_float(of, value, f32::floor, f64::floor)),
            },
            signed if signed.is_signed() && self.rng.below(2) == 0 => {
                of_all("-({})", &|value| Value::binary(of, "*", value, minus_one))
            }
            _ => of_all("~({})", &|value| Value::binary(of, "-", minus_one, value)),
        }
    }
}

fn on_float(of: ElementType, value: Value, single: fn(f32) -> f32, double: fn(f64) -> f64) -> Value {
    match value {
        Value::Single(x) if of == ElementType::F32 => Value::Single(single(x)),
        Value::Single(x) => Value::Single(half_value(of, half_bits(of, f64::from(single(x))))),
        Value::Double(x) => Value::Double(double(x)),
        other => other,
    }
}

/// Random bits, or a small number, so that equal values are more frequent.
fn element(rng: &mut Rng, of: ElementType) -> Value {
    let value = match rng.below(3) {
        0 => Value::of_bits(of, rng.bits() & (u64::MAX >> (64 - of.len_bytes() * 8))),
        _ => Value::Int(rng.below(20) as i128 - 6).cast(of),
    };
    match value {
        Value::Single(x) if x.is_nan() => Value::Single(f32::NAN),
        Value::Double(x) if x.is_nan() => Value::Double(f64::NAN),
        other => other,
    }
}
