//! The cases with ndarray's own loops, in one thread.

use ndarray::{Array1, Array2, Axis, Zip, s};

use crate::{Outcome, data::Data, report::Report};

pub(crate) fn run(report: &mut Report) -> Outcome {
    let data = Data::new(report.n);
    let (n, b) = (data.n, 4 * data.n * data.n);
    let matrix = |values: &[f32]| Array2::from_shape_vec((n, n), values.to_vec());
    let (x, y, p) = (matrix(&data.x)?, matrix(&data.y)?, matrix(&data.p)?);
    let mut o = Array2::<f32>::zeros((n, n));
    macro_rules! of_one {
        ($name:literal, $bytes:expr, $x:ident, $function:expr) => {
            report
                .case($name, $bytes, || done(Zip::from(&mut o).and(&$x).for_each(|o, &x| *o = $function(x))))
        };
    }
    macro_rules! of_two {
        ($name:literal, $bytes:expr, $x:expr, $y:expr, $function:expr) => {
            report.case($name, $bytes, || {
                done(Zip::from(&mut o).and($x).and($y).for_each(|o, &x, &y| *o = $function(x, y)))
            })
        };
    }
    of_two!("add-f32", 3 * b, &x, &y, |x: f32, y| x + y);
    of_two!("axpy-f32", 3 * b, &x, &y, |x: f32, y: f32| x * 2.5 + y);
    let poly = |x: f32| [0.3, 0.4, 0.5, 0.6, 0.7, 0.8].into_iter().fold(x * 0.1 + 0.2, |sum, k| sum * x + k);
    of_one!("poly8-f32", 2 * b, x, poly);
    of_one!("exp-f32", 2 * b, x, f32::exp);
    of_one!("log-f32", 2 * b, p, f32::ln);
    of_one!("sin-f32", 2 * b, x, f32::sin);
    of_one!("tanh-f32", 2 * b, x, f32::tanh);
    of_one!("sqrt-f32", 2 * b, p, f32::sqrt);
    of_two!("pow-f32", 3 * b, &p, &y, f32::powf);
    let gelu = |x: f32| 0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh());
    of_one!("gelu-f32", 2 * b, x, gelu);
    of_two!("where-f32", 3 * b, &x, &y, |x: f32, y: f32| if x < y { x } else { y });
    let row = y.row(0).to_owned();
    report.case("rowadd-f32", 2 * b, || {
        done(Zip::from(&mut o).and(&x).and_broadcast(&row).for_each(|o, &x, &y| *o = x + y))
    });
    of_two!("tadd-f32", 3 * b, x.t(), &y, |x: f32, y: f32| x + y);
    let mut less = Array2::from_elem((n, n), false);
    report.case("less-f32", 2 * b + n * n, || {
        done(Zip::from(&mut less).and(&x).and(&y).for_each(|o, &x, &y| *o = x < y))
    });
    report.case("heat-f32", 2 * b, || {
        let (above, below) = (x.slice(s![..-2, 1..-1]), x.slice(s![2.., 1..-1]));
        let (left, right) = (x.slice(s![1..-1, ..-2]), x.slice(s![1..-1, 2..]));
        let (middle, mut o) = (x.slice(s![1..-1, 1..-1]), o.slice_mut(s![1..-1, 1..-1]));
        Zip::from(&mut o).and(&middle).and(&above).and(&below).and(&left).and(&right).for_each(
            |o, &x, &a, &b, &c, &d| {
                *o = x + 0.1 * (a + b + c + d - 4.0 * x);
            },
        );
        done(())
    });
    let d = Array2::from_shape_vec((n / 2, n), data.doubles())?;
    let mut od = d.clone();
    report.case("exp-f64", 8 * n * n, || done(Zip::from(&mut od).and(&d).for_each(|o, x| *o = x.exp())));
    report.case("sum-f64", 4 * n * n, || done(std::hint::black_box(d.sum())));
    let u = Array2::from_shape_vec((n, n), data.bytes(4))?;
    let u2 = Array2::from_shape_vec((n, n), data.bytes(5))?;
    let mut ou = u.clone();
    report.case("add-u8", 3 * n * n, || {
        done(Zip::from(&mut ou).and(&u).and(&u2).for_each(|o, &x, &y| *o = x.wrapping_add(y)))
    });
    report.case("sum-f32", b, || done(std::hint::black_box(x.sum())));
    report.case("sum0-f32", b, || done(std::hint::black_box(x.sum_axis(Axis(0)))));
    report.case("sum1-f32", b, || done(std::hint::black_box(x.sum_axis(Axis(1)))));
    report.case("max-f32", b, || done(std::hint::black_box(x.fold(f32::MIN, |max, &x| max.max(x)))));
    report.case("var1-f32", b, || done(std::hint::black_box(x.var_axis(Axis(1), 0.0))));
    report.case("dot-f32", 2 * b, || {
        done(std::hint::black_box(Zip::from(&x).and(&y).fold(0.0, |sum, x, y| sum + x * y)))
    });
    report.case("cumsum1-f32", 2 * b, || {
        o.assign(&x);
        o.accumulate_axis_inplace(Axis(1), |before, now| *now += before);
        done(())
    });
    report.case("copyT-f32", 2 * b, || done(o.assign(&x.t())));
    report.case("copy-f32", 2 * b, || done(o.assign(&x)));
    let rows: Vec<usize> = data.rows().into_iter().map(|row| row as usize).collect();
    report.case("take-rows-f32", 2 * b, || done(std::hint::black_box(x.select(Axis(0), &rows))));
    let (a, c, mut o) = (Array1::<f32>::ones(1000), Array1::<f32>::ones(1000), Array1::<f32>::zeros(1000));
    report
        .small("small-add-1000", || done(Zip::from(&mut o).and(&a).and(&c).for_each(|o, &x, &y| *o = x + y)));
    Ok(())
}

fn done<T>(_: T) -> Result<(), String> {
    Ok(())
}
