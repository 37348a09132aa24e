//! Records are elements: a field is a strided view where sizes allow one, and can always be copied.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use bytemuck::{Pod, Zeroable};
use devarray::{
    Array, Bool, Context, Error, HostArray, LayoutError, NdLayout, Order, StreamHandle, array::Field, field,
    ix, layout::Slice,
};
use devarray_mock::MockDevice;

#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Vector {
    x: f32,
    y: f32,
}

/// Fields of all widths, nested records, arrays, arrays of records and of arrays; 64 bytes without
/// padding.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Particle {
    time: f64,
    velocity: Vector,
    weights: [f32; 4],
    corners: [Vector; 2],
    tag: u16,
    alive: Bool,
    kind: i8,
    name: [u8; 4],
    table: [[u16; 2]; 2],
}

/// A record of 12 bytes whose 8-byte field fits no stride in whole elements.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Packed {
    count: u32,
    value: f64,
}

const TIME: Field<Particle, f64> = field!(Particle, time);

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

fn particle(k: u8) -> Particle {
    let number = |offset: u8| f32::from(k) + f32::from(offset) / 100.0;
    let vector = |offset| Vector { x: number(offset), y: -number(offset) };
    Particle {
        time: f64::from(k) * 1e10,
        velocity: vector(1),
        weights: [2, 3, 4, 5].map(number),
        tag: u16::from(k) * 257,
        alive: Bool::from(k.is_multiple_of(3)),
        kind: -k.cast_signed(),
        name: [k, k + 1, k + 2, k + 3],
        corners: [vector(6), vector(7)],
        table: [[1, 2], [3, 4]].map(|row| row.map(|n| n + 10 * u16::from(k))),
    }
}

fn particles() -> Vec<Particle> {
    (0..12).map(particle).collect()
}

fn packed() -> Vec<Packed> {
    (0..12_u8).map(|k| Packed { count: u32::from(k), value: f64::from(k) * 1.5 }).collect()
}

/// A view of 3 by 4 records with steps, a reversed axis and exchanged axes, and the positions that
/// it reaches.
fn awkward(k: usize) -> usize {
    // a[:, ::-2].T: shape (2, 3); its element (i, j) is a[j, 3 - 2 * i].
    let (i, j) = (k / 3, k % 3);
    j * 4 + 3 - 2 * i
}

macro_rules! awkward_view {
    ($view:expr) => {
        $view.index(&ix![.., ..; -2]).unwrap().transpose()
    };
}

#[test]
fn every_field_is_a_view_and_a_copy() {
    macro_rules! check {
        ($a:ident, $s:ident, $($path:tt).+) => {{
            let field = field!(Particle, $($path).+);
            let all = particles();
            let expected: Vec<_> = (0..6).map(|k| all[awkward(k)].$($path).+).collect();
            let view = awkward_view!($a.view());
            let seen = view.field(field).unwrap();
            assert_eq!((seen.shape(), seen.to_vec(&$s).unwrap()), (&[2, 3][..], expected.clone()));
            let copy = view.field_to_array(&$s, field).unwrap();
            assert_eq!((copy.strides(), copy.to_vec(&$s).unwrap()), (&[3, 1][..], expected.clone()));
            // A write by either way changes only the field.
            let mut expected_after = all.clone();
            (0..6).for_each(|k| expected_after[awkward(k)].$($path).+ = expected[5 - k]);
            let reversed: Vec<_> = expected.into_iter().rev().collect();
            let source = Array::from_slice(&$s, &[2, 3], &reversed).unwrap();
            let mut one = Array::from_slice(&$s, &[3, 4], &all).unwrap();
            awkward_view!(one.view_mut()).field(field).unwrap().copy_from(&$s, &source.view()).unwrap();
            assert_eq!(one.to_vec(&$s).unwrap(), expected_after);
            let mut two = Array::from_slice(&$s, &[3, 4], &all).unwrap();
            awkward_view!(two.view_mut()).copy_field_from(&$s, field, &source.view()).unwrap();
            assert_eq!(two.to_vec(&$s).unwrap(), expected_after);
        }};
    }
    let s = stream();
    let a = Array::from_slice(&s, &[3, 4], &particles()).unwrap();
    check!(a, s, time);
    check!(a, s, velocity);
    check!(a, s, velocity.x);
    check!(a, s, velocity.y);
    check!(a, s, weights);
    check!(a, s, tag);
    check!(a, s, alive);
    check!(a, s, kind);
    check!(a, s, name);
    check!(a, s, corners);
    check!(a, s, table);
}

