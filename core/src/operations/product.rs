//! Matrix products: checked here, ordered, submitted.

use smallvec::{SmallVec, smallvec};

use super::{Elements, check_len, map::check_counts};
use crate::{
    LayoutError, Result,
    allocation::Allocation,
    backend::{Compute, Device, Operand, ProductFunction, ProductOp},
    function::{ElementType, Function},
    layout::{Axes, Injectivity, Layout},
    product::{Precision, ProductError, ProductErrorKind, product_shape},
    statistics::Work,
    stream::StreamCore,
};

const OPERATION: &str = "matmul";

/// The use of the elements of a product.
pub(crate) enum Becomes<'c, 'a, D: Device> {
    /// They are the result.
    Result,
    /// They are added to the elements of the result, whose chains they continue.
    Onto,
    /// They are the first input of a function, whose values are the result.
    InputOf { function: &'c Function, inputs: &'c [Elements<'a, D>], scalars: &'c [u64] },
}

impl<D: Compute> StreamCore<D> {
    /// Multiplies matrices. Does not synchronize.
    ///
    /// An input of a function may be the result itself.
    ///
    /// # Errors
    ///
    /// Another context, shapes that do not fit, elements of another size than the type's, a function of
    /// another type, a result with elements that share memory with each other or with an operand, and
    /// any device error.
    #[track_caller]
    pub(crate) fn multiply(
        &self,
        (element_type, precision): (ElementType, Precision),
        [a, b]: [&Elements<'_, D>; 2],
        result: &Elements<'_, D>,
        becomes: &Becomes<'_, '_, D>,
    ) -> Result<()> {
        self.check_context(OPERATION, [a.allocation, b.allocation, result.allocation])?;
        if element_type == ElementType::Bool {
            return Err(ProductError::new(ProductErrorKind::Type, "elements of bool have no products").into());
        }
        let shape = product_shape(a.layout.shape(), b.layout.shape())?;
        check_len(&shape)?;
        if result.layout.shape() != &shape[..] {
            let found = result.layout.shape().into();
            return Err(LayoutError::ShapeMismatch { expected: shape[..].into(), found }.into());
        }
        let (inputs, result_type) = match becomes {
            Becomes::InputOf { function, inputs, scalars } => {
                check_function(element_type, function, scalars.len(), inputs.len(), shape.len())?;
                (*inputs, function.result_type())
            }
            _ => (&[][..], element_type),
        };
        for (elements, of) in [(a, element_type), (b, element_type), (result, result_type)] {
            check_item(of, elements.item_bytes)?;
        }
        let mut touches: SmallVec<[_; 4]> = smallvec![a.touch(false), b.touch(false)];
        let mut layouts: SmallVec<[Layout; 4]> = SmallVec::new();
        for (at, input) in inputs.iter().enumerate() {
            self.check_context(OPERATION, [input.allocation])?;
            if let Becomes::InputOf { function, .. } = becomes {
                check_item(function.program().inputs()[at + 1], input.item_bytes)?;
            }
            let layout = input.layout.broadcast_to(&shape)?;
            self.check_disjoint(input, &layout, result, true)?;
            layouts.push(layout);
            touches.push(input.touch(false));
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
            // Recorded as the calls that it is made of: a recording owns their memory, and each launch uses it.
            return self.without_products(element_type, result, becomes);
        }
        if let Some(recorder) = self.recorder() {
            return recorder.multiply((element_type, precision), [a, b, result], becomes);
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
        let is_onto = matches!(becomes, Becomes::Onto);
        if is_onto {
            touches.push(result.touch(false));
        }
        touches.push(result.touch(true));
        fn operand<'a, D: Compute>(of: &Elements<'a, D>, layout: &'a Layout) -> Operand<'a, D::Buffer> {
            Operand { buffer: of.allocation.buffer(), layout }
        }
        let others: SmallVec<[_; 4]> =
            inputs.iter().zip(&layouts).map(|(input, layout)| operand(input, layout)).collect();
        let function = match becomes {
            Becomes::InputOf { function, scalars, .. } => {
                Some(ProductFunction::new(function.program(), &others, scalars, result.layout))
            }
            _ => None,
        };
        let op = ProductOp {
            element_type,
            a: operand(a, &left),
            b: operand(b, &right),
            result: operand(result, &written),
            function,
            is_onto,
            precision,
            checked: true,
        };
        let to = self.submit(Work::Product { len_bytes: op.len_bytes() }, &touches)?.begin();
        self.core.device.product(to.raw(), &op)
    }

    /// Does what a product without products means: its elements are zeros, used as `becomes` says.
    /// Does not synchronize.
    #[track_caller]
    fn without_products(
        &self,
        element_type: ElementType,
        result: &Elements<'_, D>,
        becomes: &Becomes<'_, '_, D>,
    ) -> Result<()> {
        match becomes {
            Becomes::Result => self.fill(result, &[0; 16][..result.item_bytes]),
            Becomes::Onto => {
                // Elements stay, except that NaN becomes the canonical NaN.
                let same = Function::parse("x0", &[element_type], &[])?;
                let own = Elements { ..*result };
                self.map(same.program(), &[own], &[], result)
            }
            Becomes::InputOf { function, inputs, scalars } => {
                let (item_bytes, layout) = (element_type.len_bytes(), Layout::new(&[], &[], 0)?);
                let one = Allocation::new(self, item_bytes)?;
                let zero = Elements { allocation: &one, layout: &layout, item_bytes };
                self.fill(&zero, &[0; 16][..item_bytes])?;
                let mut all: SmallVec<[Elements<'_, D>; 4]> = smallvec![zero];
                all.extend(inputs.iter().map(|input| Elements { ..*input }));
                self.map(function.program(), &all, scalars, result)
            }
        }
    }
}

/// Returns an error unless the function takes elements of the product and the given inputs and
/// scalars.
#[track_caller]
fn check_function(
    element_type: ElementType,
    function: &Function,
    scalars: usize,
    others: usize,
    rank: usize,
) -> Result<()> {
    let program = function.program();
    match program.inputs().first() {
        Some(&first) if first == element_type => {}
        Some(first) => {
            let message =
                format!("the function takes {first}, and elements of the product are {element_type}");
            return Err(ProductError::new(ProductErrorKind::Type, message).into());
        }
        None => return Err(LayoutError::RankMismatch { expected: 0, found: 1 + others }.into()),
    }
    check_counts(program, 1 + others, scalars)?;
    if function.needed_rank() > rank {
        let axis = function.needed_rank().cast_signed() - 1;
        return Err(LayoutError::AxisOutOfRange { axis, rank }.into());
    }
    Ok(())
}

/// The layout of an operand as matrices in a batch. A 1-D operand gains an axis of one element.
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

/// Returns an error unless elements have the size of their type.
#[track_caller]
fn check_item(element_type: ElementType, item_bytes: usize) -> Result<()> {
    if element_type.len_bytes() == item_bytes {
        return Ok(());
    }
    let reason = "the product was asked for elements of another size";
    Err(LayoutError::ElementSize { item_bytes, reason }.into())
}
