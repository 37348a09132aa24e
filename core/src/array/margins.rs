//! The margins of a padded result, as layouts to fill.

use crate::layout::{Axes, Layout, LayoutError};

/// The elements around the middle, as slabs or as gaps, whichever takes fewer layouts.
pub(super) fn margins(whole: &Layout, widths: &[(usize, usize)]) -> Result<Vec<Layout>, LayoutError> {
    if whole.is_empty() {
        return Ok(Vec::new());
    }
    let axes = whole.shape().iter().zip(widths);
    if axes.into_iter().any(|(&extent, &(before, after))| extent == before + after) {
        return Ok(vec![whole.clone()]);
    }
    let slabs = together(slabs(whole, widths)?)?;
    if !whole.is_c_contiguous() {
        return Ok(slabs);
    }
    let gaps = together(gaps(whole, widths)?)?;
    Ok(if gaps.len() < slabs.len() { gaps } else { slabs })
}

/// Joins two layouts that differ only in their offset into one with an axis of two positions.
fn together(layouts: Vec<Layout>) -> Result<Vec<Layout>, LayoutError> {
    let mut paired: Vec<Layout> = Vec::new();
    for layout in layouts {
        let like =
            |other: &&mut Layout| (other.shape(), other.strides()) == (layout.shape(), layout.strides());
        match paired.iter_mut().find(like) {
            Some(first) => {
                let distance = layout.offset().cast_signed() - first.offset().cast_signed();
                let shape: Axes<usize> = [2].into_iter().chain(layout.shape().iter().copied()).collect();
                let strides = [distance].into_iter().chain(layout.strides().iter().copied());
                *first = Layout::new(&shape, &strides.collect::<Axes<isize>>(), first.offset())?;
            }
            None => paired.push(layout),
        }
    }
    Ok(paired)
}

/// Covers the margins by two slabs per axis. They span the middle of the axes before it, and the
/// whole of the axes after it.
fn slabs(whole: &Layout, widths: &[(usize, usize)]) -> Result<Vec<Layout>, LayoutError> {
    let mut slabs = Vec::new();
    let mut rest = whole.clone();
    for (axis, &(before, after)) in widths.iter().enumerate() {
        let (signed, extent) = (axis.cast_signed(), rest.shape()[axis]);
        if before > 0 {
            slabs.push(rest.slice_axis(signed, ..before)?);
        }
        if after > 0 {
            slabs.push(rest.slice_axis(signed, extent - after..)?);
        }
        rest = rest.slice_axis(signed, before..extent - after)?;
    }
    Ok(slabs)
}

/// Covers the margins by gaps in memory, where the margin after a row and the margin before the
/// next row are one gap. Gaps lie before the first element of the middle, after the last, and, for
/// each axis, between neighbours. The layout is contiguous, and its middle is not empty.
fn gaps(whole: &Layout, widths: &[(usize, usize)]) -> Result<Vec<Layout>, LayoutError> {
    // Margin before, margin after, and extent of each axis. An axis without margins is joined to
    // the one before it.
    let mut axes: Vec<(usize, usize, usize)> = Vec::new();
    for (&extent, &(before, after)) in whole.shape().iter().zip(widths) {
        let middle = extent - before - after;
        match axes.last_mut() {
            Some(outer) if middle == extent => {
                *outer = (outer.0 * extent, outer.1 * extent, outer.2 * extent);
            }
            _ => axes.push((before, middle, extent)),
        }
    }
    let mut strides = vec![1; axes.len()];
    for axis in (1..axes.len()).rev() {
        strides[axis - 1] = strides[axis] * axes[axis].2;
    }
    let first: usize = axes.iter().zip(&strides).map(|(axis, stride)| axis.0 * stride).sum();
    let mut gaps = Vec::new();
    let mut push = |loops: &[(usize, usize)], start: usize, len: usize| {
        if len > 0 {
            let shape: Axes<usize> = loops.iter().map(|&(extent, _)| extent).chain([len]).collect();
            let strides = loops.iter().map(|&(_, stride)| stride.cast_signed()).chain([1]);
            let strides: Axes<isize> = strides.collect();
            gaps.push(Layout::new(&shape, &strides, whole.offset() + start)?);
        }
        Ok(())
    };
    push(&[], 0, first)?;
    // The span from the first element of the middle to the last, along the axes from `axis + 1` on.
    let mut span = 1;
    for axis in (0..axes.len()).rev() {
        let (stride, middle) = (strides[axis], axes[axis].1);
        if middle > 1 {
            let mut loops: Vec<_> =
                axes[..axis].iter().map(|axis| axis.1).zip(strides.iter().copied()).collect();
            loops.push((middle - 1, stride));
            push(&loops, first + span, stride - span)?;
        }
        span += (middle - 1) * stride;
    }
    push(&[], first + span, whole.len() - first - span)?;
    Ok(gaps)
}
