//! Arrays of programs, each with its expected elements.

use devarray::{Array, ArrayView, ArrayViewMut, Device, Element, SharedArray, StreamHandle};

use super::part::{Place, Step};

/// An array and its expected elements.
pub(super) struct Held<T, A> {
    pub(super) array: A,
    pub(super) shape: Vec<usize>,
    pub(super) due: Vec<T>,
    /// Whether the first axis is the fastest in memory, instead of the last.
    pub(super) fortran: bool,
}

impl<T, A> Held<T, A> {
    /// Returns this with another array in place of its own.
    pub(super) fn with<B>(self, of: impl FnOnce(A) -> B) -> Held<T, B> {
        let Self { array, shape, due, fortran } = self;
        Held { array: of(array), shape, due, fortran }
    }

    /// All memory from the lowest element of a part to its highest, as one axis.
    pub(super) fn span(&self, part: &Place) -> Place {
        let mut line = Place::whole(&self.shape);
        if self.fortran {
            line.push(Step::Permute((0..self.shape.len()).rev().collect()));
        }
        line.push(Step::Reshape(vec![line.len()]));
        let mut inside = vec![false; self.due.len()];
        part.picture.places.iter().for_each(|&place| inside[place] = true);
        let within = |&place: &usize| inside[place];
        let start = line.picture.places.iter().position(within).unwrap_or(0);
        let end = line.picture.places.iter().rposition(within).map_or(start, |last| last + 1);
        line.push(Step::Cut(0, start, 1, end - start));
        line
    }
}

/// A program's handle to an array. While work is recorded, arguments stand for arrays.
pub(super) enum Memory<'a, T: Element, D: Device> {
    Own(Array<T, D>),
    Shared(SharedArray<T, D>),
    Read(ArrayView<'a, T, D>),
    Written(ArrayViewMut<'a, T, D>),
}

impl<T: Element, D: Device> Memory<'_, T, D> {
    pub(super) fn view(&self) -> ArrayView<'_, T, D> {
        match self {
            Self::Own(array) => array.view(),
            Self::Shared(array) => array.view(),
            Self::Read(view) => view.clone(),
            Self::Written(view) => view.as_view(),
        }
    }

    /// Only for arrays for which [`is_written`](Self::is_written) holds.
    pub(super) fn view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        match self {
            Self::Own(array) => array.view_mut(),
            Self::Written(view) => view.reborrow(),
            Self::Shared(_) | Self::Read(_) => unreachable!("it is only read"),
        }
    }

    pub(super) fn is_written(&self) -> bool {
        matches!(self, Self::Own(_) | Self::Written(_))
    }
}

/// The recording of a program's calls.
pub(super) struct Records<D: Device> {
    pub(super) on: StreamHandle<D>,
    /// Uploads the elements that the calls take from the host.
    pub(super) outside: StreamHandle<D>,
}
