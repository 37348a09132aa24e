//! The kinds of arguments that a kernel declares.
#![allow(unsafe_code)] // sees memory of the host as typed elements, as the caller vouches

use std::{fmt, marker::PhantomData, slice};

use super::{
    ArgumentKind, ArgumentLayout, Bound, HostArgument, HostView, HostViewMut, Passed, PassedAs, Passing,
    Permission,
};
use crate::{
    backend::Device,
    layout::{Element, Layout},
};

/// Elements that a kernel reads. See the [table](super).
pub struct In<T, L = Flat>(PhantomData<fn() -> (T, L)>);

/// Elements that a kernel writes, every one of them, without reading the old values. See the
/// [table](super).
pub struct Out<T, L = Flat>(PhantomData<fn() -> (T, L)>);

/// Elements that a kernel reads. It writes some of them, or all. See the [table](super).
pub struct InOut<T, L = Flat>(PhantomData<fn() -> (T, L)>);

/// Elements in C order, of any shape: passed as pointer and number of elements.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "names a way to pass elements; has no values")]
pub enum Flat {}

/// Elements in C order, of `N` axes: passed as pointer and extents.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "names a way to pass elements; has no values")]
pub enum Dense<const N: usize> {}

/// Elements of `N` axes and any strides: passed as pointer, extents and strides.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "names a way to pass elements; has no values")]
pub enum Strided<const N: usize> {}

mod sealed {
    #[expect(unnameable_types, reason = "that seals what it bounds")]
    pub trait Sealed {}

    /// Kept apart from [`Sealed`], which every element type implements: otherwise any element type
    /// could become a form.
    #[expect(unnameable_types, reason = "that seals what it bounds")]
    pub trait Form {}
}

/// A way to pass elements: [`Flat`], [`Dense`] or [`Strided`].
pub trait Form: sealed::Form {
    /// The numbers that tell the entry where the elements are.
    const PASSED: Passed;
    /// The elements that the host function reads.
    type View<'h, T: Element>;
    /// The elements that the host function writes.
    type ViewMut<'h, T: Element>;

    /// The elements that the host function reads.
    ///
    /// # Safety
    ///
    /// The elements of the layout are in memory from `start` on, initialized and aligned, and
    /// nobody writes them for `'h`.
    #[doc(hidden)]
    unsafe fn view<'h, T: Element>(start: *mut T, layout: &'h Layout) -> Self::View<'h, T>;

    /// The elements that the host function writes.
    ///
    /// # Safety
    ///
    /// The conditions of [`view`](Self::view); no two indices reach one element, and nobody else
    /// uses them for `'h`.
    #[doc(hidden)]
    unsafe fn view_mut<'h, T: Element>(start: *mut T, layout: &'h Layout) -> Self::ViewMut<'h, T>;
}

impl sealed::Form for Flat {}

impl Form for Flat {
    const PASSED: Passed = Passed::Flat;
    type View<'h, T: Element> = &'h [T];
    type ViewMut<'h, T: Element> = &'h mut [T];

    unsafe fn view<T: Element>(start: *mut T, layout: &Layout) -> &[T] {
        // SAFETY: elements in C order are one slice; the rest is the caller's promise.
        unsafe { slice::from_raw_parts(start, layout.len()) }
    }

    unsafe fn view_mut<T: Element>(start: *mut T, layout: &Layout) -> &mut [T] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(start, layout.len()) }
    }
}

/// The forms of `N` axes differ only in the numbers that are passed.
macro_rules! of_axes {
    ($form:ident, $passed:expr) => {
        impl<const N: usize> sealed::Form for $form<N> {}

        impl<const N: usize> Form for $form<N> {
            const PASSED: Passed = $passed;
            type View<'h, T: Element> = HostView<'h, T>;
            type ViewMut<'h, T: Element> = HostViewMut<'h, T>;

            unsafe fn view<'h, T: Element>(start: *mut T, layout: &'h Layout) -> HostView<'h, T> {
                // SAFETY: passed on to the caller.
                unsafe { HostView::new(start, layout) }
            }

            unsafe fn view_mut<'h, T: Element>(start: *mut T, layout: &'h Layout) -> HostViewMut<'h, T> {
                // SAFETY: passed on to the caller.
                unsafe { HostViewMut::new(start, layout) }
            }
        }
    };
}

of_axes!(Dense, Passed::Dense { rank: N });
of_axes!(Strided, Passed::Strided { rank: N });

