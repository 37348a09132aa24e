//! The most common questions about an array, without importing a trait.

/// Emits the questions of [`NdLayout`](crate::NdLayout) that every program asks, for a type that
/// has a `layout()`.
macro_rules! shape_methods {
    () => {
        /// The extents of the axes.
        #[must_use]
        pub fn shape(&self) -> &[usize] {
            crate::NdLayout::shape(self.layout())
        }

        /// The number of axes.
        #[doc(alias = "ndim", alias = "dim")]
        #[must_use]
        pub fn rank(&self) -> usize {
            self.shape().len()
        }

        /// The number of elements.
        #[doc(alias = "size", alias = "numel")]
        #[must_use]
        pub fn len(&self) -> usize {
            self.layout().len()
        }

        /// Whether there are no elements.
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.layout().is_empty()
        }
    };
}

pub(crate) use shape_methods;
