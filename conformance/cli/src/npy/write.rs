//! Writing a whole file, header for header as NumPy writes it.

use std::io::{self, Write};

use devarray::Order;

use super::{Header, header::MAGIC};

/// Bytes written between two reports of progress.
const CHUNK_BYTES: usize = 8 << 20;

/// Elements start at a multiple of this.
const ALIGN_BYTES: usize = 64;

/// Digits that NumPy leaves room for in the outermost extent, so that a file can grow in place.
const GROWTH_DIGITS: usize = 21;

/// Writes `header` and `elements`, which lie in the header's order. `progress` hears of bytes done.
///
/// # Errors
///
/// Whatever the writer fails with; what was written until then is of no use.
pub fn write(
    writer: &mut impl Write,
    header: &Header,
    elements: &[u8],
    mut progress: impl FnMut(usize),
) -> io::Result<()> {
    write_header(writer, header)?;
    let mut done = 0;
    for chunk in elements.chunks(CHUNK_BYTES) {
        writer.write_all(chunk)?;
        done += chunk.len();
        progress(done);
    }
    writer.flush()
}

/// Writes `header` alone; the elements are to follow, in its order.
///
/// # Errors
///
/// As [`write`](fn@write).
pub fn write_header(writer: &mut impl Write, header: &Header) -> io::Result<()> {
    writer.write_all(&header_bytes(header)?)
}

/// The header in the oldest version that can hold it: Latin-1 below 64 KiB, Latin-1, UTF-8.
fn header_bytes(header: &Header) -> io::Result<Vec<u8>> {
    let text = header_text(header);
    let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    let (encoded, wide_version) = latin.map_or_else(|| (text.into_bytes(), 3), |latin| (latin, 2));
    let frame = |version: u8, len_width: usize| {
        let unpadded = MAGIC.len() + 2 + len_width + encoded.len() + 1;
        // A text that would fit exactly gets a whole unit more, as NumPy does.
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

fn header_text(header: &Header) -> String {
    let fortran = header.order == Order::F;
    let mut shape: String = header.shape.iter().map(|extent| format!("{extent}, ")).collect();
    shape.truncate(shape.len().saturating_sub(if header.shape.len() == 1 { 1 } else { 2 }));
    let truth = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': {}, 'fortran_order': {truth}, 'shape': ({shape}), }}", header.descr);
    let growing = if fortran { header.shape.last() } else { header.shape.first() };
    if let Some(extent) = growing {
        let digits = extent.to_string().len();
        text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS.saturating_sub(digits)));
    }
    text
}

#[cfg(test)]
mod tests {
    use devarray::Order;

    use super::{super::Header, write};

    fn round_trip(descr: &str, item_bytes: usize, version: u8) {
        let header = Header { descr: descr.to_owned(), item_bytes, order: Order::F, shape: vec![2, 0, 3] };
        let mut bytes = Vec::new();
        write(&mut bytes, &header, &[], |_| ()).unwrap();
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
            let header = Header { descr: "'|u1'".to_owned(), item_bytes: 1, order: Order::C, shape };
            assert!(super::header_text(&header).contains(&format!("'shape': {text}, }}")), "{text}");
        }
    }
}
