//! Strides that no step takes, because their axis has extent 1: they may be anything, and no
//! operation uses them.

use devarray::{
    Array, ArrayView, ArrayViewMut, Bool, Layout, Order, Result,
    array::Pad,
    gather::{OutOfRange, Repeats},
    kernel::{Grid, Image, In, Out, Strided},
};

use super::{Mock, devices, open};

devarray::kernel! {
    /// to = from
    struct Same(from: In<u32, Strided<2>>, to: Out<u32, Strided<2>>);
    image = Image::none();
    launch { Grid::elements(to.len(), 64) }
    host { to.iter_mut().zip(from.iter()).for_each(|(to, from)| *to = *from) }
}

const SHAPE: [usize; 2] = [1, 4];

fn layouts() -> impl Iterator<Item = Layout> {
    [isize::MIN, isize::MAX, isize::MIN / 2 + 1, 0]
        .map(|step| Layout::new(&SHAPE, &[step, 1], 0))
        .into_iter()
        .flatten()
}

fn read<'a>(array: &'a Array<u32, Mock>, layout: &Layout) -> Result<ArrayView<'a, u32, Mock>> {
    ArrayView::from_erased(array.as_erased().view_of(layout)?)
}

/// Elements without a value: the simulator looks for them.
#[test]
fn a_stride_that_no_step_takes_may_be_anything_where_there_are_no_values() -> Result<()> {
    for (device, layout) in devices().flat_map(|device| layouts().map(move |layout| (device.clone(), layout)))
    {
        let (_, stream) = open(&device);
        let array = Array::<u32, Mock>::uninit(&stream, &SHAPE)?;
        let view = read(&array, &layout)?;
        let turned = view.transpose();
        let indices = Array::from_slice(&stream, &[2], &[0_u32, 0])?;
        let _ = view.take(&stream, &indices, 0, OutOfRange::Error)?;
        let _ = turned.take(&stream, &indices, 0, OutOfRange::Error)?;
        let _ = view.take_flat(&stream, &indices, OutOfRange::Error)?;
        stream.synchronize()?;
    }
    Ok(())
}

#[test]
fn a_stride_that_no_step_takes_may_be_anything_where_elements_are_read() -> Result<()> {
    for (device, layout) in devices().flat_map(|device| layouts().map(move |layout| (device.clone(), layout)))
    {
        let (context, stream) = open(&device);
        let other = context.stream()?;
        let array = Array::from_slice(&stream, &SHAPE, &[1_u32, 2, 3, 4])?;
        let view = read(&array, &layout)?;
        assert_eq!(view.to_vec(&stream)?, [1, 2, 3, 4]);
        assert_eq!(view.map(&other, |x| x + 1)?.to_vec(&stream)?, [2, 3, 4, 5]);
        assert_eq!(view.sum(&other, &[1])?.to_vec(&stream)?, [10]);
        assert_eq!(view.sum(&other, &[0])?.to_vec(&stream)?, [1, 2, 3, 4]);
        assert_eq!(view.cumsum(&other, 1)?.to_vec(&stream)?, [1, 3, 6, 10]);
        assert_eq!(view.to_contiguous(&other, Order::K)?.to_vec(&stream)?, [1, 2, 3, 4]);
        assert_eq!(view.flip(&[0, 1])?.to_vec(&stream)?, [4, 3, 2, 1]);
        assert_eq!(view.bytes()?.to_vec(&stream)?.len(), 16);
        assert_eq!(view.pad(&other, &[(1, 0)], Pad::Edge)?.to_vec(&stream)?[..5], [1, 1, 2, 3, 4]);
        assert_eq!(view.roll(&other, &[1, 1], &[0, 1])?.to_vec(&stream)?, [4, 1, 2, 3]);
        assert_eq!(view.repeat(&other, 2, 0)?.to_vec(&stream)?, [1, 2, 3, 4, 1, 2, 3, 4]);
        assert_eq!(view.tile(&other, &[2, 1])?.to_vec(&stream)?, [1, 2, 3, 4, 1, 2, 3, 4]);
        let two = [view.clone(), view.clone()];
        assert_eq!(Array::concatenate(&other, &two, 0)?.to_vec(&stream)?, [1, 2, 3, 4, 1, 2, 3, 4]);
        assert_eq!(Array::stack(&other, &two, 2)?.to_vec(&stream)?, [1, 1, 2, 2, 3, 3, 4, 4]);
        let indices = Array::from_slice(&stream, &[2], &[3_u32, 0])?;
        assert_eq!(view.take(&other, &indices, 1, OutOfRange::Error)?.to_vec(&stream)?, [4, 1]);
        assert_eq!(
            indices
                .view()
                .broadcast_to(&[4, 2])?
                .take(&other, &view, 0, OutOfRange::Clamp)?
                .to_vec(&stream)?[..2],
            [3, 0]
        );
        assert_eq!(view.take_flat(&other, &indices, OutOfRange::Error)?.to_vec(&stream)?, [4, 1]);
        assert_eq!(
            view.take_along_axis(&other, &view.slice_axis(1, ..1)?, 1, OutOfRange::Error)?.to_vec(&stream)?,
            [2]
        );
        let mask = Array::from_slice(&stream, &SHAPE, &[true, false, false, true].map(Bool::from))?;
        assert_eq!(view.extract(&other, &mask)?.to_vec(&stream)?, [1, 4]);
        assert_eq!(view.compress(&other, &mask.index(&devarray::ix![0])?, 1)?.to_vec(&stream)?, [1, 4]);
        let mut to = Array::zeros(&stream, &SHAPE)?;
        Same::launch(&other, &view, &mut to)?;
        stream.foreign_work().reads(&view).enqueue(|_| Ok(()))?;
        assert_eq!(to.to_vec(&stream)?, [1, 2, 3, 4]);
        assert_eq!(device.report().findings, []);
    }
    Ok(())
}