/// Arguments that a kernel may declare: [`In`], [`Out`] and [`InOut`] elements, and values of
/// any [`Element`] type.
pub trait Argument: sealed::Sealed {
    /// The kind of the argument.
    const KIND: ArgumentKind;
    /// The part of a call's argument that the launch keeps.
    type Bound<'a, D: Device>;
    /// The argument in the kernel's block `launch`: its [layout](ArgumentLayout), or its value.
    type Known<'a>;
    /// The argument of the host function.
    type Host<'h>;

    /// The argument without its type.
    #[doc(hidden)]
    fn erased<'b, 'a: 'b, D: Device>(bound: &'b Self::Bound<'a, D>) -> Passing<'b, D>;

    /// The facts of the argument that are known before the launch. They are made from the argument
    /// without its type, because a launch of recorded work has nothing else.
    ///
    /// # Panics
    ///
    /// If the argument is of another kind.
    #[doc(hidden)]
    fn known<'b, D: Device>(passing: &Passing<'b, D>, name: &'static str) -> Self::Known<'b>;

    /// Makes the host function's argument.
    ///
    /// # Safety
    ///
    /// The argument has this kind, and meets the conditions of
    /// [`HostFunction`](super::HostFunction).
    #[doc(hidden)]
    unsafe fn host<'h>(argument: &HostArgument<'h>) -> Self::Host<'h>;
}

const fn elements<T: Element, L: Form>(permission: Permission) -> ArgumentKind {
    let (item_bytes, align_bytes) = (T::BYTES, align_of::<T>());
    ArgumentKind::Elements { permission, passed: L::PASSED, item_bytes, align_bytes }
}

/// The address of the elements, and their layout. A value has no elements.
fn placed<'h, T>(argument: &HostArgument<'h>) -> (*mut T, &'h Layout) {
    match *argument {
        HostArgument::Elements { start, layout } => (start.cast(), layout),
        HostArgument::Value(_) => unreachable!("the declaration says that these are elements"),
    }
}

/// The kinds of elements differ only in what is read and written.
macro_rules! of_elements {
    ($kind:ident, $permission:ident, $view:ident, $make:ident) => {
        impl<T, L> sealed::Sealed for $kind<T, L> {}

        impl<T, L> fmt::Debug for $kind<T, L> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($kind))
            }
        }

        impl<T: Element, L: Form> Argument for $kind<T, L> {
            const KIND: ArgumentKind = elements::<T, L>(Permission::$permission);
            type Bound<'a, D: Device> = Bound<'a, Self, D>;
            type Known<'a> = ArgumentLayout<'a>;
            type Host<'h> = L::$view<'h, T>;

            fn erased<'b, 'a: 'b, D: Device>(bound: &'b Bound<'a, Self, D>) -> Passing<'b, D> {
                Passing::elements(Self::KIND, bound)
            }

            fn known<'b, D: Device>(passing: &Passing<'b, D>, name: &'static str) -> ArgumentLayout<'b> {
                match passing.passed {
                    PassedAs::Elements(elements) => ArgumentLayout::new(name, elements.layout),
                    PassedAs::Value(_) => unreachable!("the macro reads the type of an argument twice"),
                }
            }

            unsafe fn host<'h>(argument: &HostArgument<'h>) -> L::$view<'h, T> {
                let (start, layout) = placed::<T>(argument);
                // SAFETY: passed on to the caller.
                unsafe { L::$make(start, layout) }
            }
        }
    };
}

of_elements!(In, Read, View, view);
of_elements!(Out, Write, ViewMut, view_mut);
of_elements!(InOut, ReadWrite, ViewMut, view_mut);

impl<S: Element> sealed::Sealed for S {}

#[diagnostic::do_not_recommend]
impl<S: Element> Argument for S {
    const KIND: ArgumentKind = ArgumentKind::Value { len_bytes: S::BYTES };
    type Bound<'a, D: Device> = S;
    type Known<'a> = S;
    type Host<'h> = S;

    fn erased<'b, 'a: 'b, D: Device>(bound: &'b S) -> Passing<'b, D> {
        Passing::value(Self::KIND, bound)
    }

    fn known<D: Device>(passing: &Passing<'_, D>, _: &'static str) -> S {
        match passing.passed {
            PassedAs::Value(bytes) => bytemuck::pod_read_unaligned(bytes),
            PassedAs::Elements(_) => unreachable!("the macro reads the type of an argument twice"),
        }
    }

    unsafe fn host<'h>(argument: &HostArgument<'h>) -> S {
        match argument {
            HostArgument::Value(bytes) => bytemuck::pod_read_unaligned(bytes),
            HostArgument::Elements { .. } => unreachable!("the declaration says that this is a value"),
        }
    }
}
