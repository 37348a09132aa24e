//! Literals and names of functions as a first program writes them.

use devarray::{
    Array, Bool, Compute, Context, Result, StreamHandle,
    function::{Expression, Float, Number, Operands, lit},
};
use devarray_mock::MockDevice;

fn open() -> StreamHandle<MockDevice> {
    let context = Context::new(MockDevice::new()).expect("the simulator opens");
    context.stream().expect("a stream opens")
}

/// Literals that have a parameter's type on the right, and [`lit`] on both sides.
fn literals<T: Float, D: Compute>(s: &StreamHandle<D>, x: &Array<T, D>, k: T) -> Result<Vec<Vec<T>>> {
    let found = [
        x.map(s, |x| x * 0.5)?,
        x.map(s, |x| x + 1)?,
        x.map(s, |x| lit(0.5) * x)?,
        x.map(s, |x| x.lit(1) - x)?,
        x.map(s, |x| x.maximum(2.0).minimum(3))?,
        x.map(s, |x| x.gt(2.0).select(x, 0.0))?,
        x.map(s, |x| x.le(2).select(lit(0), x))?,
        x.map(s, |x| x.mul_add(2.0, -1))?,
        x.map(s, |x| {
            let mut sum = x;
            sum += 0.25;
            sum -= 1;
            sum *= k;
            sum /= 0.5;
            sum
        })?,
        (x, k).map(s, |(x, k)| x.clip(1.5, k))?,
    ];
    found.iter().map(|found| found.to_vec(s)).collect()
}

#[test]
fn literals_have_the_type_of_a_parameter() {
    let s = open();
    let x = Array::from_slice(&s, &[3], &[1.0_f32, 2.0, 4.0]).unwrap();
    let due: Vec<Vec<f64>> = vec![
        vec![0.5, 1.0, 2.0],
        vec![2.0, 3.0, 5.0],
        vec![0.5, 1.0, 2.0],
        vec![0.0, -1.0, -3.0],
        vec![2.0, 2.0, 3.0],
        vec![0.0, 0.0, 4.0],
        vec![0.0, 0.0, 4.0],
        vec![1.0, 3.0, 7.0],
        vec![1.5, 7.5, 19.5],
        vec![1.5, 2.0, 3.0],
    ];
    let wide = |found: Vec<Vec<f32>>| -> Vec<Vec<f64>> {
        found.into_iter().map(|row| row.into_iter().map(f64::from).collect()).collect()
    };
    assert_eq!(wide(literals(&s, &x, 3.0).unwrap()), due);
    let x = Array::from_slice(&s, &[3], &[1.0_f64, 2.0, 4.0]).unwrap();
    assert_eq!(literals(&s, &x, 3.0).unwrap(), due);
    let x = Array::from_slice(&s, &[3], &[1.0_f32, 2.0, 4.0].map(half::f16::from_f32)).unwrap();
    let found = literals(&s, &x, half::f16::from_f32(3.0)).unwrap();
    assert_eq!(wide(found.iter().map(|row| row.iter().map(|x| x.to_f32()).collect()).collect()), due);
    let x = Array::from_slice(&s, &[3], &[1.0_f32, 2.0, 4.0].map(half::bf16::from_f32)).unwrap();
    let found = literals(&s, &x, half::bf16::from_f32(3.0)).unwrap();
    assert_eq!(wide(found.iter().map(|row| row.iter().map(|x| x.to_f32()).collect()).collect()), due);
}

fn odd<T: Number, D: Compute>(s: &StreamHandle<D>, x: &Array<T, D>) -> Result<Array<T, D>> {
    x.map(s, |x| lit(2) * x + lit(1))
}

