//! Types of single elements. NumPy reads them by several names and writes one.

use std::{ffi::c_long, fmt};

/// The type of a single element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scalar<'a> {
    /// Whether bytes are in the other order than this machine's. False where the order has no
    /// meaning.
    pub(super) is_reversed: bool,
    /// NumPy's `kind`, except for [`OBJECT`].
    pub(super) kind: char,
    /// The number in the name: bytes, or characters if the type is a text.
    size: usize,
    /// The unit of a time in brackets, or nothing.
    unit: &'a str,
}

/// The kind of Python objects, which no file here may hold.
pub(super) const OBJECT: char = 'O';

/// The largest size of a type in bytes.
pub(super) const MOST_BYTES: usize = 0x7fff_ffff;

/// The mark of this machine's byte order.
pub(super) const NATIVE: char = if cfg!(target_endian = "little") { '<' } else { '>' };
/// The mark of the other byte order.
const REVERSED: char = if cfg!(target_endian = "little") { '>' } else { '<' };

/// The size of C's `long`, and of a pointer.
const LONG: usize = size_of::<c_long>();
const POINTER: usize = size_of::<usize>();

/// Names of one letter, which may have a byte order before them.
const LETTERS: [(&str, char, usize); 28] = [
    ("?", 'b', 1),
    ("b", 'i', 1),
    ("B", 'u', 1),
    ("h", 'i', 2),
    ("H", 'u', 2),
    ("i", 'i', 4),
    ("I", 'u', 4),
    ("l", 'i', LONG),
    ("L", 'u', LONG),
    ("q", 'i', 8),
    ("Q", 'u', 8),
    ("n", 'i', POINTER),
    ("N", 'u', POINTER),
    ("p", 'i', POINTER),
    ("P", 'u', POINTER),
    ("e", 'f', 2),
    ("f", 'f', 4),
    ("d", 'f', 8),
    ("g", 'f', 16),
    ("F", 'c', 8),
    ("D", 'c', 16),
    ("G", 'c', 32),
    ("c", 'S', 1),
    ("S", 'S', 0),
    ("a", 'S', 0),
    ("U", 'U', 0),
    ("V", 'V', 0),
    ("O", OBJECT, 8),
];

/// Whole names, which never have a byte order. `long double` is as wide as on Linux.
const NAMES: [(&str, char, usize); 53] = [
    ("bool", 'b', 1),
    ("bool_", 'b', 1),
    ("int8", 'i', 1),
    ("byte", 'i', 1),
    ("uint8", 'u', 1),
    ("ubyte", 'u', 1),
    ("int16", 'i', 2),
    ("short", 'i', 2),
    ("uint16", 'u', 2),
    ("ushort", 'u', 2),
    ("int32", 'i', 4),
    ("intc", 'i', 4),
    ("uint32", 'u', 4),
    ("uintc", 'u', 4),
    ("int64", 'i', 8),
    ("longlong", 'i', 8),
    ("uint64", 'u', 8),
    ("ulonglong", 'u', 8),
    ("long", 'i', LONG),
    ("ulong", 'u', LONG),
    ("int", 'i', POINTER),
    ("int_", 'i', POINTER),
    ("intp", 'i', POINTER),
    ("uint", 'u', POINTER),
    ("uintp", 'u', POINTER),
    ("float16", 'f', 2),
    ("half", 'f', 2),
    ("float32", 'f', 4),
    ("single", 'f', 4),
    ("float64", 'f', 8),
    ("double", 'f', 8),
    ("float", 'f', 8),
    ("float128", 'f', 16),
    ("longdouble", 'f', 16),
    ("complex64", 'c', 8),
    ("csingle", 'c', 8),
    ("complex128", 'c', 16),
    ("cdouble", 'c', 16),
    ("complex", 'c', 16),
    ("complex256", 'c', 32),
    ("clongdouble", 'c', 32),
    ("bytes", 'S', 0),
    ("bytes_", 'S', 0),
    ("str", 'U', 0),
    ("str_", 'U', 0),
    ("unicode", 'U', 0),
    ("void", 'V', 0),
    ("object", OBJECT, 8),
    ("object_", OBJECT, 8),
    ("O4", OBJECT, 8),
    ("O8", OBJECT, 8),
    ("datetime64", 'M', 8),
    ("timedelta64", 'm', 8),
];

