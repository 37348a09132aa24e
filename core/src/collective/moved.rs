//! Calls that move elements between ranks.

use std::any::type_name;

use super::{Communicator, Exchange, collect::check_parts, exchange::Exchanged, reduced::check_shape};
use crate::{
    Array, Result, StreamHandle,
    array::{AsArrayView, AsArrayViewMut, Element},
    backend::Collects,
    operations::Elements,
};

impl<D: Collects> Communicator<D> {
    /// Gives all ranks the root's elements, in place of their own. Blocks until all ranks make this call;
    /// does not wait for streams.
    ///
    /// # Errors
    ///
    /// - [`Error::Collective`](crate::Error::Collective): [the ranks do not agree](super#errors), or there
    ///   is no rank `root`.
    /// - A stream or array of another context, a strict stream's hazard, a call of a recording, out of
    ///   memory, and any other device error.
    #[track_caller]
    pub fn broadcast<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        root: usize,
        elements: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let view = elements.as_array_view_mut();
        let is_root = root == self.rank;
        let (source, result) = (is_root.then(|| view.elements()), (!is_root).then(|| view.elements()));
        let of = ("broadcast", Exchange::Broadcast { root }, Some(root));
        self.move_elements(stream, of, (type_name::<T>(), view.layout().len()), source, result)
    }

    /// Gives all ranks the elements of all, in a new array with an axis of ranks in front. Blocks until all
    /// ranks make this call; does not wait for streams.
    ///
    /// # Errors
    ///
    /// The errors of [`broadcast`](Self::broadcast) and [`Array::uninit`].
    #[track_caller]
    pub fn all_gather<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        source: &impl AsArrayView<T, D>,
    ) -> Result<Array<T, D>> {
        let view = source.as_array_view();
        let shape: crate::layout::Axes<usize> = [self.ranks].iter().chain(view.shape()).copied().collect();
        let mut result = self.or_end(Array::uninit(stream, &shape))?;
        self.all_gather_into(stream, &*view, &mut result)?;
        Ok(result)
    }

    /// Like [`all_gather`](Self::all_gather), into existing elements.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the result is of another shape.
    /// - The errors of [`all_gather`](Self::all_gather).
    #[track_caller]
    pub fn all_gather_into<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        source: &impl AsArrayView<T, D>,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let (source, result) = (source.as_array_view(), result.as_array_view_mut());
        let part = self.or_end(check_parts(result.shape(), self.ranks))?;
        self.or_end(check_shape(source.shape(), part))?;
        let (count, of) = (source.layout().len(), ("all_gather", Exchange::AllGather, None));
        self.move_elements(
            stream,
            of,
            (type_name::<T>(), count),
            Some(source.elements()),
            Some(result.elements()),
        )
    }

    /// Like [`all_gather`](Self::all_gather), in place: the elements have a first axis of ranks, and index `k`
    /// of it is what rank `k` gives. The others are replaced by what their ranks give.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the first axis is not as long
    ///   as there are ranks.
    /// - The errors of [`all_gather`](Self::all_gather).
    #[track_caller]
    pub fn all_gather_in_place<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        elements: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let view = elements.as_array_view_mut();
        self.or_end(check_parts(view.shape(), self.ranks))?;
        self.collect(
            stream,
            &Exchanged {
                operation: "all_gather",
                exchange: Exchange::AllGather,
                peer: None,
                combination: None,
                element_type: type_name::<T>(),
                count: view.layout().len() / self.ranks,
                counts: None,
                source: Some(view.elements()),
                result: Some(view.elements()),
                in_place: true,
            },
        )
    }

    /// Gives each rank its part of the elements of all: with `r` ranks sources and results are of shape
    /// `[r, …]`, and index `j` of the result of rank `k` is index `k` of the source of rank `j`. Blocks
    /// until all ranks make this call; does not wait for streams.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the first axis is not as long
    ///   as there are ranks.
    /// - The errors of [`all_gather`](Self::all_gather).
    #[track_caller]
    pub fn all_to_all<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        source: &impl AsArrayView<T, D>,
    ) -> Result<Array<T, D>> {
        let view = source.as_array_view();
        let mut result = self.or_end(Array::uninit(stream, view.shape()))?;
        self.all_to_all_into(stream, &*view, &mut result)?;
        Ok(result)
    }

    /// Like [`all_to_all`](Self::all_to_all), into existing elements.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the result is of another shape.
    /// - The errors of [`all_to_all`](Self::all_to_all).
    #[track_caller]
    pub fn all_to_all_into<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        source: &impl AsArrayView<T, D>,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let (source, result) = (source.as_array_view(), result.as_array_view_mut());
        self.or_end(check_parts(source.shape(), self.ranks))?;
        self.or_end(check_shape(source.shape(), result.shape()))?;
        let (count, of) = (source.layout().len() / self.ranks, ("all_to_all", Exchange::AllToAll, None));
        self.move_elements(
            stream,
            of,
            (type_name::<T>(), count),
            Some(source.elements()),
            Some(result.elements()),
        )
    }

    /// Sends elements to another rank, which [receives](Self::receive) them. Blocks until it does; does not
    /// wait for streams.
    ///
    /// Two ranks that both send first wait for each other, which is an error of both.
    ///
    /// # Errors
    ///
    /// - [`Error::Collective`](crate::Error::Collective): [the ranks do not agree](super#errors), or there
    ///   is no other rank `to`.
    /// - The errors of [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn send<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        to: usize,
        source: &impl AsArrayView<T, D>,
    ) -> Result<()> {
        let view = source.as_array_view();
        let of = ("send", Exchange::Transfer { from: self.rank, to }, Some(to));
        self.move_elements(stream, of, (type_name::<T>(), view.layout().len()), Some(view.elements()), None)
    }

    /// Receives elements that another rank [sends](Self::send), in a new array of this shape. Blocks until
    /// it does; does not wait for streams.
    ///
    /// # Errors
    ///
    /// The errors of [`send`](Self::send) and [`Array::uninit`].
    #[track_caller]
    pub fn receive<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        from: usize,
        shape: &[usize],
    ) -> Result<Array<T, D>> {
        let mut result = self.or_end(Array::uninit(stream, shape))?;
        self.receive_into(stream, from, &mut result)?;
        Ok(result)
    }

    /// Like [`receive`](Self::receive), into existing elements.
    ///
    /// # Errors
    ///
    /// The errors of [`send`](Self::send).
    #[track_caller]
    pub fn receive_into<T: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        from: usize,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let view = result.as_array_view_mut();
        let of = ("receive", Exchange::Transfer { from, to: self.rank }, Some(from));
        self.move_elements(stream, of, (type_name::<T>(), view.layout().len()), None, Some(view.elements()))
    }

    #[track_caller]
    pub(super) fn move_elements(
        &mut self,
        stream: &StreamHandle<D>,
        (operation, exchange, peer): (&'static str, Exchange, Option<usize>),
        (element_type, count): (&'static str, usize),
        source: Option<Elements<'_, D>>,
        result: Option<Elements<'_, D>>,
    ) -> Result<()> {
        let (combination, in_place) = (None, false);
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
