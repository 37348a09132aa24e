//! The value of an expression for one element, by the language's rules as written, one operation at
//! a time.

use devarray::function::ElementType;
use half::{bf16, f16};

use super::{
    expression::Expression,
    value::{Value, width, wrap},
};

/// The inputs of an element.
pub(crate) struct Element<'a> {
    pub(crate) inputs: &'a [Value],
    pub(crate) scalars: &'a [Value],
    pub(crate) position: &'a [usize],
}

impl Element<'_> {
    pub(crate) fn evaluate(&self, expression: &Expression) -> Value {
        let value = |expression: &Expression| self.evaluate(expression);
        match expression {
            Expression::Input(at) => self.inputs[*at],
            Expression::Scalar(at) => self.scalars[*at],
            Expression::Position(axis) => Value::Integer(ElementType::I64, self.position[*axis] as i128),
            Expression::Literal(value) => *value,
            Expression::Unary(name, a) => unary(name, value(a)),
            Expression::Binary(name, a, b) => binary(name, value(a), value(b)),
            Expression::Fma(a, b, c) => fma(value(a), value(b), value(c)),
            Expression::Clip(x, low, high) => {
                binary("minimum", binary("maximum", value(x), value(low)), value(high))
            }
            Expression::Where(condition, a, b) => {
                if value(condition).truth() {
                    value(a)
                } else {
                    value(b)
                }
            }
            Expression::Cast(a, to) => value(a).cast(*to),
            Expression::Bitcast(a, to) => Value::from_bits(*to, value(a).bits()),
        }
    }
}

/// Half types: computed in `f32`, rounded once.
fn half_f16(value: f32) -> Value {
    Value::F32(value).cast(ElementType::F16)
}

fn half_bf16(value: f32) -> Value {
    Value::F32(value).cast(ElementType::BF16)
}

fn unary(name: &str, a: Value) -> Value {
    match a {
        Value::Bool(a) => Value::Bool(!a),
        Value::Integer(element_type, a) => integer_unary(name, element_type, a),
        Value::F16(a) => match composed(name, Value::F16(a)) {
            Some(value) => value,
            None => tested(name, f64::from(a)).unwrap_or_else(|| half_f16(f32_unary(name, a.to_f32()))),
        },
        Value::BF16(a) => match composed(name, Value::BF16(a)) {
            Some(value) => value,
            None => tested(name, f64::from(a)).unwrap_or_else(|| half_bf16(f32_unary(name, a.to_f32()))),
        },
        Value::F32(a) => match composed(name, Value::F32(a)) {
            Some(value) => value,
            None => tested(name, f64::from(a)).unwrap_or_else(|| Value::F32(f32_unary(name, a))),
        },
        Value::F64(a) => match composed(name, Value::F64(a)) {
            Some(value) => value,
            None => tested(name, a).unwrap_or_else(|| Value::F64(f64_unary(name, a))),
        },
    }
}

/// Compositions, computed step by step in the type.
fn composed(name: &str, a: Value) -> Option<Value> {
    let one = || Value::F32(1.0).cast(a.element_type());
    Some(match name {
        "square" => binary("*", a, a),
        "reciprocal" => binary("/", one(), a),
        "rsqrt" => binary("/", one(), unary("sqrt", a)),
        _ => return None,
    })
}

fn tested(name: &str, a: f64) -> Option<Value> {
    Some(Value::Bool(match name {
        "isnan" => a.is_nan(),
        "isinf" => a.is_infinite(),
        "isfinite" => a.is_finite(),
        "signbit" => !a.is_nan() && a.is_sign_negative(),
        _ => return None,
    }))
}

macro_rules! float_operations {
    ($float:ident, $unary:ident, $binary:ident) => {
        fn $unary(name: &str, a: $float) -> $float {
            match name {
                "-" => -a,
                "abs" => a.abs(),
                "sign" if a == 0.0 => 0.0,
                "sign" if a.is_nan() => a,
                "sign" => a.signum(),
                "sqrt" => a.sqrt(),
                "floor" => a.floor(),
                "ceil" => a.ceil(),
                "trunc" => a.trunc(),
                "rint" => a.round_ties_even(),
                _ => unreachable!("{name}"),
            }
        }

        fn $binary(name: &str, a: $float, b: $float) -> $float {
            let smaller = |a: $float, b: $float| match () {
                () if a < b => a,
                () if b < a => b,
                () if a.is_sign_negative() => a,
                () => b,
            };
            let sign_of = |b: $float| if b.is_nan() { 0.0 } else { b };
            match name {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                "/" => a / b,
                "fmod" => a % b,
                "copysign" => a.copysign(sign_of(b)),
                "minimum" | "maximum" if a.is_nan() || b.is_nan() => $float::NAN,
                "fmin" | "fmax" if a.is_nan() => b,
                "fmin" | "fmax" if b.is_nan() => a,
                "minimum" | "fmin" => smaller(a, b),
                "maximum" | "fmax" => -smaller(-a, -b),
                // This is NumPy's `npy_divmod`.
                "//" | "%" if b == 0.0 => {
                    if name == "%" {
                        $float::NAN
                    } else {
                        a / b
                    }
                }
                "//" | "%" => {
                    let mut modulo = a % b;
                    let mut quotient = (a - modulo) / b;
                    if modulo != 0.0 {
                        if (b < 0.0) != (modulo < 0.0) {
                            modulo += b;
                            quotient -= 1.0;
                        }
                    } else {
                        modulo = (0.0 as $float).copysign(b);
                    }
                    if name == "%" {
                        return modulo;
                    }
                    if quotient == 0.0 {
                        return (0.0 as $float).copysign(sign_of(a / b));
                    }
                    let floor = quotient.floor();
                    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
                }
                _ => unreachable!("{name}"),
            }
        }
    };
}
float_operations!(f32, f32_unary, f32_binary);
float_operations!(f64, f64_unary, f64_binary);

