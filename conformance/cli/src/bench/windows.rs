//! Parts of a large array that are small enough to be checked element by element.

use std::ops::Range;

use super::pattern::mix;

/// The number of elements in a part, about.
const WINDOW_ELEMENTS: usize = 1 << 16;
/// The number of elements in the part that is checked along whole axes, if these are longer than
/// that.
const LONG_ELEMENTS: usize = 1 << 24;
/// The number of parts: at the start, at the end, and in between.
const PLACES: usize = 5;

/// Parts of an array of this shape, each given by a range for every axis.
///
/// Axes in `joined` are taken whole if that is not too much: in all parts if they have few
/// elements, in one part if they have many, and in none beyond that.
#[must_use]
pub fn windows(shape: &[usize], joined: &[usize]) -> Vec<Vec<Range<usize>>> {
    let extents = joined.iter().map(|&axis| shape[axis]);
    let len = extents.fold(1, usize::saturating_mul);
    if len <= WINDOW_ELEMENTS {
        return (0..PLACES).map(|place| window(shape, joined, WINDOW_ELEMENTS / len.max(1), place)).collect();
    }
    let mut all: Vec<_> = (0..PLACES).map(|place| window(shape, &[], WINDOW_ELEMENTS, place)).collect();
    if len <= LONG_ELEMENTS {
        all.push(window(shape, joined, 1, PLACES));
    }
    all
}

/// One part: the axes in `whole` from end to end, and about `elements` elements along the others,
/// as square as possible.
fn window(shape: &[usize], whole: &[usize], mut elements: usize, place: usize) -> Vec<Range<usize>> {
    let mut ranges = vec![0..0; shape.len()];
    let mut axes_left = shape.len() - whole.len();
    for axis in (0..shape.len()).rev() {
        let extent = shape[axis];
        if whole.contains(&axis) {
            ranges[axis] = 0..extent;
            continue;
        }
        let exponent = u32::try_from(axes_left).unwrap_or(u32::MAX);
        let mut len = 1_usize;
        while len < extent && len.saturating_pow(exponent) < elements {
            len *= 2;
        }
        // Odd lengths have tails.
        let len = len.min(extent).min(elements.max(1));
        let len = len.saturating_sub(place).max(len.min(1));
        elements /= len.max(1);
        axes_left -= 1;
        let start = match place {
            0 => 0,
            1 => extent - len,
            _ => {
                usize::try_from(mix((place * shape.len() + axis) as u64) >> 32).unwrap_or(0)
                    % (extent - len + 1)
            }
        };
        ranges[axis] = start..start + len;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_small_and_whole_where_they_must_be() {
        for (shape, joined, whole) in [
            (&[16384, 16384][..], &[][..], 5),
            (&[16384, 16384], &[1], 5),
            (&[16384, 16384], &[0], 5),
            (&[1 << 28], &[0], 0),
            (&[1 << 24, 16], &[0], 1),
            (&[], &[], 5),
            (&[1, 3, 1], &[0, 2], 5),
        ] {
            let parts = windows(shape, joined);
            let is_whole =
                |part: &&Vec<Range<usize>>| joined.iter().all(|&axis| part[axis] == (0..shape[axis]));
            assert_eq!(parts.iter().filter(is_whole).count(), whole, "{shape:?} {joined:?}");
            for part in &parts {
                assert!(
                    part.iter()
                        .zip(shape)
                        .all(|(range, &extent)| range.start < range.end && range.end <= extent)
                );
                assert!(part.iter().map(Range::len).product::<usize>() <= LONG_ELEMENTS, "{part:?}");
            }
            assert!(parts.len() >= PLACES);
        }
    }
}
