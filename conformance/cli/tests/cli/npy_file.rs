//! Composes and parses array files by hand.

use std::{fs, path::Path};

/// An array file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NpyFile {
    pub(crate) descr: String,
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<usize>,
    pub(crate) elements: Vec<u8>,
}

impl NpyFile {
    /// Writes a version 1 file with the shortest possible header.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let fortran = if self.fortran { "True" } else { "False" };
        with_header(
            &format!(
                "{{'descr': {}, 'fortran_order': {fortran}, 'shape': {}}}\n",
                self.descr,
                python(&self.shape)
            ),
            &self.elements,
        )
    }

    pub(crate) fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        assert_eq!(bytes[..8], *b"\x93NUMPY\x01\0");
        let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert_eq!(end % 64, 0, "elements are aligned");
        let text = std::str::from_utf8(&bytes[10..end]).unwrap();
        let (descr, rest) =
            text.strip_prefix("{'descr': ").unwrap().split_once(", 'fortran_order': ").unwrap();
        let (fortran, rest) = rest.split_once(", 'shape': (").unwrap();
        let (shape, rest) = rest.split_once("), }").unwrap();
        assert_eq!(rest.trim_start_matches(' '), "\n");
        let shape = shape.split(", ").map(|n| n.trim_end_matches(',')).filter(|n| !n.is_empty());
        Self {
            descr: descr.to_owned(),
            fortran: fortran == "True",
            shape: shape.map(|n| n.parse().unwrap()).collect(),
            elements: bytes[end..].to_vec(),
        }
    }
}

/// Writes a version 1 file with this header and these elements, without a check of either.
pub(crate) fn with_header(header: &str, elements: &[u8]) -> Vec<u8> {
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\0", &len[..], header.as_bytes(), elements].concat()
}

/// Writes a shape in Python's form.
fn python(shape: &[usize]) -> String {
    let extents: String = shape.iter().map(|extent| format!("{extent},")).collect();
    format!("({extents})")
}
