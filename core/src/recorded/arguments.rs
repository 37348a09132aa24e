//! Arguments of recorded work.

use std::{any::Any, fmt, marker::PhantomData, sync::Arc};

use smallvec::{SmallVec, smallvec};

use super::Exchanging;
use crate::{
    Array, ArrayView, ArrayViewMut, Element, ErasedView, ErasedViewMut, SharedArray, allocation::Allocation,
    backend::Device, function::Computable, layout::Layout, operations::Elements,
};

/// The kind of an argument that is read: its elements are `T`.
pub struct Reads<T>(PhantomData<fn() -> T>);

/// The kind of an argument that may be written: its elements are `T`.
pub struct Writes<T>(PhantomData<fn() -> T>);

/// The kind of an argument that is a number.
pub struct Number<T>(PhantomData<fn() -> T>);

/// The kind of an argument that is a [`Communicator`](crate::collective::Communicator).
pub struct Ranks(());

/// An argument, for a recording or a launch. Nobody else can name this type, which seals the traits.
#[derive(Debug)]
#[expect(unnameable_types, reason = "that seals the traits")]
#[expect(private_interfaces, reason = "nobody reads the fields")]
pub enum Given<'a, D: Device> {
    Elements { elements: Elements<'a, D>, write: bool },
    Number([u8; 8], usize),
    Ranks(&'a mut dyn Exchanging<D>),
}

/// The stand-in of an argument in the closure of a recording.
#[derive(Debug)]
#[expect(unnameable_types, reason = "that seals the traits")]
pub struct Stand<D: Device> {
    pub(super) allocation: Arc<Allocation<D>>,
    pub(super) layout: Layout,
    pub(super) item_bytes: usize,
    /// The communicator, which has no elements.
    pub(super) ranks: Option<Box<dyn Exchanging<D>>>,
}

impl<D: Device> Stand<D> {
    /// The communicator, if it is of this type.
    pub(crate) fn ranks<C: 'static>(&mut self) -> Option<&mut C> {
        let ranks: &mut dyn Any = &mut **self.ranks.as_mut()?;
        ranks.downcast_mut()
    }
}

/// One argument: `&Array`, `&ArrayView`, `&SharedArray`, `&mut Array`, `&mut ArrayViewMut`, a number or `&mut
/// Communicator`.
///
/// Sealed: no other type is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of recorded work on a device of type `{D}`",
    note = "arguments are `&Array`, `&ArrayView`, `&SharedArray`, `&mut Array`, `&mut ArrayViewMut`, numbers and \
            `&mut Communicator`"
)]
pub trait RecordedArgument<D: Device> {
    /// The kind of the argument that a launch must give: [`Reads`], [`Writes`], [`Number`] or [`Ranks`].
    type Kind: 'static;
    /// The type in the closure of the recording: an [`ArrayView`] or [`ArrayViewMut`], without axes for
    /// a number; `&mut Communicator` for a communicator.
    type Stand<'r>;

    /// The argument itself.
    #[doc(hidden)]
    fn given(&mut self) -> Given<'_, D>;

    /// The stand-in, as a view.
    #[doc(hidden)]
    fn stand(stand: &mut Stand<D>) -> Self::Stand<'_>;
}

/// The arguments of a recording or a launch: a tuple of one to eight [`RecordedArgument`]s.
///
/// Sealed: no other type is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no arguments of recorded work on a device of type `{D}`",
    note = "arguments are a tuple: `(&u, &mut v, 0.5)`, and `(&u,)` for one"
)]
pub trait RecordedArguments<D: Device> {
    /// The kinds of the arguments that a launch must give: a tuple.
    type Kinds: 'static;
    /// The types in the closure of the recording: a tuple.
    type Stands<'r>;