#[test]
fn an_array_field_gains_an_axis() {
    let s = stream();
    let all = particles();
    let mut a = Array::from_slice(&s, &[3, 4], &all).unwrap();
    let weights = awkward_view!(a.view()).array_field(field!(Particle, weights)).unwrap();
    assert_eq!((weights.shape(), weights.strides()[2]), (&[2, 3, 4][..], 1));
    let expected: Vec<f32> = (0..6).flat_map(|k| all[awkward(k)].weights).collect();
    assert_eq!(weights.to_vec(&s).unwrap(), expected);
    // Arrays of records and of arrays, one step at a time.
    let corners = a.view().array_field(field!(Particle, corners)).unwrap();
    let heights = corners.field(field!(Vector, y)).unwrap();
    assert_eq!(heights.shape(), [3, 4, 2]);
    let expected: Vec<f32> = all.iter().flat_map(|p| p.corners.map(|corner| corner.y)).collect();
    assert_eq!(heights.to_vec(&s).unwrap(), expected);
    let table = a.view().array_field(field!(Particle, table)).unwrap().array_field(Field::whole()).unwrap();
    assert_eq!(table.shape(), [3, 4, 2, 2]);
    let expected: Vec<u16> = all.iter().flat_map(|p| p.table.into_iter().flatten()).collect();
    assert_eq!(table.to_vec(&s).unwrap(), expected);
    // Written: the last letter of each name.
    let names = a.view_mut().array_field(field!(Particle, name)).unwrap();
    names.index(&ix![Ellipsis, -1]).unwrap().fill(&s, b'!').unwrap();
    let found = a.to_vec(&s).unwrap();
    assert!(found.iter().zip(&all).all(|(found, old)| found.name[3] == b'!'
        && found.name[..3] == old.name[..3]
        && Particle { name: old.name, ..*found } == *old));
}

#[test]
fn a_field_that_divides_nothing_is_an_error_as_a_view_and_works_as_a_copy() {
    let s = stream();
    let all = packed();
    let mut a = Array::from_slice(&s, &[3, 4], &all).unwrap();
    let value = field!(Packed, value);
    let refused = |item_bytes, error: Error| {
        assert!(
            matches!(error, Error::Layout(LayoutError::ElementSize { item_bytes: n, .. }, ..) if n == item_bytes),
            "{error}"
        );
    };
    refused(8, a.view().field(value).unwrap_err());
    refused(8, a.view_mut().field(value).unwrap_err());
    let counts = a.view().field(field!(Packed, count)).unwrap();
    assert_eq!(counts.to_vec(&s).unwrap(), (0..12).collect::<Vec<_>>());
    let copy = awkward_view!(a.view()).field_to_array(&s, value).unwrap();
    let expected: Vec<f64> = (0..6).map(|k| all[awkward(k)].value).collect();
    assert_eq!(copy.to_vec(&s).unwrap(), expected);
    let negated: Vec<f64> = expected.iter().map(|value| -value).collect();
    let source = Array::from_slice(&s, &[2, 3], &negated).unwrap();
    awkward_view!(a.view_mut()).copy_field_from(&s, value, &source.view()).unwrap();
    let mut after = all;
    (0..6).for_each(|k| after[awkward(k)].value = negated[k]);
    assert_eq!(a.to_vec(&s).unwrap(), after);
}

/// A record of 16 bytes with a 4-byte field at byte 2: the field's size divides the record's size
/// but not the offset.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Crooked {
    head: u16,
    middle: u32,
    triple: [u16; 3],
    tail: [u8; 4],
}

