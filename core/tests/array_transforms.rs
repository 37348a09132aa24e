//! Transforms of arrays give views, with the layout trait in scope, as a first program writes them.

use devarray::{
    Array, ArrayView, Context, Device, Element, ErasedArray, Layout, LayoutError, ManagedArray, MappedArray,
    Order, Result, SharedArray, StreamHandle, ix,
};
use devarray_mock::MockDevice;

const ELEMENTS: [u32; 24] = [
    100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120,
    121, 122, 123,
];

/// The elements of shape (2, 3, 4) at indices that a naive walk visits.
fn picked<const N: usize>(indices: [[usize; 3]; N]) -> Vec<u32> {
    indices.iter().map(|[i, j, k]| ELEMENTS[(i * 3 + j) * 4 + k]).collect()
}

fn all_indices(order: impl Fn([usize; 3]) -> [usize; 3], extents: [usize; 3]) -> Vec<u32> {
    let mut found = Vec::new();
    for i in 0..extents[0] {
        for j in 0..extents[1] {
            for k in 0..extents[2] {
                found.extend(picked([order([i, j, k])]));
            }
        }
    }
    found
}

/// Every transform of a value that is no view itself, each read from the device.
macro_rules! every_transform {
    ($array:expr, $stream:expr, $read:ident) => {{
        let (a, s) = (&$array, &$stream);
        let turned = all_indices(|[i, j, k]| [j, k, i], [4, 2, 3]);
        assert_eq!(a.permute(&[2, 0, 1])?.$read(s)?, turned);
        let backwards = all_indices(|[i, j, k]| [k, j, i], [4, 3, 2]);
        assert_eq!(a.transpose().$read(s)?, backwards);
        assert_eq!(a.swap_axes(0, -1)?.$read(s)?, backwards);
        assert_eq!(a.move_axes(&[2], &[0])?.$read(s)?, turned);
        assert_eq!(a.flip(&[1])?.$read(s)?, all_indices(|[i, j, k]| [i, 2 - j, k], [2, 3, 4]));
        assert_eq!(a.index(&ix![1, 2, ..; 3])?.$read(s)?, picked([[1, 2, 0], [1, 2, 3]]));
        assert_eq!(a.slice_axis(1, 2..)?.$read(s)?, all_indices(|[i, _, k]| [i, 2, k], [2, 1, 4]));
        assert_eq!(a.expand_dims(0)?.shape(), [1, 2, 3, 4]);
        assert_eq!(a.squeeze().$read(s)?, ELEMENTS);
        assert_eq!(a.squeeze_axes(&[])?.$read(s)?, ELEMENTS);
        assert_eq!(a.reshape(&[4, -1], Order::C)?.index(&ix![1])?.$read(s)?, ELEMENTS[6..12]);
        assert_eq!(a.ravel(Order::C)?.$read(s)?, ELEMENTS);
        assert_eq!(a.broadcast_to(&[2, 2, 3, 4])?.$read(s)?, [ELEMENTS, ELEMENTS].concat());
        let halves: Vec<_> = a.array_split(0, 2)?.map(|part| part.$read(s)).collect::<Result<_>>()?;
        assert_eq!(halves, [&ELEMENTS[..12], &ELEMENTS[12..]]);
        let parts = a.split_at(2, &[1])?.map(|part| part.$read(s)).collect::<Result<Vec<_>>>()?;
        assert_eq!(parts[0], all_indices(|[i, j, _]| [i, j, 0], [2, 3, 1]));
        assert_eq!(a.to_contiguous(s, Order::F)?.view().$read(s)?, ELEMENTS);
        assert!(a.reshape_or_copy(s, &[24], Order::F)?.is_copied());
        assert!(!a.ravel_or_copy(s, Order::K)?.is_copied());
        // The refusal is the error that everything else returns, around the layout's error.
        assert_eq!(a.split(3).err(), Some(LayoutError::RankMismatch { expected: 1, found: 3 }.into()));
        assert_eq!(a.ravel(Order::F).err(), Some(LayoutError::NeedsCopy.into()));
        // The layout alone is available on request.
        let _: Layout = a.layout().transpose();
        assert_eq!((a.shape(), a.rank(), a.len(), a.is_empty()), (&[2, 3, 4][..], 3, 24, false));
    }};
}

