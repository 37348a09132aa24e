//! Functions behind products on the fake: the product as it is defined, and then the text that follows it,
//! line by line, for each pack of its elements.
#![allow(unsafe_code)] // reads and writes the memory of the fake

use devarray::Context;
use devarray_conformance::Rng;
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;
use half::{bf16, f16};

use super::{
    products_of::{drawn, result},
    ptx::Text,
    state::{Fake, State},
};

/// Bytes of the parameter of a kernel.
const PARAMETER_BYTES: usize = 2824;
/// The place in it of the mark of products onto their results.
const ONTO: usize = 768;

/// The product that a text follows.
#[derive(Debug, Clone)]
pub(crate) struct Follows {
    /// The element type, as names of kernels say it.
    of: String,
    /// Elements side by side that a pack has; 0 if nothing follows.
    pack: usize,
}

/// The part of a product's kernel that follows it, as a kernel of its own: what the product gives stands
/// behind the parameter.
pub(crate) fn standing_in(ptx: &str) -> Option<(String, Follows)> {
    let (name, ptx) = ptx.strip_prefix("// follows ")?.split_once('\n')?;
    let of = name.split('_').next()?.to_owned();
    let constants: String = ptx.lines().filter(|line| line.starts_with(".const ")).collect();
    let dynamic =
        if ptx.contains(", stages_of_doubles;") { ".extern .shared .align 16 .b8 kept[];\n" } else { "" };
    let mut text = format!(
        ".version 6.0\n{constants}\n{dynamic}.visible .entry map(.param .align 8 .b8 p[{PARAMETER_BYTES}])\n\
        .maxntid 1, 1, 1\n{{\n"
    );
    let mut given = 0;
    if let Some((at, _)) = ptx.match_indices("\n{\n").nth(1) {
        let block = &ptx[at + 3..];
        for line in block[..block.find("\n}\n")?].lines() {
            let moved = line.trim().strip_prefix("mov.").and_then(|line| line.split_once(", "));
            match moved {
                Some((to, from)) if from.starts_with('%') && !from.starts_with("%map_") => {
                    text.push_str(&format!("    ld.param.{to}, [p+{}];\n", PARAMETER_BYTES + 8 * given));
                    given += 1;
                }
                _ => text.push_str(&format!("{}\n", line.replace("[map_param_0+", "[p+"))),
            }
        }
    }
    text.push_str("}\n");
    Some((text, Follows { of, pack: given.max(4) - 4 }))
}

/// The elements of products, as bits.
struct Elements<'a> {
    of: &'a str,
    len_bytes: usize,
}

impl Elements<'_> {
    fn load(&self, state: &mut State, at: u64) -> u64 {
        let from = state.device(at, self.len_bytes, self.len_bytes).expect("memory of the operand");
        let mut bytes = [0; 8];
        // SAFETY: the bytes are allocated.
        unsafe { from.copy_to(bytes.as_mut_ptr(), self.len_bytes) };
        u64::from_le_bytes(bytes)
    }

    /// A chain of fused additions, stored.
    fn chain(&self, start: u64, factors: impl Iterator<Item = (u64, u64)>) -> u64 {
        let single = |bits: u64| match self.of {
            "f16" => f16::from_bits(u16::try_from(bits).unwrap()).to_f32(),
            "bf16" => bf16::from_bits(u16::try_from(bits).unwrap()).to_f32(),
            _ => f32::from_bits(u32::try_from(bits).unwrap()),
        };
        match self.of {
            "f64" => {
                let number = f64::from_bits;
                let sum = factors.fold(number(start), |y, (a, b)| number(a).mul_add(number(b), y));
                if sum.is_nan() { f64::NAN.to_bits() } else { sum.to_bits() }
            }
            "f32" | "f16" | "bf16" => {
                let sum = factors.fold(single(start), |y, (a, b)| single(a).mul_add(single(b), y));
                match self.of {
                    "f32" if sum.is_nan() => 0x7fc0_0000,
                    "f32" => sum.to_bits().into(),
                    "f16" if sum.is_nan() => 0x7e00,
                    "f16" => f16::from_f32(sum).to_bits().into(),
                    _ if sum.is_nan() => 0x7fc0,
                    _ => bf16::from_f32(sum).to_bits().into(),
                }
            }
            _ => {
                let sum = factors.fold(start, |y, (a, b)| y.wrapping_add(a.wrapping_mul(b)));
                sum & (u64::MAX >> (64 - 8 * self.len_bytes))
            }
        }
    }
}

