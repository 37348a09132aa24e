//! Bytes of an element, from NumPy's description of its type.

use super::{NpyError, literal::Literal};

/// Bytes of one element of the described type; never 0.
pub(super) fn item_bytes(descr: &Literal, text: &str) -> Result<usize, NpyError> {
    match size(descr) {
        Ok(0) | Err(Unsized::Unknown) => Err(NpyError::Dtype(text.to_owned())),
        Ok(bytes) => Ok(bytes),
        Err(Unsized::Objects) => Err(NpyError::Objects),
    }
}

enum Unsized {
    Unknown,
    Objects,
}

fn size(descr: &Literal) -> Result<usize, Unsized> {
    match descr {
        Literal::Text(text) => scalar(text),
        Literal::Sequence(fields) => fields
            .iter()
            .try_fold(0_usize, |sum, field| sum.checked_add(self::field(field)?).ok_or(Unsized::Unknown)),
        _ => Err(Unsized::Unknown),
    }
}

/// `(name, type)` or `(name, type, shape)`, where a name may be `(title, name)`.
fn field(field: &Literal) -> Result<usize, Unsized> {
    let Literal::Sequence(parts) = field else { return Err(Unsized::Unknown) };
    let is_name = |name: &Literal| match name {
        Literal::Text(_) => true,
        Literal::Sequence(pair) => matches!(pair[..], [Literal::Text(_), Literal::Text(_)]),
        _ => false,
    };
    match &parts[..] {
        [name, descr] if is_name(name) => size(descr),
        [name, descr, Literal::Sequence(shape)] if is_name(name) => {
            shape.iter().try_fold(size(descr)?, repeat)
        }
        [name, descr, extent] if is_name(name) => repeat(size(descr)?, extent),
        _ => Err(Unsized::Unknown),
    }
}

fn repeat(bytes: usize, extent: &Literal) -> Result<usize, Unsized> {
    let Literal::Integer(Some(extent)) = extent else { return Err(Unsized::Unknown) };
    usize::try_from(*extent).ok().and_then(|n| bytes.checked_mul(n)).ok_or(Unsized::Unknown)
}

/// A type string: byte order, kind, and bytes, such as `<f4`.
fn scalar(text: &str) -> Result<usize, Unsized> {
    let rest = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    let mut chars = rest.chars();
    let kind = chars.next().ok_or(Unsized::Unknown)?;
    if kind == 'O' {
        return Err(Unsized::Objects);
    }
    let rest = chars.as_str();
    let (digits, unit) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Unsized::Unknown);
    }
    let size: usize = digits.parse().map_err(|_| Unsized::Unknown)?;
    let known = match kind {
        'b' => size == 1,
        'i' | 'u' => matches!(size, 1 | 2 | 4 | 8),
        'f' => matches!(size, 2 | 4 | 8 | 12 | 16),
        'c' => matches!(size, 8 | 16 | 24 | 32),
        'm' | 'M' => size == 8,
        'S' | 'a' | 'U' | 'V' => true,
        _ => false,
    };
    let unit_fits = unit.is_empty() || (matches!(kind, 'm' | 'M') && unit.ends_with(']'));
    if !known || !unit_fits {
        return Err(Unsized::Unknown);
    }
    let bytes_a_unit = if kind == 'U' { 4 } else { 1 };
    size.checked_mul(bytes_a_unit).ok_or(Unsized::Unknown)
}

#[cfg(test)]
mod tests {
    use super::{super::literal::parse, item_bytes};

    #[test]
    fn sizes_are_those_of_numpy() {
        for (text, bytes) in [
            ("'|b1'", 1),
            ("'<f2'", 2),
            ("'>i4'", 4),
            ("'<c16'", 16),
            ("'<M8[25s]'", 8),
            ("'<U3'", 12),
            ("'|V5'", 5),
            ("[('a', '<i4'), ('', '|V4'), ('b', '<f8', (2, 3))]", 56),
            ("[('a', [('x', '<f4'), ('y', '<f4')], 2), (('title', 'b'), '|u1')]", 17),
        ] {
            assert_eq!(item_bytes(&parse(text).unwrap(), text).unwrap(), bytes, "{text}");
        }
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "'|O'",
            "'<f3'",
            "'<i16'",
            "'x4'",
            "'f'",
            "''",
            "'<f4[s]'",
            "'|V0'",
            "[]",
            "3",
            "[('a',)]",
            "'<f+4'",
            "[('a', '<f4', (-1,))]",
            "[('a', '|O')]",
            "[('a', '|V9223372036854775807', (9,))]",
            "'<é4'",
        ] {
            assert!(item_bytes(&parse(text).unwrap(), text).is_err(), "{text}");
        }
    }
}