#[test]
fn a_field_at_a_crooked_offset_works_as_a_copy() {
    let s = stream();
    let all: Vec<Crooked> = (0..5_u8)
        .map(|k| Crooked { head: 1, middle: u32::from(k) << 20, triple: [2, 3, u16::from(k)], tail: [k; 4] })
        .collect();
    let mut a = Array::from_slice(&s, &[5], &all).unwrap();
    let middle = field!(Crooked, middle);
    assert_eq!(middle.offset_bytes(), 2);
    assert!(matches!(
        a.view().field(middle),
        Err(Error::Layout(LayoutError::ElementSize { item_bytes: 4, .. }, ..))
    ));
    let copy = a.view().field_to_array(&s, middle).unwrap();
    assert_eq!(copy.to_vec(&s).unwrap(), (0..5).map(|k| k << 20).collect::<Vec<u32>>());
    let triple = field!(Crooked, triple);
    assert!(matches!(
        a.view().field(triple),
        Err(Error::Layout(LayoutError::ElementSize { item_bytes: 6, .. }, ..))
    ));
    assert_eq!(a.view().array_field(triple).unwrap().shape(), [5, 3]);
    let copy = a.view().field_to_array(&s, triple).unwrap();
    assert_eq!(copy.to_vec(&s).unwrap()[4], [2, 3, 4]);
    let nines = Array::full(&s, &[5], [9_u16; 3]).unwrap();
    a.view_mut().copy_field_from(&s, triple, &nines.view()).unwrap();
    let after: Vec<Crooked> = all.into_iter().map(|record| Crooked { triple: [9; 3], ..record }).collect();
    assert_eq!(a.to_vec(&s).unwrap(), after);
}

#[test]
fn fields_are_split_and_written_on_streams_of_their_own() {
    let context = Context::new(MockDevice::new()).unwrap();
    let (s, t) = (context.stream().unwrap(), context.stream().unwrap());
    let mut a = Array::from_slice(&s, &[3, 4], &particles()).unwrap();
    let fields =
        (TIME, field!(Particle, velocity.y), field!(Particle, weights).items(), field!(Particle, kind));
    let (mut times, mut heights, mut weights, mut kinds) = a.view_mut().split_fields(fields).unwrap();
    times.fill(&s, 5.0).unwrap();
    kinds.fill(&t, 6).unwrap();
    heights.fill(&t, 7.0).unwrap();
    weights.fill(&s, 8.0).unwrap();
    let expected: Vec<Particle> = particles()
        .into_iter()
        .map(|old| Particle {
            time: 5.0,
            velocity: Vector { y: 7.0, ..old.velocity },
            weights: [8.0; 4],
            kind: 6,
            ..old
        })
        .collect();
    assert_eq!(a.to_vec(&s).unwrap(), expected);
    let overlap =
        a.view_mut().split_fields((field!(Particle, velocity), field!(Particle, velocity.y))).unwrap_err();
    assert_eq!(overlap, LayoutError::FieldOverlap { first: 8..16, second: 12..16 }.into());
    let thrice = a.view_mut().split_fields((TIME, field!(Particle, tag), TIME)).unwrap_err();
    assert_eq!(thrice, LayoutError::FieldOverlap { first: 0..8, second: 0..8 }.into());
    assert!(a.view_mut().split_fields((TIME, field!(Particle, tag))).is_ok());
    let mut b = Array::from_slice(&s, &[12], &packed()).unwrap();
    let size = b.view_mut().split_fields((field!(Packed, count), field!(Packed, value))).unwrap_err();
    assert!(matches!(size, Error::Layout(LayoutError::ElementSize { item_bytes: 8, .. }, ..)), "{size}");
}

#[test]
fn no_records_have_no_fields_to_copy() {
    let s = stream();
    let mut a = Array::<Particle, _>::zeros(&s, &[2, 0]).unwrap();
    assert_eq!(a.view().field(TIME).unwrap().shape(), [2, 0]);
    assert_eq!(a.view().array_field(field!(Particle, weights)).unwrap().shape(), [2, 0, 4]);
    let none = a.view().field_to_array(&s, TIME).unwrap();
    assert_eq!((none.shape(), none.to_vec(&s).unwrap()), (&[2, 0][..], vec![]));
    a.view_mut().copy_field_from(&s, TIME, &none.view()).unwrap();
    let alone = Array::full(&s, &[], particle(3)).unwrap();
    assert_eq!(alone.view().field(field!(Particle, tag)).unwrap().to_vec(&s).unwrap(), [771]);
    // An array of no items has no bytes, but it has a place.
    let nothing = alone.view().array_field(Field::<Particle, [u16; 0]>::at(64, |_| [])).unwrap();
    assert_eq!((nothing.shape(), nothing.to_vec(&s).unwrap()), (&[0][..], vec![]));
}

