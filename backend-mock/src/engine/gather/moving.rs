//! Moves elements from one memory to another.

use super::super::{Bytes, compute::Elements, source::Source};

/// The source and the destination of elements.
pub(super) struct Moving<'a> {
    from: &'a Elements,
    to: &'a Elements,
    /// The number of bytes in an element.
    width: usize,
    memories: Memories<'a>,
}

enum Memories<'a> {
    /// All bytes of both memories, and the loop for elements of this size.
    Whole(&'a [u8], &'a mut [u8], Walk),
    /// Memory of the host, which may use the bytes between the elements, or memory that lacks bytes
    /// by mistake.
    Parts(Source<'a>, &'a mut Bytes, Vec<u8>),
}

/// Moves a number of elements: on each side from the first byte, in steps of bytes.
type Walk = fn(&[u8], (usize, isize), &mut [u8], (usize, isize), usize);

impl<'a> Moving<'a> {
    pub(super) fn new(
        from: &'a Elements,
        source: Source<'a>,
        to: &'a Elements,
        written: &'a mut Bytes,
    ) -> Self {
        let width = to.item_bytes;
        let walk: Option<Walk> = match width {
            1 => Some(walk::<1>),
            2 => Some(walk::<2>),
            4 => Some(walk::<4>),
            8 => Some(walk::<8>),
            16 => Some(walk::<16>),
            _ => None,
        };
        let all = from.all_of(&source).filter(|_| to.span_bytes().end <= written.len_bytes());
        let memories = match (all, walk, written.is_lent()) {
            (Some(all), Some(walk), false) => {
                Memories::Whole(all, written.own_mut().unwrap_or_default(), walk)
            }
            _ => Memories::Parts(source, written, vec![0; width]),
        };
        Self { from, to, width, memories }
    }

    /// Moves a run, given by its first element and its stride on both sides, in elements. Writes
    /// zeros if there is no source.
    pub(super) fn run(&mut self, source: Option<(usize, isize)>, into: (usize, isize), len: usize) {
        let Self { from, to, width, memories } = self;
        match memories {
            Memories::Whole(bytes, written, walk) => {
                // If there is one element, the stride is never used, and may have any value.
                let in_bytes = |of: &Elements, (first, stride): (usize, isize)| {
                    (of.place(first), stride.wrapping_mul(width.cast_signed()))
                };
                match source {
                    Some(source) => walk(bytes, in_bytes(from, source), written, in_bytes(to, into), len),
                    None => walk(&[0; 16], (0, 0), written, in_bytes(to, into), len),
                }
            }
            Memories::Parts(bytes, written, item) => {
                for at in 0..len {
                    item.fill(0);
                    if let Some((first, stride)) = source {
                        bytes.read(from.place(step(first, stride, at)), item);
                    }
                    let start = to.place(step(into.0, into.1, at));
                    let into = written.part_mut(start..start + *width);
                    let there = into.len();
                    into.copy_from_slice(&item[..there]);
                }
            }
        }
    }
}

fn walk<const WIDTH: usize>(
    from: &[u8],
    (mut source, source_step): (usize, isize),
    to: &mut [u8],
    (mut into, into_step): (usize, isize),
    len: usize,
) {
    let dense = WIDTH.cast_signed();
    if len > 1 && (source_step, into_step) == (dense, dense) {
        let len_bytes = len * WIDTH;
        return to[into..into + len_bytes].copy_from_slice(&from[source..source + len_bytes]);
    }
    for _ in 0..len {
        copy_item::<WIDTH>(from, source, to, into);
        source = source.wrapping_add_signed(source_step);
        into = into.wrapping_add_signed(into_step);
    }
}

/// Copies `WIDTH` bytes.
pub(super) fn copy_item<const WIDTH: usize>(from: &[u8], source: usize, to: &mut [u8], into: usize) {
    to[into..into + WIDTH].copy_from_slice(&from[source..source + WIDTH]);
}

/// The position of an element of a run.
pub(super) fn step(first: usize, stride: isize, at: usize) -> usize {
    first.wrapping_add_signed(stride.wrapping_mul(at.cast_signed()))
}
