//! Arguments in the kernel's block `launch`.

use std::{fmt, ops::Deref};

use super::KernelError;
use crate::layout::Layout;

/// An argument of elements in a kernel's block `launch`: its layout, and its name for errors.
#[derive(Clone, Copy)]
pub struct ArgumentLayout<'a> {
    name: &'static str,
    layout: &'a Layout,
}

impl<'a> ArgumentLayout<'a> {
    pub(crate) fn new(name: &'static str, layout: &'a Layout) -> Self {
        Self { name, layout }
    }

    /// Its name in the declaration.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Extents, outermost axis first.
    #[must_use]
    pub fn shape(&self) -> &'a [usize] {
        self.layout.shape()
    }
}

impl Deref for ArgumentLayout<'_> {
    type Target = Layout;

    fn deref(&self) -> &Layout {
        self.layout
    }
}

impl fmt::Debug for ArgumentLayout<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArgumentLayout({}: {:?})", self.name, crate::layout::List(self.shape()))
    }
}

/// Returns an error unless the argument has this number of elements.
///
/// # Errors
///
/// [`KernelError::Length`], which names the argument.
pub fn has_len(argument: ArgumentLayout<'_>, expected: usize) -> Result<(), KernelError> {
    match argument.len() {
        found if found == expected => Ok(()),
        found => Err(KernelError::Length { argument: argument.name, expected, found }),
    }
}

/// Returns an error unless the two arguments have one shape.
///
/// # Errors
///
/// [`KernelError::Shape`], which names both.
pub fn same_shape(expected: ArgumentLayout<'_>, found: ArgumentLayout<'_>) -> Result<(), KernelError> {
    if expected.shape() == found.shape() {
        return Ok(());
    }
    let (argument, other) = (found.name, expected.name);
    let (expected, found) = (expected.shape().into(), found.shape().into());
    Err(KernelError::Shape { argument, other, expected, found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    #[test]
    fn a_layout_of_many_axes_is_shown_in_one_line() {
        let layout = Layout::contiguous(&[1; 60], Order::C).expect("one element");
        let text = format!("{:?}", ArgumentLayout::new("from", &layout));
        assert!(text.starts_with("ArgumentLayout(from: [1, 1,") && text.len() <= 200, "{text}");
    }
}
