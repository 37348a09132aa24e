//! The cases on numr's CPU runtime. Every result is a new tensor, because numr cannot write into existing tensors.

use numr::{
    error::Result,
    ops::{ConditionalOps as _, StatisticalOps as _},
    runtime::{
        Runtime as _,
        cpu::{CpuDevice, CpuRuntime},
    },
    tensor::Tensor,
};

use crate::{Outcome, data::Data, report::Report};

pub(crate) fn run(report: &mut Report) -> Outcome {
    let data = Data::new(report.n);
    let (n, b, device) = (data.n, 4 * data.n * data.n, CpuDevice::new());
    let client = CpuRuntime::default_client(&device);
    let matrix = |values: &[f32]| Tensor::<CpuRuntime>::from_slice(values, &[n, n], &device);
    let (x, y, p) = (matrix(&data.x)?, matrix(&data.y)?, matrix(&data.p)?);
    let mut case = |name: &str, len_bytes: usize, call: &dyn Fn() -> Result<Tensor<CpuRuntime>>| {
        report.case(name, len_bytes, || call().map(drop));
    };
    case("add-f32", 3 * b, &|| x.add(&y));
    case("axpy-f32", 3 * b, &|| x.mul_scalar(2.5)?.add(&y));
    case("poly8-f32", 2 * b, &|| {
        let first = x.mul_scalar(0.1)?.add_scalar(0.2)?;
        [0.3, 0.4, 0.5, 0.6, 0.7, 0.8].into_iter().try_fold(first, |sum, k| sum.mul(&x)?.add_scalar(k))
    });
    case("exp-f32", 2 * b, &|| x.exp());
    case("log-f32", 2 * b, &|| p.log());
    case("sin-f32", 2 * b, &|| x.sin());
    case("tanh-f32", 2 * b, &|| x.tanh());
    case("sqrt-f32", 2 * b, &|| p.sqrt());
    case("pow-f32", 3 * b, &|| p.pow(&y));
    case("gelu-f32", 2 * b, &|| x.gelu());
    case("less-f32", 2 * b + n * n, &|| x.lt(&y));
    case("where-f32", 3 * b, &|| client.where_cond(&x.lt(&y)?, &x, &y));
    let row = Tensor::<CpuRuntime>::from_slice(&data.y[..n], &[n], &device)?;
    case("rowadd-f32", 2 * b, &|| x.add(&row));
    case("tadd-f32", 3 * b, &|| x.t()?.add(&y));
    let m = n as isize - 2;
    let part = |row: usize, column: usize| x.narrow(0, row, m as usize)?.narrow(1, column, m as usize);
    case("heat-f32", 2 * b, &|| {
        let around = part(0, 1)?.add(&part(2, 1)?)?.add(&part(1, 0)?)?.add(&part(1, 2)?)?;
        let middle = part(1, 1)?;
        middle.add(&around.sub(&middle.mul_scalar(4.0)?)?.mul_scalar(0.1)?)
    });
    let d = Tensor::<CpuRuntime>::from_slice(&data.doubles(), &[n / 2, n], &device)?;
    case("exp-f64", 8 * n * n, &|| d.exp());
    case("sum-f64", 4 * n * n, &|| d.sum(&[0, 1], false));
    let (h, h2) = (Data::halves(&data.x), Data::halves(&data.y));
    let h = Tensor::<CpuRuntime>::from_slice(&h, &[n, n], &device)?;
    let h2 = Tensor::<CpuRuntime>::from_slice(&h2, &[n, n], &device)?;
    case("add-f16", 6 * n * n, &|| h.add(&h2));
    let u = Tensor::<CpuRuntime>::from_slice(&data.bytes(4), &[n, n], &device)?;
    let u2 = Tensor::<CpuRuntime>::from_slice(&data.bytes(5), &[n, n], &device)?;
    case("add-u8", 3 * n * n, &|| u.add(&u2));
    case("sum-f32", b, &|| x.sum(&[0, 1], false));
    case("sum0-f32", b, &|| x.sum(&[0], false));
    case("sum1-f32", b, &|| x.sum(&[1], false));
    case("max-f32", b, &|| x.max(&[0, 1], false));
    case("argmax1-f32", b, &|| x.argmax(1, false));
    case("var1-f32", b, &|| client.var(&x, &[1], false, 0));
    case("cumsum1-f32", 2 * b, &|| x.cumsum(1));
    case("softmax1-f32", 2 * b, &|| x.softmax(1));
    case("dot-f32", 2 * b, &|| x.mul(&y)?.sum(&[0, 1], false));
    case("copyT-f32", 2 * b, &|| x.t()?.contiguous());
    let rows = Tensor::<CpuRuntime>::from_slice(&data.rows(), &[n], &device)?;
    case("take-rows-f32", 2 * b, &|| x.index_select(0, &rows));
    let a = Tensor::<CpuRuntime>::from_slice(&[1.0_f32; 1000], &[1000], &device)?;
    report.small("small-add-1000", || a.add(&a).map(drop));
    Ok(())
}
