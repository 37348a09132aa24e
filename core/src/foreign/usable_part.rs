//! The part of lent memory that may be used.

use std::ops::Range;

use crate::layout::Layout;

/// The part of lent memory that may be used.
#[derive(Debug)]
pub(crate) enum UsablePart {
    /// Every byte of this range.
    Bytes(Range<usize>),
    /// These elements, each of this size, and nothing between them.
    Elements(Box<(Layout, usize)>),
}

impl UsablePart {
    /// Makes the part that holds the elements of a layout. No element is reached twice.
    pub(crate) fn elements(layout: &Layout, item_bytes: usize) -> Self {
        let span = layout.span();
        if layout.len() < span.len() {
            return Self::Elements(Box::new((layout.clone(), item_bytes)));
        }
        // There are as many elements as places, so no place is left out.
        Self::Bytes(span.start * item_bytes..span.end * item_bytes)
    }

    /// Whether all elements of a layout, which lies inside the memory, may be used.
    pub(crate) fn covers(&self, layout: &Layout, item_bytes: usize) -> bool {
        match self {
            Self::Bytes(bytes) => {
                let span = layout.span();
                span.is_empty()
                    || (bytes.start <= span.start * item_bytes && span.end * item_bytes <= bytes.end)
            }
            Self::Elements(elements) => {
                let (elements, of_bytes) = &**elements;
                elements.contains_elements(*of_bytes, layout, item_bytes)
            }
        }
    }
}
