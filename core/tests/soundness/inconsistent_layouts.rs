//! User-defined layouts that give another answer each time they are asked.

use std::cell::Cell;

use devarray::{
    Array, Layout, LayoutError, NdLayout, Order,
    ipc::{RemoteArray, RemoteEvent},
};
use devarray_conformance::Rng;

use super::{devices, open};

/// Answers each query with the next of several shapes and strides.
struct Fickle {
    asked: Cell<usize>,
}

const SHAPES: [&[usize]; 5] = [&[2, 3], &[4], &[usize::MAX, 2], &[], &[3, 1 << 40]];
const STRIDES: [&[isize]; 5] = [&[3, 1], &[isize::MIN], &[0, 0], &[], &[isize::MAX, -1]];

impl Fickle {
    fn next(&self) -> usize {
        self.asked.set(self.asked.get().wrapping_mul(5).wrapping_add(3) % 17);
        self.asked.get() % 5
    }
}

impl NdLayout for Fickle {
    fn shape(&self) -> &[usize] {
        SHAPES[self.next()]
    }

    fn strides(&self) -> &[isize] {
        STRIDES[self.next()]
    }

    fn offset(&self) -> usize {
        [0, usize::MAX, 7, 1 << 62, 3][self.next()]
    }
}

/// An array that is made from a false layout has one shape, holds the elements of that shape, and
/// can be written whole.
#[test]
fn an_array_like_a_liar_is_sound_or_refused() {
    let device = devices().next().unwrap();
    let (_context, stream) = open(&device);
    let (mut made, mut refused) = (0, 0);
    for asked in 0..17 {
        for order in [Order::C, Order::F, Order::A, Order::K] {
            let liar = Fickle { asked: Cell::new(asked) };
            match Array::<u16, _>::uninit_like(&stream, &liar, order) {
                Ok(mut array) => {
                    let len = array.shape().iter().product();
                    array.view_mut().fill(&stream, 5).unwrap();
                    assert_eq!(array.to_vec(&stream).unwrap(), vec![5; len]);
                    assert_eq!(array.layout().to_layout().as_ref(), Ok(array.layout()));
                    made += 1;
                }
                Err(error) => {
                    let due = matches!(
                        error,
                        devarray::Error::Layout(LayoutError::RankMismatch { .. } | LayoutError::Overflow, ..)
                            | devarray::Error::OutOfMemory { .. }
                    );
                    assert!(due, "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(made > 4 && refused > 4, "{made} made, {refused} refused");
}

/// Layouts with the largest and smallest numbers, as host layouts of small slices and on small
/// arrays.
#[test]
fn a_host_layout_reaches_nothing_beside_its_slice() {
    let device = devices().next().unwrap();
    let (_context, stream) = open(&device);
    let mut array = Array::from_slice(&stream, &[6], &[1_u64, 2, 3, 4, 5, 6]).unwrap();
    let strides = [isize::MIN, isize::MIN + 1, -(1 << 60), -2, -1, 0, 1, 2, 1 << 60, isize::MAX];
    let offsets = [0, 1, 5, 6, 7, 1 << 60, (1 << 61) - 1, 1 << 61, isize::MAX.cast_unsigned(), usize::MAX];
    let mut held = 0;
    for stride in strides {
        for offset in offsets {
            for extent in [0, 1, 3, 6] {
                let Ok(host) = Layout::new(&[extent], &[stride], offset) else { continue };
                let mut view = array.view_mut().slice_axis(0, ..extent.cast_signed()).unwrap();
                let mut data = [9_u64; 6];
                let read = view.as_view().copy_to_host(&stream, &mut data, &host).is_ok();
                let written = view.copy_from_host(&stream, &data, &host).is_ok();
                let inside = extent == 0
                    || (0..extent).all(|k| {
                        let at = offset as i128 + k as i128 * stride as i128;
                        (0..6).contains(&at)
                    });
                assert_eq!(written, inside, "{extent} from {offset} by {stride}");
                assert_eq!(read, inside && (stride != 0 || extent < 2), "{extent} from {offset} by {stride}");
                let within = array.copy_layout_within(&stream, &host, &host).is_ok();
                assert_eq!(within, read, "{extent} from {offset} by {stride}");
                held += usize::from(inside);
            }
        }
    }
    assert!(held > 50, "{held} layouts lie inside");
}

/// The bytes of a name of another process's array are changed: the name that is read fits, or is
/// refused.
#[test]
fn a_name_in_wrong_bytes_is_refused_or_fits() {
    let device = devices().next().unwrap();
    let (_context, stream) = open(&device);
    let array = Array::<u32, _>::zeros_exportable(&stream, &[3, 4]).unwrap();
    let exported = array.export(&stream).unwrap();
    let written = exported.array().to_bytes();
    let mut rng = Rng::new(5);
    let (mut read, mut refused) = (0, 0);
    for case in 0..20_000 {
        let mut bytes = written.clone();
        for _ in 0..1 + rng.below(3) {
            let at = if case % 2 == 0 { rng.below(bytes.len()) } else { bytes.len() - 1 - rng.below(64) };
            bytes[at] = [0, 1, 0x7F, 0x80, 0xFF, u8::try_from(rng.below(256)).unwrap()][rng.below(6)];
        }
        if rng.below(10) == 0 {
            bytes.truncate(rng.below(bytes.len()));
        }
        match RemoteArray::from_bytes(&bytes) {
            Ok(remote) => {
                assert_eq!(remote.layout().to_layout().as_ref(), Ok(remote.layout()));
                assert_eq!(RemoteArray::from_bytes(&remote.to_bytes()).as_ref(), Ok(&remote));
                read += 1;
            }
            Err(_) => refused += 1,
        }
        assert!(RemoteEvent::from_bytes(&bytes).is_err());
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}
