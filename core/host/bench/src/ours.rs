//! The cases with devarray on the host device.

use std::{hint, thread};

use devarray::{
    Array, Bool, Context, Element, Result, StreamHandle,
    function::{Expression, Operands as _},
    gather::OutOfRange,
    ix, math,
};
use devarray_host::HostDevice;
use half::f16;

/// A stream of the host device.
type Stream = StreamHandle<HostDevice>;

use crate::{Outcome, data::Data, report::Report};

pub(crate) fn run(report: &mut Report) -> Outcome {
    let data = Data::new(report.n);
    memcpy(report, &data);
    let stream = Context::new(HostDevice::new())?.stream()?;
    let shape = [data.n, data.n];
    let mut matrices = Matrices {
        x: filled(&stream, &shape, &data.x)?,
        y: filled(&stream, &shape, &data.y)?,
        p: filled(&stream, &shape, &data.p)?,
        o: Array::uninit(&stream, &shape)?,
    };
    elementwise(report, &stream, &mut matrices)?;
    other_types(report, &stream, &data)?;
    reductions(report, &stream, &mut matrices)?;
    moves(report, &stream, &data, &mut matrices)?;
    small(report, &stream)?;
    Ok(())
}

/// The arrays of all cases, made in advance like the arrays of the peers. So the first case finds no more
/// data in a cache than the first case of a peer.
struct Matrices {
    x: Array<f32, HostDevice>,
    y: Array<f32, HostDevice>,
    p: Array<f32, HostDevice>,
    o: Array<f32, HostDevice>,
}

/// Makes an array that is written by ordinary stores, like the arrays of peers. If a processor's last cache
/// holds all arrays, elements that bypassed the cache would come from memory for many calls.
fn filled<T: Element + Copy>(stream: &Stream, shape: &[usize], values: &[T]) -> Result<Array<T, HostDevice>> {
    let mut array = Array::from_slice(stream, shape, values)?;
    array.host_mut()?.copy_from_slice(values);
    Ok(array)
}

/// Times memory alone: copies with the same number of threads that move 8 and 12 bytes per element.
fn memcpy(report: &mut Report, data: &Data) {
    let threads = std::env::var("DEVARRAY_THREADS").ok().and_then(|text| text.parse().ok());
    let threads = threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let mut copy = vec![0.0_f32; data.x.len()];
    report.case("memcpy", 8 * data.x.len(), || {
        let part = data.x.len().div_ceil(threads);
        thread::scope(|scope| {
            for (to, from) in copy.chunks_mut(part).zip(data.x.chunks(part)) {
                scope.spawn(move || to.copy_from_slice(from));
            }
        });
        Result::<()>::Ok(())
    });
    // The compiler must not remove the copies.
    hint::black_box(&copy);
}

