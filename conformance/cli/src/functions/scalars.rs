//! Scalars as text: `k0=f32:2.5`.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use devarray::function::{ElementType, Function, Operation};

use crate::golden::compute::Scalar;

/// The scalars in texts such as `k0=f32:2.5`; the texts may be in any order, the result begins with
/// `k0`.
///
/// # Errors
///
/// A text is no scalar, a scalar is given twice, or a scalar before another one is missing.
pub fn parse_scalars(texts: &[impl AsRef<str>]) -> Result<Vec<Scalar>> {
    let mut scalars: Vec<Option<Scalar>> = texts.iter().map(|_| None).collect();
    for text in texts {
        let text = text.as_ref();
        let (number, scalar) = one(text).with_context(|| format!("scalar {text:?}"))?;
        let count = texts.len();
        let place = scalars.get_mut(number).ok_or_else(|| {
            anyhow!("scalar {text:?}: of {count} given, the last is k{}: one before is missing", count - 1)
        })?;
        ensure!(place.replace(scalar).is_none(), "scalar {text:?}: k{number} is given twice");
    }
    // There is a place for each text, and each is filled once.
    Ok(scalars.into_iter().flatten().collect())
}

fn one(text: &str) -> Result<(usize, Scalar)> {
    const FORM: &str = "it is not NAME=TYPE:VALUE, such as k0=f32:2.5";
    let (name, rest) = text.split_once('=').context(FORM)?;
    let (type_name, value) = rest.split_once(':').context(FORM)?;
    let number = name.trim().strip_prefix('k').and_then(number_of).context(FORM)?;
    let element_type = ElementType::from_name(type_name.trim())
        .with_context(|| format!("{:?} is no element type", type_name.trim()))?;
    Ok((number, Scalar { element_type, bits: literal(element_type, value.trim())? }))
}

/// A number in the form of a scalar's name: without a sign and without leading zeros.
fn number_of(digits: &str) -> Option<usize> {
    let number: usize = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

/// The bits of a literal, which gets its type from a cast around it.
fn literal(element_type: ElementType, text: &str) -> Result<u64> {
    let function = Function::parse(&format!("cast({text}, {element_type})"), &[], &[]);
    let function = function.map_err(|error| anyhow!("{}", error.message()))?;
    match function.nodes() {
        [node] => match node.operation() {
            Operation::Constant(bits) if node.element_type() == element_type => Ok(bits),
            _ => bail!("{text:?} is no literal"),
        },
        _ => bail!("{text:?} is no literal"),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_scalars;

    #[test]
    fn literals_take_the_type_beside_them() {
        let texts = ["k1=i8:-128", "k0=f32:2.5", "k2=bool:true", "k3=f16:inf", "k4=u64:0x10"];
        let bits: Vec<u64> = parse_scalars(&texts[..4]).unwrap().iter().map(|scalar| scalar.bits).collect();
        assert_eq!(bits, [u64::from(2.5_f32.to_bits()), 0x80, 1, 0x7c00]);
    }

    #[test]
    fn what_is_no_scalar_is_named() {
        for (texts, part) in [
            (&["k0"][..], "NAME=TYPE:VALUE"),
            (&["x0=f32:1"], "NAME=TYPE:VALUE"),
            (&["k00=f32:1"], "NAME=TYPE:VALUE"),
            (&["k+0=f32:1"], "NAME=TYPE:VALUE"),
            (&["k0=f32:1", "k01=f32:1"], "NAME=TYPE:VALUE"),
            (&["k0=f31:1"], "f31"),
            (&["k0=i8:300"], "k0=i8:300"),
            (&["k0=f32:1 + 2"], "k0=f32"),
            (&["k0=f32:x0"], "k0=f32"),
            (&["k0=f32:"], "k0=f32"),
            (&["k0=f32:1, f32) + cast(2"], "no literal"),
            (&["k1=f32:1"], "missing"),
            (&["k0=f32:1", "k0=f32:2"], "twice"),
        ] {
            let error = format!("{:#}", parse_scalars(texts).unwrap_err());
            assert!(error.contains(part), "{texts:?}: {error}");
        }
    }
}
