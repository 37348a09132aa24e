//! Computes the result of each call from its definition, element by element. It shares no code with
//! the package.

use devarray_function::ElementType::{self, BF16, F16, F32, F64, I64, U8, U16, U32, U64};
use devarray_order::{Call, Combining};

use crate::numbers::{Number, bytes_of, extreme, number, order, plus, real, sum, whole};

/// Elements in row-major order, each by its bytes, and their shape.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    pub(crate) of: ElementType,
    pub(crate) shape: Vec<usize>,
    pub(crate) elements: Vec<Vec<u8>>,
}

/// The outputs of a call; and the position and value of the first wrong index, if there is one.
pub(crate) struct Expected {
    pub(crate) outputs: Vec<Plain>,
    pub(crate) wrong: Option<(usize, i64)>,
}

pub(crate) fn sum_type(of: ElementType) -> ElementType {
    match of {
        F16 | BF16 | F32 | F64 => of,
        U8 | U16 | U32 | U64 => U64,
        _ => I64,
    }
}

fn i64s(shape: Vec<usize>, values: impl IntoIterator<Item = i64>) -> Plain {
    Plain { of: I64, shape, elements: values.into_iter().map(|value| value.to_le_bytes().to_vec()).collect() }
}

fn front(axis: isize, rank: usize) -> usize {
    (if axis < 0 { axis + rank as isize } else { axis }) as usize
}

impl Plain {
    pub(crate) fn numbers(&self) -> Vec<Number> {
        self.elements.iter().map(|bytes| number(self.of, bytes)).collect()
    }

    /// For each line along an axis, the row-major numbers of its elements.
    fn lines(&self, axis: usize) -> Vec<Vec<usize>> {
        let inner: usize = self.shape[axis + 1..].iter().product();
        let outer: usize = self.shape[..axis].iter().product();
        let len = self.shape[axis];
        let line = |o: usize, i: usize| (0..len).map(|k| (o * len + k) * inner + i).collect();
        (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))).map(|(o, i)| line(o, i)).collect()
    }

    /// Puts the elements of lines along an axis back into an array.
    fn of_lines(of: ElementType, shape: Vec<usize>, axis: usize, lines: Vec<Vec<Vec<u8>>>) -> Self {
        let mut plain = Self { of, elements: vec![Vec::new(); shape.iter().product()], shape };
        for (places, line) in plain.lines(axis).into_iter().zip(lines) {
            places.into_iter().zip(line).for_each(|(place, bytes)| plain.elements[place] = bytes);
        }
        plain
    }

    /// The positions of each line's elements in order.
    fn orders(&self, axis: usize, descending: bool) -> Vec<(Vec<usize>, Vec<usize>)> {
        let numbers = self.numbers();
        let lines = self.lines(axis).into_iter();
        lines
            .map(|line| {
                let mut order_of: Vec<usize> = (0..line.len()).collect();
                order_of.sort_by(|&a, &b| {
                    let ascending = order(numbers[line[a]], numbers[line[b]]);
                    if descending { ascending.reverse() } else { ascending }
                });
                (line, order_of)
            })
            .collect()
    }

    fn first(&self, axis: usize, descending: bool, k: usize) -> [Self; 2] {
        let mut shape = self.shape.clone();
        shape[axis] = k;
        let orders = self.orders(axis, descending);
        let moved = orders
            .iter()
            .map(|(line, order)| order[..k].iter().map(|&k| self.elements[line[k]].clone()).collect());
        let positions = orders
            .iter()
            .map(|(_, order)| order[..k].iter().map(|&k| (k as i64).to_le_bytes().to_vec()).collect());
        [
            Self::of_lines(self.of, shape.clone(), axis, moved.collect()),
            Self::of_lines(I64, shape.clone(), axis, positions.collect()),
        ]
    }
}

fn unique(x: &Plain) -> Vec<Plain> {
    let numbers = x.numbers();
    let mut sorted: Vec<usize> = (0..numbers.len()).collect();
    sorted.sort_by(|&a, &b| order(numbers[a], numbers[b]));
    let (mut firsts, mut counts, mut inverse) = (Vec::<usize>::new(), Vec::new(), vec![0; numbers.len()]);
    for &at in &sorted {
        if firsts.last().is_none_or(|&first| order(numbers[first], numbers[at]).is_ne()) {
            firsts.push(at);
            counts.push(0);
        }
        *counts.last_mut().expect("not empty") += 1;
        inverse[at] = firsts.len() as i64 - 1;
    }
    let number = vec![firsts.len()];
    let values = firsts.iter().map(|&first| x.elements[first].clone()).collect();
    vec![
        Plain { of: x.of, shape: number.clone(), elements: values },
        i64s(number.clone(), firsts.iter().map(|&first| first as i64)),
        i64s(x.shape.clone(), inverse),
        i64s(number, counts),
    ]
}

