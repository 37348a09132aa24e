//! Calls as a first program writes them: on arrays, views and views to write.

use devarray::{
    Array, ArrayViewMut, Bool, Compute, Context, Device, ErasedArray, IndexItem, Result, StreamHandle,
    array::{AsArrayView, AsArrayViewMut, Operands},
    function::{DeviceFunction, ElementType, Function, ReduceOperation, Reduction, Scan, ScanOperation},
    gather::{OutOfRange, Repeats},
    math,
    random::{self, Key},
};
use devarray_mock::MockDevice;

fn open() -> StreamHandle<MockDevice> {
    let context = Context::new(MockDevice::new()).expect("the simulator opens");
    context.stream().expect("a stream opens")
}

fn grid(stream: &StreamHandle<MockDevice>) -> Array<f32, MockDevice> {
    Array::from_slice(stream, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("an array")
}

#[test]
fn arrays_are_written_without_a_view() -> Result<()> {
    let s = open();
    let mut x = Array::<i32, _>::uninit(&s, &[2, 3])?;
    x.fill(&s, 7)?;
    assert_eq!(x.to_vec(&s)?, [7; 6]);
    x.map_in_place(&s, |x| x * 2)?;
    let row = Array::from_slice(&s, &[3], &[1, 2, 3])?;
    x.update(&s, (&row, 10), |x, (row, k)| x + row * k)?;
    x.update(&s, &row, |x, row| x - row)?;
    assert_eq!(x.to_vec(&s)?, [23, 32, 41, 23, 32, 41]);
    x.copy_from(&s, &row.broadcast_to(&[2, 3])?)?;
    assert_eq!(x.to_vec(&s)?, [1, 2, 3, 1, 2, 3]);
    x.copy_from_slice(&s, &[1, 2, 3, 4, 5, 6])?;
    x.copy_within(&s, &devarray::ix![1], &devarray::ix![0])?;
    assert_eq!(x.to_vec(&s)?, [1, 2, 3, 1, 2, 3]);
    let (at, values) = (Array::from_slice(&s, &[1], &[-1])?, Array::from_slice(&s, &[1], &[9])?);
    x.put(&s, &at, &values, 1_usize, OutOfRange::Error, Repeats::None)?;
    x.put_flat(&s, &Array::from_slice(&s, &[1], &[0_u8])?, &values, OutOfRange::Error, Repeats::Last)?;
    x.put_along_axis(
        &s,
        &Array::from_slice(&s, &[2, 1], &[1_u64, 0])?,
        &values.reshape(&[1, 1], devarray::Order::C)?,
        1,
        OutOfRange::Error,
        Repeats::Last,
    )?;
    assert_eq!(x.to_vec(&s)?, [9, 9, 9, 9, 2, 9]);
    x.concatenate_from(&s, &[row.view().expand_dims(0)?, row.view().expand_dims(0)?], 0_usize)?;
    x.stack_from(&s, &[row.view(), row.view()], 0_usize)?;
    assert_eq!(x.to_vec(&s)?, [1, 2, 3, 1, 2, 3]);

    let mut erased = x.into_erased();
    erased.fill_bytes(&s, &7_i32.to_ne_bytes())?;
    let other = ErasedArray::from_bytes(&s, &[2, 3], 4, &[1; 24])?;
    assert_eq!(erased.view().to_bytes(&s)?, 7_i32.to_ne_bytes().repeat(6));
    erased.copy_from(&s, &other.view())?;
    assert_eq!(erased.view().to_bytes(&s)?, [1; 24]);
    erased.copy_from_bytes(&s, &[2; 24])?;
    assert_eq!(erased.view().to_bytes(&s)?, [2; 24]);
    Ok(())
}

/// Writes to a destination: an array, a view, or a reference to either.
fn doubled<D: Compute>(
    s: &StreamHandle<D>,
    x: &impl AsArrayView<f32, D>,
    into: &mut impl AsArrayViewMut<f32, D>,
) -> Result<()> {
    (&x.as_array_view(), 2.0).map_into(s, into, |(x, k)| x * k)
}

#[test]
fn destinations_are_arrays_and_views() -> Result<()> {
    let s = open();
    let x = grid(&s);
    let mut y = Array::zeros(&s, &[2, 3])?;
    doubled(&s, &x, &mut y)?;
    assert_eq!(y.to_vec(&s)?, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    doubled(&s, &x.flip([0])?, &mut y.view_mut())?;
    assert_eq!(y.to_vec(&s)?, [8.0, 10.0, 12.0, 2.0, 4.0, 6.0]);
    doubled(&s, &&x, &mut &mut y)?;
    let mut half = y.view_mut().slice_axis(0, ..1)?;
    doubled(&s, &x.slice_axis(0, 1..)?, &mut half)?;
    doubled(&s, &x.slice_axis(0, 1..)?, &mut half)?; // not moved
    assert_eq!(y.to_vec(&s)?, [8.0, 10.0, 12.0, 8.0, 10.0, 12.0]);

    x.map_into(&s, &mut y, |x| x + 1.0)?;
    math::add_into(&s, &x, 1.0, &mut y)?;
    math::softmax_into(&s, &x, 1_usize, &mut y)?;
    random::uniform_into(&s, &mut y, Key::new(1))?;
    random::uniform_into(&s, &mut y.view_mut(), Key::new(1))?;
    let due: Array<f32, _> = random::uniform(&s, &[2, 3], Key::new(1))?;
    assert_eq!(y.to_vec(&s)?, due.to_vec(&s)?);

    let at = Array::from_slice(&s, &[2], &[2, 0])?;
    let mut taken = Array::uninit(&s, &[2, 2])?;
    x.view().take_into(&s, &at, -1, OutOfRange::Error, &mut taken)?;
    assert_eq!(taken.to_vec(&s)?, [3.0, 1.0, 6.0, 4.0]);
    let mut flat = Array::uninit(&s, &[2])?;
    x.view().take_flat_into(&s, &at, OutOfRange::Error, &mut flat)?;
    assert_eq!(flat.to_vec(&s)?, [3.0, 1.0]);
    let mut rolled = Array::uninit(&s, &[2, 3])?;
    x.view().roll_into(&s, &[1], [1_usize], &mut rolled)?;
    assert_eq!(rolled.to_vec(&s)?, [3.0, 1.0, 2.0, 6.0, 4.0, 5.0]);
    let mask = x.map(&s, |x| x.gt(4.0))?;
    let (mut room, mut count) = (Array::zeros(&s, &[3])?, Array::zeros(&s, &[])?);
    x.view().extract_into(&s, &mask, &mut room, &mut count)?;
    assert_eq!((room.to_vec(&s)?, count.item(&s)?), (vec![5.0, 6.0, 0.0], 2));

    let square = Function::parse("x0 * x0", &[ElementType::F32], &[])?;
    let mut erased = ErasedArray::uninit(&s, &[2, 3], 4)?;
    square.apply_into(&s, &[x.view().into_erased()], &[], &mut erased)?;
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&erased.view().to_bytes(&s)?)[5], 36.0);
    let mut rows = ErasedArray::uninit(&s, &[2], 4)?;
    let sum = Reduction::new(ReduceOperation::Sum).axes([1_usize]);
    square.reduce_into(&s, &[x.view().into_erased()], &[], &sum, &mut rows)?;
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&rows.view().to_bytes(&s)?), [14.0, 77.0]);
    Ok(())
}

