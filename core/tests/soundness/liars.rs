//! Types that implement traits of arguments with false answers; layouts that reach far more
//! elements than there are.

use std::cell::Cell;

use devarray::{
    Array, ArrayView, Bool, Error, LayoutError, Result,
    array::{AsArrayView, Call, Operand, ViewRef},
    function::{FunctionErrorKind, Operands, ReduceOperation, Reduction, Scan, ScanOperation},
    gather::{OutOfRange, Repeats},
};

use super::{Mock, devices, open};

/// An array of bytes that claims that its elements are `f64`.
struct Wide<'a>(&'a Array<u8, Mock>);

impl<'a> Operand<'a, Mock> for Wide<'a> {
    type Item = f64;

    fn bind(self, call: &mut Call<'a, Mock>) {
        self.0.bind(call);
    }
}

/// The twin, with true answers.
struct Honest<'a>(&'a Array<u8, Mock>);

impl<'a> Operand<'a, Mock> for Honest<'a> {
    type Item = u8;

    fn bind(self, call: &mut Call<'a, Mock>) {
        self.0.bind(call);
    }
}

/// Binds any number of arguments.
struct Times<'a>(usize, &'a Array<f64, Mock>);

impl<'a> Operand<'a, Mock> for Times<'a> {
    type Item = f64;

    fn bind(self, call: &mut Call<'a, Mock>) {
        for _ in 0..self.0 {
            self.1.bind(call);
        }
    }
}

/// If it were trusted, the array would count as eight times as long as its memory.
#[test]
fn an_operand_of_another_type_than_it_says_makes_no_array() -> Result<()> {
    for device in devices() {
        let (_, stream) = open(&device);
        let x = Array::full(&stream, &[100], 1_u8)?;
        let is_refused = |outcome: Result<()>| match outcome {
            Err(Error::Function(error)) => assert_eq!(error.kind(), FunctionErrorKind::Type, "{error}"),
            other => panic!("{other:?}"),
        };
        is_refused((Wide(&x),).map(&stream, |(x,)| x).map(drop));
        is_refused((Wide(&x),).map(&stream, |(x,)| x + 1.0).map(drop));
        let mut result = Array::full(&stream, &[100], 0.0)?;
        is_refused((Wide(&x),).map_into(&stream, &mut result.view_mut(), |(x,)| x));
        let sum = Reduction::new(ReduceOperation::Sum);
        is_refused((Wide(&x),).reduce::<f64, f64>(&stream, &sum, |(x,)| x).map(drop));
        let running = Scan::new(ScanOperation::Sum, 0);
        is_refused((Wide(&x),).scan::<f64, f64>(&stream, running, |(x,)| x).map(drop));
        // It binds no argument, or two: the following value is then taken for another argument, and
        // is checked as well.
        for count in [0, 2] {
            is_refused((Times(count, &result), &x).map(&stream, |(_, x)| x).map(drop));
        }
        assert_eq!((Honest(&x),).map(&stream, |(x,)| x)?.to_vec(&stream)?, [1; 100]);
        assert_eq!(device.report().findings, []);
    }
    Ok(())
}

/// A mask that changes between two queries.
struct Changing<'a> {
    views: [&'a ArrayView<'a, Bool, Mock>; 2],
    asked: Cell<usize>,
}

impl AsArrayView<Bool, Mock> for Changing<'_> {
    fn as_array_view(&self) -> ViewRef<'_, '_, Bool, Mock> {
        let asked = self.asked.replace(self.asked.get() + 1);
        self.views[asked.min(1)].clone().into()
    }
}

