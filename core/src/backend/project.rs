//! Sees an operation as the same one on other handles of its memory.
#![allow(unsafe_code)] // declares an unsafe trait, and sees operations as others of the same layout

use super::{
    CollectOp, CopyOp, DeclaredAccess, DownloadOp, FetchOp, FillOp, FusedOp, GatherOp, LaunchOp, MapOp,
    OrderOp, ProductOp, ReduceOp, UploadOp,
};

/// An operation that may be seen as one on buffers of another type.
///
/// A backend that wraps others whose buffers are of several types has a type of its own for them.
/// Operations hold buffers by reference alone, and their layout is C's. So an
/// operation on buffers that begin with the wrapped backend's *is* one on these: [`project`]
/// makes no copy, and the proof of core's checks stays in it.
///
/// # Safety
///
/// For every `C`, `On<C>` is laid out as `Self`, with references to `C` where `Self` has references
/// to its buffers. Buffers occur in no other way.
pub unsafe trait Projects {
    /// The type of its buffers.
    type Buffer;
    /// The operation on buffers of type `C`.
    type On<C: 'static>;
}

/// An operation as one on the buffers that its buffers begin with.
///
/// # Safety
///
/// Each buffer of the operation begins, at its address, with a `C` that is the same memory.
#[inline]
#[must_use]
pub unsafe fn project<O: Projects, C: 'static>(operation: &O) -> &O::On<C> {
    let place: *const O = operation;
    // SAFETY: the implementor vouches for the layout, the caller for what its references lead to.
    unsafe { &*place.cast::<O::On<C>>() }
}

/// Like [`project`], of several.
///
/// # Safety
///
/// Like [`project`].
#[inline]
#[must_use]
pub unsafe fn project_all<O: Projects, C: 'static>(operations: &[O]) -> &[O::On<C>] {
    let first = operations.as_ptr().cast::<O::On<C>>();
    // SAFETY: as for `project`, of each of them; there are as many, one after another.
    unsafe { std::slice::from_raw_parts(first, operations.len()) }
}

macro_rules! projects {
    ($($op:ident),+) => {
        $(
            // SAFETY: it and what it holds are `repr(C)`. Buffers occur in them as `&B` and `Option<&B>`, and in
            // types for which the same holds, by value, by reference and in slices; nowhere else.
            unsafe impl<'a, B> Projects for $op<'a, B> {
                type Buffer = B;
                type On<C: 'static> = $op<'a, C>;
            }

            const _: () = assert!(
                size_of::<$op<'static, u8>>() == size_of::<$op<'static, [u128; 4]>>()
                    && align_of::<$op<'static, u8>>() == align_of::<$op<'static, [u128; 4]>>()
            );
        )+
    };
}

