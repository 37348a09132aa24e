//! Works out the layouts of a gather before anything is enqueued.

use crate::{
    LayoutError, Result,
    backend::Compute,
    gather::{Direction, GatherOperation, Gathering, IndexType, IndexedAxis, OutOfRange, Repeats},
    layout::{Axes, IndexItem, Integer, Layout, Order, axis_index},
    operations::{Elements, Sides},
    stream::StreamHandle,
};

/// The layouts of the elements that are picked from an array, or put into it.
pub(super) struct GatherLayouts {
    operation: GatherOperation,
    axis: Option<usize>,
    /// The shape of the picked elements.
    pub(super) shape: Axes<usize>,
    indexed_axes: Vec<IndexedAxis>,
    /// The elements of the array that an index of 0 names.
    indexed: Layout,
    indices: Layout,
    positions: Axes<usize>,
}

impl GatherLayouts {
    /// Picks by indices along one axis; the axes of the indices replace it.
    pub(super) fn along(
        operation: GatherOperation,
        array: &Layout,
        indices: &Layout,
        axis: impl Integer,
    ) -> Result<Self, LayoutError> {
        let axis = axis_index(axis, array.rank())?;
        let none: Axes<isize> = Axes::from_elem(0, indices.rank());
        let (before, after) = (axis, array.rank() - axis - 1);
        let shape = replaced(array.shape(), axis, indices.shape());
        let strides = replaced(array.strides(), axis, &none);
        let indexed = Layout::new(&shape, &strides, first_of(array))?;
        let amid = |steps: &[isize]| -> Axes<isize> {
            let zeros = |count| std::iter::repeat_n(0, count);
            zeros(before).chain(steps.iter().copied()).chain(zeros(after)).collect()
        };
        let positions = amid(Layout::contiguous(indices.shape(), Order::C)?.strides());
        Ok(Self {
            operation,
            axis: Some(axis),
            indexed_axes: vec![axis_of(array, axis)],
            indexed,
            indices: Layout::new(&shape, &amid(indices.strides()), indices.offset())?,
            positions: unsigned(&positions),
            shape,
        })
    }

    /// Picks by indices into the flattened array.
    pub(super) fn flat(
        operation: GatherOperation,
        array: &Layout,
        indices: &Layout,
    ) -> Result<Self, LayoutError> {
        let shape: Axes<usize> = indices.shape().into();
        let line = array.ravel(Order::C);
        let array = line.as_ref().unwrap_or(array);
        let positions = Layout::contiguous(&shape, Order::C)?;
        Ok(Self {
            operation,
            axis: None,
            indexed_axes: (0..array.rank()).map(|axis| axis_of(array, axis)).collect(),
            indexed: Layout::new(&shape, &Axes::from_elem(0, shape.len()), first_of(array))?,
            indices: indices.clone(),
            positions: unsigned(positions.strides()),
            shape,
        })
    }

    /// Picks by an index for each element, along one axis; the other axes broadcast together.
    pub(super) fn along_axis(
        operation: GatherOperation,
        array: &Layout,
        indices: &Layout,
        axis: impl Integer,
    ) -> Result<Self, LayoutError> {
        let (expected, found) = (array.rank(), indices.rank());
        if expected != found {
            return Err(LayoutError::RankMismatch { expected, found });
        }
        let axis = axis_index(axis, expected)?;
        let mut shape: Axes<usize> = array.shape().into();
        for (at, (extent, &other)) in shape.iter_mut().zip(indices.shape()).enumerate() {
            if at == axis || *extent == 1 {
                *extent = other;
            }
        }
        let mut strides: Axes<isize> = array.strides().into();
        for (at, stride) in strides.iter_mut().enumerate() {
            let repeats = array.shape()[at] == 1 && shape[at] != 1;
            *stride = if at == axis || repeats { 0 } else { *stride };
        }
        let row_major = Layout::contiguous(indices.shape(), Order::C)?;
        Ok(Self {
            operation,
            axis: Some(axis),
            indexed_axes: vec![axis_of(array, axis)],
            indices: indices.broadcast_to(&shape)?,
            indexed: Layout::new(&shape, &strides, first_of(array))?,
            positions: unsigned(row_major.broadcast_to(&shape)?.strides()),
            shape,
        })
    }

    /// Elements selected along an axis of an array of that shape. `places` holds the position of
    /// each in the result.
    pub(super) fn selected(
        operation: GatherOperation,
        shape: &[usize],
        axis: usize,
        places: &Layout,
        result: &Layout,
    ) -> Result<Self, LayoutError> {
        let mut strides: Axes<isize> = result.strides().into();
        strides[axis] = 0;
        Ok(Self {
            operation,
            axis: Some(axis),
            shape: shape.into(),
            indexed_axes: vec![axis_of(result, axis)],
            indexed: Layout::new(shape, &strides, first_of(result))?,
            indices: beside(places, axis, shape)?,
            positions: unsigned(
                beside(&Layout::contiguous(places.shape(), Order::C)?, axis, shape)?.strides(),
            ),
        })
    }

