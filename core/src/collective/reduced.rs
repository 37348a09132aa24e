//! Calls that combine the elements of ranks.

use super::{Combination, Communicator, Exchange, collect::check_parts, exchange::Exchanged};
use crate::{
    Array, ArrayViewMut, Result, StreamHandle,
    array::{AsArrayView, AsArrayViewMut},
    backend::Collects,
    function::Number,
    operations::Elements,
};

impl<D: Collects> Communicator<D> {
    /// Combines the elements of all ranks, each with those at the same index, in a new array of
    /// everyone's. Blocks until all ranks make this call; does not wait for streams.
    ///
    /// The arrays of the ranks have as many elements; their shapes and strides may differ. Nothing is
    /// exchanged if there are no elements.
    ///
    /// # Errors
    ///
    /// - [`Error::Collective`](crate::Error::Collective): [the ranks do not agree](super#errors), or a mean
    ///   of integers.
    /// - The errors of [`Array::uninit`], a stream or array of another context, a strict stream's hazard,
    ///   a call of a recording, and any other device error.
    #[track_caller]
    pub fn all_reduce<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        combination: Combination,
        source: &impl AsArrayView<T, D>,
    ) -> Result<Array<T, D>> {
        let view = source.as_array_view();
        let mut result = self.or_end(Array::uninit(stream, view.shape()))?;
        self.all_reduce_into(stream, combination, &*view, &mut result)?;
        Ok(result)
    }

    /// Like [`all_reduce`](Self::all_reduce), into existing elements.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the result is of another shape.
    /// - The errors of [`all_reduce`](Self::all_reduce).
    #[track_caller]
    pub fn all_reduce_into<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        combination: Combination,
        source: &impl AsArrayView<T, D>,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let (source, result) = (source.as_array_view(), result.as_array_view_mut());
        self.or_end(check_shape(source.shape(), result.shape()))?;
        let (source, result) = (Some(source.elements()), Some(result.elements()));
        self.reduce_with::<T>(stream, ("all_reduce", Exchange::AllReduce, None), combination, source, result)
    }

    /// Like [`all_reduce`](Self::all_reduce), in place of the rank's own elements.
    ///
    /// # Errors
    ///
    /// The errors of [`all_reduce`](Self::all_reduce).
    #[track_caller]
    pub fn all_reduce_in_place<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        combination: Combination,
        elements: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let view = elements.as_array_view_mut();
        let both = [Some(view.elements()), Some(view.elements())];
        self.in_place::<T>(stream, ("all_reduce", Exchange::AllReduce, None), combination, both)
    }

    /// Combines the elements of all ranks in a new array of the root's; none for other ranks. Blocks until
    /// all ranks make this call; does not wait for streams.
    ///
    /// # Errors
    ///
    /// - [`Error::Collective`](crate::Error::Collective): no rank `root`.
    /// - The errors of [`all_reduce`](Self::all_reduce).
    #[track_caller]
    pub fn reduce<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        combination: Combination,
        root: usize,
        source: &impl AsArrayView<T, D>,
    ) -> Result<Option<Array<T, D>>> {
        let view = source.as_array_view();
        let mut result =
            if root == self.rank { Some(self.or_end(Array::uninit(stream, view.shape()))?) } else { None };
        let of = ("reduce", Exchange::Reduce { root }, Some(root));
        let written = result.as_mut().map(Array::view_mut);
        let written = written.as_ref().map(ArrayViewMut::elements);
        self.reduce_with::<T>(stream, of, combination, Some(view.elements()), written)?;
        Ok(result)
    }

    /// Like [`reduce`](Self::reduce), in place of the root's own elements. Other ranks keep their elements.
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce).
    #[track_caller]
    pub fn reduce_in_place<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        combination: Combination,
        root: usize,
        elements: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let view = elements.as_array_view_mut();
        let of = ("reduce", Exchange::Reduce { root }, Some(root));
        if root == self.rank {
            return self.in_place::<T>(
                stream,
                of,
                combination,
                [Some(view.elements()), Some(view.elements())],
            );
        }
        self.reduce_with::<T>(stream, of, combination, Some(view.elements()), None)
    }

    /// Combines the elements of all ranks, and gives each rank its part: with `r` ranks the sources
    /// are of shape `[r, …]`, and the result of rank `k` is what index `k` of the first axis becomes.
    /// Blocks until all ranks make this call; does not wait for streams.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the first axis is not as long
    ///   as there are ranks.
    /// - The errors of [`all_reduce`](Self::all_reduce).
    #[track_caller]
    pub fn reduce_scatter<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        combination: Combination,
        source: &impl AsArrayView<T, D>,
    ) -> Result<Array<T, D>> {
        let view = source.as_array_view();
        let part = self.or_end(check_parts(view.shape(), self.ranks))?;
        let mut result = self.or_end(Array::uninit(stream, part))?;
        self.reduce_scatter_into(stream, combination, &*view, &mut result)?;
        Ok(result)
    }

    /// Like [`reduce_scatter`](Self::reduce_scatter), into existing elements.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the result is of another shape.
    /// - The errors of [`reduce_scatter`](Self::reduce_scatter).
    #[track_caller]
    pub fn reduce_scatter_into<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        combination: Combination,
        source: &impl AsArrayView<T, D>,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let (source, result) = (source.as_array_view(), result.as_array_view_mut());
        let part = self.or_end(check_parts(source.shape(), self.ranks))?;
        self.or_end(check_shape(part, result.shape()))?;
        let (source, result) = (Some(source.elements()), Some(result.elements()));
        let of = ("reduce_scatter", Exchange::ReduceScatter, None);
        self.reduce_with::<T>(stream, of, combination, source, result)
    }

    /// Like [`reduce_scatter`](Self::reduce_scatter), in place: index `k` of the first axis becomes the part
    /// of rank `k`, on that rank. Its other elements stay.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the first axis is not as long
    ///   as there are ranks.
    /// - The errors of [`all_reduce`](Self::all_reduce).
    #[track_caller]
    pub fn reduce_scatter_in_place<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        combination: Combination,
        elements: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let view = elements.as_array_view_mut();
        self.or_end(check_parts(view.shape(), self.ranks))?;
        let both = [Some(view.elements()), Some(view.elements())];
        self.in_place::<T>(stream, ("reduce_scatter", Exchange::ReduceScatter, None), combination, both)
    }

    #[track_caller]
    fn in_place<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        (operation, exchange, peer): (&'static str, Exchange, Option<usize>),
        combination: Combination,
        [source, result]: [Option<Elements<'_, D>>; 2],
    ) -> Result<()> {
        let parts = exchange.source_parts(self.ranks);
        let count = source.as_ref().map_or(0, |of| of.layout.len()) / parts;
        let combination = Some((combination, T::TYPE));
        let (element_type, in_place) = (std::any::type_name::<T>(), true);
        self.collect(
            stream,
            &Exchanged {
                operation,
                exchange,
                peer,
                combination,
                element_type,
                count,
                counts: None,
                source,
                result,
                in_place,
            },
        )
    }

    #[track_caller]
    fn reduce_with<T: Number>(
        &mut self,
        stream: &StreamHandle<D>,
        (operation, exchange, peer): (&'static str, Exchange, Option<usize>),
        combination: Combination,
        source: Option<Elements<'_, D>>,
        result: Option<Elements<'_, D>>,
    ) -> Result<()> {
        let parts = exchange.source_parts(self.ranks);
        let count = source.as_ref().map_or(0, |of| of.layout.len()) / parts;
        let combination = Some((combination, T::TYPE));
        let (element_type, in_place) = (std::any::type_name::<T>(), false);
        self.collect(
            stream,
            &Exchanged {
                operation,
                exchange,
                peer,
                combination,
                element_type,
                count,
                counts: None,
                source,
                result,
                in_place,
            },
        )
    }
}

/// Refuses a result of another shape.
#[track_caller]
pub(super) fn check_shape(expected: &[usize], found: &[usize]) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(crate::LayoutError::ShapeMismatch { expected: expected.into(), found: found.into() }.into())
}