#[test]
fn a_stride_that_no_step_takes_may_be_anything_where_elements_are_written() -> Result<()> {
    for (device, layout) in devices().flat_map(|device| layouts().map(move |layout| (device.clone(), layout)))
    {
        let (context, stream) = open(&device);
        let other = context.stream()?;
        let from = Array::from_slice(&stream, &SHAPE, &[1_u32, 2, 3, 4])?;
        let mut array = Array::<u32, _>::zeros(&stream, &SHAPE)?.into_erased();
        let mut written = |write: &dyn Fn(&mut ArrayViewMut<'_, u32, Mock>) -> Result<()>| -> Result<_> {
            let mut view = ArrayViewMut::from_erased(array.view_mut_of(&layout)?)?;
            view.fill(&stream, 9)?;
            write(&mut view)?;
            view.as_view().to_vec(&stream)
        };
        let indices = Array::from_slice(&stream, &[2], &[3_u32, 0])?;
        let mask = Array::from_slice(&stream, &SHAPE, &[true, false, false, true].map(Bool::from))?;
        assert_eq!(written(&|view| view.copy_from(&other, &from))?, [1, 2, 3, 4]);
        assert_eq!(written(&|view| view.copy_from_slice(&other, &[5, 6, 7, 8]))?, [5, 6, 7, 8]);
        assert_eq!(written(&|view| view.map_in_place(&other, |x| x + 1))?, [10; 4]);
        assert_eq!(written(&|view| Same::launch(&other, &from, view))?, [1, 2, 3, 4]);
        assert_eq!(written(&|view| from.view().roll_into(&other, &[1], &[1], view))?, [4, 1, 2, 3]);
        assert_eq!(
            written(&|view| from.view().take_into(
                &other,
                &indices.view().broadcast_to(&[2])?,
                1,
                OutOfRange::Error,
                &mut view.reborrow().slice_axis(1, ..2)?
            ))?,
            [4, 1, 9, 9]
        );
        let values = from.slice_axis(1, ..2)?;
        assert_eq!(
            written(&|view| view.put(&other, &indices, &values, 1, OutOfRange::Error, Repeats::Last))?,
            [2, 9, 9, 1]
        );
        assert_eq!(
            written(&|view| view.put_flat(
                &other,
                &indices,
                &values.index(&devarray::ix![0])?,
                OutOfRange::Error,
                Repeats::Last
            ))?,
            [2, 9, 9, 1]
        );
        assert_eq!(
            written(&|view| {
                let mut count = Array::zeros(&stream, &[])?;
                from.view().compress_into(
                    &other,
                    &mask.index(&devarray::ix![0])?,
                    1,
                    view,
                    &mut count.view_mut(),
                )
            })?[..2],
            [1, 4]
        );
        assert_eq!(written(&|view| stream.foreign_work().writes(view).enqueue(|_| Ok(())))?, [9; 4]);
        assert_eq!(device.report().findings, []);
    }
    Ok(())
}