fn open() -> Result<(Context<MockDevice>, StreamHandle<MockDevice>)> {
    let context = Context::new(MockDevice::new())?;
    let stream = context.stream()?;
    Ok((context, stream))
}

#[test]
fn arrays_give_views() -> Result<()> {
    let (context, s) = open()?;
    let array = Array::from_slice(&s, &[2, 3, 4], &ELEMENTS)?;
    every_transform!(array, s, to_vec);
    every_transform!(array.view(), s, to_vec);
    let shared: SharedArray<u32, _> = array.into_shared();
    every_transform!(shared, s, to_vec);
    assert_eq!(shared.to_vec(&s)?, shared.to_host(&s)?.into_vec());
    every_transform!(MappedArray::from_slice(&context, &[2, 3, 4], &ELEMENTS)?, s, to_vec);
    let mut managed = ManagedArray::zeros(&context, &[2, 3, 4])?;
    managed.host_mut()?.copy_from_slice(&ELEMENTS);
    every_transform!(managed, s, to_vec);
    Ok(())
}

/// Reads erased elements as numbers.
trait Words<D: Device> {
    fn words(&self, stream: &StreamHandle<D>) -> Result<Vec<u32>>;
}

impl<D: Device> Words<D> for devarray::ErasedView<'_, D> {
    fn words(&self, stream: &StreamHandle<D>) -> Result<Vec<u32>> {
        let bytes = self.to_bytes(stream)?;
        Ok(bytes
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
            .collect())
    }
}

#[test]
fn erased_arrays_give_views() -> Result<()> {
    let (_, s) = open()?;
    let bytes: Vec<u8> = ELEMENTS.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let array = ErasedArray::from_bytes(&s, &[2, 3, 4], 4, &bytes)?;
    every_transform!(array, s, words);
    every_transform!(array.view(), s, words);
    Ok(())
}

/// The three helpers of a first program: each returns a view of what it was given, without a
/// conversion.
fn rows<'a, T: Element, D: Device>(a: &'a Array<T, D>, from: isize) -> Result<ArrayView<'a, T, D>> {
    a.slice_axis(0, from..)
}

fn column<D: Device>(s: &StreamHandle<D>, a: &Array<u32, D>, at: isize) -> Result<Vec<u32>> {
    a.index(&ix![.., at]).and_then(|column| column.to_vec(s))
}

fn largest_part<D: Device>(s: &StreamHandle<D>, a: &Array<u32, D>) -> Result<Array<u32, D>> {
    let parts = a.array_split(0, 2)?.map(|part| part.to_contiguous(s, Order::C));
    parts
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .next()
        .ok_or_else(|| LayoutError::BadSection { section: 0 }.into())
}

#[test]
fn results_of_views_arrays_and_layouts_go_together() -> Result<()> {
    let (_, s) = open()?;
    let a = Array::from_slice(&s, &[3, 2], &[1, 2, 3, 4, 5, 6])?;
    assert_eq!(rows(&a, 1)?.to_vec(&s)?, [3, 4, 5, 6]);
    assert_eq!(column(&s, &a, 1)?, [2, 4, 6]);
    assert_eq!(largest_part(&s, &a)?.to_vec(&s)?, [1, 2, 3, 4]);
    let line = Array::from_slice(&s, &[5], &[1, 2, 3, 4, 5])?;
    let last = line.split(2)?.last().map(|part| part.to_vec(&s)).transpose()?;
    assert_eq!(last, Some(vec![5]));
    let plain = Layout::contiguous(&[3, 2], Order::C)?.transpose();
    assert_eq!(plain.shape(), a.transpose().shape());
    Ok(())
}

/// A view of an array only reads. To write, call `view_mut`; its transforms can write too.
#[test]
fn views_to_write_are_asked_for() -> Result<()> {
    let (_, s) = open()?;
    let mut a = Array::<u32, _>::zeros(&s, &[2, 2])?;
    a.view_mut().transpose().index(&ix![0])?.copy_from_slice(&s, &[1, 2])?;
    assert_eq!(a.to_vec(&s)?, [1, 0, 2, 0]);
    Ok(())
}
