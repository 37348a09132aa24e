//! Headers in every form that NumPy reads, and files and shapes at the edge of what it reads.

use devarray::{
    Array, Bool, Order,
    npy::{self, Header, NpyError, NpyReader},
};

use super::{Record, framed, holds, read_error, stream};

/// Files that NumPy's own readers accept and no writer of today makes: types by any name, and
/// everything that Python takes for a dictionary. `conformance/cli/tests/relayout_numpy.py` asks
/// NumPy for each.
#[test]
fn headers_are_read_in_every_form() {
    let of = |descr: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}");
    let longs = [7_i64.to_le_bytes(), (-9_i64).to_le_bytes()].concat();
    for descr in ["'<q'", "'q'", "'=i8'", "'|i8'", "'int64'", "'longlong'", "u'<i8'", "U'i8'", "r'i8'"] {
        holds(&framed(&of(descr), &longs), &[2], &[7_i64, -9]);
    }
    if size_of::<std::ffi::c_long>() == 8 {
        for descr in ["'<l'", "'l'", "'long'", "'int'", "'p'", "'n'"] {
            holds(&framed(&of(descr), &longs), &[2], &[7_i64, -9]);
        }
    }
    let doubles = [0.5_f64.to_le_bytes(), (-2.0_f64).to_le_bytes()].concat();
    for descr in ["'d'", "'<d'", "'float64'", "'double'", "'float'", "'f8'", "'f' '8'", "\"f8\"", "'''f8'''"]
    {
        holds(&framed(&of(descr), &doubles), &[2], &[0.5_f64, -2.0]);
    }
    let reversed = [0.5_f64.to_be_bytes(), (-2.0_f64).to_be_bytes()].concat();
    holds(&framed(&of("'>d'"), &reversed), &[2], &[0.5_f64, -2.0]);
    for descr in ["'?'", "'bool'", "'>b1'"] {
        holds(&framed(&of(descr), &[1, 0]), &[2], &[true, false].map(Bool::from));
    }
    let records = [1.5_f32.to_le_bytes(), 7_u32.to_le_bytes()].concat();
    let record = "{'descr': [(u'x', 'f'), ['n', 'uint32']], 'fortran_order': False, 'shape': (1L,)}";
    holds(&framed(record, &records), &[1], &[Record { x: 1.5, n: 7 }]);

    for text in [
        "{'shape': (+2,), 'fortran_order': False, 'descr': '|u1'}",
        "{'shape': (0x2,), u'fortran_order': False, r'descr': '|u1'}",
        "{'shape': (0b1_0, # rows\n), 'fortran_order': False, 'descr': '|u1'} # a comment",
        "{\n\t'shape' : ( 2 , ) ,\r\n 'fortran_order' : False , 'desc' 'r' : '|u1' , }\n\n",
        "{'shape': (2L,), 'fortran_order': False, 'descr': '|u1'}",
        "{'shape': (2, \\\nTrue), 'fortran_order': False, 'descr': '|u1'}",
        "({'shape': ((2),), 'fortran_order': (False), 'descr': ('|u1')})",
    ] {
        let shape = if text.contains("True") { &[2, 1][..] } else { &[2] };
        holds(&framed(text, &[5, 6]), shape, &[5_u8, 6]);
    }
    // The twins: headers that NumPy does not read either.
    for text in [
        "{'shape': (+ +2,), 'fortran_order': False, 'descr': '|u1'}",
        "{'shape': (2l,), 'fortran_order': False, 'descr': '|u1'}",
        "{'shape': (2_,), 'fortran_order': False, 'descr': '|u1'}",
        "{'shape': (1+1,), 'fortran_order': False, 'descr': '|u1'}",
        "{'shape': (2.0,), 'fortran_order': False, 'descr': '|u1'}",
        "{'shape': (2,), 'fortran_order': False, 'descr': b'|u1'}",
        "{'shape': (2,), 'fortran_order': False, 'descr': '<uint8'}",
        "{'shape': (2,), 'fortran_order': False, 'descr': 'Uint8'}",
        "{'shape': (2,), 'fortran_order': 0, 'descr': '|u1'}",
        "{'shape': (2,), 'fortran_order': False, 'descr': '|u1'};",
    ] {
        assert!(npy::read::<u8>(&mut &framed(text, &[5, 6])[..]).is_err(), "{text}");
    }
    // A copied header is written as NumPy would write it.
    let header = Header::read(&mut &framed(&of("u'long'"), &[])[..]).unwrap();
    assert_eq!(header.descr.len(), "'<i8'".len());
    assert!(header.descr.starts_with("'<i"), "{}", header.descr);
}

/// Several arrays in one file: the first is read, and further arrays behind it are told apart from
/// rubbish.
#[test]
fn the_first_of_several_arrays_is_read() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("several.npy");
    let text = "{'descr': '<u4', 'fortran_order': False, 'shape': (5,)}";
    for (rest, due) in [
        (&b""[..], Some(false)),
        (include_bytes!("c_f4.npy"), Some(true)),
        (b"\x93NUMPX", None),
        (b"\x93NUM", None),
        (b"\0", None),
    ] {
        let file = framed(text, &[&[1; 20], rest].concat());
        std::fs::write(&path, &file).unwrap();
        let opened = NpyReader::open(&path).and_then(|mut opened| {
            assert_eq!(opened.next_piece()?.map(|piece| piece.to_vec()), Some(vec![1; 20]));
            opened.finish()
        });
        let read = NpyReader::new(&file[..]).unwrap().finish();
        for followed in [opened, read] {
            assert_eq!(followed.is_err(), due.is_none());
            assert_eq!(followed.ok(), due);
        }
    }
    std::fs::remove_file(&path).unwrap();
}

/// A shape whose other extents need more bytes than any memory holds is refused even without
/// elements: NumPy could not read it.
#[test]
fn files_without_elements_are_not_too_large_either() {
    let stream = stream();
    let vast = [1_usize << 62, 0];
    let text = |descr: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (4611686018427387904, 0)}}")
    };
    let header = Header::new("'<f4'", Order::C, &vast);
    assert!(matches!(header, Err(NpyError::TooLarge { .. })), "{header:?}");
    assert!(read_error::<f32>(&framed(&text("<f4"), &[])).contains("too large"));
    let array = Array::<f32, _>::zeros(&stream, &vast).unwrap();
    let mut file = Vec::new();
    let written = npy::write_array(&stream, &mut file, &array);
    assert!(matches!(written, Err(NpyError::TooLarge { .. })), "{written:?}");
    let written = npy::write(&mut file, &array.to_host(&stream).unwrap());
    assert!(matches!(written, Err(NpyError::TooLarge { .. })), "{written:?}");
    assert!(file.is_empty(), "nothing was begun");
    // The twins: with elements of one byte, the shape is not too large.
    holds::<u8>(&framed(&text("|u1"), &[]), &vast, &[]);
    npy::write_array(&stream, &mut file, &Array::<u8, _>::zeros(&stream, &vast).unwrap()).unwrap();
    holds::<u8>(&file, &vast, &[]);
}