#[test]
fn lit_stands_beside_any_number() {
    let s = open();
    assert_eq!(
        odd(&s, &Array::from_slice(&s, &[2], &[3_u8, 4]).unwrap()).unwrap().to_vec(&s).unwrap(),
        [7, 9]
    );
    assert_eq!(
        odd(&s, &Array::from_slice(&s, &[2], &[-3_i64, 4]).unwrap()).unwrap().to_vec(&s).unwrap(),
        [-5, 9]
    );
    let x = Array::from_slice(&s, &[1], &[1_u64 << 60]).unwrap();
    assert_eq!(x.map(&s, |x| x ^ lit(u64::MAX)).unwrap().to_vec(&s).unwrap(), [!(1_u64 << 60)]);
    assert_eq!(x.map(&s, |x| lit(1) << (x >> 58)).unwrap().to_vec(&s).unwrap(), [16]);
}

/// A literal is rounded once, also to a half type, and a literal without a value in the type is an
/// error.
#[test]
fn literals_that_do_not_fit_are_errors() {
    let s = open();
    let one = Array::from_slice(&s, &[1], &[half::f16::ONE]).unwrap();
    // Just above the tie between 1 and the next half: through `f32` it would become 1.
    let above = 1.0 + 2.0_f64.powi(-11) + 2.0_f64.powi(-50);
    let found = one.map(&s, |x| x * above).unwrap().to_vec(&s).unwrap();
    assert_eq!(found[0].to_bits(), 0x3c01);
    assert_eq!(one.map(&s, |x| x * f64::INFINITY).unwrap().to_vec(&s).unwrap(), [half::f16::INFINITY]);
    assert!(one.map(&s, |x| x * f64::NAN).unwrap().to_vec(&s).unwrap()[0].is_nan());
    assert_eq!(one.map(&s, |x| x * -0.0).unwrap().to_vec(&s).unwrap()[0].to_bits(), 0x8000);
    let told = |result: Result<_>| result.map(drop).unwrap_err().to_string();
    let refused = told(one.map(&s, |x| x * 1e5));
    assert!(refused.contains("the number overflows f16"), "{refused}");
    let refused = told(one.map(&s, |x| x + 2049));
    assert!(refused.contains("the integer is not exact in f16"), "{refused}");
    let x = Array::from_slice(&s, &[1], &[1_u8]).unwrap();
    let told = |result: Result<Array<u8, _>>| result.map(drop).unwrap_err().to_string();
    assert!(told(x.map(&s, |x| x + lit(256))).contains("not exact in u8"));
    assert!(told(x.map(&s, |x| x + lit(-1))).contains("not exact in u8"));
    assert!(told(x.map(&s, |x| x * lit(0.5))).contains("a float literal stands beside u8"));
}