/// The twin of the correct destinations: another shape is refused, and nothing is written.
#[test]
fn a_destination_of_another_shape_is_refused() -> Result<()> {
    let s = open();
    let x = grid(&s);
    let mut wrong = Array::zeros(&s, &[2])?;
    assert!(x.map_into(&s, &mut wrong, |x| x).is_err());
    assert!(x.sum_into(&s, .., &mut wrong).is_err());
    assert!(x.sum_into(&s, 0, &mut wrong).is_err());
    assert!(x.cumsum_into(&s, 0, &mut wrong).is_err());
    let rows = Reduction::new(ReduceOperation::Sum).axes(&[1]).keep_axes();
    assert!(x.reduce_into(&s, &rows, &mut wrong, |x| x).is_err());
    assert_eq!(wrong.to_vec(&s)?, [0.0, 0.0]);
    Ok(())
}

#[test]
fn reductions_into_arrays() -> Result<()> {
    let s = open();
    let x = grid(&s);
    let mut rows = Array::uninit(&s, &[2])?;
    let along = Reduction::new(ReduceOperation::Sum).axes(&[-1]);
    x.reduce_into(&s, &along, &mut rows, |x| x * x)?;
    assert_eq!(rows.to_vec(&s)?, [14.0, 77.0]);
    (&x, &x).reduce_into(&s, &along, &mut rows.view_mut(), |(x, y)| x + y)?;
    assert_eq!(rows.to_vec(&s)?, [12.0, 30.0]);
    let mut read = |call: &dyn Fn(&mut Array<f32, MockDevice>) -> Result<()>| {
        call(&mut rows)?;
        rows.to_vec(&s)
    };
    assert_eq!(read(&|rows| x.sum_into(&s, 1, rows))?, [6.0, 15.0]);
    assert_eq!(read(&|rows| x.view().product_into(&s, -1, rows))?, [6.0, 120.0]);
    assert_eq!(read(&|rows| x.min_into(&s, &[1], rows))?, [1.0, 4.0]);
    assert_eq!(read(&|rows| x.max_into(&s, [1_usize], rows))?, [3.0, 6.0]);
    assert_eq!(read(&|rows| x.mean_into(&s, 1_usize, rows))?, [2.0, 5.0]);
    assert_eq!(read(&|rows| x.var_into(&s, 1_isize, rows))?, [2.0 / 3.0; 2]);
    assert_eq!(read(&|rows| x.std_into(&s, 1, rows))?, [(2.0_f32 / 3.0).sqrt(); 2]);
    let mut at = Array::uninit(&s, &[2])?;
    x.argmax_into(&s, 1, &mut at)?;
    assert_eq!(at.to_vec(&s)?, [2_i64, 2]);
    x.argmin_into(&s, 1, &mut at)?;
    x.count_nonzero_into(&s, 1, &mut at)?;
    assert_eq!(at.to_vec(&s)?, [3, 3]);
    let mut is = Array::uninit(&s, &[])?;
    x.any_into(&s, .., &mut is)?;
    x.all_into(&s, .., &mut is)?;
    assert_eq!(is.item(&s)?, Bool::TRUE);
    let mut running = Array::uninit(&s, &[2, 3])?;
    x.cumsum_into(&s, 0, &mut running)?;
    assert_eq!(running.to_vec(&s)?, [1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
    x.scan_into(&s, Scan::new(ScanOperation::Sum, 1_usize), &mut running, |x| x * 2.0)?;
    assert_eq!(running.to_vec(&s)?, [2.0, 6.0, 12.0, 8.0, 18.0, 30.0]);
    Ok(())
}

#[test]
fn one_operand_needs_no_tuple() -> Result<()> {
    let s = open();
    let mut x = grid(&s);
    let rows = Reduction::new(ReduceOperation::Sum).axes(&[1]);
    let due = [14.0, 77.0];
    let found: Array<f32, _> = x.reduce(&s, &rows, |x| x * x)?;
    assert_eq!(found.to_vec(&s)?, due);
    let found: Array<f32, _> = (&x,).reduce(&s, &rows, |(x,)| x * x)?;
    assert_eq!(found.to_vec(&s)?, due);
    let view = x.view();
    let found: Array<f32, _> = view.reduce(&s, &rows, |x| x * x)?;
    assert_eq!(found.to_vec(&s)?, due);
    let found: Array<f32, _> = (&view.as_array_view()).reduce(&s, &rows, |x| x * x)?;
    assert_eq!(found.to_vec(&s)?, due);
    let shared = grid(&s).into_shared();
    let found: Array<f32, _> = shared.reduce(&s, &rows, |x| x * x)?;
    assert_eq!(found.to_vec(&s)?, due);
    assert_eq!(shared.map(&s, |x| x + 1.0)?.to_vec(&s)?[5], 7.0);
    let writing: ArrayViewMut<'_, f32, _> = x.view_mut();
    let found: Array<f32, _> = writing.reduce(&s, &rows, |x| x * x)?;
    assert_eq!(found.to_vec(&s)?, due);
    assert_eq!((&writing, 1.0).map(&s, |(x, k)| x + k)?.to_vec(&s)?[0], 2.0);
    let item: f32 =
        (&x.as_array_view(), 2.0)
            .reduce_item(&s, &Reduction::new(ReduceOperation::Maximum), |(x, k)| x * k)?;
    assert_eq!(item, 12.0);
    let masked: Array<f32, _> = Operands::reduce_where(&x, &s, &rows, |x| (x.gt(2.0), x))?;
    assert_eq!(masked.to_vec(&s)?, [3.0, 15.0]);
    Ok(())
}

#[test]
fn axes_are_of_any_integer_type() -> Result<()> {
    let s = open();
    let x = grid(&s);
    let last: usize = x.rank() - 1;
    for sums in [
        x.sum(&s, 1)?,
        x.sum(&s, -1)?,
        x.sum(&s, 1_usize)?,
        x.sum(&s, -1_isize)?,
        x.sum(&s, last)?,
        x.sum(&s, &[1])?,
        x.sum(&s, &[-1])?,
        x.sum(&s, [1_usize])?,
        x.sum(&s, &[last][..])?,
        x.sum(&s, &vec![last])?,
    ] {
        assert_eq!(sums.to_vec(&s)?, [6.0, 15.0]);
    }
    for sums in [x.sum(&s, ..)?, x.sum(&s, &[0, -1])?, x.sum(&s, [0_usize, 1])?, x.sum(&s, &[-2_isize, 1])?] {
        assert_eq!(sums.to_vec(&s)?, [21.0]);
    }
    assert_eq!(x.sum(&s, &[])?.shape(), [2, 3]);
    assert_eq!(x.permute(&[last, 0])?.shape(), [3, 2]);
    assert_eq!(x.permute([-1, 0])?.shape(), [3, 2]);
    assert_eq!(x.flip(&[last])?.to_vec(&s)?, x.flip(&[-1])?.to_vec(&s)?);
    assert_eq!(x.flip(&[])?.layout(), x.layout());
    assert_eq!(x.swap_axes(0_usize, -1)?.shape(), [3, 2]);
    assert_eq!(x.move_axes([last], &[0])?.shape(), [3, 2]);
    assert_eq!(x.expand_dims(last)?.squeeze_axes([last])?.shape(), [2, 3]);
    assert_eq!(x.slice_axis(last, 1..)?.shape(), [2, 2]);
    assert_eq!(x.axis_iter(last)?.len(), 3);
    assert_eq!(x.view().sliding_windows(last, 2)?.shape(), [2, 2, 2]);
    assert_eq!(x.cumsum(&s, last)?.to_vec(&s)?, x.cumsum(&s, -1)?.to_vec(&s)?);
    assert_eq!(x.argmax(&s, last)?.to_vec(&s)?, [2, 2]);
    assert_eq!(math::softmax(&s, &x, last)?.to_vec(&s)?, math::softmax(&s, &x, -1)?.to_vec(&s)?);
    assert_eq!(Array::concatenate(&s, &[x.view(), x.view()], last)?.shape(), [2, 6]);
    assert_eq!(Array::stack(&s, &[x.view(), x.view()], x.rank())?.shape(), [2, 3, 2]);
    assert_eq!(x.view().repeat(&s, 2, last)?.shape(), [2, 6]);
    let found = x.sum(&s, usize::MAX).unwrap_err().to_string();
    assert!(found.contains("axis"), "{found}");
    assert!(x.sum(&s, [0_usize, 0]).is_err() && x.permute(&[usize::MAX, 0]).is_err());
    Ok(())
}

#[test]
fn index_items_are_named_at_the_root() -> Result<()> {
    fn first<D: Device>(x: &Array<f32, D>, item: IndexItem) -> Result<Vec<usize>> {
        Ok(x.index(&[item])?.shape().to_vec())
    }
    let s = open();
    assert_eq!(first(&grid(&s), IndexItem::At(0))?, [3]);
    assert_eq!(first(&grid(&s), IndexItem::NewAxis)?, [1, 2, 3]);
    Ok(())
}

#[test]
fn running_sums_are_indices() -> Result<()> {
    let s = open();
    let text = Array::from_slice(&s, &[7], b"abcdefg")?;
    let lengths = Array::from_slice(&s, &[3], &[2_u32, 1, 3])?;
    let ends = lengths.cumsum(&s, 0)?;
    assert_eq!(text.take(&s, &ends, 0, OutOfRange::Error)?.to_vec(&s)?, *b"cdg");
    assert_eq!(text.take(&s, &ends.flip(&[0])?, 0, OutOfRange::Error)?.to_vec(&s)?, *b"gdc");
    let ends: Array<i64, _> = lengths.cumsum_as(&s, 0)?;
    assert_eq!(text.take(&s, &ends, 0, OutOfRange::Error)?.to_vec(&s)?, *b"cdg");
    let flags = Array::from_slice(&s, &[3], &[true, false, true].map(Bool::from))?;
    let places = flags.cumsum(&s, 0)?;
    assert_eq!(text.take(&s, &places, 0, OutOfRange::Error)?.to_vec(&s)?, *b"bbc");
    assert_eq!(lengths.sum_as::<f64>(&s, ..)?.item(&s)?, 6.0);
    assert_eq!(lengths.product_as::<i64>(&s, ..)?.item(&s)?, 6);
    assert_eq!(lengths.view().cumprod_as::<f32>(&s, 0)?.to_vec(&s)?, [2.0, 2.0, 6.0]);
    Ok(())
}

/// Indices of each integer type, negative ones, and `u64` beyond what `i64` has.
#[test]
fn indices_of_every_integer_type() -> Result<()> {
    let s = open();
    let x = Array::from_slice(&s, &[5], &[10, 11, 12, 13, 14])?;
    macro_rules! takes {
        ($($type:ty)*) => {$(
            let at = Array::from_slice(&s, &[3], &[4 as $type, 0, 2])?;
            assert_eq!(x.take(&s, &at, 0, OutOfRange::Error)?.to_vec(&s)?, [14, 10, 12]);
            let beyond = Array::from_slice(&s, &[2], &[7 as $type, 5])?;
            assert_eq!(x.take(&s, &beyond, 0, OutOfRange::Wrap)?.to_vec(&s)?, [12, 10]);
            assert_eq!(x.take_flat(&s, &beyond, OutOfRange::Clamp)?.to_vec(&s)?, [14, 14]);
            let _ = x.take(&s, &beyond, 0, OutOfRange::Error)?;
            let told = s.synchronize().unwrap_err().to_string();
            assert!(told.contains("index 7 at position 0 is out of range for axis 0 of extent 5"), "{told}");
            let mut y = x.try_clone(&s)?;
            y.put(&s, &at, &Array::from_slice(&s, &[3], &[1, 2, 3])?, 0, OutOfRange::Error, Repeats::Last)?;
            assert_eq!(y.to_vec(&s)?, [2, 11, 3, 13, 1]);
        )*};
    }
    takes! { i8 u8 i16 u16 i32 u32 i64 u64 }
    let negative = Array::from_slice(&s, &[2], &[-1_i8, -5])?;
    assert_eq!(x.take(&s, &negative, 0, OutOfRange::Error)?.to_vec(&s)?, [14, 10]);
    assert_eq!(x.take(&s, &negative, 0, OutOfRange::Clamp)?.to_vec(&s)?, [10, 10]);
    // Read as `i64`, these would be −1 and the least number.
    let huge = Array::from_slice(&s, &[2], &[u64::MAX, 1 << 63])?;
    assert_eq!(x.take(&s, &huge, 0, OutOfRange::Clamp)?.to_vec(&s)?, [14, 14]);
    assert_eq!((u64::MAX % 5, (1_u64 << 63) % 5), (0, 3));
    assert_eq!(x.take(&s, &huge, 0, OutOfRange::Wrap)?.to_vec(&s)?, [10, 13]);
    let _ = x.take(&s, &huge, 0, OutOfRange::Error)?;
    assert!(s.synchronize().is_err());
    let none = Array::<u64, _>::zeros(&s, &[0])?;
    assert_eq!(x.take(&s, &none, 0, OutOfRange::Error)?.shape(), [0]);
    let empty = Array::<i32, _>::zeros(&s, &[0])?;
    assert!(empty.take(&s, &huge, 0, OutOfRange::Wrap).is_err());
    Ok(())
}
