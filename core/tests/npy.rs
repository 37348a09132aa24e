//! NumPy's files are read as NumPy wrote them, written as NumPy writes them, and refused when their
//! header is false.
#![allow(clippy::unwrap_used)] // helpers of tests

mod forms;

use std::io::{Cursor, Read, Write};

use devarray::{
    Array, Bool, Context, HostArray, NdLayout, Order, StreamHandle,
    npy::{
        self, Header, NpyElement, NpyError, NpyReader,
        npz::{NpzReader, NpzWriter},
    },
};
use devarray_mock::MockDevice;
use half::f16;
use num_complex::Complex;

macro_rules! file {
    ($name:literal) => {
        &include_bytes!(concat!("npy/", $name))[..]
    };
}

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Record {
    x: f32,
    n: u32,
}

impl NpyElement for Record {
    fn descr() -> String {
        "[('x', '<f4'), ('n', '<u4')]".to_owned()
    }
}

/// Checks that a file holds these elements, when it is read to the host and to a device, as a whole
/// and from a reader that gives few bytes at a time.
fn holds<T: NpyElement + PartialEq + std::fmt::Debug>(file: &[u8], shape: &[usize], due: &[T]) {
    for few in [false, true] {
        let (mut whole, mut few_at_a_time) = (file, Few(file));
        let reader: &mut dyn Read = if few { &mut few_at_a_time } else { &mut whole };
        let read = npy::read::<T>(reader).unwrap();
        assert_eq!((read.shape(), read.as_slice()), (shape, due));
    }
    let stream = stream();
    let mut reader = file;
    let array = npy::read_array::<T, _>(&stream, &mut reader).unwrap();
    assert!(reader.is_empty());
    assert_eq!((array.shape(), array.to_vec(&stream).unwrap()), (shape, due.to_vec()));
}

struct Few<'a>(&'a [u8]);

impl Read for Few<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(3);
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn files_of_numpy_are_read() {
    holds(file!("c_f4.npy"), &[2, 3], &[0.0_f32, 0.5, 1.0, 1.5, 2.0, 2.5]);
    holds(file!("fortran_i2.npy"), &[2, 3, 4], &(0..24).collect::<Vec<i16>>());
    holds(file!("reversed_f8.npy"), &[3], &[1.5, -2.25, 1e300_f64]);
    holds(file!("reversed_c8.npy"), &[2], &[Complex::new(1.0_f32, 2.0), Complex::new(3.0, -4.0)]);
    holds(file!("bool.npy"), &[2, 2], &[true, false, false, true].map(Bool::from));
    holds(file!("half.npy"), &[2], &[f16::from_f32(0.5), f16::from_f32(-2.0)]);
    holds(file!("scalar_u8.npy"), &[], &[1_u64 << 63]);
    holds::<i32>(file!("empty_i4.npy"), &[3, 0, 2], &[]);
    holds(file!("record.npy"), &[2], &[Record { x: 1.5, n: 7 }, Record { x: -2.0, n: 9 }]);
}

#[test]
fn a_file_in_f_order_stays_in_f_order_on_a_device() {
    let array = npy::read_array::<i16, _>(&stream(), &mut file!("fortran_i2.npy")).unwrap();
    assert!(array.layout().is_f_contiguous());
}

/// Writes NumPy's bytes, from the host and from a device.
#[test]
fn files_are_written_as_numpy_writes_them() {
    fn same<T: NpyElement>(due: &[u8], shape: &[usize], data: &[T], order: Order) {
        let stream = stream();
        let host = HostArray::new(shape, data.to_vec()).unwrap();
        let array = Array::from_host(&stream, data, host.layout(), order).unwrap();
        let mut file = Vec::new();
        npy::write_array(&stream, &mut file, &array.view()).unwrap();
        assert_eq!(file, due);
        if order == Order::C {
            let mut file = Vec::new();
            npy::write(&mut file, &host).unwrap();
            assert_eq!(file, due);
        }
    }
    same(file!("c_f4.npy"), &[2, 3], &[0.0_f32, 0.5, 1.0, 1.5, 2.0, 2.5], Order::C);
    same(file!("fortran_i2.npy"), &[2, 3, 4], &(0..24).collect::<Vec<i16>>(), Order::F);
    same(file!("bool.npy"), &[2, 2], &[true, false, false, true].map(Bool::from), Order::C);
    same(file!("half.npy"), &[2], &[f16::from_f32(0.5), f16::from_f32(-2.0)], Order::C);
    same(file!("scalar_u8.npy"), &[], &[1_u64 << 63], Order::C);
    same::<i32>(file!("empty_i4.npy"), &[3, 0, 2], &[], Order::C);
    same(file!("record.npy"), &[2], &[Record { x: 1.5, n: 7 }, Record { x: -2.0, n: 9 }], Order::C);
}

