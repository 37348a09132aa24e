//! Computes the size of an element from NumPy's description of its type.

use std::collections::HashSet;

use super::{
    NpyError,
    literal::Literal,
    scalar::{MOST_BYTES, OBJECT, Scalar},
};

/// Bytes of one element of the described type; never 0.
///
/// A type is a text, such as `<f4`, or a list of fields. The type of a field may also be a tuple of a
/// type and a shape. No name and no title of a record occurs twice. Only padding, which is void
/// without fields, may lack a name, and may do so several times.
pub(super) fn item_bytes(descr: &Literal, text: &str) -> Result<usize, NpyError> {
    let described = match descr {
        // A shape here would make an array out of the file's element type.
        Literal::Tuple(_) => Err(Unsized::Unknown),
        _ => type_of(descr),
    };
    match described {
        Ok(Type { bytes: 0, .. }) | Err(Unsized::Unknown) => Err(NpyError::Dtype(text.to_owned())),
        Ok(Type { bytes, .. }) => Ok(bytes),
        Err(Unsized::Objects) => Err(NpyError::Objects),
    }
}

/// The facts about a type that the type around it needs.
#[derive(Clone, Copy)]
struct Type {
    bytes: usize,
    /// Whether it is void without fields, which is padding if its field has no name.
    is_void: bool,
    /// Whether it has no bytes and cannot be repeated: a text, void, or an array of no elements.
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

/// A record of fields, one after the other.
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

/// An array of a type, as one element. Without axes it is the type itself.
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

/// Returns the number if a type may have this size.
fn limited(bytes: Option<usize>) -> Result<usize, Unsized> {
    bytes.filter(|&bytes| bytes <= MOST_BYTES).ok_or(Unsized::Unknown)
}

fn scalar(text: &str) -> Result<Type, Unsized> {
    match Scalar::of(text).ok_or(Unsized::Unknown)? {
        Scalar { kind: OBJECT, .. } => Err(Unsized::Objects),
        scalar => {
            let bytes = scalar.bytes();
            Ok(Type { bytes, is_void: scalar.kind == 'V', is_nothing: bytes == 0 })
        }
    }
}

/// The type in NumPy's own form: each single element has its one name, and everything is gone that
/// only Python 2 or a person writes. `text` is the text that was read.
pub(super) fn written(descr: &Literal, text: &str) -> String {
    let plain = by_one_name(descr);
    // Parsing does not keep apart escapes and backslashes in names, so such a text stays.
    let stays = text.contains('\\') || (&plain == descr && !text.contains(['L', '#', '\n', '\r']));
    if stays && matches!(plain, Literal::List(_)) { text.to_owned() } else { plain.to_string() }
}

/// Gives each single element the name that NumPy writes.
pub(super) fn by_one_name(descr: &Literal) -> Literal {
    match descr {
        Literal::Text(text) => match Scalar::of(text) {
            Some(scalar) => Literal::Text(scalar.to_string()),
            None => descr.clone(),
        },
        Literal::List(fields) => Literal::List(fields.iter().map(field_by_one_name).collect()),
        Literal::Tuple(parts) => Literal::Tuple(with_type(parts, 0)),
        other => other.clone(),
    }
}

/// A field is a tuple of its name, its type, and the shape of its array if it is one.
fn field_by_one_name(field: &Literal) -> Literal {
    match field {
        Literal::Tuple(parts) | Literal::List(parts) => Literal::Tuple(with_type(parts, 1)),
        other => other.clone(),
    }
}

/// Treats the part at `place` as a type, and later parts as shapes.
fn with_type(parts: &[Literal], place: usize) -> Vec<Literal> {
    let part = |(at, part): (usize, &Literal)| match part {
        _ if at == place => by_one_name(part),
        Literal::List(extents) if at > place => Literal::Tuple(extents.clone()),
        Literal::Integer(_) if at > place => Literal::Tuple(vec![part.clone()]),
        _ => part.clone(),
    };
    parts.iter().enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::literal::parse, item_bytes, written};

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
            ("u'<i4'", 4),
            ("'d'", 8),
            ("'>H'", 2),
            ("'float64'", 8),
            ("'<f+4'", 4),
            ("[('a', 'float32'), ('b', 'B')]", 5),
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

    /// A type that NumPy writes stays as it is, so that files come back byte for byte.
    #[test]
    fn types_are_written_by_one_name() {
        let native =
            |text: &str| if cfg!(target_endian = "big") { text.replace('<', ">") } else { text.to_owned() };
        for (text, due) in [
            ("'d'", "'<f8'"),
            ("u'float32'", "'<f4'"),
            ("'|i4'", "'<i4'"),
            ("'?'", "'|b1'"),
            ("'>u1'", "'|u1'"),
            ("'a5'", "'|S5'"),
            ("'U3'", "'<U3'"),
            ("'datetime64[s]'", "'<M8[s]'"),
            ("[(u'a', 'f'), ('b', 'B', (2L,))]", "[('a', '<f4'), ('b', '|u1', (2,))]"),
            ("[('a', [('x', 'd')])]", "[('a', [('x', '<f8')])]"),
            ("[['a', 'd', [2]], ('b', '|u1', 3)]", "[('a', '<f8', (2,)), ('b', '|u1', (3,))]"),
            ("[('a','|u1'),]", "[('a','|u1'),]"),
        ] {
            assert_eq!(written(&parse(text).unwrap(), text), native(due), "{text}");
        }
        for text in ["'>i8'", "'<U7'", "'|S3'", "'|V5'", "'>c16'"] {
            assert_eq!(written(&parse(text).unwrap(), text), text);
        }
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "'|O'",
            "'<f3'",
            "'<i16'",
            "'x4'",
            "'<float64'",
            "'E'",
            "'Float64'",
            "''",
            "'<f4[s]'",
            "'|V0'",
            "[]",
            "3",
            "[('a',)]",
            "'<f-4'",
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