fn integer_unary(name: &str, element_type: ElementType, a: i128) -> Value {
    let bits = Value::Integer(element_type, a).bits();
    wrap(
        element_type,
        match name {
            "-" => -a,
            "~" => !a,
            "abs" => a.abs(),
            "sign" => a.signum(),
            "square" => a.wrapping_mul(a),
            "bitwise_count" => bits.count_ones().into(),
            _ => unreachable!("{name}"),
        },
    )
}

fn integer_binary(name: &str, element_type: ElementType, a: i128, b: i128) -> Value {
    let width = i128::from(width(element_type));
    wrap(
        element_type,
        match name {
            "+" => a + b,
            "-" => a - b,
            "*" => a.wrapping_mul(b),
            "//" | "%" | "fmod" if b == 0 => 0,
            "fmod" => a % b,
            "//" => (a - modulo(a, b)) / b,
            "%" => modulo(a, b),
            "minimum" | "fmin" => a.min(b),
            "maximum" | "fmax" => a.max(b),
            "&" => a & b,
            "|" => a | b,
            "^" => a ^ b,
            "<<" if (0..width).contains(&b) => a << b,
            "<<" => 0,
            ">>" if (0..width).contains(&b) => a >> b,
            ">>" => {
                if a < 0 {
                    -1
                } else {
                    0
                }
            }
            "**" if b < 0 => match a {
                1 => 1,
                -1 => {
                    if b % 2 == 0 {
                        1
                    } else {
                        -1
                    }
                }
                _ => 0,
            },
            "**" => (0..64).rev().fold(1_i128, |power, bit| {
                let square = power.wrapping_mul(power);
                if b >> bit & 1 == 1 { square.wrapping_mul(a) } else { square }
            }),
            _ => unreachable!("{name}"),
        },
    )
}

/// The remainder with the sign of the divisor.
fn modulo(a: i128, b: i128) -> i128 {
    let rest = a % b;
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}

fn compared(name: &str, order: Option<std::cmp::Ordering>) -> Option<Value> {
    Some(Value::Bool(match name {
        "==" => order.is_some_and(|order| order.is_eq()),
        "!=" => order.is_none_or(|order| order.is_ne()),
        "<" => order.is_some_and(|order| order.is_lt()),
        "<=" => order.is_some_and(|order| order.is_le()),
        ">" => order.is_some_and(|order| order.is_gt()),
        ">=" => order.is_some_and(|order| order.is_ge()),
        _ => return None,
    }))
}

fn binary(name: &str, a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(match name {
            "&" => a & b,
            "|" => a | b,
            "^" | "!=" => a != b,
            _ => a == b,
        }),
        (Value::Integer(element_type, a), Value::Integer(_, b)) => {
            compared(name, Some(a.cmp(&b))).unwrap_or_else(|| integer_binary(name, element_type, a, b))
        }
        (Value::F16(a), Value::F16(b)) => {
            let found = compared(name, a.partial_cmp(&b));
            found.unwrap_or_else(|| half_f16(f32_binary(name, f16::to_f32(a), f16::to_f32(b))))
        }
        (Value::BF16(a), Value::BF16(b)) => {
            let found = compared(name, a.partial_cmp(&b));
            found.unwrap_or_else(|| half_bf16(f32_binary(name, bf16::to_f32(a), bf16::to_f32(b))))
        }
        (Value::F32(a), Value::F32(b)) => {
            compared(name, a.partial_cmp(&b)).unwrap_or_else(|| Value::F32(f32_binary(name, a, b)))
        }
        (Value::F64(a), Value::F64(b)) => {
            compared(name, a.partial_cmp(&b)).unwrap_or_else(|| Value::F64(f64_binary(name, a, b)))
        }
        _ => unreachable!("{name} of {a:?} and {b:?}"),
    }
}

fn fma(a: Value, b: Value, c: Value) -> Value {
    match (a, b, c) {
        (Value::F16(a), Value::F16(b), Value::F16(c)) => half_f16(a.to_f32().mul_add(b.to_f32(), c.to_f32())),
        (Value::BF16(a), Value::BF16(b), Value::BF16(c)) => {
            half_bf16(a.to_f32().mul_add(b.to_f32(), c.to_f32()))
        }
        (Value::F32(a), Value::F32(b), Value::F32(c)) => Value::F32(a.mul_add(b, c)),
        (Value::F64(a), Value::F64(b), Value::F64(c)) => Value::F64(a.mul_add(b, c)),
        _ => unreachable!("fma of {a:?}, {b:?} and {c:?}"),
    }
}