/// Several pieces, with their ends at any element; a view with gaps; in both directions.
#[test]
fn large_arrays_pass_in_pieces() {
    let stream = stream();
    let number = |n: u32| n.to_le_bytes().first_chunk().copied().unwrap();
    let data: Vec<[u8; 3]> = (0..3_000_001).map(number).collect();
    let array = Array::from_slice(&stream, &[data.len(), 1], &data).unwrap();
    let bytes = array.view().reinterpret::<u8>().unwrap();
    let mut file = Vec::new();
    npy::write_array(&stream, &mut file, &bytes).unwrap();
    let elements = &file[file.len() - data.len() * 3..];
    assert_eq!(elements, data.concat());
    assert_eq!(npy::read::<u8>(&mut &file[..]).unwrap().as_slice(), data.concat());
    let read = npy::read_array::<u8, _>(&stream, &mut &file[..]).unwrap();
    assert_eq!(read.to_vec(&stream).unwrap(), data.concat());
    let every_other = bytes.transpose().slice_axis(1, devarray::layout::Slice::from(..).step_by(-2)).unwrap();
    let mut file = Vec::new();
    npy::write_array(&stream, &mut file, &every_other).unwrap();
    let read = npy::read_array::<u8, _>(&stream, &mut &file[..]).unwrap();
    assert_eq!(read.shape(), every_other.shape());
    assert_eq!(read.to_vec(&stream).unwrap(), every_other.to_vec(&stream).unwrap());
}

fn read_error<T: NpyElement>(file: &[u8]) -> String {
    let stream = stream();
    let host = npy::read::<T>(&mut &file[..]).map(|_| ()).unwrap_err().to_string();
    let device = npy::read_array::<T, _>(&stream, &mut &file[..]).map(|_| ()).unwrap_err().to_string();
    assert_eq!(host, device);
    host
}

#[test]
fn other_types_are_told() {
    for (file, found) in [(file!("c_f4.npy"), "'<f4'"), (file!("record.npy"), "[('x', '<f4'), ('n', '<u4')]")]
    {
        let due = format!("the file holds elements of dtype {found}, not '<i4'");
        assert_eq!(read_error::<i32>(file), due);
    }
    assert!(read_error::<u64>(file!("reversed_f8.npy")).contains("'>f8'"));
    assert!(read_error::<u8>(file!("bool.npy")).contains("'|b1'"));
    assert!(read_error::<Record>(file!("scalar_u8.npy")).contains("'<u8'"));
    assert_eq!(read_error::<u64>(file!("object.npy")), "arrays of Python objects cannot be read");
}

/// A header of version 1.0 around a text, and elements.
fn framed(text: &str, elements: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    file.extend(text.as_bytes());
    file.extend(elements);
    file
}

