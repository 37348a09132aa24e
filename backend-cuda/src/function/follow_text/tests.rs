use devarray::function::{ElementType as E, Function};

use super::*;
use crate::function::fetch;

/// A kernel for each type, and one that sums chains.
const KERNELS: [(&str, E); 18] = [
    ("f32_huge_nn", E::F32),
    ("f32_large_nt", E::F32),
    ("f32_medium_tn", E::F32),
    ("f32_least_nn_any", E::F32),
    ("f32_columns_nn", E::F32),
    ("f32_column_nn_any", E::F32),
    ("f64_large_nn", E::F64),
    ("f64_small_tn_any", E::F64),
    ("f16_large_nn", E::F16),
    ("bf16_small_nn_any", E::BF16),
    ("u8_large_nn", E::I8),
    ("u8_medium_tn_any", E::U8),
    ("u16_large_nn_any", E::U16),
    ("u16_large_nn_any", E::I16),
    ("u32_large_nn_any", E::I32),
    ("u64_large_nn_any", E::U64),
    ("f32_chains", E::F32),
    ("f64_chains", E::F64),
];

fn kernel(major: u32, (name, element_type): (&'static str, E)) -> ProductKernel {
    ProductKernel { major, name, element_type, shared_bytes: 0, own_words: 96 }
}

/// A class that reaches all operands in one way.
fn class_of(kernel: &ProductKernel, program: &Program, access: Access, outer: u8) -> Class {
    // An access has at most 16 bytes.
    let narrowed = |of: E| match access {
        Access::Span { width } => {
            Access::Span { width: width.min(u8::try_from(16 / of.len_bytes()).unwrap()) }
        }
        other => other,
    };
    let mut operands = vec![(Kind::Result(program.result_type()), narrowed(program.result_type()))];
    for (at, &of) in program.inputs().iter().enumerate().skip(1) {
        operands.push((Kind::Input(u8::try_from(at).unwrap(), of), narrowed(of)));
    }
    if access == Access::Uniform {
        operands[0].1 = Access::Single;
    }
    Class { family: Family::Product(kernel.clone()), outer, wide: outer > 0, operands }
}

/// Writes texts of every kernel with functions of all kinds. `DEVARRAY_TEXTS` names a folder for
/// them, where `ptxas` can check them.
#[test]
fn a_function_stands_in_the_kernel_where_its_marker_was() {
    let folder = std::env::var_os("DEVARRAY_TEXTS");
    for major in [8, 9] {
        for of in KERNELS {
            let kernel = kernel(major, of);
            let plain = Function::parse("maximum(x0 + x1, 0)", &[of.1; 2], &[]).unwrap();
            let wide = Function::parse("where(x0 < x1, cast(x0, f64) * k0, -2.5)", &[of.1; 2], &[E::F64]);
            for (name, function) in &[("plain", plain), ("wide", wide.unwrap())] {
                for (access, outer) in [
                    (Access::Span { width: 2 }, 0),
                    (Access::Span { width: 4 }, 2),
                    (Access::Single, 1),
                    (Access::Uniform, 0),
                ] {
                    let class = class_of(&kernel, function.program(), access, outer);
                    let text = write(function.program(), &class, &kernel);
                    assert!(text.contains(".visible .entry map(") && text.ends_with("}\n"), "{kernel:?}");
                    let is_left = [MARKER, "@@", "[p+"].iter().any(|of| text.contains(of));
                    assert!(!is_left, "{kernel:?}");
                    assert_eq!(
                        text.matches("begin inline asm").count(),
                        text.matches("end inline asm").count()
                    );
                    if let Some(folder) = &folder {
                        let number = format!("{access:?}").replace(|c: char| !c.is_ascii_alphanumeric(), "");
                        let file = format!("{major}_{}_{:?}_{name}_{number}.ptx", of.0, of.1);
                        std::fs::write(std::path::Path::new(folder).join(file), text).unwrap();
                    }
                }
            }
        }
    }
}

#[test]
fn a_product_onto_its_result_has_no_function() {
    let kernel = kernel(9, KERNELS[0]);
    let class = Class { family: Family::Product(kernel.clone()), outer: 0, wide: true, operands: Vec::new() };
    let text = write(&fetch::key().0, &class, &kernel);
    assert!(text.contains(".visible .entry map(") && !text.contains("%map_") && !text.contains(MARKER));
}

#[test]
fn there_is_none_for_old_devices() {
    assert!(!ProductKernel::is_there(7) && ProductKernel::is_there(8));
    assert!(kernel(7, KERNELS[0]).text().is_none());
}

#[test]
fn layouts_get_the_axes_that_an_operand_of_one_axis_lacks() {
    let layout = |shape: &[usize]| Layout::contiguous(shape, devarray::Order::C).unwrap();
    let shape = |of: &[usize], to: &[usize]| as_matrices(&layout(of), to).unwrap().shape().to_vec();
    assert_eq!(shape(&[2, 5], &[2, 1, 5]), [2, 1, 5]);
    assert_eq!(shape(&[2, 5], &[2, 5, 1]), [2, 5, 1]);
    assert_eq!(shape(&[], &[1, 1]), [1, 1]);
    assert_eq!(shape(&[4, 5], &[4, 5]), [4, 5]);
    assert_eq!(shape(&[1], &[1, 1]), [1, 1]);
}