    /// The arguments themselves.
    #[doc(hidden)]
    fn given(&mut self) -> SmallVec<[Given<'_, D>; 4]>;

    /// The stand-ins, as views.
    #[doc(hidden)]
    fn stands(stands: &mut [Stand<D>]) -> Self::Stands<'_>;
}

/// Arguments that are read, by what gives a view of them.
macro_rules! read {
    ($($argument:ty, $self:ident => $view:expr;)*) => {$(
        impl<T: Element, D: Device> RecordedArgument<D> for $argument {
            type Kind = Reads<T>;
            type Stand<'r> = ArrayView<'r, T, D>;

            fn given(&mut $self) -> Given<'_, D> {
                Given::Elements { elements: $view, write: false }
            }

            fn stand(stand: &mut Stand<D>) -> ArrayView<'_, T, D> {
                let Stand { allocation, layout, item_bytes, .. } = stand;
                ArrayView::new(ErasedView::new(allocation, layout.clone(), *item_bytes))
            }
        }
    )*};
}

read! {
    &Array<T, D>, self => self.as_erased().elements();
    &ArrayView<'_, T, D>, self => self.elements();
    &SharedArray<T, D>, self => self.as_array().as_erased().elements();
}

/// Arguments that may be written.
macro_rules! written {
    ($($argument:ty, $self:ident => $view:expr;)*) => {$(
        impl<T: Element, D: Device> RecordedArgument<D> for $argument {
            type Kind = Writes<T>;
            type Stand<'r> = ArrayViewMut<'r, T, D>;

            fn given(&mut $self) -> Given<'_, D> {
                Given::Elements { elements: $view, write: true }
            }

            fn stand(stand: &mut Stand<D>) -> ArrayViewMut<'_, T, D> {
                let Stand { allocation, layout, item_bytes, .. } = stand;
                ArrayViewMut::new(ErasedViewMut::new(allocation, layout.clone(), *item_bytes))
            }
        }
    )*};
}

written! {
    &mut Array<T, D>, self => self.as_erased().elements();
    &mut ArrayViewMut<'_, T, D>, self => self.elements();
}

impl<T: Computable, D: Device> RecordedArgument<D> for T {
    type Kind = Number<T>;
    type Stand<'r> = ArrayView<'r, T, D>;

    fn given(&mut self) -> Given<'_, D> {
        Given::Number(self.to_bits().to_le_bytes(), size_of::<T>())
    }

    fn stand(stand: &mut Stand<D>) -> ArrayView<'_, T, D> {
        let Stand { allocation, layout, item_bytes, .. } = stand;
        ArrayView::new(ErasedView::new(allocation, layout.clone(), *item_bytes))
    }
}
macro_rules! tuples {
    ($($name:ident $number:tt)*) => { tuples!(@ [] $($name $number)*); };
    (@ [$($before:ident $of:tt)*]) => {};
    (@ [$($before:ident $of:tt)*] $name:ident $number:tt $($after:tt)*) => {
        impl<Dev: Device, $($before: RecordedArgument<Dev>,)* $name: RecordedArgument<Dev>> RecordedArguments<Dev>
            for ($($before,)* $name,)
        {
            type Kinds = ($($before::Kind,)* $name::Kind,);
            type Stands<'r> = ($($before::Stand<'r>,)* $name::Stand<'r>,);

            fn given(&mut self) -> SmallVec<[Given<'_, Dev>; 4]> {
                smallvec![$(self.$of.given(),)* self.$number.given()]
            }

            fn stands(stands: &mut [Stand<Dev>]) -> Self::Stands<'_> {
                let mut stands = stands.iter_mut();
                let mut next = || stands.next().expect("made above, one for each argument");
                ($($before::stand(next()),)* $name::stand(next()),)
            }
        }

        tuples!(@ [$($before $of)* $name $number] $($after)*);
    };
}

tuples! { A 0 B 1 C 2 E 3 F 4 G 5 H 6 I 7 }

macro_rules! named {
    ($($kind:ident)*) => {$(
        impl<T> fmt::Debug for $kind<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($kind), "<"))?;
                f.write_str(&crate::debug_text::type_name::<T>())?;
                f.write_str(">")
            }
        }
    )*};
}

named! { Reads Writes Number }

impl fmt::Debug for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ranks")
    }
}