fn put(
    x: &Plain,
    indices: &Plain,
    v: &Plain,
    operation: Combining,
    axis: usize,
) -> (Plain, Option<(usize, i64)>) {
    let mut y = x.clone();
    let mut put_shape = x.shape.clone();
    put_shape[axis] = indices.elements.len();
    if put_shape.contains(&0) {
        return (y, None);
    }
    let n = x.shape[axis] as i128;
    let places: Vec<i128> = indices.numbers().into_iter().map(whole).collect();
    let wrong = places.iter().position(|&i| i < -n || i >= n).map(|at| (at, places[at] as i64));
    let mut of_place = vec![Vec::new(); x.shape[axis]];
    for (j, &i) in places.iter().enumerate().filter(|&(_, &i)| -n <= i && i < n) {
        of_place[i.rem_euclid(n) as usize].push(j);
    }
    // Broadcasts v to the shape of what is put, in row-major order.
    let element = |mut at: usize| {
        let mut from = 0;
        let mut step = 1;
        for (axis, &extent) in put_shape.iter().enumerate().rev() {
            let k = at % extent;
            at /= extent;
            if let Some(own) = (axis + v.shape.len()).checked_sub(put_shape.len()) {
                from += if v.shape[own] == 1 { 0 } else { k * step };
                step *= v.shape[own];
            }
        }
        number(v.of, &v.elements[from])
    };
    let put_lines = Plain { of: v.of, shape: put_shape.clone(), elements: Vec::new() }.lines(axis);
    for (line, from) in x.lines(axis).into_iter().zip(put_lines) {
        for (place, &at) in line.iter().enumerate() {
            let all: Vec<Number> = of_place[place].iter().map(|&j| element(from[j])).collect();
            if all.is_empty() {
                continue;
            }
            let before = number(x.of, &x.elements[at]);
            let value = match operation {
                Combining::Sum if x.of.is_float() => {
                    let total = sum(x.of, all.into_iter().map(real).collect());
                    Number::Real(plus(x.of, real(before), total))
                }
                Combining::Sum => Number::Whole(all.into_iter().fold(whole(before), |sum, v| sum + whole(v))),
                _ => all.into_iter().fold(before, |a, b| extreme(operation == Combining::Maximum, a, b)),
            };
            y.elements[at] = bytes_of(x.of, value);
        }
    }
    (y, wrong)
}

fn segments(x: &Plain, offsets: &Plain, operation: Combining) -> (Plain, Option<(usize, i64)>) {
    let offsets: Vec<i128> = offsets.numbers().into_iter().map(whole).collect();
    let n = x.shape[0] as i128;
    let inner: usize = x.shape[1..].iter().product();
    let of = if operation == Combining::Sum { sum_type(x.of) } else { x.of };
    let mut shape = x.shape.clone();
    shape[0] = offsets.len() - 1;
    let mut result = Plain { of, shape, elements: Vec::new() };
    let numbers = x.numbers();
    for group in offsets.windows(2) {
        let right = 0 <= group[0] && group[0] <= group[1] && group[1] <= n;
        let rows = if right { group[0] as usize..group[1] as usize } else { 0..0 };
        for column in 0..inner {
            let all: Vec<Number> = rows.clone().map(|row| numbers[row * inner + column]).collect();
            let value = match operation {
                Combining::Sum if x.of.is_float() => {
                    Number::Real(sum(x.of, all.into_iter().map(real).collect()))
                }
                Combining::Sum => Number::Whole(all.into_iter().map(whole).sum()),
                _ => match all.first() {
                    None => Number::Whole(0),
                    Some(&first) => {
                        all.iter().fold(first, |a, &b| extreme(operation == Combining::Maximum, a, b))
                    }
                },
            };
            result.elements.push(bytes_of(of, value));
        }
    }
    if result.elements.is_empty() {
        return (result, None);
    }
    let outside = (0..offsets.len())
        .find(|&at| offsets[at] < 0 || offsets[at] > n || (at > 0 && offsets[at] < offsets[at - 1]));
    let empty =
        || (1..offsets.len()).find(|&at| offsets[at] == offsets[at - 1] && operation != Combining::Sum);
    let wrong = outside.or_else(empty).map(|at| (at, offsets[at] as i64));
    (result, wrong)
}

fn quantile(x: &Plain, q: f64, axis: usize) -> Plain {
    let mut shape = x.shape.clone();
    shape.remove(axis);
    let numbers = x.numbers();
    let elements = x.orders(axis, false).into_iter().map(|(line, order_of)| {
        let sorted: Vec<f64> = order_of.iter().map(|&k| real(numbers[line[k]])).collect();
        let p = q * (sorted.len() - 1) as f64;
        let j = p.floor();
        let (a, b) = (sorted[j as usize], sorted[(j as usize + 1).min(sorted.len() - 1)]);
        let value = if sorted.iter().any(|value| value.is_nan()) {
            f64::NAN
        } else if x.of == F64 {
            let (t, u) = (p - j, 1.0 - (p - j));
            0.0 + if t == 0.0 || a == b {
                a
            } else if a.is_infinite() || b.is_infinite() {
                a + b
            } else if (b - a).is_infinite() {
                a * u + b * t
            } else if t < 0.5 {
                a + (b - a) * t
            } else {
                b - (b - a) * u
            }
        } else {
            let (a, b, t) = (a as f32, b as f32, (p - j) as f32);
            let u = 1.0 - t;
            f64::from(
                0.0 + if t == 0.0 || a == b {
                    a
                } else if a.is_infinite() || b.is_infinite() {
                    a + b
                } else if (b - a).is_infinite() {
                    a * u + b * t
                } else if t < 0.5 {
                    a + (b - a) * t
                } else {
                    b - (b - a) * u
                },
            )
        };
        bytes_of(x.of, Number::Real(value))
    });
    Plain { of: x.of, elements: elements.collect(), shape }
}