projects!(
    CopyOp,
    FillOp,
    UploadOp,
    DownloadOp,
    MapOp,
    ReduceOp,
    FusedOp,
    GatherOp,
    OrderOp,
    ProductOp,
    LaunchOp,
    CollectOp,
    FetchOp,
    DeclaredAccess
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        backend::{FetchSource, Operand, OrderSide, ProductFunction},
        copy::{Limits, Plan},
        function::{ElementType, Function},
        layout::{Layout, Order},
        order::Call,
        product::Precision,
    };

    /// Memory of a backend.
    #[derive(Debug, PartialEq)]
    struct Inner(u64);

    /// A wrapper's memory, which begins with it.
    #[derive(Debug)]
    #[repr(C)]
    struct Outer {
        inner: Inner,
        tag: u8,
    }

    fn outer(number: u64) -> Outer {
        Outer { inner: Inner(number), tag: 7 }
    }

    #[test]
    fn a_copy_names_the_buffers_inside_and_stays_checked() {
        let (dst, src) = (outer(1), outer(2));
        let layout = Layout::contiguous(&[3], Order::C).unwrap();
        let plan = Plan::new(&layout, &layout, 4, Limits::default()).unwrap();
        let ops = [true, false].map(|checked| CopyOp { dst: &dst, src: &src, plan: &plan, checked });
        // SAFETY: an `Outer` begins with its `Inner`.
        let seen: &[CopyOp<'_, Inner>] = unsafe { project_all(&ops) };
        for (op, seen) in ops.iter().zip(seen) {
            assert!(std::ptr::eq(seen.dst(), &raw const dst.inner) && *seen.src() == Inner(2));
            assert!(std::ptr::eq(seen.plan(), op.plan()) && seen.is_checked() == op.is_checked());
        }
        assert_eq!((seen.len(), dst.tag, src.tag), (2, 7, 7));
    }

    #[test]
    fn lists_of_operands_and_sources_lead_to_the_buffers_inside() {
        let buffers = [outer(1), outer(2), outer(3)];
        let layout = Layout::contiguous(&[2], Order::C).unwrap();
        let function = Function::parse("x0 + x1", &[ElementType::F32; 2], &[]).unwrap();
        let program = function.expand();
        let operand = |of: usize| Operand { buffer: &buffers[of], layout: &layout };
        let inputs = [operand(0), operand(1)];
        let op =
            MapOp { program: &program, inputs: &inputs, scalars: &[], result: operand(2), checked: true };
        // SAFETY: an `Outer` begins with its `Inner`.
        let seen: &MapOp<'_, Inner> = unsafe { project(&op) };
        let numbers: Vec<_> = seen.inputs().iter().chain([seen.result()]).map(|of| of.buffer().0).collect();
        assert_eq!((numbers, seen.len_bytes(), seen.is_checked()), (vec![1, 2, 3], 8, true));

        let side = |of: usize, layout| OrderSide {
            number: of,
            element_type: ElementType::I64,
            buffer: Some(&buffers[of]),
            layout,
        };
        let nothing = OrderSide { buffer: None, ..side(0, &layout) };
        let (inputs, results, count) = ([side(0, &layout), nothing], [side(1, &layout)], side(2, &layout));
        let op = OrderOp {
            number: 3,
            call: Call::Unique,
            inputs: &inputs,
            results: &results,
            count: Some(&count),
            checked: true,
        };
        // SAFETY: an `Outer` begins with its `Inner`.
        let seen: &OrderOp<'_, Inner> = unsafe { project(&op) };
        let sides = seen.inputs().iter().chain(seen.results()).chain(seen.count());
        let numbers: Vec<_> = sides.map(|side| side.buffer().map(|of| of.0)).collect();
        assert_eq!(numbers, [Some(1), None, Some(2), Some(3)]);

        let of = |at: usize| Operand { buffer: &buffers[at], layout: &layout };
        let (a, b, result) = (of(0), of(1), of(2));
        let others = [of(1)];
        let function = Some(ProductFunction::new(&program, &others, &[], &layout));
        let (element_type, precision) = (ElementType::F32, Precision::Fast);
        let op = ProductOp { element_type, a, b, result, function, is_onto: false, precision, checked: true };
        // SAFETY: an `Outer` begins with its `Inner`.
        let seen: &ProductOp<'_, Inner> = unsafe { project(&op) };
        let numbers = [seen.a(), seen.b(), seen.result()].map(|of| of.buffer().0);
        assert_eq!((numbers, seen.element_type(), seen.is_checked()), ([1, 2, 3], ElementType::F32, true));
        assert_eq!(seen.precision(), precision);

        let function = seen.function().unwrap();
        assert!(function.inputs()[0].buffer().0 == 2 && function.program() == &program);

        let op = FetchOp { source: FetchSource::Bytes(&buffers[0], 4), len_bytes: 2 };
        // SAFETY: an `Outer` begins with its `Inner`.
        let seen: &FetchOp<'_, Inner> = unsafe { project(&op) };
        assert!(matches!(seen.source(), FetchSource::Bytes(Inner(1), 4)) && seen.len_bytes() == 2);
    }
}
