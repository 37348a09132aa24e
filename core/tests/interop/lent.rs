//! Memory that was lent, or opened, is used no further than its elements, whatever layouts a safe program
//! asks for.

use devarray::{Array, Context, Error, Layout, LayoutError, Order, StreamHandle, ix};
use devarray_mock::MockDevice;

/// The number of bytes of the owner, and their values.
const OWNER_BYTES: usize = 512;

fn owners() -> Vec<u8> {
    (0..OWNER_BYTES).map(|k| 1 + (k % 200).to_le_bytes()[0]).collect()
}

fn line(len: usize, offset: usize) -> Layout {
    Layout::new(&[len], &[1], offset).unwrap()
}

/// Lends some elements of an array of bytes to `play`, as an array, and returns the owner's bytes afterwards.
fn lend(
    at: usize,
    elements: &Layout,
    play: impl FnOnce(&StreamHandle<MockDevice>, &mut Array<u32, MockDevice>),
) -> Vec<u8> {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let owner = Array::from_slice(&stream, &[OWNER_BYTES], &owners()).unwrap();
    let address = owner.view().address() + at as u64;
    // SAFETY: the elements lie inside the array, which lives longer; nobody else uses it meanwhile.
    let mut lent = unsafe { Array::<u32, _>::adopt(&stream, address, elements, ()) }.unwrap();
    play(&stream, &mut lent);
    drop(lent);
    let found = owner.to_vec(&stream).unwrap();
    assert_eq!(device.report().findings, []);
    found
}

/// Every copy between two lines of elements of an array whose buffer begins before it and ends behind it.
#[test]
fn a_lent_array_reaches_no_byte_around_it() {
    let mut refused = 0;
    let found = lend(100, &line(4, 0), |stream, lent| {
        let own = lent.layout().clone();
        assert!(own.offset() > 0, "the buffer begins before the elements: {own:?}");
        for dst in 0..own.offset() + 8 {
            for src in 0..own.offset() + 8 {
                let inside = |at: usize| (own.offset()..own.offset() + 3).contains(&at);
                let done = lent.copy_layout_within(stream, &line(2, dst), &line(2, src));
                assert_eq!(done.is_ok(), inside(dst) && inside(src), "{dst} from {src}: {done:?}");
                refused += usize::from(done.is_err());
            }
        }
        // The twin: the program may move the elements that were lent.
        lent.view_mut().fill(stream, 0x0909_0909).unwrap();
    });
    let mut due = owners();
    due[100..116].fill(9);
    assert_eq!(found, due);
    assert!(refused > 100, "{refused}");
}

/// Bytes between the elements are the owner's, too: they are other columns of its matrix.
#[test]
fn a_lent_column_reaches_no_other_column() {
    // Columns 2 and 3 of 8 rows of 10.
    let columns = Layout::new(&[8, 2], &[10, 1], 2).unwrap();
    let found = lend(64, &columns, |stream, lent| {
        let own = lent.layout().clone();
        let other = |by: isize| {
            Layout::new(own.shape(), own.strides(), own.offset().checked_add_signed(by).unwrap()).unwrap()
        };
        for by in [-2, -1, 1, 2, 10, -10] {
            let refused = lent.copy_layout_within(stream, &own, &other(by)).unwrap_err();
            assert!(matches!(
                refused,
                Error::Layout(LayoutError::NotLent { .. } | LayoutError::OutOfBounds { .. }, ..)
            ));
            assert!(lent.copy_layout_within(stream, &other(by), &own).is_err(), "{by}");
        }
        let whole = line(own.span().len(), own.span().start);
        assert!(lent.copy_layout_within(stream, &whole, &whole).is_err(), "not even in place");
        let nothing = Layout::new(&[0], &[1], isize::MAX.cast_unsigned()).unwrap();
        lent.copy_layout_within(stream, &nothing, &nothing.flip(&[0]).unwrap()).unwrap();
        // The twin: transforms of the lent elements are allowed.
        let (left, right) = (own.index(&ix![.., 0]).unwrap(), own.index(&ix![..;-1, 1]).unwrap());
        lent.copy_layout_within(stream, &left, &right).unwrap();
        lent.copy_layout_within(stream, &own, &own.flip(&[0, 1]).unwrap()).unwrap();
    });
    let due_bytes = owners();
    let column = |row: usize, column: usize| 64 + 4 * (10 * row + column)..64 + 4 * (10 * row + column) + 4;
    for (at, (&found, &due)) in found.iter().zip(&due_bytes).enumerate() {
        let lent = (0..8).any(|row| column(row, 2).contains(&at) || column(row, 3).contains(&at));
        assert!(lent || found == due, "byte {at}");
    }
    // The expected bytes: the reversed right column goes to the left, then everything is reversed.
    for row in 0..8 {
        assert_eq!(found[column(row, 3)], due_bytes[column(row, 3)], "row {row}");
        assert_eq!(found[column(row, 2)], due_bytes[column(7 - row, 3)], "row {row}");
    }
}

/// The rule holds for memory that another process opens by the name of one column, and for the name itself.
#[test]
fn an_opened_column_reaches_no_other_column() {
    let device = MockDevice::new();
    let (here, there) =
        (Context::new(device.clone()).unwrap(), Context::new(device.other_process()).unwrap());
    let (ours, theirs) = (here.stream().unwrap(), there.stream().unwrap());
    let mut matrix = Array::<u16, _>::zeros_exportable(&ours, &[6, 5]).unwrap();
    let values: Vec<u16> = (0..30).collect();
    matrix.view_mut().copy_from_slice(&ours, &values).unwrap();
    let exported = matrix.export(&ours).unwrap();
    let whole = exported.array().layout().clone();
    let [third, fourth] = [2, 3].map(|at| whole.slice_axis(1, at..=at).unwrap());
    let name = exported.array().clone().with_layout(third.clone()).unwrap();
    for wider in [&fourth, &whole] {
        let refused = name.clone().with_layout(wider.clone()).unwrap_err();
        assert!(matches!(refused, LayoutError::NotLent { .. }), "{refused}");
    }
    // SAFETY: exported until the end; the processes take turns.
    let mut opened = unsafe { Array::<u16, _>::open(&theirs, &name) }.unwrap();
    for (dst, src) in [(&third, &fourth), (&fourth, &third), (&whole, &whole)] {
        let refused = opened.copy_layout_within(&theirs, dst, src).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::NotLent { .. }, ..)), "{refused}");
    }
    // The twin: its own column, reversed.
    opened.copy_layout_within(&theirs, &third, &third.flip(&[0]).unwrap()).unwrap();
    theirs.synchronize().unwrap();
    drop(opened);
    let due = values.iter().map(|&value| if value % 5 == 2 { 29 - value } else { value });
    let due: Vec<u16> = due.collect();
    assert_eq!(matrix.to_vec(&ours).unwrap(), due);
    assert_eq!(device.report().findings, []);
}

/// An array that owns its memory may use all of it.
#[test]
fn an_array_of_ones_own_reaches_all_its_memory() {
    let context = Context::new(MockDevice::new()).unwrap();
    let stream = context.stream().unwrap();
    let mut array = Array::arange(&stream, 0, 12, 1).unwrap();
    let (even, odd) = (Layout::new(&[6], &[2], 0).unwrap(), Layout::new(&[6], &[2], 1).unwrap());
    array.copy_layout_within(&stream, &even, &odd).unwrap();
    assert_eq!(array.to_vec(&stream).unwrap(), [1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11]);
    let beyond = Layout::contiguous(&[13], Order::C).unwrap();
    assert!(array.copy_layout_within(&stream, &beyond, &beyond).is_err());
}