/// Carries out a launch of a product of one chain, and what follows.
pub(crate) fn run(text: &Text, state: &mut State, parameter: &[u8]) -> i32 {
    let Follows { of, pack } = text.follows.as_ref().expect("it follows a product");
    let word = |at: usize| u64::from_le_bytes(parameter[at..at + 8].try_into().unwrap());
    let short = |at: usize| u64::from(u32::from_le_bytes(parameter[at..at + 4].try_into().unwrap()));
    let len_bytes = match &of[..] {
        "u8" => 1,
        "u16" | "f16" | "bf16" => 2,
        "u32" | "f32" => 4,
        _ => 8,
    };
    let elements = Elements { of, len_bytes };
    let [a_row, a_k, b_k, b_column, y_row, y_column] = std::array::from_fn(|at| word(32 + 8 * at));
    let [m, n, k, _, chains, axes] = std::array::from_fn(|at| short(80 + 4 * at));
    assert_eq!(chains, 1, "a product of one chain");
    let is_onto = word(ONTO) != 0;
    let axis = |axis: u64| 128 + 40 * usize::try_from(axis).unwrap();
    let matrices: u64 = (0..axes).map(|at| short(axis(at))).product();
    let place = |base: u64, steps: &[(u64, u64)]| {
        let steps =
            steps.iter().fold(0_u64, |sum, (index, step)| sum.wrapping_add(index.wrapping_mul(*step)));
        base.wrapping_add(steps.wrapping_mul(len_bytes as u64))
    };
    for number in 0..matrices {
        let (mut rest, mut starts) = (number, [word(0), word(8), word(16)]);
        for at in (0..axes).map(axis) {
            let index = rest % short(at);
            rest /= short(at);
            for (side, start) in starts.iter_mut().enumerate() {
                *start = place(*start, &[(index, word(at + 16 + 8 * side))]);
            }
        }
        let [a, b, y] = starts;
        for row in 0..m {
            for column in (0..n).step_by((*pack).max(1)) {
                let mut given: Vec<u64> = vec![row, column, n - column, number];
                for column in column..n.min(column + (*pack).max(1) as u64) {
                    let at = place(y, &[(row, y_row), (column, y_column)]);
                    let start = if is_onto { elements.load(state, at) } else { 0 };
                    let factors: Vec<(u64, u64)> = (0..k)
                        .map(|k| {
                            let a = place(a, &[(row, a_row), (k, a_k)]);
                            let b = place(b, &[(k, b_k), (column, b_column)]);
                            (elements.load(state, a), elements.load(state, b))
                        })
                        .collect();
                    let sum = elements.chain(start, factors.into_iter());
                    if is_onto {
                        let to = state.device(at, len_bytes, len_bytes).expect("memory of the result");
                        // SAFETY: the bytes are allocated, and nobody else has them.
                        unsafe { to.copy_from(sum.to_le_bytes().as_ptr(), len_bytes) };
                    }
                    given.push(sum);
                }
                if *pack > 0 && !is_onto {
                    given.resize(4 + pack, 0xa5a5_a5a5);
                    let given: Vec<u8> = given.iter().flat_map(|word| word.to_le_bytes()).collect();
                    let failed = text.run(state, &[parameter, &given[..]].concat(), (1, 1, 0));
                    if failed != 0 {
                        return failed;
                    }
                }
            }
        }
    }
    0
}

#[test]
fn functions_of_products_have_the_bits_of_the_cpu() {
    let host = Context::new(HostDevice::new()).unwrap().stream().unwrap();
    for generation in [8, 9] {
        let fake = Fake::new();
        fake.state(|state| {
            state.total_bytes = 1 << 26;
            state.generation = (generation, 0);
        });
        let cuda = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
        let stream = cuda.stream().unwrap();
        for case in 0..300 {
            let drawn = drawn(&mut Rng::new(case), 20);
            let (found, due) = (result(&stream, &drawn), result(&host, &drawn));
            let at = found.iter().zip(&due).position(|(found, due)| found != due);
            assert!(found == due, "case {case}: {drawn:?}: byte {at:?} of {}", due.len());
        }
        drop(stream);
        drop(cuda);
        fake.assert_proper();
    }
}
