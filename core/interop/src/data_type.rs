//! Types of elements, as interfaces between libraries name them.

use std::fmt;

use devarray::{Bool, Element};

/// The kind of an element's bits: the codes of DLPack (`DLDataTypeCode`, dlpack.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kind {
    /// A signed integer.
    Int = 0,
    /// An unsigned integer.
    Uint = 1,
    /// An IEEE 754 number.
    Float = 2,
    /// A bfloat16.
    Bfloat = 4,
    /// A complex number; its bits count both parts.
    Complex = 5,
    /// A truth value in a byte, 0 or 1.
    Bool = 6,
    /// `float8_e3m4`
    Float8E3m4 = 7,
    /// `float8_e4m3`
    Float8E4m3 = 8,
    /// `float8_e4m3b11fnuz`
    Float8E4m3b11fnuz = 9,
    /// `float8_e4m3fn`
    Float8E4m3fn = 10,
    /// `float8_e4m3fnuz`
    Float8E4m3fnuz = 11,
    /// `float8_e5m2`
    Float8E5m2 = 12,
    /// `float8_e5m2fnuz`
    Float8E5m2fnuz = 13,
    /// `float8_e8m0fnu`
    Float8E8m0fnu = 14,
}

/// The element type of an array that goes through a door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataType {
    kind: Kind,
    bits: u8,
}

/// Kind, bits, name, and the names of NumPy (`typestr`) and Arrow (format).
type Entry = (Kind, u8, &'static str, Option<&'static str>, Option<&'static str>);

/// A `typestr` in the byte order of this machine.
macro_rules! ordered {
    ($name:literal) => {
        Some(if cfg!(target_endian = "little") { concat!("<", $name) } else { concat!(">", $name) })
    };
}

/// All types that go through a door.
#[rustfmt::skip]
const ALL: [Entry; 23] = [
    (Kind::Bool,       8,  "bool",            Some("|b1"),  None),
    (Kind::Int,        8,  "int8",            Some("|i1"),  Some("c")),
    (Kind::Int,        16, "int16",           ordered!("i2"),  Some("s")),
    (Kind::Int,        32, "int32",           ordered!("i4"),  Some("i")),
    (Kind::Int,        64, "int64",           ordered!("i8"),  Some("l")),
    (Kind::Uint,       8,  "uint8",           Some("|u1"),  Some("C")),
    (Kind::Uint,       16, "uint16",          ordered!("u2"),  Some("S")),
    (Kind::Uint,       32, "uint32",          ordered!("u4"),  Some("I")),
    (Kind::Uint,       64, "uint64",          ordered!("u8"),  Some("L")),
    (Kind::Float,      16, "float16",         ordered!("f2"),  Some("e")),
    (Kind::Float,      32, "float32",         ordered!("f4"),  Some("f")),
    (Kind::Float,      64, "float64",         ordered!("f8"),  Some("g")),
    (Kind::Bfloat,     16, "bfloat16",        None,        None),
    (Kind::Complex,    64, "complex64",       ordered!("c8"),  None),
    (Kind::Complex,    128, "complex128",     ordered!("c16"), None),
    (Kind::Float8E3m4, 8,  "float8_e3m4",     None,        None),
    (Kind::Float8E4m3, 8,  "float8_e4m3",     None,        None),
    (Kind::Float8E4m3b11fnuz, 8, "float8_e4m3b11fnuz", None, None),
    (Kind::Float8E4m3fn, 8, "float8_e4m3fn",  None,        None),
    (Kind::Float8E4m3fnuz, 8, "float8_e4m3fnuz", None,     None),
    (Kind::Float8E5m2, 8,  "float8_e5m2",     None,        None),
    (Kind::Float8E5m2fnuz, 8, "float8_e5m2fnuz", None,     None),
    (Kind::Float8E8m0fnu, 8, "float8_e8m0fnu", None,       None),
];

/// The byte order of this machine, in a `typestr`.
const ORDER: u8 = if cfg!(target_endian = "little") { b'<' } else { b'>' };

impl DataType {
    /// The type of a DLPack code and a number of bits; none if it does not go through a door: an
    /// opaque handle, or elements of less than a byte.
    #[must_use]
    pub fn of_dlpack(code: u8, bits: u8) -> Option<Self> {
        let is = |entry: &&Entry| entry.0 as u8 == code && entry.1 == bits;
        ALL.iter().find(is).map(|&(kind, bits, ..)| Self { kind, bits })
    }

    /// The type of a NumPy `typestr`, in this machine's byte order; none if there is no such type
    /// here.
    #[must_use]
    pub fn of_typestr(typestr: &str) -> Option<Self> {
        let (&order, name) = typestr.as_bytes().split_first()?;
        let (kind, bits) = match name {
            b"b1" => (Kind::Bool, 8),
            b"i1" => (Kind::Int, 8),
            b"i2" => (Kind::Int, 16),
            b"i4" => (Kind::Int, 32),
            b"i8" => (Kind::Int, 64),
            b"u1" => (Kind::Uint, 8),
            b"u2" => (Kind::Uint, 16),
            b"u4" => (Kind::Uint, 32),
            b"u8" => (Kind::Uint, 64),
            b"f2" => (Kind::Float, 16),
            b"f4" => (Kind::Float, 32),
            b"f8" => (Kind::Float, 64),
            b"c8" => (Kind::Complex, 64),
            b"c16" => (Kind::Complex, 128),
            _ => return None,
        };
        let is_ordered = order == ORDER || (bits == 8 && matches!(order, b'|' | b'<' | b'>'));
        is_ordered.then_some(Self { kind, bits })
    }

    /// The type of an Arrow format; none if the format is not primitive, or packed.
    #[must_use]
    pub fn of_arrow(format: &str) -> Option<Self> {
        let entry = ALL.iter().find(|entry| entry.4 == Some(format))?;
        Some(Self { kind: entry.0, bits: entry.1 })
    }

    /// The type of a name, as NumPy and ml_dtypes have it: `float32`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let entry = ALL.iter().find(|entry| entry.2 == name)?;
        Some(Self { kind: entry.0, bits: entry.1 })
    }

    fn entry(self) -> &'static Entry {
        let is = |entry: &&Entry| (entry.0, entry.1) == (self.kind, self.bits);
        // Values are made from this table alone, so the first entry is never the answer.
        ALL.iter().find(is).unwrap_or(&ALL[0])
    }

    /// The kind of its bits.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// The number of bits of an element.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// The number of bytes of an element.
    #[must_use]
    pub const fn item_bytes(self) -> usize {
        self.bits as usize / 8
    }

    /// Its name, as NumPy and ml_dtypes have it: `float32`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().2
    }

    /// NumPy's `typestr`, in this machine's byte order: `<f4`. `None` if NumPy has no such type.
    #[must_use]
    pub fn typestr(self) -> Option<&'static str> {
        self.entry().3
    }

    /// The format of an Arrow schema; `None` if Arrow has no such type, and for truth values, which
    /// Arrow packs.
    #[must_use]
    pub fn arrow_format(self) -> Option<&'static str> {
        self.entry().4
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type of elements that interfaces between libraries have a name for.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use devarray_interop::{DataType, DoorElement};
///
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[repr(transparent)]
/// struct Metres(f64);
///
/// impl DoorElement for Metres {
///     const DATA_TYPE: DataType = f64::DATA_TYPE;
/// }
///
/// let stream = devarray::Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let array = devarray::Array::full(&stream, &[3], Metres(1.0))?;
/// assert_eq!(devarray_interop::Tensor::from(array).data_type().name(), "float64");
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// Other code believes the name, so a type of another size does not compile:
///
/// ```compile_fail,E0080
/// # use bytemuck::{Pod, Zeroable};
/// # use devarray_interop::{DataType, DoorElement};
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[repr(transparent)]
/// struct Short(u8);
///
/// impl DoorElement for Short {
///     const DATA_TYPE: DataType = f64::DATA_TYPE;
/// }
///
/// # let stream = devarray::Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let array = devarray::Array::full(&stream, &[3], Short(1))?;
/// devarray_interop::Tensor::from(array);
/// # Ok::<(), devarray::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "other libraries have no name for elements of type `{Self}`",
    note = "an array of such elements goes through a door as an array of their parts: see `ErasedArray` and `Tensor::new`"
)]
pub trait DoorElement: Element {
    /// The name of elements of this size. A name for another size does not compile where it is used
    /// in a door.
    const DATA_TYPE: DataType;
}

