//! Explains a wrong element: its index, and the element that was read instead.

use std::fmt::{Debug, Write as _};

use devarray::Layout;

use crate::{Outcome, Pattern, Violation};

/// The most positions that are named if a value occurs more than once.
const MOST_PLACES: usize = 3;

/// A view of an array in C order with known elements.
pub(crate) struct Side<'a, T> {
    pub(crate) pattern: &'a Pattern,
    pub(crate) layout: &'a Layout,
    /// The elements of its array before the operation.
    pub(crate) elements: &'a [T],
}

impl<T: PartialEq> Side<'_, T> {
    /// The shape, strides and offset, in elements, as text.
    fn told(&self) -> String {
        let (shape, strides) = (self.layout.shape(), self.layout.strides());
        let (offset, base) = (self.layout.offset(), &self.pattern.base);
        format!("shape {shape:?} strides {strides:?} offset {offset} in an array of shape {base:?}")
    }

    /// The index at which the view shows a position of the array.
    fn index_of(&self, place: usize) -> Option<Vec<usize>> {
        let picture = self.pattern.picture();
        let at = picture.places.iter().position(|&shown| shown == place)?;
        Some(index(&picture.shape, at))
    }

    /// The positions of the array that hold a value, but no more than a person would read.
    fn holding(&self, value: &T, of: &str) -> Option<String> {
        let mut places =
            self.elements.iter().enumerate().filter(|(_, held)| *held == value).map(|(place, _)| place);
        let named: Vec<String> =
            places.by_ref().take(MOST_PLACES).map(|place| self.place(place, of)).collect();
        let more = if places.next().is_some() { ", and others" } else { "" };
        (!named.is_empty()).then(|| format!("{}{more}", named.join(" or ")))
    }

    /// A position of the array, given by its index in the view if it has one.
    fn place(&self, place: usize, of: &str) -> String {
        match self.index_of(place) {
            Some(index) => format!("element {index:?} of the {of} (position {place})"),
            None => format!("position {place} of the {of}'s array, in no element of the view"),
        }
    }
}

/// `Ok` if the destination's array holds the right values; otherwise a violation that tells the
/// first difference: both layouts, the element, its values, and the element that was read instead.
///
/// # Errors
///
/// The difference, if there is one.
pub(crate) fn of_copy<T: PartialEq + Debug>(
    found: &[T],
    due: &[T],
    target: &Side<'_, T>,
    source: &Side<'_, T>,
    what: &str,
) -> Outcome {
    if found.len() != due.len() {
        return Err(Violation::new(format!("{what}: {} elements, {} are due", found.len(), due.len())));
    }
    let Some(at) = found.iter().zip(due).position(|(a, b)| a != b) else { return Ok(()) };
    let wrong = found.iter().zip(due).filter(|(a, b)| a != b).count();
    let (value, expected) = (&found[at], &due[at]);
    let mut told = format!("{what}: {} is {value:?}, {expected:?} is due", target.place(at, "destination"));
    let from = source.holding(value, "source");
    let origin = match from {
        Some(from) => format!("what was read is {from}"),
        None if target.elements[at] == *value => "it is what was there before".to_owned(),
        None => match target.holding(value, "destination") {
            Some(held) => format!("what was read was {held}"),
            None => "no element of either array had that value".to_owned(),
        },
    };
    let right = target.index_of(at).map(|index| format!("element {index:?} of the source is due"));
    let right = right.unwrap_or_else(|| "nothing is to be written there".to_owned());
    let _ = write!(told, "; {origin}; {right}; {wrong} of {} differ", due.len());
    let _ = write!(told, "\n  destination: {}\n  source: {}", target.told(), source.told());
    Err(Violation::new(told))
}