impl<'a> Scalar<'a> {
    /// The type of this name. `None` if NumPy has none, or if one element exceeds [`MOST_BYTES`].
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
        let is_plain = rest.len() == text.len();
        let known = |names: &[(&str, char, usize)]| {
            let (_, kind, size) = names.iter().find(|(name, ..)| *name == rest)?;
            Some(Self { is_reversed: false, kind: *kind, size: *size, unit: "" })
        };
        let found = known(&LETTERS).or_else(|| if is_plain { known(&NAMES) } else { None });
        let mut scalar = found.or_else(|| time(rest)).or_else(|| sized(rest))?;
        let has_order = scalar.kind == 'U' || (!matches!(scalar.kind, 'S' | 'V' | OBJECT) && scalar.size > 1);
        scalar.is_reversed = has_order && text.starts_with(REVERSED);
        scalar.size.checked_mul(scalar.bytes_a_unit()).filter(|&bytes| bytes <= MOST_BYTES)?;
        Some(scalar)
    }

    fn bytes_a_unit(&self) -> usize {
        if self.kind == 'U' { 4 } else { 1 }
    }

    /// Bytes of one element, which may be 0.
    pub(super) fn bytes(&self) -> usize {
        self.size * self.bytes_a_unit()
    }

    /// Whether the elements mean the same, apart from byte order.
    pub(super) fn is_like(&self, other: &Scalar<'_>) -> bool {
        (self.kind, self.size, self.unit) == (other.kind, other.size, other.unit)
    }
}

/// Prints NumPy's `dtype.str`.
impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_reversed, kind, size, unit } = self;
        let order = match kind {
            'S' | 'V' | &OBJECT => '|',
            'U' => {
                if *is_reversed {
                    REVERSED
                } else {
                    NATIVE
                }
            }
            _ if *size == 1 => '|',
            _ if *is_reversed => REVERSED,
            _ => NATIVE,
        };
        write!(f, "{order}{kind}{size}{unit}")
    }
}

/// Reads a kind and a size, such as `f4`. Spaces and a plus may stand before the size, as C reads
/// numbers.
fn sized(text: &str) -> Option<Scalar<'_>> {
    let kind = text.chars().next()?;
    let size = text[kind.len_utf8()..].trim_start_matches(|c: char| c == '\x0b' || c.is_ascii_whitespace());
    let digits = size.strip_prefix('+').unwrap_or(size);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().ok()?;
    let is_known = match kind {
        'b' => size == 1,
        'i' | 'u' => matches!(size, 1 | 2 | 4 | 8),
        'f' => matches!(size, 2 | 4 | 8 | 16),
        'c' => matches!(size, 8 | 16 | 32),
        'S' | 'a' | 'U' | 'V' => true,
        _ => false,
    };
    let kind = if kind == 'a' { 'S' } else { kind };
    is_known.then_some(Scalar { is_reversed: false, kind, size, unit: "" })
}

/// Reads a time, with a unit or without: `M8[s]`, `datetime64[25s]`.
fn time(text: &str) -> Option<Scalar<'_>> {
    let (name, unit) = text.split_at(text.find('[').unwrap_or(text.len()));
    let kind = match name {
        "M8" | "M" | "datetime64" => 'M',
        "m8" | "m" | "timedelta64" => 'm',
        _ => return None,
    };
    (unit.is_empty() || is_unit(unit)).then_some(Scalar { is_reversed: false, kind, size: 8, unit })
}

/// Whether the text is a unit of time in brackets, or a multiple of one: `[s]`, `[25s]`.
fn is_unit(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    let unit = inside.trim_start_matches(|c: char| c.is_ascii_digit());
    let count = &inside[..inside.len() - unit.len()];
    let known =
        ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"].contains(&unit);
    known && (count.is_empty() || count.parse::<i32>().is_ok())
}
