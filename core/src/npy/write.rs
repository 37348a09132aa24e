//! Writes headers, byte for byte like NumPy.

use std::io;

use crate::layout::Order;

/// The beginning of a file.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Elements start at a multiple of this position.
const ALIGN_BYTES: usize = 64;

/// NumPy leaves room for this many digits in the outermost extent, so that a file can grow in
/// place.
const GROWTH_DIGITS: usize = 21;

/// The header in the oldest version that can hold it: 1 (Latin-1, below 64 KiB), 2 (Latin-1) or 3
/// (UTF-8).
pub(super) fn header_bytes(descr: &str, order: Order, shape: &[usize]) -> io::Result<Vec<u8>> {
    let text = header_text(descr, order, shape);
    let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    let (encoded, wide_version) = latin.map_or_else(|| (text.into_bytes(), 3), |latin| (latin, 2));
    let frame = |version: u8, len_width: usize| {
        let unpadded = MAGIC.len() + 2 + len_width + encoded.len() + 1;
        // If a header would fit exactly, NumPy adds a whole unit of padding.
        let padding = ALIGN_BYTES - unpadded % ALIGN_BYTES;
        let len = u32::try_from(encoded.len() + padding + 1).map_err(io::Error::other)?;
        let mut bytes = Vec::from(MAGIC);
        bytes.extend([version, 0]);
        bytes.extend(&len.to_le_bytes()[..len_width]);
        bytes.extend(&encoded);
        bytes.resize(bytes.len() + padding, b' ');
        bytes.push(b'\n');
        Ok((bytes, len))
    };
    if wide_version == 2 {
        let (bytes, len) = frame(1, 2)?;
        if len <= u32::from(u16::MAX) {
            return Ok(bytes);
        }
    }
    frame(wide_version, 4).map(|(bytes, _)| bytes)
}

fn header_text(descr: &str, order: Order, extents: &[usize]) -> String {
    let fortran = order == Order::F;
    let mut shape: String = extents.iter().map(|extent| format!("{extent}, ")).collect();
    shape.truncate(shape.len().saturating_sub(if extents.len() == 1 { 1 } else { 2 }));
    let truth = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': {descr}, 'fortran_order': {truth}, 'shape': ({shape}), }}");
    let growing = if fortran { extents.last() } else { extents.first() };
    if let Some(extent) = growing {
        let digits = extent.to_string().len();
        text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS.saturating_sub(digits)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Header;
    use crate::layout::Order;

    fn round_trip(descr: &str, item_bytes: usize, version: u8) {
        let header = Header { descr: descr.to_owned(), item_bytes, order: Order::F, shape: vec![2, 0, 3] };
        let mut bytes = Vec::new();
        header.write(&mut bytes).unwrap();
        assert_eq!(bytes[6], version);
        assert_eq!(bytes.len() % 64, 0);
        assert_eq!(Header::read(&mut &bytes[..]).unwrap(), header);
    }

    #[test]
    fn every_version_is_read_as_it_was_written() {
        round_trip("'<f4'", 4, 1);
        round_trip("[('é', '<f4')]", 4, 1);
        round_trip("[('μ', '<f4')]", 4, 3);
        let fields: String = (0..5000).map(|i| format!("('f{i}', '|u1'), ")).collect();
        round_trip(&format!("[{fields}]"), 5000, 2);
    }

    #[test]
    fn shapes_are_written_as_python_tuples() {
        for (shape, text) in [(vec![], "()"), (vec![7], "(7,)"), (vec![7, 1], "(7, 1)")] {
            let header = super::header_text("'|u1'", Order::C, &shape);
            assert!(header.contains(&format!("'shape': {text}, }}")), "{text}");
        }
    }
}
