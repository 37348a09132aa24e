//! Exchanges whose parts have as many rows as each rank likes.

use super::{Communicator, Exchange, RowCounts, exchange::Exchanged, reduced::check_shape};
use crate::{
    Array, LayoutError, Result, StreamHandle,
    array::{AsArrayView, AsArrayViewMut, Element},
    backend::Collects,
};

impl<D: Collects> Communicator<D> {
    /// Gives each rank as many rows as this rank likes: rows are what the first axis counts. The first
    /// `send_counts[0]` rows of the source go to rank 0, the next `send_counts[1]` to rank 1, and so on.
    /// The rows that the others have for this one, in the order of ranks, in a new array, and how many
    /// each rank sent. A rank may send to itself, and send nothing.
    ///
    /// The shape of a row has as many elements on all ranks. Blocks until all ranks make this call, which
    /// tell each other their counts; does not wait for streams. This is so on an [unchecked
    /// communicator](Self::into_unchecked), too.
    ///
    /// ```
    /// # use std::thread;
    /// # use devarray::{Array, Context, Result, collective::{Communicator, CommunicatorId}};
    /// # use devarray_host::HostDevice;
    /// # fn part(rank: usize, id: &CommunicatorId) -> Result<()> {
    /// #     let context = Context::new(HostDevice::builder().threads(1).build())?;
    /// #     let stream = context.stream()?;
    /// #     let mut ranks = Communicator::join(&context, id, rank, 2)?;
    /// // Rank 0 has two rows for rank 1, and none for itself; rank 1 has one for each.
    /// let counts = if rank == 0 { [0, 2] } else { [1, 1] };
    /// let rows = Array::full(&stream, &[2, 3], rank as f32)?;
    /// let (found, received) = ranks.all_to_all_counted(&stream, &rows, &counts)?;
    /// if rank == 1 {
    ///     assert_eq!((found.shape(), received), (&[3, 3][..], vec![2, 1]));
    ///     assert_eq!(found.to_vec(&stream)?, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    /// }
    /// #     Ok(())
    /// # }
    /// # let id = CommunicatorId::new();
    /// # thread::scope(|scope| {
    /// #     let other = scope.spawn(|| part(1, &id));
    /// #     part(0, &id)?;
    /// #     other.join().unwrap()
    /// # })?;
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`]: there is not one count for each rank, or the source has another
    ///   number of rows than they say.
    /// - [`LayoutError::RankMismatch`]: the source has no axis.
    /// - The errors of [`all_gather`](Self::all_gather).
    #[track_caller]
    pub fn all_to_all_counted<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        source: &impl AsArrayView<T, D>,
        send_counts: &[usize],
    ) -> Result<(Array<T, D>, Vec<usize>)> {
        let view = source.as_array_view();
        let row = self.or_end(check_rows(view.shape(), send_counts, self.ranks))?;
        let mut call = self.next_call("all_to_all_counted");
        call.element_type = std::any::type_name::<T>();
        (call.item_bytes, call.count) = (size_of::<T>(), row.iter().product());
        call.counts = Some(RowCounts::new(send_counts, None));
        let received = self.agree(&call, None)?.received;
        let total = self.or_end(total(&received))?;
        let shape: crate::layout::Axes<usize> = [total].iter().chain(row).copied().collect();
        let mut result = self.or_end(Array::uninit(stream, &shape))?;
        self.all_to_all_counted_into(stream, &*view, send_counts, &mut result, &received)?;
        Ok((result, received))
    }

    /// Like [`all_to_all_counted`](Self::all_to_all_counted), into existing elements, where each rank
    /// knows how many rows it gets from each: the first `receive_counts[0]` rows of the result come from
    /// rank 0, and so on. The shapes of rows may differ if they have as many elements.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`]: as for the source, so for the result and its counts; or rows of
    ///   the result have another shape than rows of the source.
    /// - [`Error::Collective`](crate::Error::Collective): [the ranks do not agree](super#errors), which
    ///   includes a rank that gives another count of rows to get than the other gives to send.
    /// - The errors of [`all_to_all_counted`](Self::all_to_all_counted).
    #[track_caller]
    pub fn all_to_all_counted_into<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        source: &impl AsArrayView<T, D>,
        send_counts: &[usize],
        result: &mut impl AsArrayViewMut<T, D>,
        receive_counts: &[usize],
    ) -> Result<()> {
        let (source, result) = (source.as_array_view(), result.as_array_view_mut());
        let row = self.or_end(check_rows(source.shape(), send_counts, self.ranks))?;
        let result_row = self.or_end(check_rows(result.shape(), receive_counts, self.ranks))?;
        self.or_end(check_shape(row, result_row))?;
        let counts = RowCounts::new(send_counts, Some(receive_counts));
        // Rows without elements are exchanged by nobody.
        let count = row.iter().product();
        self.collect(
            stream,
            &Exchanged {
                operation: "all_to_all_counted_into",
                exchange: Exchange::AllToAllCounted,
                peer: None,
                combination: None,
                element_type: std::any::type_name::<T>(),
                count,
                counts: Some(counts),
                source: Some(source.elements()),
                result: Some(result.elements()),
                in_place: false,
            },
        )
    }
}

/// The shape of a row of an array that has as many as counts say, one count for each rank.
#[track_caller]
fn check_rows<'s>(shape: &'s [usize], counts: &[usize], ranks: usize) -> Result<&'s [usize]> {
    check_shape(&[ranks], &[counts.len()])?;
    let Some((&first, row)) = shape.split_first() else {
        return Err(LayoutError::RankMismatch { expected: 1, found: 0 }.into());
    };
    let due = total(counts)?;
    if first != due {
        let expected = [due].iter().chain(row).copied().collect();
        return Err(LayoutError::ShapeMismatch { expected, found: shape.into() }.into());
    }
    Ok(row)
}

/// The sum of counts.
#[track_caller]
fn total(counts: &[usize]) -> Result<usize> {
    let sum = counts.iter().try_fold(0_usize, |sum, &count| sum.checked_add(count));
    sum.ok_or_else(|| LayoutError::Overflow.into())
}
