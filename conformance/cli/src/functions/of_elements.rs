//! Calls on all elements, such as reductions and scans, by name.

use devarray::function::{ElementType, ReduceOperation, Reduction, Scan, ScanOperation};

use super::whole::Whole;

/// A call on the elements that a function returns.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum OfElements {
    /// A reduction of the elements, cast to the given type, or of the function's type.
    Reduced(Reduction, ReduceOperation, Option<ElementType>),
    /// Their scan.
    Running(Scan, ScanOperation),
    /// A call that returns the same number of other elements, where each depends on several.
    Whole(Whole),
}

impl OfElements {
    /// The reduction of this name over these axes, or over all axes.
    ///
    /// # Errors
    ///
    /// No reduction has that name.
    pub fn reduced(
        name: &str,
        axes: Option<&[isize]>,
        keep_axes: bool,
        element_type: Option<ElementType>,
        ddof: u64,
    ) -> Result<Self, String> {
        let operation = ReduceOperation::from_name(name).ok_or_else(|| {
            format!("{name:?} is no reduction; there are {}", listed(ReduceOperation::names()))
        })?;
        let mut reduction = Reduction::new(operation).ddof(ddof);
        if let Some(axes) = axes {
            reduction = reduction.axes(axes);
        }
        if keep_axes {
            reduction = reduction.keep_axes();
        }
        if let Some(element_type) = element_type {
            reduction = reduction.cast(element_type);
        }
        Ok(Self::Reduced(reduction, operation, element_type))
    }

    /// The scan of this name along an axis.
    ///
    /// # Errors
    ///
    /// No scan has that name.
    pub fn running(name: &str, axis: isize, is_exclusive: bool) -> Result<Self, String> {
        let operation = ScanOperation::from_name(name)
            .ok_or_else(|| format!("{name:?} is no scan; there are {}", listed(ScanOperation::names())))?;
        let scan = Scan::new(operation, axis);
        Ok(Self::Running(if is_exclusive { scan.exclusive() } else { scan }, operation))
    }

    /// The type of the result if a function returns elements of type `computed`.
    #[must_use]
    pub fn result_type(of_elements: Option<&Self>, computed: ElementType) -> ElementType {
        match of_elements {
            None => computed,
            Some(Self::Running(_, ScanOperation::Sum | ScanOperation::Product)) => total_type(computed),
            Some(Self::Running(..) | Self::Whole(_)) => computed,
            Some(&Self::Reduced(_, operation, cast)) => {
                let of = cast.unwrap_or(computed);
                match operation {
                    ReduceOperation::Sum | ReduceOperation::Product => total_type(of),
                    ReduceOperation::Any | ReduceOperation::All => ElementType::Bool,
                    ReduceOperation::ArgMinimum
                    | ReduceOperation::ArgMaximum
                    | ReduceOperation::CountNonzero => ElementType::I64,
                    _ => of,
                }
            }
        }
    }
}

/// The type of sums and products.
fn total_type(of: ElementType) -> ElementType {
    match of {
        _ if of.is_float() => of,
        ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => ElementType::U64,
        _ => ElementType::I64,
    }
}

fn listed(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
