//! Matrix products through arrays and views, on the simulator and on the CPU.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Context, ErasedArray, Error, LayoutError, Result, StreamHandle,
    backend::{Capabilities, Capability},
    function::ElementType,
    product::{Precision, ProductErrorKind},
};
use devarray_any::AnyDevice;
use devarray_host::HostDevice;
use devarray_mock::{Code, FaultKind, FaultPlan, MockDevice, Site};

/// Runs a test on both devices.
fn on_both(test: impl Fn(&StreamHandle<AnyDevice>) -> Result<()>) {
    let devices = [AnyDevice::from(MockDevice::new()), HostDevice::builder().threads(2).build().into()];
    for device in devices {
        let stream = Context::new(device).unwrap().stream().unwrap();
        test(&stream).unwrap();
        stream.synchronize().unwrap();
    }
}

fn kind(error: &Error) -> ProductErrorKind {
    match error {
        Error::Product(error, _) => error.kind(),
        other => panic!("{other}"),
    }
}

#[test]
fn shapes_are_numpys() {
    on_both(|s| {
        let ones = |shape: &[usize]| Array::full(s, shape, 1_i32);
        for (a, b, due) in [
            (&[3][..], &[3][..], &[][..]),
            (&[3], &[3, 2], &[2]),
            (&[2, 3], &[3], &[2]),
            (&[5, 2, 3], &[3, 4], &[5, 2, 4]),
            (&[5, 1, 2, 3], &[7, 3, 4], &[5, 7, 2, 4]),
            (&[0, 3], &[3, 4], &[0, 4]),
            (&[2, 0], &[0, 4], &[2, 4]),
            (&[0, 2, 3], &[3, 4], &[0, 2, 4]),
        ] {
            let product = ones(a)?.matmul(s, &ones(b)?)?;
            let depth = i32::try_from(*a.last().unwrap()).unwrap();
            assert_eq!(
                (product.shape(), product.to_vec(s)?),
                (due, vec![depth; due.iter().product()]),
                "{a:?}"
            );
        }
        Ok(())
    });
}

