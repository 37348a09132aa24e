//! Bytes of an element, from NumPy's description of its type.

use std::collections::HashSet;

use super::{NpyError, literal::Literal};

/// Most bytes of a type.
const MOST_BYTES: usize = 0x7fff_ffff;

/// Bytes of one element of the described type; never 0.
///
/// A type is a text, such as `<f4`, or a list of fields. The type of a field may also be a tuple of a
/// type and a shape. No name and no title of a record occurs twice; only padding, which is void
/// without fields, may have no name several times.
pub(super) fn item_bytes(descr: &Literal, text: &str) -> Result<usize, NpyError> {
    let described = match descr {
        // A shape would be one of the array.
        Literal::Tuple(_) => Err(Unsized::Unknown),
        _ => type_of(descr),
    };
    match described {
        Ok(Type { bytes: 0, .. }) | Err(Unsized::Unknown) => Err(NpyError::Dtype(text.to_owned())),
        Ok(Type { bytes, .. }) => Ok(bytes),
        Err(Unsized::Objects) => Err(NpyError::Objects),
    }
}

/// What of a type matters to the type around it.
#[derive(Clone, Copy)]
struct Type {
    bytes: usize,
    /// Whether it is void without fields: padding, in a field without a name.
    is_void: bool,
    /// Whether it is one of no bytes that cannot be repeated: a text, void, or an array of no
    /// elements.
    is_nothing: bool,
}

enum Unsized {
    Unknown,
    Objects,
}

fn type_of(descr: &Literal) -> Result<Type, Unsized> {
    match descr {
        Literal::Text(text) => scalar(text),
        Literal::List(fields) => record(fields),
        Literal::Tuple(parts) => match &parts[..] {
            [descr, shape] => repeated(type_of(descr)?, shape),
            _ => Err(Unsized::Unknown),
        },
        _ => Err(Unsized::Unknown),
    }
}

/// Fields one after the other.
fn record(fields: &[Literal]) -> Result<Type, Unsized> {
    let (mut bytes, mut known) = (0, HashSet::new());
    for field in fields {
        let (Literal::Tuple(parts) | Literal::List(parts)) = field else { return Err(Unsized::Unknown) };
        let (name, field) = match &parts[..] {
            [name, descr] => (name, type_of(descr)?),
            [name, descr, shape] => (name, repeated(type_of(descr)?, shape)?),
            _ => return Err(Unsized::Unknown),
        };
        let is_new = match name {
            Literal::Text(name) if name.is_empty() && field.is_void => true,
            Literal::Text(name) => known.insert(name),
            Literal::Tuple(pair) => match &pair[..] {
                [Literal::Text(title), Literal::Text(name)] => known.insert(name) && known.insert(title),
                _ => false,
            },
            _ => false,
        };
        if !is_new {
            return Err(Unsized::Unknown);
        }
        bytes = limited(field.bytes.checked_add(bytes))?;
    }
    Ok(Type { bytes, is_void: false, is_nothing: false })
}

/// An array of a type, as one element; without an axis the type itself.
fn repeated(of: Type, shape: &Literal) -> Result<Type, Unsized> {
    let extents = match shape {
        Literal::Tuple(extents) | Literal::List(extents) => &extents[..],
        extent => std::slice::from_ref(extent),
    };
    if of.is_nothing {
        return Err(Unsized::Unknown);
    }
    let times = |bytes: usize, extent: &Literal| {
        let Literal::Integer(Some(extent)) = extent else { return Err(Unsized::Unknown) };
        limited(bytes.checked_mul(limited(usize::try_from(*extent).ok())?))
    };
    let bytes = extents.iter().try_fold(of.bytes, times)?;
    let is_array = !extents.is_empty();
    Ok(Type { bytes, is_void: of.is_void || is_array, is_nothing: bytes == 0 && is_array })
}

/// A number that the size of a type may be.
fn limited(bytes: Option<usize>) -> Result<usize, Unsized> {
    bytes.filter(|&bytes| bytes <= MOST_BYTES).ok_or(Unsized::Unknown)
}