    /// Picks the elements selected by a mask of their shape, and moves them to counted places of a
    /// 1-D result.
    pub(super) fn counted(
        operation: GatherOperation,
        shape: &[usize],
        count: &Layout,
        result: &Layout,
    ) -> Result<Self, LayoutError> {
        let fixed = |start: usize| Layout::new(shape, &Axes::from_elem(0, shape.len()), start);
        Ok(Self {
            operation,
            axis: (operation == GatherOperation::Compress).then_some(0),
            shape: shape.into(),
            indexed_axes: vec![axis_of(result, 0)],
            indexed: fixed(first_of(result))?,
            indices: fixed(count.offset())?,
            positions: unsigned(Layout::contiguous(shape, Order::C)?.strides()),
        })
    }

    /// Whether its shape exceeds the array's along an axis that is not indexed.
    pub(super) fn is_wider_than(&self, array: &Layout) -> bool {
        let axes = self.shape.iter().zip(array.shape()).enumerate();
        axes.into_iter().any(|(at, (picked, there))| Some(at) != self.axis && picked != there)
    }

    /// The number of valid indices.
    pub(super) fn bound(&self) -> usize {
        self.indexed_axes.iter().map(|axis| axis.extent).product()
    }

    /// Returns an error if there are indices into an axis without elements.
    pub(super) fn check_bound(&self) -> Result<(), LayoutError> {
        if self.shape.contains(&0) || self.indexed_axes.iter().all(|axis| axis.extent > 0) {
            return Ok(());
        }
        Err(LayoutError::IndexOutOfRange { axis: self.axis.unwrap_or(0), index: 0, extent: 0 })
    }

    /// Returns an error unless the result has the picked shape.
    pub(super) fn check_shape(&self, found: &[usize]) -> Result<(), LayoutError> {
        if found == &self.shape[..] {
            return self.check_bound();
        }
        Err(LayoutError::ShapeMismatch { expected: self.shape[..].into(), found: found.into() })
    }

    /// Enqueues the gather. The layout of the elements has the shape of the picked elements.
    #[track_caller]
    pub(super) fn submit<D: Compute>(
        mut self,
        stream: &StreamHandle<D>,
        (direction, out_of_range, repeats): (Direction, OutOfRange, Repeats),
        indexed: Elements<'_, D>,
        (indices, index_type): (Elements<'_, D>, IndexType),
        mask: Option<(Elements<'_, D>, Layout)>,
        (elements, layout): (Elements<'_, D>, &Layout),
    ) -> Result<()> {
        if self.shape.contains(&0) {
            return Ok(());
        }
        let item_bytes = elements.item_bytes;
        let (layout, width_bytes) = layout.with_item_bytes(item_bytes)?;
        let (mask, mut of_mask) = match mask {
            Some((mask, layout)) => (Some(mask), Some(layout)),
            None => (None, None),
        };
        if item_bytes != width_bytes {
            let factor = (item_bytes / width_bytes).cast_signed();
            self.indexed = self.indexed.with_item_bytes(item_bytes)?.0;
            self.shape = self.indexed.shape().into();
            self.indices = beneath(&self.indices, &self.shape)?;
            of_mask = of_mask.map(|mask| beneath(&mask, &self.shape)).transpose()?;
            self.positions.push(0);
            for axis in &mut self.indexed_axes {
                axis.stride = axis.stride.wrapping_mul(factor);
            }
        }
        let work = Gathering {
            operation: self.operation,
            axis: self.axis,
            direction,
            out_of_range,
            repeats,
            width_bytes,
            shape: &self.shape,
            indexed_axes: &self.indexed_axes,
            indexed: &self.indexed,
            indices: &self.indices,
            index_type,
            positions: &self.positions,
            mask: of_mask.as_ref(),
            elements: &layout,
        };
        stream.0.gather(work, &Sides { indexed, indices, mask, elements })
    }
}

/// Broadcasts a 1-D layout along all axes of a shape but one. A layout of that shape stays as it
/// is.
pub(super) fn beside(line: &Layout, axis: usize, shape: &[usize]) -> Result<Layout, LayoutError> {
    if line.shape() == shape {
        return Ok(line.clone());
    }
    let mut items = vec![IndexItem::NewAxis; shape.len()];
    items[axis] = IndexItem::from(..);
    line.index(&items)?.broadcast_to(shape)
}

/// Adds a last axis, along which the parts of an element share one index.
fn beneath(layout: &Layout, shape: &[usize]) -> Result<Layout, LayoutError> {
    layout.expand_dims(-1)?.broadcast_to(shape)
}

fn replaced<T: Copy>(of: &[T], at: usize, by: &[T]) -> Axes<T> {
    of[..at].iter().chain(by).chain(&of[at + 1..]).copied().collect()
}

fn axis_of(array: &Layout, axis: usize) -> IndexedAxis {
    IndexedAxis { extent: array.shape()[axis], stride: array.strides()[axis] }
}

/// The position of the first element. An array without elements gives an arbitrary position.
fn first_of(array: &Layout) -> usize {
    if array.is_empty() { 0 } else { array.offset() }
}

fn unsigned(strides: &[isize]) -> Axes<usize> {
    strides.iter().map(|stride| stride.cast_unsigned()).collect()
}
