//! Calls of programs that are more than one.

use devarray::{
    ArrayView, ArrayViewMut, ErasedView, ErasedViewMut, Result, StreamHandle,
    array::DeviceFunction,
    backend::{Collects, Compute},
    collective::{Combination, Communicator},
    function::Function,
};

use super::value::Value;

type Apply<D> =
    fn(&StreamHandle<D>, &Function, [ErasedView<'_, D>; 2], &mut ErasedViewMut<'_, D>) -> Result<()>;

/// Where functions between the exchanges are computed.
#[derive(Debug)]
pub struct Functions<D: Collects>(pub(super) Option<Apply<D>>);

impl<D: Collects> Functions<D> {
    /// On the host, for devices that may not compute.
    #[must_use]
    pub fn of_host() -> Self {
        Self(None)
    }

    /// On the device.
    #[must_use]
    pub fn of_device() -> Self
    where
        D: Compute,
    {
        Self(Some(|stream, function, from, to| function.apply_into(stream, &from, &[], to)))
    }
}

/// Sends to the rank `by` places after this one, and receives from the rank `by` places before.
pub(super) fn rotate<T: Value, D: Collects>(
    stream: &StreamHandle<D>,
    ranks: &mut Communicator<D>,
    by: usize,
    source: &ArrayView<'_, T, D>,
    target: &mut ArrayViewMut<'_, T, D>,
) -> Result<()> {
    let (n, at) = (ranks.ranks(), ranks.rank());
    let (to, from) = ((at + by) % n, (at + n - by) % n);
    let mut transfers = ranks.transfers();
    if by > 0 && at % 2 == 0 {
        transfers.send(stream, to, source)?;
        transfers.receive_into(stream, from, target)?;
    } else if by > 0 {
        transfers.receive_into(stream, from, target)?;
        transfers.send(stream, to, source)?;
    }
    transfers.run()
}

/// Adds elements to others.
pub(super) fn add<T: Value, D: Collects>(
    stream: &StreamHandle<D>,
    functions: Functions<D>,
    one: &ArrayView<'_, T, D>,
    to: &mut ArrayViewMut<'_, T, D>,
) -> Result<()> {
    let Some(apply) = functions.0 else {
        let (one, two) = (one.to_vec(stream)?, to.as_view().to_vec(stream)?);
        let sums = one.iter().zip(&two).map(|(x, y)| x.combined(*y, Combination::Sum));
        return to.copy_from_slice(stream, &sums.collect::<Vec<T>>());
    };
    // Two views of one array that is written may only be the same elements.
    let two = to.as_view().to_contiguous(stream, devarray::Order::C)?;
    let function = Function::parse("x0 + x1", &[T::TYPE; 2], &[])?;
    let inputs = [one.clone().into_erased(), two.view().into_erased()];
    apply(stream, &function, inputs, &mut to.reborrow().into_erased())
}
