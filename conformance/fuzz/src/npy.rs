//! Array files: the array that is read is the one in the file, and is written as a file that reads
//! the same.

use std::io::{Cursor, Read};

use devarray::{
    HostArray, NdLayout,
    npy::{self, Header, NpyElement, NpyReader, npz::NpzReader},
};

/// The most bytes of an archive's entry that are read.
const MOST_BYTES: u64 = 1 << 20;

/// The bytes are a file, or an archive of files.
pub fn run(data: &[u8]) {
    pieces(data);
    typed::<u8>(data);
    typed::<i16>(data);
    typed::<f32>(data);
    typed::<f64>(data);
    if data.starts_with(b"PK") {
        archive(data);
    }
}

fn pieces(data: &[u8]) {
    let mut rest = data;
    let Ok(mut reader) = NpyReader::new(&mut rest) else { return };
    let (header, len_bytes) = (reader.header().clone(), reader.len_bytes());
    let mut all = Vec::new();
    while let Ok(Some(piece)) = reader.next_piece() {
        all.extend_from_slice(piece);
    }
    drop(reader);
    if all.len() == len_bytes {
        assert!(data[..data.len() - rest.len()].ends_with(&all), "{header:?}");
    }
    // A header that was written can be read again.
    let mut written = Vec::new();
    header.write(&mut written).expect("a header that was read can be written");
    let again = Header::read(&mut &written[..]).expect("a header that was written can be read");
    assert_eq!(
        (again.item_bytes, again.order, &again.shape),
        (header.item_bytes, header.order, &header.shape)
    );
}

fn typed<T: NpyElement>(data: &[u8]) {
    let Ok(array) = npy::read::<T>(&mut &data[..]) else { return };
    let written = |array: &HostArray<T>| {
        let mut bytes = Vec::new();
        npy::write(&mut bytes, array).expect("an array that was read can be written");
        bytes
    };
    let file = written(&array);
    let again: HostArray<T> = npy::read(&mut &file[..]).expect("a file that was written can be read");
    assert_eq!(again.shape(), array.shape());
    assert_eq!(written(&again), file);
}

fn archive(data: &[u8]) {
    let Ok(mut archive) = NpzReader::new(Cursor::new(data)) else { return };
    for name in archive.names().into_iter().take(4) {
        let Ok(entry) = archive.open(&name) else { continue };
        let mut bytes = Vec::new();
        if entry.take(MOST_BYTES).read_to_end(&mut bytes).is_ok() {
            pieces(&bytes);
        }
    }
}