/// A type string: byte order, kind, and bytes, such as `<f4`; for times then the unit.
fn scalar(text: &str) -> Result<Type, Unsized> {
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
        'f' => matches!(size, 2 | 4 | 8 | 16),
        'c' => matches!(size, 8 | 16 | 32),
        'm' | 'M' => size == 8,
        'S' | 'a' | 'U' | 'V' => true,
        _ => false,
    };
    let unit_fits = unit.is_empty() || (matches!(kind, 'm' | 'M') && is_unit(unit));
    if !known || !unit_fits {
        return Err(Unsized::Unknown);
    }
    let bytes_a_unit = if kind == 'U' { 4 } else { 1 };
    let bytes = limited(size.checked_mul(bytes_a_unit))?;
    Ok(Type { bytes, is_void: kind == 'V', is_nothing: bytes == 0 })
}

/// A unit of time in brackets, or a multiple of one: `[s]`, `[25s]`.
fn is_unit(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    let unit = inside.trim_start_matches(|c: char| c.is_ascii_digit());
    let count = &inside[..inside.len() - unit.len()];
    let known =
        ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"].contains(&unit);
    known && (count.is_empty() || count.parse::<i32>().is_ok())
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
            ("'<f16'", 16),
            ("'<c32'", 32),
            ("'<M8'", 8),
            ("'<M8[25s]'", 8),
            ("'<m8[generic]'", 8),
            ("'<m8[2147483647ns]'", 8),
            ("'|V2147483647'", 0x7fff_ffff),
            ("'<U3'", 12),
            ("'|V5'", 5),
            ("[('a', '<i4'), ('', '|V4'), ('b', '<f8', (2, 3))]", 56),
            ("[('a', [('x', '<f4'), ('y', '<f4')], 2), (('title', 'b'), '|u1')]", 17),
            ("[['a', '<f4', [2]], ('', '<f4')]", 12),
            ("[('', '|V4'), ('', '|V4'), ('', '<f4', (2,)), ('', '<f4', 1), ('b', '|u1')]", 21),
            ("[('a', ('<f4', (2,)), (3,)), ('x', [('a', '|u1'), ('x', '|u1')])]", 26),
            ("[('a', []), ('b', '|S0'), ('c', '<f4')]", 4),
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
            "'<f12'",
            "'<c24'",
            "'<M8[foo]'",
            "'<M8[]'",
            "'<M8[s]]'",
            "'<M8[s][s]'",
            "'<M8[-1s]'",
            "'<M8[2147483648s]'",
            "'<M8[5]'",
            "'|S2147483648'",
            "'<U536870912'",
            "('<f4', (2,))",
            "('<f4', ())",
            "(('a', '<f4'), ('b', '<f4'))",
            "(('a', '<f4'),)",
            "[('a', '<f4'), ('a', '<f4')]",
            "[('a', '<f4'), ('\\x61', '<f4')]",
            "[('', '<f4'), ('', '<f4')]",
            "[('', '|S4'), ('', '|S4')]",
            "[('', '<f4', ()), ('', '<f4', ())]",
            "[('a', [('x', '<f4'), ('x', '<f4')])]",
            "[(('a', 'a'), '<f4')]",
            "[(('t', 'a'), '<f4'), ('t', '<f4')]",
            "[(('t', 'a'), '<f4'), (('t', 'b'), '<f4')]",
            "[(['t', 'a'], '<f4')]",
            "[('a', ('<f4',))]",
            "[('a', '|V0', (3,)), ('b', '<f4')]",
            "[('a', ('<f4', (2, 0)), (3,)), ('b', '<f4')]",
            "[('a', ('<f4', (0,)), ()), ('b', '<f4')]",
            "[('a', '<f4', (True,))]",
            "[('a', '<f4', ((2,),))]",
            "[('a', '<f4', (536870912,))]",
            "[('a', '<f4', (2147483648, 0))]",
            "[('a', '<f4'), ('b', '|V2147483647')]",
        ] {
            assert!(item_bytes(&parse(text).unwrap(), text).is_err(), "{text}");
        }
    }
}