#[test]
fn a_mask_is_asked_once() -> Result<()> {
    for device in devices() {
        let (_, stream) = open(&device);
        let x = Array::from_slice(&stream, &[6], &[1, 2, 3, 4, 5, 6])?;
        let all = Array::full(&stream, &[6], Bool::TRUE)?;
        let one = Array::full(&stream, &[1], Bool::TRUE)?;
        let others = [one.view(), one.view().broadcast_to(&[9])?, one.view().broadcast_to(&[1 << 40])?];
        for other in &others {
            let all = all.view();
            let mask = || Changing { views: [&all, other], asked: Cell::new(0) };
            assert_eq!(x.compress(&stream, &mask(), 0)?.to_vec(&stream)?, [1, 2, 3, 4, 5, 6]);
            assert_eq!(x.extract(&stream, &mask())?.to_vec(&stream)?, [1, 2, 3, 4, 5, 6]);
            let (mut room, mut count) = (Array::zeros(&stream, &[6])?, Array::zeros(&stream, &[])?);
            x.view().compress_into(&stream, &mask(), 0, &mut room.view_mut(), &mut count.view_mut())?;
            assert_eq!((room.to_vec(&stream)?[5], count.item(&stream)?), (6, 6));
            x.view().extract_into(&stream, &mask(), &mut room.view_mut(), &mut count.view_mut())?;
            let twin = Changing { views: [&all, other], asked: Cell::new(1) };
            let refused = x.compress(&stream, &twin, 0).map(drop);
            assert!(
                matches!(refused, Err(Error::Layout(LayoutError::ShapeMismatch { .. }, ..))),
                "{refused:?}"
            );
        }
        assert_eq!(device.report().findings, []);
    }
    Ok(())
}

/// Nothing stops a device that has begun, so an amount of work that it could not finish is refused.
#[test]
fn more_elements_than_any_memory_has_are_refused() -> Result<()> {
    for device in devices() {
        let (_, stream) = open(&device);
        let (one, zero) = (Array::full(&stream, &[1], 1.0_f32)?, Array::full(&stream, &[1], 0_i64)?);
        let mut target = Array::full(&stream, &[1], 0.0_f32)?;
        for shape in [&[(1 << 48) + 1][..], &[1 << 30, 1 << 30]] {
            let (many, indices) = (one.view().broadcast_to(shape)?, zero.view().broadcast_to(shape)?);
            let refused = |outcome: Result<()>| {
                assert!(matches!(outcome, Err(Error::Layout(LayoutError::Overflow, ..))), "{outcome:?}");
            };
            for operation in [ReduceOperation::Sum, ReduceOperation::Maximum, ReduceOperation::Variance] {
                refused(many.reduce_as::<f32>(&stream, &Reduction::new(operation)).map(drop));
            }
            let mean = Reduction::new(ReduceOperation::Mean);
            refused(many.reduce_where::<f32>(&stream, Bool::TRUE, &mean).map(drop));
            let (mode, repeats) = (OutOfRange::Error, Repeats::Last);
            refused(target.view_mut().put(&stream, &indices, &many, 0, mode, repeats));
        }
        let few = [1 << 10, 1 << 10];
        assert_eq!(one.view().broadcast_to(&few)?.sum(&stream, ..)?.item(&stream)?, 1_048_576.0);
        let indices = zero.view().broadcast_to(&[1 << 10])?;
        target.view_mut().put(&stream, &indices, &one, 0, OutOfRange::Error, Repeats::Last)?;
        assert_eq!(target.item(&stream)?, 1.0);
        assert_eq!(device.report().findings, []);
    }
    Ok(())
}

/// A list that does not fit in memory is an error, not an abort.
#[test]
fn a_list_of_views_that_is_longer_than_memory_is_refused() -> Result<()> {
    for device in devices() {
        let (_, stream) = open(&device);
        let mut one = Array::full(&stream, &[1], 1.0_f32)?;
        for extent in [1 << 40, 1 << 50, 1 << 62] {
            let refused = one.view().broadcast_to(&[extent, 1])?.unstack(0).map(|list| list.len());
            assert!(matches!(refused, Err(Error::OutOfMemory { operation: "unstack", .. })), "{refused:?}");
            let refused = one.as_erased().view().broadcast_to(&[extent])?.unstack(0).map(|list| list.len());
            assert!(matches!(refused, Err(Error::OutOfMemory { operation: "unstack", .. })), "{refused:?}");
        }
        assert_eq!(one.view().broadcast_to(&[1000, 1])?.unstack(0)?.len(), 1000);
        assert_eq!(one.view_mut().unstack(0)?.len(), 1);
    }
    Ok(())
}