/// The name of a type. Other code believes it, so its size is checked.
pub(crate) const fn data_type_of<T: DoorElement>() -> DataType {
    const { assert!(T::DATA_TYPE.item_bytes() == T::BYTES, "the data type is of the size of the element") };
    T::DATA_TYPE
}

/// Each type, its kind, its bits.
macro_rules! door_elements {
    ($($type:ty: $kind:ident $bits:literal),* $(,)?) => {
        $(
            impl DoorElement for $type {
                const DATA_TYPE: DataType = {
                    assert!(size_of::<$type>() * 8 == $bits);
                    DataType { kind: Kind::$kind, bits: $bits }
                };
            }
        )*
    };
}

door_elements! {
    Bool: Bool 8,
    i8: Int 8, i16: Int 16, i32: Int 32, i64: Int 64,
    u8: Uint 8, u16: Uint 16, u32: Uint 32, u64: Uint 64,
    f32: Float 32, f64: Float 64,
}

#[cfg(feature = "half")]
door_elements!(half::f16: Float 16, half::bf16: Bfloat 16);

#[cfg(feature = "num-complex")]
door_elements!(num_complex::Complex<f32>: Complex 64, num_complex::Complex<f64>: Complex 128);

#[cfg(test)]
mod tests {
    use super::*;

    /// Each name leads back to its type.
    #[test]
    fn names_lead_back() {
        for &(kind, bits, name, typestr, arrow) in &ALL {
            let data_type = DataType { kind, bits };
            assert_eq!(DataType::of_dlpack(kind as u8, bits), Some(data_type));
            assert_eq!(DataType::of_name(name), Some(data_type));
            assert_eq!(data_type.typestr().and_then(DataType::of_typestr), typestr.map(|_| data_type));
            assert_eq!(data_type.arrow_format().and_then(DataType::of_arrow), arrow.map(|_| data_type));
        }
        assert_eq!(DataType::of_typestr(if ORDER == b'<' { ">f4" } else { "<f4" }), None);
        assert_eq!(
            (DataType::of_typestr(""), DataType::of_typestr("<"), DataType::of_typestr("é4")),
            (None, None, None)
        );
        assert_eq!((DataType::of_dlpack(3, 64), DataType::of_dlpack(17, 4)), (None, None));
    }
}