#[test]
fn rusts_names_have_rusts_meaning() {
    let s = open();
    let values = [
        -0.0_f32,
        0.0,
        0.3,
        -0.3,
        0.5,
        -0.5,
        0.499_999_97,
        1.5,
        -2.5,
        2.5,
        7.25,
        -7.25,
        1e10,
        -1e-40,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        8_388_609.0,
    ];
    let x = Array::from_slice(&s, &[values.len()], &values).unwrap();
    let same = |name: &str, found: Result<Array<f32, MockDevice>>, due: fn(f32) -> f32| {
        for (found, x) in found.unwrap().to_vec(&s).unwrap().into_iter().zip(values) {
            let due = due(x);
            assert!(
                found.to_bits() == due.to_bits() || (found.is_nan() && due.is_nan()),
                "{name} of {x:e}: {found:e}, not {due:e}"
            );
        }
    };
    same("recip", x.map(&s, |x| x.recip()), f32::recip);
    same("signum", x.map(&s, |x| x.signum()), f32::signum);
    same("round", x.map(&s, |x| x.round()), f32::round);
    same("fract", x.map(&s, |x| x.fract()), f32::fract);
    same("to_degrees", x.map(&s, |x| x.to_degrees()), f32::to_degrees);
    same("to_radians", x.map(&s, |x| x.to_radians()), f32::to_radians);
    same("clamp", x.map(&s, |x| x.clamp(-1.0, 2.0)), |x| x.clamp(-1.0, 2.0));
    same("clamp at zero", x.map(&s, |x| x.clamp(0.0, 2.0)), |x| x.clamp(0.0, 2.0));
    same("rem_euclid", x.map(&s, |x| x.rem_euclid(2.0)), |x| x.rem_euclid(2.0));
    same("rem_euclid", x.map(&s, |x| x.rem_euclid(-0.75)), |x| x.rem_euclid(-0.75));
    same("div_euclid", x.map(&s, |x| x.div_euclid(2.0)), |x| x.div_euclid(2.0));
    same("div_euclid", x.map(&s, |x| x.div_euclid(-0.75)), |x| x.div_euclid(-0.75));
    same("powi", x.map(&s, |x| x.powi(2)), |x| x * x);
    same("powi", x.map(&s, |x| x.powi(0)), |_| 1.0);
    same("powi", x.map(&s, |x| x.powi(-1)), f32::recip);
    same("powf", x.map(&s, |x| x.abs().powf(0.5)), |x| x.abs().sqrt());
    same("exp_m1 of ln_1p", x.map(&s, |x| (x * 0.0).exp_m1()), |x| x * 0.0);
    same("sin_cos", x.map(&s, |x| x.sin_cos().0 - x.sin()), |x| x.sin() - x.sin());
    let positive = x.map(&s, |x| x.is_sign_positive().select(1, 0)).unwrap().to_vec(&s).unwrap();
    assert_eq!(positive, values.map(|x| i32::from(x.is_sign_positive())));

    let numbers = [i8::MIN, -100, -7, -1, 0, 1, 7, 100, i8::MAX];
    let x = Array::from_slice(&s, &[numbers.len()], &numbers).unwrap();
    for divisor in [1, 3, -3, 7, i8::MAX, i8::MIN] {
        let found = x.map(&s, |x| x.rem_euclid(divisor)).unwrap().to_vec(&s).unwrap();
        assert_eq!(found, numbers.map(|x| x.wrapping_rem_euclid(divisor)), "{divisor}");
    }
    assert_eq!(x.map(&s, |x| x.signum()).unwrap().to_vec(&s).unwrap(), numbers.map(i8::signum));
    let found = x.map(&s, |x| x.wrapping_add(100).wrapping_mul(3).wrapping_sub(7).wrapping_neg()).unwrap();
    let due = numbers.map(|x| x.wrapping_add(100).wrapping_mul(3).wrapping_sub(7).wrapping_neg());
    assert_eq!(found.to_vec(&s).unwrap(), due);
    assert_eq!(x.map(&s, |x| x.clamp(-5, 5)).unwrap().to_vec(&s).unwrap(), numbers.map(|x| x.clamp(-5, 5)));
}

#[test]
fn comparisons_by_rusts_names() {
    let s = open();
    let x = Array::from_slice(&s, &[3], &[1, 2, 3]).unwrap();
    let bits = x.map(&s, |x| {
        let bit = |is: Expression<Bool>, bit: i32| is.select(bit, 0);
        bit(x.lt(2), 1)
            | bit(x.le(2), 2)
            | bit(x.gt(2), 4)
            | bit(x.ge(2), 8)
            | bit(x.eq(2), 16)
            | bit(x.ne(2), 32)
    });
    assert_eq!(bits.unwrap().to_vec(&s).unwrap(), [1 + 2 + 32, 2 + 8 + 16, 4 + 8 + 32]);
    let both = x.map(&s, |x| (x.gt(1) & x.lt(3)) | x.eq(1) & true).unwrap();
    assert_eq!(both.to_vec(&s).unwrap(), [true, true, false].map(Bool::from));
    let chosen = x.map(&s, |x| x.gt(1).select(true, false)).unwrap();
    assert_eq!(chosen.to_vec(&s).unwrap(), [false, true, true].map(Bool::from));
}

#[test]
#[allow(deprecated)]
fn max_and_min_are_those_of_rust() {
    let s = open();
    let x = Array::from_slice(&s, &[3], &[-1.0_f32, 2.0, f32::NAN]).unwrap();
    assert_eq!(x.map(&s, |x| x.max(0.0)).unwrap().to_vec(&s).unwrap(), [0.0, 2.0, 0.0]);
    assert_eq!(x.map(&s, |x| x.min(0.0)).unwrap().to_vec(&s).unwrap(), [-1.0, 0.0, 0.0]);
}
