//! Finds the least or the greatest float of a thread.
//!
//! A key (`combining`) would take five instructions per element. The minimum and the maximum of
//! floats need none: they choose between two zeros by sign, and ignore NaN (PTX ISA, `min` and
//! `max`), so a word notes whether there was a NaN. The outcome of a lane becomes a key once.

use devarray::function::{Combine, ElementType};

use super::{
    combining::{Combining, Partial},
    sizes::SIDE,
};
use crate::function::{
    text::{Bank, Reg, Text},
    truth,
};

/// The lanes of a thread.
pub(super) struct Extreme {
    combining: Combining,
    operation: String,
    type_name: &'static str,
    lanes: Vec<Reg>,
    any_nan: Reg,
}

impl Extreme {
    /// Makes lanes without elements, if this is the way to find their extremes.
    pub(super) fn new(text: &mut Text, combining: Combining) -> Option<Self> {
        let (name, neutral) = match combining.combine {
            Combine::Minimum => ("min", f32::INFINITY),
            Combine::Maximum => ("max", f32::NEG_INFINITY),
            _ => return None,
        };
        let (bank, neutral) = match combining.element_type {
            ElementType::F32 => (Bank::F32, format!("0f{:08X}", neutral.to_bits())),
            ElementType::F64 => (Bank::F64, format!("0d{:016X}", f64::from(neutral).to_bits())),
            _ => return None,
        };
        let type_name = bank.type_name();
        let begin = |_| text.set(bank, &format!("mov.{type_name}"), format_args!("{neutral}"));
        let lanes = (0..SIDE).map(begin).collect();
        let any_nan = text.set32("mov.b32", format_args!("0"));
        Some(Self { combining, operation: format!("{name}.{type_name}"), type_name, lanes, any_nan })
    }

    /// Combines each lane with a value.
    pub(super) fn add(&self, text: &mut Text, values: &[Reg]) {
        let Self { operation, type_name, any_nan, .. } = self;
        for (lane, value) in self.lanes.iter().zip(values) {
            text.line(format_args!("{operation} {lane}, {lane}, {value}"));
        }
        for pair in values.chunks_exact(2) {
            let (a, b) = (pair[0], pair[1]);
            let nan = text.test(&format!("setp.nan.{type_name}"), format_args!("{a}, {b}"));
            text.line(format_args!("selp.b32 {any_nan}, 1, {any_nan}, {nan}"));
        }
    }

    /// The partials of the lanes. Each is NaN if an element of the thread is NaN.
    pub(super) fn partials(self, text: &mut Text) -> Vec<Partial> {
        let nan = self.combining.nan_key();
        let any_nan = truth::predicate(text, self.any_nan);
        let operation = format!("selp.{}", self.combining.bank().type_name());
        let partial = |&lane: &Reg| {
            let key = self.combining.encoded(text, lane);
            let operands = format_args!("{nan}, {key}, {any_nan}");
            let value = text.set(self.combining.bank(), &operation, operands);
            Partial { value, index: None }
        };
        self.lanes.iter().map(partial).collect()
    }
}
