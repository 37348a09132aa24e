//! Scans neighbouring rows at once, like [`strips`](super::strips) totals them.
#![allow(unsafe_code)] // looks at the elements that callers vouch for

use std::ops::Range;

use bytemuck::Zeroable;

use super::{
    extremes::{Keyed, better},
    machine::Work,
    raw::Raw,
    rows::Rows,
    runner::Runner,
    strips::{Behind, Strips, most},
    sums::Summed,
};

/// An aligned block of elements of each row: their number, their totals, and the totals of all
/// elements up to the end of the block.
struct Block<T> {
    len: usize,
    total: Vec<T>,
    all: Vec<T>,
}

impl Strips {
    /// Running sums. `store` takes the values of some rows, from one row on, at a position.
    ///
    /// # Safety
    ///
    /// The inputs' elements may be read, and the program's results have this type.
    pub(super) unsafe fn running_sums<T: Summed, const PRODUCT: bool>(
        &self,
        all: &Rows<'_>,
        rows: Range<usize>,
        exclusive: bool,
        store: impl Fn(&[u8], usize, usize),
    ) {
        let machine = all.prepared.machine;
        let mut runner = Runner::new(&all.prepared.code, all.scalars, self.block, 0);
        let most = most::<T>().min(rows.len());
        // The blocks form a binary counter, the largest first. Blocks that are no longer needed are
        // reused.
        let (mut blocks, mut unused): (Vec<Block<T>>, Vec<Block<T>>) = (Vec::new(), Vec::new());
        let (mut before, mut through) = (vec![T::zeroed(); most], vec![T::zeroed(); most]);
        self.each::<T>(rows, |row, len| {
            unused.append(&mut blocks);
            before[..len].fill(T::identity::<PRODUCT>());
            for k in 0..all.row_len {
                let fresh = || Block { len: 0, total: vec![T::zeroed(); most], all: vec![T::zeroed(); most] };
                let mut block = unused.pop().unwrap_or_else(fresh);
                block.len = 1;
                for part in self.blocks(len) {
                    // SAFETY: as the caller promises
                    let elements = unsafe { self.elements(&mut runner, (row + part.start, part.len()), k) };
                    let total = &mut block.total[part];
                    bytemuck::cast_slice_mut::<T, Raw<T>>(total).copy_from_slice(elements);
                }
                if exclusive {
                    store(bytemuck::cast_slice(&before[..len]), row, k);
                } else {
                    through[..len].copy_from_slice(&block.total[..len]);
                    machine.run(Behind::<T, PRODUCT> { waiting: &before[..len], sum: &mut through[..len] });
                    store(bytemuck::cast_slice(&through[..len]), row, k);
                }
                while let Some(left) = blocks.pop_if(|left| left.len == block.len) {
                    let (waiting, sum) = (&left.total[..len], &mut block.total[..len]);
                    machine.run(Behind::<T, PRODUCT> { waiting, sum });
                    block.len *= 2;
                    unused.push(left);
                }
                block.all[..len].copy_from_slice(&block.total[..len]);
                let sum = &mut block.all[..len];
                match blocks.last() {
                    Some(left) => machine.run(Behind::<T, PRODUCT> { waiting: &left.all[..len], sum }),
                    None => {
                        let identity = T::identity::<PRODUCT>();
                        sum.iter_mut().for_each(|sum| *sum = identity.combined::<PRODUCT>(*sum));
                    }
                }
                before[..len].copy_from_slice(&block.all[..len]);
                blocks.push(block);
            }
        });
    }

    /// Running extremes. `store` is called as for running sums.
    ///
    /// # Safety
    ///
    /// The conditions of [`running_sums`](Self::running_sums).
    pub(super) unsafe fn running_extremes<T: Keyed, const GREATER: bool>(
        &self,
        all: &Rows<'_>,
        rows: Range<usize>,
        store: impl Fn(&[u8], usize, usize),
    ) {
        let machine = all.prepared.machine;
        let mut runner = Runner::new(&all.prepared.code, all.scalars, self.block, 0);
        let most = most::<T>().min(rows.len());
        let (mut keys, mut found) = (vec![T::Key::zeroed(); most], vec![T::zeroed(); most]);
        self.each::<T>(rows, |row, len| {
            for k in 0..all.row_len {
                for part in self.blocks(len) {
                    // SAFETY: as the caller promises
                    let elements = unsafe { self.elements(&mut runner, (row + part.start, part.len()), k) };
                    let (keys, found) = (&mut keys[part.clone()], &mut found[part]);
                    machine.run(SoFar::<T, GREATER> { keys, found, elements, begun: k > 0 });
                }
                store(bytemuck::cast_slice(&found[..len]), row, k);
            }
        });
    }
}

/// The least or the greatest of each row so far.
struct SoFar<'a, T: Keyed, const GREATER: bool> {
    keys: &'a mut [T::Key],
    found: &'a mut [T],
    elements: &'a [Raw<T>],
    begun: bool,
}

impl<T: Keyed, const GREATER: bool> Work for SoFar<'_, T, GREATER> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keys, found, elements, begun } = self;
        for ((so_far, found), element) in keys.iter_mut().zip(found).zip(elements) {
            let key = element.get().extreme_key::<GREATER>();
            *so_far = if begun { better::<GREATER, _>(*so_far, key) } else { key };
            *found = T::of_extreme(*so_far);
        }
    }
}
