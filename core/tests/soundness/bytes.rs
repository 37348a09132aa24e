//! Bytes and files of device memory, at positions that overflow, are negative, or are far outside.

use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};

use devarray::{Array, Error, LayoutError};

use super::{devices, open};

const FAR: [i64; 7] = [i64::MIN, i64::MIN + 1, -1_000_000, -9, 9, 1 << 62, i64::MAX];

#[test]
fn no_seek_leaves_the_memory() {
    let device = devices().next().unwrap();
    let (_context, stream) = open(&device);
    let mut array = Array::from_slice(&stream, &[3, 8], &(0..24).collect::<Vec<u8>>()).unwrap();
    let row = array.view().slice_axis(0, 1..2).unwrap();
    let mut reader = row.bytes().unwrap().reader(&stream);
    let outside = (9..12).chain([u64::MAX, 1 << 63, u64::MAX - 7]).map(SeekFrom::Start);
    let outside = outside.chain(FAR.into_iter().map(SeekFrom::End));
    for to in outside.chain(FAR.into_iter().filter(|far| far.abs_diff(0) > 8).map(SeekFrom::Current)) {
        for position in [0, 3, 8] {
            reader.seek(SeekFrom::Start(position)).unwrap();
            let refused = reader.seek(to).map_err(|error| error.kind());
            assert_eq!(refused, Err(ErrorKind::InvalidInput), "{to:?} from {position}");
            assert_eq!(reader.stream_position().unwrap(), position, "a refused seek moves nothing");
        }
    }
    reader.seek(SeekFrom::End(-8)).unwrap();
    let mut all = Vec::new();
    reader.read_to_end(&mut all).unwrap();
    assert_eq!(all, (8..16).collect::<Vec<u8>>(), "one row, and nothing of its neighbours");
    assert_eq!(reader.read(&mut [0; 4]).unwrap(), 0);

    let row = array.view_mut().slice_axis(0, 1..2).unwrap();
    let mut writer = BufWriter::with_capacity(5, row.bytes_mut().unwrap().writer(&stream));
    writer.seek(SeekFrom::Start(6)).unwrap();
    assert!(writer.write_all(&[99; 40]).and_then(|()| writer.flush()).is_err());
    drop(writer.into_parts());
    let mut due: Vec<u8> = (0..24).collect();
    due[14..16].fill(99);
    assert_eq!(array.to_vec(&stream).unwrap(), due);
    let mut lines = BufReader::with_capacity(3, array.view().bytes().unwrap().reader(&stream));
    lines.seek_relative(-1).unwrap_err();
    lines.seek_relative(23).unwrap();
    let mut last = Vec::new();
    assert_eq!((lines.read_to_end(&mut last).unwrap(), last), (1, vec![23]));
}

#[test]
fn no_part_of_bytes_leaves_the_memory() {
    let device = devices().next().unwrap();
    let (_context, stream) = open(&device);
    let mut array = Array::from_slice(&stream, &[4], &[1_u32, 2, 3, 4]).unwrap();
    let middle = array.view().slice_axis(0, 1..3).unwrap();
    let bytes = middle.bytes().unwrap();
    for (position, len) in [(0, 9), (8, 1), (9, 0), (usize::MAX, 0), (usize::MAX, 2), (1, usize::MAX), (4, 5)]
    {
        let refused = bytes.slice(position, len).err();
        assert!(
            matches!(refused, Some(Error::Layout(LayoutError::OutOfBounds { .. }, ..))),
            "{position} {len}: {refused:?}"
        );
    }
    assert_eq!(bytes.slice(8, 0).unwrap().to_vec(&stream).unwrap(), [0_u8; 0]);
    assert_eq!(bytes.slice(4, 4).unwrap().slice(1, 3).unwrap().to_vec(&stream).unwrap(), [0; 3]);
    let mut target = array.view_mut().slice_axis(0, 1..3).unwrap().bytes_mut().unwrap();
    assert!(target.copy_from_host(&stream, 5, &[7; 4]).is_err());
    assert!(target.copy_from_host(&stream, usize::MAX, &[7; 4]).is_err());
    target.copy_from_host(&stream, 4, &[7; 4]).unwrap();
    assert_eq!(array.to_vec(&stream).unwrap(), [1, 2, 0x0707_0707, 4]);
}