#[test]
fn files_that_lie_are_errors_and_take_no_memory_for_what_is_not_there() {
    let claims = |shape: &str| {
        framed(&format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}"), &[1, 2, 3])
    };
    let petabyte = read_error::<u8>(&claims("(1000000000000000,)"));
    assert_eq!(petabyte, "the file ends after 3 of 1000000000000000 bytes of elements");
    assert_eq!(read_error::<u8>(&claims("(4,)")), "the file ends after 3 of 4 bytes of elements");
    assert!(read_error::<u8>(&claims("(9223372036854775807, 3)")).contains("too large"));
    assert!(read_error::<u8>(&claims("(99999999999999999999999,)")).contains("no extent"));
    assert!(read_error::<u8>(&claims("(-1,)")).contains("no extent"));
    assert!(read_error::<u8>(&claims("7")).contains("not a tuple"));
    assert!(read_error::<u8>(&claims("[3]")).contains("not a tuple"));
    assert!(read_error::<u8>(&claims("(03,)")).contains("begins with a zero"));
    assert!(read_error::<u8>(&claims("(3,), 'more': 1")).contains("other entries than 'descr', "));
    assert!(read_error::<u8>(&claims("(3,), 7: 1")).contains("other entries than"));
    assert_eq!(read_error::<u8>(b"\x93NUMPX\x01\x00"), "not a .npy file");
    assert!(read_error::<u8>(b"\x93NUMPY\x07\x00").contains("version 7.0"));
    assert!(read_error::<u8>(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("longer than"));
    assert!(read_error::<u8>(&framed(&"[".repeat(60_000), &[])).contains("nested"));
    let whole = file!("c_f4.npy");
    for len in 0..whole.len() {
        assert!(npy::read::<f32>(&mut &whole[..len]).is_err(), "{len}");
    }
    // If any byte of the header is changed, the result is an error or an array, never a panic.
    for at in 0..128 {
        for value in [0, b' ', b'9', b'(', b'\'', 0xff] {
            let mut broken = whole.to_vec();
            broken[at] = value;
            let _ = npy::read::<f32>(&mut &broken[..]);
        }
    }
}

#[test]
fn the_last_of_repeated_entries_counts() {
    let repeated = "{'shape': 7, 'descr': 'none', 'descr': '|u1', 'fortran_order': False, 'shape': (3,)}";
    holds(&framed(repeated, &[1, 2, 3]), &[3], &[1_u8, 2, 3]);
    let turned = "{'descr': '|u1', 'shape': (3,), 'fortran_order': False, 'shape': None}";
    assert!(read_error::<u8>(&framed(turned, &[1, 2, 3])).contains("bad header"));
}

/// Pieces of whole elements are put together again, from a reader that gives few bytes at a time,
/// and with elements larger than a piece.
#[test]
fn any_type_is_read_in_pieces_of_whole_elements() {
    for (item_bytes, len, due_pieces) in [(3, 5_000_000, 2), (9 << 20, 2, 2), (7, 0, 0), (1, 8 << 20, 1)] {
        let elements: Vec<u8> = (0..251).cycle().take(item_bytes * len).collect();
        let header = format!("{{'descr': '|V{item_bytes}', 'fortran_order': False, 'shape': ({len},)}}");
        let file = framed(&header, &elements);
        let mut reader = NpyReader::new(&file[..]).unwrap();
        assert_eq!((reader.header().item_bytes, reader.len_bytes()), (item_bytes, elements.len()));
        let (mut read, mut pieces) = (Vec::new(), 0);
        while let Some(piece) = reader.next_piece().unwrap() {
            assert!(piece.len().is_multiple_of(item_bytes));
            read.extend_from_slice(piece);
            pieces += 1;
        }
        assert!(read == elements, "{item_bytes}-byte elements");
        assert_eq!(pieces, due_pieces);
        assert!(reader.next_piece().unwrap().is_none());
        reader.finish().unwrap();
    }
    let file = framed("{'descr': '<u4', 'fortran_order': True, 'shape': (5,)}", &[7; 20]);
    let mut reader = NpyReader::new(Few(&file)).unwrap();
    assert_eq!(reader.next_piece().unwrap().unwrap(), [7; 20]);
}

/// A source is not as long as its header says: for a file, the error is reported when it is opened,
/// and for any other source when its end is reached.
#[test]
fn files_of_another_length_are_refused_before_an_element_is_read() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("another_length.npy");
    let text = "{'descr': '<u4', 'fortran_order': False, 'shape': (5,)}";
    for (len_bytes, due) in [
        (20, None),
        (19, Some("the file ends after 19 of 20 bytes of elements")),
        (0, Some("the file ends after 0 of 20 bytes of elements")),
        (21, Some("the file goes on after its 20 bytes of elements")),
    ] {
        let file = framed(text, &vec![1; len_bytes]);
        std::fs::write(&path, &file).unwrap();
        let opened = NpyReader::open(&path).map(|_| ());
        assert_eq!(opened.err().map(|error| error.to_string()).as_deref(), due);
        let read = NpyReader::new(&file[..]).unwrap().finish();
        assert_eq!(read.err().map(|error| error.to_string()).as_deref(), due);
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(NpyReader::open(&path), Err(NpyError::Io(_))));
}

