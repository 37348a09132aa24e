//! Access of one device to the memory of another device of the same backend.

mod crossing;

pub use crossing::Crossing;

use crate::{
    ArrayViewMut, Context, Result, StreamHandle,
    array::{AsArrayView, Element, ErasedView, ErasedViewMut},
    backend::PeerAccess,
};
#[cfg(doc)]
use crate::{Error, backend::Capability};

impl<D: PeerAccess> Context<D> {
    /// Whether operations of this context's device could reach the memory of the other context's device in
    /// place. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Any device error.
    pub fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        self.device().can_access_peer(peer.device())
    }

    /// Lets operations of this context's device reach all present and future memory of the other
    /// context's device in place. This holds in one direction only: call it on the other context
    /// for the reverse. Calling it again changes nothing. May block for as long as the driver takes.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`], naming [`PeerAccess`](Capability::PeerAccess): they
    ///   [cannot](Self::can_access_peer).
    /// - Any device error.
    pub fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        self.device().enable_peer_access(peer.device())
    }
}

impl<T: Element, D: PeerAccess> ArrayViewMut<'_, T, D> {
    /// Copies elements here from another context, which may be on another device of the backend:
    /// `stream` writes, `src_stream` reads.
    ///
    /// If this context's device [may reach](Context::enable_peer_access) the other's memory, the
    /// copy goes from memory to memory and does not synchronize: it has a place in the order of
    /// both streams, and conflicting work on other streams of either context waits. If not, it
    /// works like [`copy_across`](Self::copy_across). The result says which.
    ///
    /// Waits of this context do not cover the other's work. So if earlier gathers may have found an
    /// [index out of range](crate::gather#indices-out-of-range), the call blocks until that is
    /// known.
    ///
    /// ```
    /// use devarray::{Array, Context, Crossing};
    /// use devarray_mock::MockDevice;
    ///
    /// let device = MockDevice::new();
    /// let (here, there) = (Context::new(device.clone())?, Context::new(device.sibling())?);
    /// let (writer, reader) = (here.stream()?, there.stream()?);
    /// let source = Array::from_slice(&reader, &[2, 2], &[1, 2, 3, 4])?;
    /// let mut target = Array::<i32, _>::zeros(&writer, &[2, 2])?;
    ///
    /// let way = target.view_mut().copy_from_peer(&writer, &reader, &source.view().transpose())?;
    /// assert_eq!((way, target.to_vec(&writer)?), (Crossing::Staged, vec![1, 3, 2, 4]));
    ///
    /// here.enable_peer_access(&there)?;
    /// let way = target.view_mut().copy_from_peer(&writer, &reader, &source.view())?;
    /// assert_eq!((way, target.to_vec(&writer)?), (Crossing::InPlace, vec![1, 2, 3, 4]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - The errors of [`copy_from`](Self::copy_from), each stream belonging to its side's context.
    /// - [`Error::Index`]: a gather of the other context found an index out of range. Nothing was
    ///   copied.
    /// - Any error of either device: the destination may then be partly written.
    #[doc(alias = "memcpy_peer")]
    #[track_caller]
    pub fn copy_from_peer(
        &mut self,
        stream: &StreamHandle<D>,
        src_stream: &StreamHandle<D>,
        src: &impl AsArrayView<T, D>,
    ) -> Result<Crossing> {
        stream.0.copy_from_peer(&self.elements(), &src_stream.0, &src.as_array_view().elements())
    }
}

impl<D: PeerAccess> ErasedViewMut<'_, D> {
    /// Like [`ArrayViewMut::copy_from_peer`].
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayViewMut::copy_from_peer`].
    #[track_caller]
    pub fn copy_from_peer(
        &mut self,
        stream: &StreamHandle<D>,
        src_stream: &StreamHandle<D>,
        src: &ErasedView<'_, D>,
    ) -> Result<Crossing> {
        stream.0.copy_from_peer(&self.elements(), &src_stream.0, &src.elements())
    }
}
