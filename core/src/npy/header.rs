//! The header: element type, order and shape.

use std::io::{self, Read, Write};

use super::{
    NpyError,
    literal::{self, Literal},
    type_text,
    write::{self, MAGIC},
};
use crate::layout::{Layout, LayoutError, Order};

/// The keys of a header.
const KEYS: [&str; 3] = ["descr", "fortran_order", "shape"];

/// The longest header that is read. NumPy's own headers are below 200 bytes, or 40 per field.
const LIMIT_BYTES: usize = 1 << 20;

/// The description of a file's elements. It is read and written separately, so that the elements
/// can be moved in pieces.
///
/// ```
/// use std::io::Read;
///
/// use devarray::{Order, npy::Header};
///
/// let header = Header::new("'<u2'", Order::C, &[2, 3])?;
/// let mut file = Vec::new();
/// header.write(&mut file)?;
/// file.extend([0; 12]);
///
/// let mut reader = &file[..];
/// assert_eq!(Header::read(&mut reader)?, header);
/// assert_eq!(reader.len(), header.len_bytes()?);
/// # Ok::<(), devarray::npy::NpyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The element type in Python's syntax, as NumPy writes it: `'<f8'` for a file's `'float64'`.
    pub descr: String,
    /// Bytes of one element, at least 1.
    pub item_bytes: usize,
    /// Whether elements lie in C or F order.
    pub order: Order,
    /// Extents, outermost axis first.
    pub shape: Vec<usize>,
}

impl Header {
    /// The header for elements of a type, described in Python's syntax like NumPy does: `'<f4'`
    /// with its quotes, or a list of fields.
    ///
    /// # Errors
    ///
    /// - [`NpyError::Header`], [`NpyError::Dtype`], [`NpyError::Objects`]: the text is not a
    ///   type, or not one that can be read back.
    /// - [`NpyError::Header`]: the order is neither C nor F.
    /// - [`NpyError::TooLarge`].
    #[track_caller]
    pub fn new(descr: &str, order: Order, shape: &[usize]) -> Result<Self, NpyError> {
        let literal = literal::parse(descr).map_err(NpyError::Header)?;
        if !matches!(order, Order::C | Order::F) {
            return Err(NpyError::Header(format!("elements cannot lie in order {order:?}")));
        }
        let item_bytes = type_text::item_bytes(&literal, descr)?;
        let descr = type_text::written(&literal, descr);
        let header = Self { descr, item_bytes, order, shape: shape.to_vec() };
        header.len_bytes()?;
        Ok(header)
    }

    /// Writes the header like NumPy, in the oldest version that can hold it. The elements come
    /// next.
    ///
    /// # Errors
    ///
    /// The writer failed.
    #[track_caller]
    pub fn write(&self, writer: &mut (impl Write + ?Sized)) -> Result<(), NpyError> {
        Ok(writer.write_all(&write::header_bytes(&self.descr, self.order, &self.shape)?)?)
    }

    /// Reads a header of version 1, 2 or 3; the reader is left at the first element. All types of
    /// single elements and records that NumPy reads are read: by any name, also of Python 2, with
    /// comments, and with strings and numbers in any of Python's forms. Types made of commas, such
    /// as `'i4,f4'`, texts without a length, and negative extents are not read.
    ///
    /// # Errors
    ///
    /// The errors of [`NpyError`] lists them, except those about elements.
    #[track_caller]
    pub fn read(reader: &mut (impl Read + ?Sized)) -> Result<Self, NpyError> {
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(|e| ended(e, NpyError::NotNpy))?;
        if &start[..6] != MAGIC {
            return Err(NpyError::NotNpy);
        }
        let [major, minor] = [start[6], start[7]];
        let mut len = [0; 4];
        let len_width = match (major, minor) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            _ => return Err(NpyError::Version { major, minor }),
        };
        reader.read_exact(&mut len[..len_width]).map_err(|e| ended(e, NpyError::TruncatedHeader))?;
        let len_bytes = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX);
        if len_bytes > LIMIT_BYTES {
            return Err(NpyError::LongHeader { len_bytes, limit_bytes: LIMIT_BYTES });
        }
        let mut text = vec![0; len_bytes];
        reader.read_exact(&mut text).map_err(|e| ended(e, NpyError::TruncatedHeader))?;
        let text = if major < 3 {
            text.into_iter().map(char::from).collect() // bytes are Latin-1
        } else {
            String::from_utf8(text).map_err(|_| NpyError::Header("it is not UTF-8".to_owned()))?
        };
        Self::parse(&text)
    }

    /// The dense layout of the elements in the file.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`]: like [`Layout::len_bytes`].
    pub fn layout(&self) -> Result<Layout, LayoutError> {
        let layout = Layout::contiguous(&self.shape, self.order)?;
        layout.len_bytes(self.item_bytes)?;
        Ok(layout)
    }

    /// Bytes of the elements.
    ///
    /// # Errors
    ///
    /// [`NpyError::TooLarge`]: they exceed `isize::MAX`. Extents of 0 do not count, as in NumPy.
    #[track_caller]
    pub fn len_bytes(&self) -> Result<usize, NpyError> {
        match self.layout() {
            Ok(layout) => Ok(layout.len() * self.item_bytes),
            Err(_) => Err(NpyError::TooLarge { shape: self.shape.clone(), item_bytes: self.item_bytes }),
        }
    }

    /// Parses like Python: a header has exactly the three entries, and the last of a repeated entry
    /// counts.
    #[track_caller]
    fn parse(text: &str) -> Result<Self, NpyError> {
        let Literal::Dict(entries) = literal::parse(text).map_err(NpyError::Header)? else {
            return Err(NpyError::Header("it is not a dictionary".to_owned()));
        };
        let is = |key: &Literal, name: &str| matches!(key, Literal::Text(text) if text == name);
        let entry = |name: &str| {
            let found = entries.iter().rfind(|(key, ..)| is(key, name));
            found.ok_or_else(|| NpyError::Header(format!("it has no '{name}'")))
        };
        if !entries.iter().all(|(key, ..)| KEYS.iter().any(|name| is(key, name))) {
            let [one, two, three] = KEYS;
            let message = format!("it has other entries than '{one}', '{two}' and '{three}'");
            return Err(NpyError::Header(message));
        }
        let (_, descr, span) = entry("descr")?;
        let descr_text = text[span.clone()].trim();
        let order = match entry("fortran_order")?.1 {
            Literal::Bool(true) => Order::F,
            Literal::Bool(false) => Order::C,
            _ => return Err(NpyError::Header("'fortran_order' is neither True nor False".to_owned())),
        };
        let Literal::Tuple(extents) = &entry("shape")?.1 else {
            return Err(NpyError::Header("'shape' is not a tuple".to_owned()));
        };
        let extent = |value: &Literal| match value {
            Literal::Integer(value) => value.and_then(|n| usize::try_from(n).ok()),
            // Python treats truth values as numbers, and so does NumPy here.
            Literal::Bool(value) => Some(usize::from(*value)),
            _ => None,
        };
        let shape: Option<Vec<usize>> = extents.iter().map(extent).collect();
        let shape = shape.ok_or_else(|| NpyError::Header("'shape' holds what is no extent".to_owned()))?;
        let item_bytes = type_text::item_bytes(descr, descr_text)?;
        Ok(Self { descr: type_text::written(descr, descr_text), item_bytes, order, shape })
    }
}

fn ended(error: io::Error, otherwise: NpyError) -> NpyError {
    if error.kind() == io::ErrorKind::UnexpectedEof { otherwise } else { error.into() }
}
