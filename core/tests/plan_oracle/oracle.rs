//! The naive map of a copy, and the one judge of executors.

use std::collections::BTreeMap;

use super::cases::{Case, Side};

/// Destination byte → source byte.
pub(crate) type Image = BTreeMap<usize, usize>;

/// One contiguous piece moved: (source offset, destination offset, length), in bytes.
pub(crate) type Piece = (usize, usize, usize);

/// The first fault of an executor, with the destination byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Gap(usize),
    Repeated(usize),
    WrongSource(usize),
    Missing(usize),
}

/// The map of every byte of every element, built index by index.
pub(crate) fn image(case: &Case) -> Image {
    let mut image = Image::new();
    for index in indices(&case.shape) {
        let (dst, src) = (position(&case.dst, &index), position(&case.src, &index));
        for byte in 0..case.item_bytes {
            let earlier = image.insert(dst * case.item_bytes + byte, src * case.item_bytes + byte);
            assert_eq!(earlier, None, "the destination of the case is not injective");
        }
    }
    image
}

/// Checks that the pieces write each byte of `image` once, from the right place, and nothing else.
pub(crate) fn judge(image: &Image, pieces: impl IntoIterator<Item = Piece>) -> Result<(), Fault> {
    let mut seen = Image::new();
    for (src, dst, len) in pieces {
        for byte in 0..len {
            let (src, dst) = (src + byte, dst + byte);
            match image.get(&dst) {
                None => return Err(Fault::Gap(dst)),
                Some(_) if seen.insert(dst, src).is_some() => return Err(Fault::Repeated(dst)),
                Some(&expected) if expected != src => return Err(Fault::WrongSource(dst)),
                Some(_) => {}
            }
        }
    }
    match image.keys().find(|dst| !seen.contains_key(dst)) {
        Some(&dst) => Err(Fault::Missing(dst)),
        None => Ok(()),
    }
}

/// All indices of a shape: a single one if there are no axes, none if an extent is 0.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut indices = vec![Vec::new()];
    for &extent in shape {
        indices = indices
            .into_iter()
            .flat_map(|index| (0..extent).map(move |i| index.iter().copied().chain([i]).collect()))
            .collect();
    }
    indices
}

fn position(side: &Side, index: &[usize]) -> usize {
    let steps =
        index.iter().zip(&side.strides).map(|(&i, &stride)| i128::try_from(i).unwrap() * stride as i128);
    usize::try_from(i128::try_from(side.offset).unwrap() + steps.sum::<i128>()).unwrap()
}