/// `Ok` if a view shows the right values; otherwise a violation that tells the first difference:
/// its layout, the index, both values, and the element that was read instead.
///
/// # Errors
///
/// The difference, if there is one.
pub(crate) fn of_read<T: PartialEq + Debug>(
    found: &[T],
    due: &[T],
    source: &Side<'_, T>,
    what: &str,
) -> Outcome {
    if found.len() != due.len() {
        return Err(Violation::new(format!("{what}: {} elements, {} are due", found.len(), due.len())));
    }
    let Some(at) = found.iter().zip(due).position(|(a, b)| a != b) else { return Ok(()) };
    let (value, expected) = (&found[at], &due[at]);
    let index = index(&source.pattern.picture().shape, at);
    let origin = source.holding(value, "view").map(|from| format!("what was read is {from}"));
    let origin = origin.unwrap_or_else(|| "no element of the array has that value".to_owned());
    Err(Violation::new(format!(
        "{what}: element {index:?} is {value:?}, {expected:?} is due; {origin}\n  view: {}, by {:?}",
        source.told(),
        source.pattern.steps
    )))
}

/// The index at position `at` in C order.
fn index(shape: &[usize], at: usize) -> Vec<usize> {
    let (mut index, mut rest) = (vec![0; shape.len()], at);
    for (at, &extent) in index.iter_mut().zip(shape).rev() {
        (*at, rest) = (rest % extent, rest / extent);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;

    /// Copies every second of eight elements to four in a row, with a known mistake.
    fn told(wrong: impl FnOnce(&mut [u32])) -> Outcome {
        let (from, before): (Vec<u32>, Vec<u32>) = ((100..108).collect(), (0..6).collect());
        let every_second = Step::Slice { axis: 0, start: 1, step: 2, count: 4 };
        let source = Pattern { base: vec![8], steps: vec![every_second] };
        let target =
            Pattern { base: vec![6], steps: vec![Step::Slice { axis: 0, start: 1, step: 1, count: 4 }] };
        let [from_layout, to_layout] =
            [(2, 1), (1, 1)].map(|(stride, offset)| Layout::new(&[4], &[stride], offset).expect("small"));
        let due = [0, 101, 103, 105, 107, 5];
        let mut found = due;
        wrong(&mut found);
        let source = Side { pattern: &source, layout: &from_layout, elements: &from };
        let target = Side { pattern: &target, layout: &to_layout, elements: &before };
        of_copy(&found, &due, &target, &source, "a copy")
    }

    #[test]
    fn so_it_is_for_a_view_that_is_read() {
        let elements: Vec<u16> = (10..22).collect();
        let pattern = Pattern { base: vec![3, 4], steps: vec![Step::Permute(vec![1, 0])] };
        let layout = Layout::new(&[4, 3], &[1, 4], 0).expect("small");
        let view = Side { pattern: &pattern, layout: &layout, elements: &elements };
        let due = pattern.picture().read(&elements);
        assert_eq!(of_read(&due, &due, &view, "a view"), Ok(()));
        let message = of_read(&elements, &due, &view, "a view").expect_err("not turned").message;
        let told = "a view: element [0, 1] is 11, 14 is due; what was read is element [1, 0] of the view (position 1)";
        assert!(message.starts_with(told), "{message}");
        assert!(
            message.contains("shape [4, 3] strides [1, 4] offset 0 in an array of shape [3, 4]"),
            "{message}"
        );
    }

    #[test]
    fn the_element_that_was_read_is_named() {
        assert_eq!(told(|_| ()), Ok(()));
        for (at, value, origin) in [
            (
                3,
                107,
                "what was read is element [3] of the source (position 7); element [2] of the source is due",
            ),
            (
                2,
                104,
                "what was read is position 4 of the source's array, in no element of the view; element [1]",
            ),
            (
                1,
                1,
                "element [0] of the destination (position 1) is 1, 101 is due; it is what was there before",
            ),
            (4, 2, "what was read was element [1] of the destination (position 2)"),
            (
                5,
                9,
                "no element of either array had that value; nothing is to be written there; 1 of 6 differ",
            ),
        ] {
            let message = told(|found| found[at] = value).expect_err("a wrong element").message;
            assert!(message.contains(origin), "{message}");
            assert!(
                message.contains("source: shape [4] strides [2] offset 1 in an array of shape [8]"),
                "{message}"
            );
            assert!(message.contains("destination: shape [4] strides [1] offset 1"), "{message}");
        }
    }
}