#[test]
fn mistakes_are_typed() {
    let s = stream();
    let mut a = Array::from_slice(&s, &[3, 4], &particles()).unwrap();
    let flat = Array::<f64, _>::zeros(&s, &[12]).unwrap();
    let rank = a.view_mut().copy_field_from(&s, TIME, &flat.view()).unwrap_err();
    assert_eq!(rank, LayoutError::RankMismatch { expected: 2, found: 1 }.into());
    let turned = flat.view().reshape(&[4, 3], Order::C).unwrap();
    let shape = a.view_mut().copy_field_from(&s, TIME, &turned).unwrap_err();
    let expected = LayoutError::ShapeMismatch { expected: [3, 4][..].into(), found: [4, 3][..].into() };
    assert_eq!(shape, expected.into());
    let other = stream();
    let mismatch = Error::DeviceMismatch { backend: "mock", operation: "copy" };
    assert_eq!(a.view().field_to_array(&other, TIME).unwrap_err(), mismatch);
    let wide = a.view().slice_axis(0, ..1).unwrap().broadcast_to(&[1 << 59, 4]).unwrap();
    assert_eq!(wide.field_to_array(&s, TIME).unwrap_err(), LayoutError::Overflow.into());
    assert_eq!(wide.array_field(field!(Particle, name)).unwrap_err(), LayoutError::Overflow.into());
    let due = format!("Field(f64 at byte 0 of {})", std::any::type_name::<Particle>());
    assert_eq!(format!("{TIME:?}"), due);
}

#[test]
#[should_panic = "a field lies inside its record"]
fn a_field_made_by_hand_stays_inside() {
    let _ = Field::<Vector, f32>::at(5, |record| record.x);
}

/// The uses of Numba's record arrays: records go to the device and back, and single records and
/// their fields are read and written.
#[test]
fn the_tasks_of_device_records() {
    let s = stream();
    let mut a = Array::from_slice(&s, &[12], &particles()).unwrap();
    let seventh = a.view().index(&ix![7]).unwrap();
    assert_eq!(seventh.to_host(&s).unwrap()[[]], particle(7)); // rec = a[7]
    assert_eq!(seventh.field(field!(Particle, velocity.x)).unwrap().to_vec(&s).unwrap(), [7.01]); // rec['velocity']['x']
    assert_eq!(seventh.array_field(field!(Particle, weights)).unwrap().shape(), [4]); // rec['weights']
    let name = a.view_mut().index(&ix![7]).unwrap().array_field(field!(Particle, name)).unwrap();
    { name }.copy_from_slice(&s, b"seve").unwrap(); // rec['name'] = b'seve'
    a.view_mut().index(&ix![-1]).unwrap().fill(&s, particle(99)).unwrap(); // a[-1] = rec
    let mut odd = a.view_mut().slice_axis(0, Slice::from(1..).step_by(2)).unwrap().field(TIME).unwrap();
    odd.fill(&s, 0.0).unwrap(); // a[1::2]['time'] = 0
    let like = Array::<Particle, _>::zeros_like(&s, &a, Order::K).unwrap();
    assert_eq!(like.to_vec(&s).unwrap(), [Particle::zeroed(); 12]);
    let mut expected = particles();
    expected[7].name = *b"seve";
    expected[11] = particle(99);
    expected.iter_mut().skip(1).step_by(2).for_each(|record| record.time = 0.0);
    assert_eq!(a.to_vec(&s).unwrap(), expected);
    // The host copy prints its records in their own format.
    let vectors = HostArray::new(&[2], vec![Vector { x: 0.5, y: 2.0 }, Vector { x: 10.0, y: 1.0 }]).unwrap();
    let text = "HostArray([ Vector { x: 0.5, y: 2.0 } Vector { x: 10.0, y: 1.0 }], shape = [2])";
    assert_eq!(format!("{vectors:?}"), text);
}
