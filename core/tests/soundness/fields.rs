//! Fields of records that are packed, nested, in arrays, at odd places.

use bytemuck::{Pod, Zeroable};
use devarray::{Array, Error, LayoutError, array::Field, field};

use super::{devices, open};

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Packed {
    tag: u8,
    wide: u32,
    pair: [u16; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
struct Wrapped(f32);

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Nested {
    inner: [Wrapped; 3],
    last: u32,
}

#[test]
fn fields_of_packed_records_are_refused_as_views_and_right_as_copies() {
    let device = devices().next().unwrap();
    let (_context, stream) = open(&device);
    let record = |k: u8| Packed { tag: k, wide: 0x0101_0101 * u32::from(k), pair: [u16::from(k), 500] };
    let mut array = Array::from_slice(&stream, &[3], &[1, 2, 3].map(record)).unwrap();
    let odd = array.view().field(field!(Packed, wide)).err();
    assert!(
        matches!(odd, Some(Error::Layout(LayoutError::ElementSize { item_bytes: 4, .. }, ..))),
        "{odd:?}"
    );
    let copy = array.view().field_to_array(&stream, field!(Packed, wide)).unwrap();
    assert_eq!(copy.to_vec(&stream).unwrap(), [0x0101_0101, 0x0202_0202, 0x0303_0303]);
    let turned = copy.view().flip(&[0]).unwrap();
    array.view_mut().copy_field_from(&stream, field!(Packed, wide), &turned).unwrap();
    let tags = array.view().field(field!(Packed, tag)).unwrap().to_vec(&stream).unwrap();
    assert_eq!(tags, [1, 2, 3]);
    let due = [1_u8, 2, 3].map(|k| Packed { wide: 0x0101_0101 * u32::from(4 - k), ..record(k) });
    assert_eq!(array.to_vec(&stream).unwrap(), due);
}

#[test]
fn fields_taken_apart_share_no_byte() {
    let device = devices().next().unwrap();
    let (context, stream) = open(&device);
    let other = context.stream().unwrap();
    let mut array = Array::<Nested, _>::zeros(&stream, &[20]).unwrap();
    let whole = array.view_mut().split_fields((Field::<Nested, Nested>::whole(), field!(Nested, last)));
    assert!(matches!(whole, Err(Error::Layout(LayoutError::FieldOverlap { .. }, ..))), "{whole:?}");
    let twice = array.view_mut().split_fields((field!(Nested, inner), field!(Nested, inner).items()));
    assert!(matches!(twice, Err(Error::Layout(LayoutError::FieldOverlap { .. }, ..))), "{twice:?}");
    let fields = (field!(Nested, inner).items(), field!(Nested, last));
    let (mut inner, mut last) = array.view_mut().split_fields(fields).unwrap();
    inner.fill(&stream, Wrapped(1.5)).unwrap();
    last.fill(&other, 7).unwrap();
    assert_eq!(array.to_vec(&stream).unwrap(), [Nested { inner: [Wrapped(1.5); 3], last: 7 }; 20]);
}

/// The hidden constructor is safe to call, and so must not trust its arguments.
#[test]
fn no_field_reaches_beyond_its_record() {
    let beyond = |at: usize| {
        std::panic::catch_unwind(|| Field::<Nested, u32>::at(at, |record| record.last).offset_bytes())
    };
    assert_eq!((beyond(0).unwrap(), beyond(12).unwrap()), (0, 12));
    for at in [13, 16, usize::MAX - 3, usize::MAX] {
        assert!(beyond(at).is_err(), "a field at byte {at} of 16");
    }
}
