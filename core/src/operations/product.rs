//! Matrix products: checked here, ordered, submitted.

use smallvec::{SmallVec, smallvec};

use super::{Elements, check_len};
use crate::{
    LayoutError, Result,
    backend::{Compute, Operand, ProductOp},
    function::ElementType,
    layout::{Axes, Injectivity, Layout},
    product::{Precision, ProductError, ProductErrorKind, product_shape},
    statistics::Work,
    stream::StreamCore,
};

const OPERATION: &str = "matmul";

impl<D: Compute> StreamCore<D> {
    /// Multiplies matrices. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Another context, shapes that do not fit, elements of another size than the type's, a result some
    /// of whose elements share memory, with each other or with an operand, and any device error.
    #[track_caller]
    pub(crate) fn multiply(
        &self,
        (element_type, precision): (ElementType, Precision),
        a: &Elements<'_, D>,
        b: &Elements<'_, D>,
        result: &Elements<'_, D>,
    ) -> Result<()> {
        self.check_context(OPERATION, [&a.allocation.core, &b.allocation.core, &result.allocation.core])?;
        if element_type == ElementType::Bool {
            return Err(ProductError::new(ProductErrorKind::Type, "elements of bool have no products").into());
        }
        let shape = product_shape(a.layout.shape(), b.layout.shape())?;
        check_len(&shape)?;
        if result.layout.shape() != &shape[..] {
            let found = result.layout.shape().into();
            return Err(LayoutError::ShapeMismatch { expected: shape[..].into(), found }.into());
        }
        for elements in [a, b, result] {
            check_item(element_type, elements.item_bytes)?;
        }
        if result.layout.is_empty() {
            return Ok(());
        }
        if result.layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
        for input in [a, b] {
            self.check_disjoint(input, input.layout, result, false)?;
        }
        let depth = a.layout.shape().last().copied().unwrap_or(0);
        if depth == 0 {
            return self.fill(result, &[0; 16][..result.item_bytes]);
        }
        let [row, column] = [a, b].map(|of| of.layout.rank() == 1);
        let mut written = result.layout.clone();
        if row {
            written = written.expand_dims(written.rank() - usize::from(!column))?;
        }
        if column {
            written = written.expand_dims(written.rank())?;
        }
        let batch = &written.shape()[..written.rank() - 2];
        let left = matrices(a.layout, row.then_some(0), batch)?;
        let right = matrices(b.layout, column.then_some(1), batch)?;
        let touches: SmallVec<[_; 4]> = smallvec![a.touch(false), b.touch(false), result.touch(true)];
        fn operand<'a, D: Compute>(of: &Elements<'a, D>, layout: &'a Layout) -> Operand<'a, D::Buffer> {
            Operand { buffer: of.allocation.buffer(), layout }
        }
        let op = ProductOp {
            element_type,
            a: operand(a, &left),
            b: operand(b, &right),
            result: operand(result, &written),
            precision,
            checked: true,
        };
        let to = self.submit(Work::Product { len_bytes: op.len_bytes() }, &touches)?.begin();
        self.core.device.product(to.raw(), &op)
    }
}

/// The layout of an operand as matrices in a batch. A 1-D one has an axis of one element more.
#[track_caller]
fn matrices(layout: &Layout, missing: Option<usize>, batch: &[usize]) -> Result<Layout> {
    let layout = match missing {
        Some(axis) => layout.expand_dims(axis)?,
        None => layout.clone(),
    };
    let matrix = &layout.shape()[layout.rank() - 2..];
    let shape: Axes<usize> = batch.iter().chain(matrix).copied().collect();
    Ok(layout.broadcast_to(&shape)?)
}

/// Refuses elements of another size than their type has.
#[track_caller]
fn check_item(element_type: ElementType, item_bytes: usize) -> Result<()> {
    if element_type.len_bytes() == item_bytes {
        return Ok(());
    }
    let reason = "the product was asked for elements of another size";
    Err(LayoutError::ElementSize { item_bytes, reason }.into())
}