#[test]
fn headers_are_made_only_of_what_can_be_read_back() {
    for (descr, order, shape) in [
        ("<f4", Order::C, &[1][..]),
        ("'|O'", Order::C, &[1]),
        ("'<f4'", Order::K, &[1]),
        ("'<f4'", Order::C, &[usize::MAX, 2]),
    ] {
        assert!(Header::new(descr, order, shape).is_err(), "{descr} {order:?} {shape:?}");
    }
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let array = HostArray::new(&[1], vec![1_u8]).unwrap();
    assert!(matches!(npy::write(&mut Full, &array), Err(NpyError::Io(_))));
}

#[test]
fn archives_of_numpy_are_read() {
    let stream = stream();
    for file in [file!("stored.npz"), file!("deflated.npz")] {
        let mut archive = NpzReader::new(Cursor::new(file)).unwrap();
        assert_eq!(archive.names(), ["c_f4", "fortran_i2", "empty_i4"]);
        assert_eq!(archive.read::<f32>("c_f4").unwrap().as_slice(), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
        let array = archive.read_array::<i16, _>(&stream, "fortran_i2").unwrap();
        assert_eq!(array.to_vec(&stream).unwrap(), (0..24).collect::<Vec<_>>());
        assert_eq!(archive.read::<i32>("empty_i4").unwrap().shape(), [3, 0, 2]);
        assert_eq!(Header::read(&mut archive.open("c_f4").unwrap()).unwrap().shape, [2, 3]);
        let missing = archive.read::<f32>("other").unwrap_err().to_string();
        assert_eq!(missing, "the archive has no array \"other\"");
        assert!(matches!(archive.read::<f64>("c_f4"), Err(NpyError::OtherDtype { .. })));
    }
}

#[test]
fn archives_come_back_and_broken_ones_are_errors() {
    let stream = stream();
    let array = Array::arange(&stream, 0_u32, 1000, 1).unwrap();
    let view = array.view().reshape(&[10, 100], Order::C).unwrap();
    for compressed in [false, true] {
        let empty = Cursor::new(Vec::new());
        let mut archive = if compressed { NpzWriter::compressed(empty) } else { NpzWriter::new(empty) };
        archive.write_array(&stream, "turned", &view.transpose()).unwrap();
        archive.write("one", &HostArray::new(&[], vec![1.5_f64]).unwrap()).unwrap();
        assert!(matches!(archive.write("one", &array.to_host(&stream).unwrap()), Err(NpyError::Archive(_))));
        let file = archive.finish().unwrap().into_inner();
        assert_eq!(file.len() < 4000, compressed);
        let mut archive = NpzReader::new(Cursor::new(&file[..])).unwrap();
        let turned = archive.read::<u32>("turned").unwrap();
        assert_eq!(turned.as_slice(), view.transpose().to_vec(&stream).unwrap());
        // If any byte is changed, the result is an error or the same elements.
        for at in (0..file.len()).step_by(7) {
            let mut broken = file.clone();
            broken[at] ^= 0x41;
            let Ok(mut archive) = NpzReader::new(Cursor::new(&broken[..])) else { continue };
            if let Ok(read) = archive.read::<u32>("turned") {
                assert_eq!(read.as_slice(), turned.as_slice(), "byte {at}");
            }
        }
    }
    assert!(matches!(NpzReader::new(Cursor::new(b"no archive")), Err(NpyError::Archive(_))));
}