#[test]
fn operands_and_results_have_any_strides() {
    on_both(|s| {
        let a = Array::from_slice(s, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
        let turned = a.view().transpose().flip(&[0])?; // [[3, 6], [2, 5], [1, 4]]
        let mut wide = Array::full(s, &[3, 6], -1)?;
        turned.matmul_into(s, &a, &mut wide.view_mut().index(&devarray::ix![.., 1..; 2])?)?;
        let due = [-1, 27, -1, 36, -1, 45, -1, 22, -1, 29, -1, 36, -1, 17, -1, 22, -1, 27];
        assert_eq!(wide.to_vec(s)?, due);
        let rows = a.slice_axis(0, ..1)?.broadcast_to(&[4, 1, 3])?;
        assert_eq!(rows.matmul(s, &a.view().transpose())?.to_vec(s)?, [14, 32].repeat(4));
        Ok(())
    });
}

#[test]
fn letters_name_the_axes_of_products() {
    on_both(|s| {
        let a = Array::from_slice(s, &[2, 3], &[1_i64, 2, 3, 4, 5, 6])?;
        let b = Array::from_slice(s, &[3, 2], &[1_i64, 10, 100, 1000, 10_000, 100_000])?;
        let with = |text: &str| a.einsum_with(s, &b, text);
        assert_eq!(with("ij,jk")?.to_vec(s)?, [30_201, 302_010, 60_504, 605_040]);
        assert_eq!(with("ij,jk->ki")?.to_vec(s)?, [30_201, 60_504, 302_010, 605_040]);
        assert_eq!(with("ij,ji->")?.to_vec(s)?, [30_201 + 605_040]);
        assert_eq!(
            with("ij,jk->i")?.to_vec(s)?,
            [11 + 2200 + 330_000, 44 + 5500 + 660_000],
            "k alone is summed"
        );
        assert_eq!(with("ij,ki->ikj")?.shape(), [2, 3, 3]);
        assert_eq!(with("ij,ki->ikj")?.to_vec(s)?[..6], [1, 2, 3, 100, 200, 300]);
        assert_eq!(with("ij,kl->")?.to_vec(s)?, [21 * 111_111]);
        let square = Array::from_slice(s, &[2, 2], &[1_u8, 2, 3, 255])?;
        assert_eq!(square.einsum(s, "ii->i")?.to_vec(s)?, [1, 255]);
        assert_eq!(square.einsum(s, "ii")?.to_vec(s)?, [0], "a sum wraps in the elements' type");
        assert_eq!(square.einsum(s, "ij->ji")?.to_vec(s)?, [1, 3, 2, 255]);
        assert_eq!(square.einsum_with(s, &square, "ii,ij->j")?.to_vec(s)?, [1 + 253, 2 + 1]);
        let one = Array::full(s, &[1, 2], 5_u8)?;
        assert_eq!(square.einsum_with(s, &one, "ij,ij->ij")?.to_vec(s)?, [5, 10, 15, 251], "1 broadcasts");
        let cube = Array::from_slice(s, &[2, 2, 2], &[1_u8, 2, 3, 4, 5, 6, 7, 8])?;
        assert_eq!(cube.einsum(s, "iii->i")?.to_vec(s)?, [1, 8]);
        for text in ["ij,jk->iz", "ij,jkl->i", "ij->i", "i j , j k -> i i", "ij,ik->jk"] {
            assert_eq!(kind(&with(text).unwrap_err()), ProductErrorKind::Shape, "{text}");
        }
        Ok(())
    });
}

#[test]
fn axes_by_number_are_summed_in_the_order_given() {
    on_both(|s| {
        let a = Array::from_slice(s, &[2, 3, 2], &(0..12_i32).collect::<Vec<_>>())?;
        let b = Array::from_slice(s, &[3, 2, 4], &(0..24_i32).collect::<Vec<_>>())?;
        let sums = a.tensordot(s, &b, &[1, 0], &[0, 1])?;
        let due = |i: usize, j: usize| -> i32 {
            let pairs = (0..3).flat_map(|k| (0..2).map(move |l| (k, l)));
            let product = |(k, l): (usize, usize)| (l * 6 + k * 2 + i) * (k * 8 + l * 4 + j);
            i32::try_from(pairs.map(product).sum::<usize>()).unwrap()
        };
        let all: Vec<i32> = (0..2).flat_map(|i| (0..4).map(move |j| due(i, j))).collect();
        assert_eq!((sums.shape(), sums.to_vec(s)?), (&[2, 4][..], all));
        assert_eq!(a.tensordot(s, &a, &[], &[])?.shape(), [2, 3, 2, 2, 3, 2]);
        assert_eq!(a.tensordot(s, &a, &[0, -1, 1], &[0, -1, 1])?.to_vec(s)?, [506]);
        assert_eq!(kind(&a.tensordot(s, &b, &[1], &[1]).unwrap_err()), ProductErrorKind::Shape);
        let twice = a.tensordot(s, &b, &[1, -2], &[0, 0]).unwrap_err();
        assert!(matches!(twice, Error::Layout(LayoutError::RepeatedAxis { .. }, _)), "{twice}");
        Ok(())
    });
}

#[test]
fn rows_of_vectors_have_inner_products() {
    on_both(|s| {
        let a = Array::from_slice(s, &[2, 3], &[1.0_f32, 2.0, 3.0, -0.0, -0.0, -0.0])?;
        let b = Array::from_slice(s, &[3], &[1.0_f32, 1.0, 1.0])?;
        let found: Vec<u32> = a.vecdot(s, &b)?.to_vec(s)?.into_iter().map(f32::to_bits).collect();
        assert_eq!(found, [6.0_f32.to_bits(), 0], "a chain begins at +0");
        assert_eq!(a.slice_axis(0, ..1)?.outer(s, &b)?.shape(), [1, 3, 3]);
        Ok(())
    });
}

#[test]
fn what_has_no_product_is_refused_at_the_call() {
    on_both(|s| {
        let bools = ErasedArray::from_bytes(s, &[1, 1], 1, &[1])?;
        let refused = bools.view().matmul(s, ElementType::Bool, &bools.view()).unwrap_err();
        assert_eq!(kind(&refused), ProductErrorKind::Type);
        let wide = bools.view().matmul(s, ElementType::F32, &bools.view()).unwrap_err();
        assert!(matches!(wide, Error::Layout(LayoutError::ElementSize { .. }, _)), "{wide}");
        let x = Array::full(s, &[2, 3], 1.0_f64)?;
        let refused = x.matmul(s, &x).unwrap_err();
        assert_eq!(kind(&refused), ProductErrorKind::Shape);
        assert!(refused.location().is_some_and(|line| line.file().ends_with("products.rs")), "{refused}");
        let mut twice = Array::full(s, &[2], 1.0_f64)?;
        let wrong = x.view().matmul_into(s, &x.view().transpose(), &mut twice).unwrap_err();
        assert!(matches!(wrong, Error::Layout(LayoutError::ShapeMismatch { .. }, _)), "{wrong}");
        Ok(())
    });
}

#[test]
fn a_device_without_products_says_so() {
    let mut capabilities = Capabilities::default();
    capabilities.extras = Capability::ALL.into();
    capabilities.extras = capabilities.extras.without(Capability::Products);
    let device = MockDevice::builder().capabilities(capabilities).build();
    let s = Context::new(device).unwrap().stream().unwrap();
    let x = Array::full(&s, &[2, 2], 1_u8).unwrap();
    let refused = x.matmul(&s, &x).unwrap_err();
    let unsupported =
        matches!(refused, Error::Unsupported { operation: "matmul", capability: Capability::Products, .. });
    assert!(unsupported, "{refused}");
}

/// On a device without a faster product, `Fast` is exact to the bit; and shapes are checked as
/// usual.
#[test]
fn the_cpu_and_the_simulator_are_exact_whichever_precision_is_asked_for() {
    on_both(|s| {
        let data: Vec<f32> = (0..700_u16).map(|at| f32::from(at).sin()).collect();
        let a = Array::from_slice(s, &[7, 100], &data)?;
        let b = Array::from_slice(s, &[100, 7], &data)?;
        let bits = |found: Vec<f32>| found.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let due = bits(a.matmul(s, &b)?.to_vec(s)?);
        let mut c = Array::full(s, &[7, 7], 0.0_f32)?;
        for precision in [Precision::Fast, Precision::Exact] {
            assert_eq!(bits(a.matmul_with(s, &b, precision)?.to_vec(s)?), due);
            a.matmul_with_into(s, &b, precision, &mut c)?;
            assert_eq!(bits(c.to_vec(s)?), due);
            let erased = a.view().into_erased().matmul_with(
                s,
                ElementType::F32,
                &b.view().into_erased(),
                precision,
            )?;
            assert_eq!(bits(Array::from_erased(erased)?.to_vec(s)?), due);
            assert_eq!(kind(&a.matmul_with(s, &a, precision).unwrap_err()), ProductErrorKind::Shape);
        }
        Ok(())
    });
}

/// The bound allows for one rounding and one cut, and for little more.
#[test]
fn gamma_grows_with_the_depth_and_falls_with_the_bits() {
    let fast = |of, depth| Precision::Fast.gamma(of, depth);
    assert!(fast(ElementType::F32, 1) > 2.0_f64.powi(-9) && fast(ElementType::F32, 1) < 2.0_f64.powi(-8));
    assert!(fast(ElementType::F16, 1) > 2.0_f64.powi(-11) && fast(ElementType::F16, 1) < 2.0_f64.powi(-10));
    assert!(fast(ElementType::BF16, 1) > 2.0_f64.powi(-8) && fast(ElementType::BF16, 1) < 2.0_f64.powi(-7));
    for of in [ElementType::F16, ElementType::BF16, ElementType::F32] {
        assert!(Precision::Fast.differs(of) && !Precision::Exact.differs(of));
        assert!(fast(of, 4096) > fast(of, 1) && fast(of, 64) > Precision::Exact.gamma(of, 64));
    }
    for of in [ElementType::F64, ElementType::I32, ElementType::U8] {
        assert!(!Precision::Fast.differs(of));
        assert!((fast(of, 64) - Precision::Exact.gamma(of, 64)).abs() < f64::MIN_POSITIVE);
    }
}

#[test]
fn a_fault_hits_the_product_and_nothing_is_enqueued() {
    let plan = FaultPlan::new().nth(Site::Product, 0, FaultKind::Refused);
    let s = Context::new(MockDevice::builder().faults(plan).build()).unwrap().stream().unwrap();
    let x = Array::from_slice(&s, &[2, 2], &[1, 2, 3, 4]).unwrap();
    let mut y = Array::full(&s, &[2, 2], -1).unwrap();
    x.view().matmul_into(&s, &x, &mut y).unwrap_err();
    assert_eq!(y.to_vec(&s).unwrap(), [-1; 4]);
    x.view().matmul_into(&s, &x, &mut y).unwrap();
    assert_eq!(y.to_vec(&s).unwrap(), [7, 10, 15, 22]);
}

/// The simulator finds elements without a value, but only among the elements that are read, and
/// counts the products.
#[test]
fn the_simulator_judges_products() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let s = context.stream().unwrap();
    let codes = || device.report().findings.iter().map(|finding| finding.code).collect::<Vec<_>>();
    let mut x = Array::<i32, _>::uninit(&s, &[4, 4]).unwrap();
    x.view_mut().slice_axis(1, ..2).unwrap().fill(&s, 3).unwrap();
    let some = x.slice_axis(1, ..2).unwrap();
    let product = some.matmul(&s, &some.transpose()).unwrap();
    assert_eq!(product.to_vec(&s).unwrap(), [18; 16]);
    assert_eq!(codes(), []);
    let _ = x.matmul(&s, &x).unwrap();
    s.synchronize().unwrap();
    assert_eq!(codes(), [Code::Uninitialized]);
    assert_eq!((device.statistics().executed.products.count, context.statistics().products), (2, 2));
    assert_eq!(context.statistics().product_bytes, 128);
}