fn bincount(x: &Plain, weights: Option<&Plain>, n: usize) -> (Plain, Option<(usize, i64)>) {
    let values: Vec<i128> = x.numbers().into_iter().map(whole).collect();
    let wrong = values.iter().position(|&value| value < 0 || value >= n as i128);
    let told = |at: usize| (at, values[at].min(i64::MAX.into()) as i64);
    let mut of_value: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (at, &value) in values.iter().enumerate() {
        if value >= 0 && value < n as i128 {
            of_value[value as usize].push(at);
        }
    }
    let result = match weights {
        None => i64s(vec![n], of_value.iter().map(|all| all.len() as i64)),
        Some(weights) => {
            let of = sum_type(weights.of);
            let weight = weights.numbers();
            let total = |all: &Vec<usize>| {
                bytes_of(
                    of,
                    if of.is_float() {
                        Number::Real(sum(of, all.iter().map(|&at| real(weight[at])).collect()))
                    } else {
                        Number::Whole(all.iter().map(|&at| whole(weight[at])).sum())
                    },
                )
            };
            Plain { of, shape: vec![n], elements: of_value.iter().map(total).collect() }
        }
    };
    (result, wrong.map(told))
}

/// The outputs of a call whose inputs fit it.
pub(crate) fn expected(call: &Call, inputs: &[Plain]) -> Expected {
    let x = &inputs[0];
    let rank = x.shape.len();
    let mut wrong = None;
    let outputs = match *call {
        Call::Sort { axis, descending } => {
            let axis = front(axis, rank);
            let [sorted, _] = x.first(axis, descending, x.shape[axis]);
            vec![sorted]
        }
        Call::ArgSort { axis, descending } => {
            let axis = front(axis, rank);
            let [_, positions] = x.first(axis, descending, x.shape[axis]);
            vec![positions]
        }
        Call::TopK { k, axis, largest } => x.first(front(axis, rank), largest, k).into(),
        Call::Unique => unique(x),
        Call::SearchSorted { right } => {
            let (ascending, v) = (x.numbers(), inputs[1].numbers());
            let below = |v: &Number| {
                let is = |a: &&Number| order(**a, *v).is_lt() || (right && order(**a, *v).is_eq());
                ascending.iter().filter(is).count() as i64
            };
            vec![i64s(inputs[1].shape.clone(), v.iter().map(below))]
        }
        Call::Histogram => {
            let edges = inputs[1].numbers();
            let mut counts = vec![0; edges.len() - 1];
            for element in x.numbers() {
                if matches!(element, Number::Real(value) if value.is_nan()) {
                    continue;
                }
                let last = edges.len() - 1;
                if order(element, edges[last]).is_gt() {
                    continue;
                }
                if let Some(interval) = (0..last).rev().find(|&i| order(edges[i], element).is_le()) {
                    counts[interval] += 1;
                }
            }
            vec![i64s(vec![counts.len()], counts)]
        }
        Call::BinCount { n } => {
            let (result, found) = bincount(x, inputs.get(1), n);
            wrong = found;
            vec![result]
        }
        Call::Put { operation, axis } => {
            let (result, found) = put(x, &inputs[1], &inputs[2], operation, front(axis, rank));
            wrong = found;
            vec![result]
        }
        Call::Segments { operation } => {
            let (result, found) = segments(x, &inputs[1], operation);
            wrong = found;
            vec![result]
        }
        Call::CsrDot => {
            let (result, found) = crate::sparse::csr_dot(inputs);
            wrong = found;
            vec![result]
        }
        Call::NonZero => {
            let mut rows = Vec::new();
            let mut count = 0;
            for (mut at, element) in x.numbers().into_iter().enumerate() {
                if !matches!(element, Number::Whole(0)) && !matches!(element, Number::Real(0.0)) {
                    let mut row = vec![0; rank];
                    for (place, &extent) in row.iter_mut().zip(&x.shape).rev() {
                        *place = (at % extent) as i64;
                        at /= extent;
                    }
                    rows.extend(row);
                    count += 1;
                }
            }
            vec![i64s(vec![count, rank], rows)]
        }
        Call::Quantile { q, axis } => vec![quantile(x, q, front(axis, rank))],
        _ => unreachable!("a call without a definition"),
    };
    Expected { outputs, wrong }
}