fn elementwise(report: &mut Report, stream: &Stream, matrices: &mut Matrices) -> Result<()> {
    let (n, b) = (report.n, 4 * report.n * report.n);
    let shape = [n, n];
    let Matrices { x, y, p, o } = matrices;
    let (x, y, p) = (&*x, &*y, &*p);
    report.case("add-f32", 3 * b, || (x, y).map_into(stream, o, |(x, y)| x + y));
    report.case("axpy-f32", 3 * b, || (x, y).map_into(stream, o, |(x, y)| x * 2.5 + y));
    let poly = |x: Expression<f32>| {
        [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
            .into_iter()
            .fold(x.clone() * 0.1, |sum, k| if k == 0.2 { sum + k } else { sum * x.clone() + k })
    };
    report.case("poly8-f32", 2 * b, || x.map_into(stream, o, poly));
    report.case("exp-f32", 2 * b, || x.map_into(stream, o, |x| x.exp()));
    report.case("log-f32", 2 * b, || p.map_into(stream, o, |x| x.ln()));
    report.case("sin-f32", 2 * b, || x.map_into(stream, o, |x| x.sin()));
    report.case("tanh-f32", 2 * b, || x.map_into(stream, o, |x| x.tanh()));
    report.case("sqrt-f32", 2 * b, || p.map_into(stream, o, |x| x.sqrt()));
    report.case("pow-f32", 3 * b, || (p, y).map_into(stream, o, |(x, y)| x.pow(y)));
    let gelu = |x: Expression<f32>| {
        let inner = (x.clone() + x.clone() * x.clone() * x.clone() * 0.044_715) * 0.797_884_6;
        x * 0.5 * (inner.tanh() + 1.0)
    };
    report.case("gelu-f32", 2 * b, || x.map_into(stream, o, gelu));
    let less = &mut Array::<Bool, _>::uninit(stream, &shape)?;
    report.case("less-f32", 2 * b + n * n, || (x, y).map_into(stream, less, |(x, y)| x.lt(y)));
    report.case("where-f32", 3 * b, || {
        (x, y).map_into(stream, o, |(x, y)| x.clone().lt(y.clone()).select(x, y))
    });
    let row = &y.index(&ix![0])?;
    report.case("rowadd-f32", 2 * b, || (x, row).map_into(stream, o, |(x, y)| x + y));
    let turned = &x.transpose();
    report.case("tadd-f32", 3 * b, || (turned, y).map_into(stream, o, |(x, y)| x + y));
    heat(report, stream, x, b)
}

/// Makes a step of the heat equation, which reads five views of one array.
fn heat(report: &mut Report, stream: &Stream, x: &Array<f32, HostDevice>, b: usize) -> Result<()> {
    let inner = [x.shape()[0] - 2, x.shape()[1] - 2];
    let o = &mut Array::<f32, _>::uninit(stream, &inner)?;
    let middle = &x.index(&ix![1..-1, 1..-1])?;
    let (above, below) = (&x.index(&ix![..-2, 1..-1])?, &x.index(&ix![2.., 1..-1])?);
    let (left, right) = (&x.index(&ix![1..-1, ..-2])?, &x.index(&ix![1..-1, 2..])?);
    report.case("heat-f32", 2 * b, || {
        (middle, above, below, left, right).map_into(stream, o, |(x, above, below, left, right)| {
            x.clone() + (above + below + left + right - x * 4.0) * 0.1
        })
    });
    Ok(())
}

fn other_types(report: &mut Report, stream: &Stream, data: &Data) -> Result<()> {
    let (n, shape) = (data.n, [data.n, data.n]);
    let d = &filled(stream, &[n / 2, n], &data.doubles())?;
    let o = &mut Array::<f64, _>::uninit(stream, &[n / 2, n])?;
    report.case("exp-f64", 8 * n * n, || d.map_into(stream, o, |x| x.exp()));
    let sum = &mut Array::<f64, _>::uninit(stream, &[])?;
    report.case("sum-f64", 4 * n * n, || d.view().sum_into(stream, .., sum));
    let h = &filled(stream, &shape, &Data::halves(&data.x))?;
    let h2 = &filled(stream, &shape, &Data::halves(&data.y))?;
    let o = &mut Array::<f16, _>::uninit(stream, &shape)?;
    report.case("add-f16", 6 * n * n, || (h, h2).map_into(stream, o, |(x, y)| x + y));
    let u = &filled(stream, &shape, &data.bytes(4))?;
    let u2 = &filled(stream, &shape, &data.bytes(5))?;
    let o = &mut Array::<u8, _>::uninit(stream, &shape)?;
    report.case("add-u8", 3 * n * n, || (u, u2).map_into(stream, o, |(x, y)| x + y));
    Ok(())
}

fn reductions(report: &mut Report, stream: &Stream, matrices: &mut Matrices) -> Result<()> {
    let (n, b) = (report.n, 4 * report.n * report.n);
    let Matrices { x, y, o, .. } = matrices;
    let (x, y) = (&*x, &*y);
    let one = &mut Array::<f32, _>::uninit(stream, &[])?;
    let row = &mut Array::<f32, _>::uninit(stream, &[n])?;
    let places = &mut Array::<i64, _>::uninit(stream, &[n])?;
    report.case("sum-f32", b, || x.view().sum_into(stream, .., one));
    report.case("sum0-f32", b, || x.view().sum_into(stream, 0, row));
    report.case("sum1-f32", b, || x.view().sum_into(stream, 1, row));
    report.case("max-f32", b, || x.view().max_into(stream, .., one));
    report.case("argmax1-f32", b, || x.view().argmax_into(stream, 1, places));
    report.case("var1-f32", b, || x.view().var_into(stream, 1, row));
    report.case("cumsum1-f32", 2 * b, || x.view().cumsum_into(stream, 1, o));
    report.case("softmax1-f32", 2 * b, || math::softmax_into(stream, x, 1, o));
    report.case("dot-f32", 2 * b, || math::dot(stream, x, y).map(drop));
    Ok(())
}

fn moves(report: &mut Report, stream: &Stream, data: &Data, matrices: &mut Matrices) -> Result<()> {
    let (n, b) = (data.n, 4 * data.n * data.n);
    let Matrices { x, o, .. } = matrices;
    let x = &*x;
    report.case("copyT-f32", 2 * b, || o.view_mut().copy_from(stream, &x.transpose()));
    report.case("copy-f32", 2 * b, || o.view_mut().copy_from(stream, x));
    let rows = Array::from_slice(stream, &[n], &data.rows())?;
    report.case("take-rows-f32", 2 * b, || x.view().take_into(stream, &rows, 0, OutOfRange::Error, o));
    Ok(())
}

fn small(report: &mut Report, stream: &Stream) -> Result<()> {
    let x = &Array::from_slice(stream, &[1000], &[1.0_f32; 1000])?;
    let y = &Array::from_slice(stream, &[1000], &[1.0_f32; 1000])?;
    let o = &mut Array::<f32, _>::uninit(stream, &[1000])?;
    report.small("small-add-1000", || (x, y).map_into(stream, o, |(x, y)| x + y));
    Ok(())
}
