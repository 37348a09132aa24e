//! Products of 32 bits whose halves are both needed: one instruction gives both.

use std::{collections::HashMap, hash::Hash};

use devarray::function::primitive::{Binary, Instruction, Program, RegisterType};

use super::text::{Reg, Text};

/// For each half of a product, the other half, if it is computed in the same place.
pub(super) fn halves<P: Eq + Hash>(program: &Program, place: impl Fn(usize) -> P) -> Vec<Option<usize>> {
    let instructions = program.instructions();
    let mut found = vec![None; instructions.len()];
    let mut products = HashMap::new();
    for (at, &instruction) in instructions.iter().enumerate() {
        let Instruction::Binary(own, a, b) = instruction else { continue };
        let of_other = match own {
            Binary::Multiply => Binary::MultiplyHigh,
            Binary::MultiplyHigh => Binary::Multiply,
            _ => continue,
        };
        if program.register_type(a) != RegisterType::B32 {
            continue;
        }
        match products.remove(&(of_other, a, b, place(at))) {
            Some(other) => (found[at], found[other]) = (Some(other), Some(at)),
            None => {
                products.insert((own, a, b, place(at)), at);
            }
        }
    }
    found
}

/// Writes both halves: first the one that `op` computes.
pub(super) fn both(text: &mut Text, op: Binary, a: Reg, b: Reg) -> [Reg; 2] {
    let product = text.set64("mul.wide.u32", format_args!("{a}, {b}"));
    let low = text.set32("cvt.u32.u64", format_args!("{product}"));
    let upper = text.set64("shr.u64", format_args!("{product}, 32"));
    let high = text.set32("cvt.u32.u64", format_args!("{upper}"));
    if op == Binary::Multiply { [low, high] } else { [high, low] }
}
