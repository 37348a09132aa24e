//! Kernels: checked here, ordered, submitted.

use std::slice::from_ref;

use smallvec::SmallVec;

use super::{Elements, disjoint::are_disjoint};
use crate::kernel::PassedAs;
use crate::{
    Error, Hazard, Result,
    allocation::AllocationAccess,
    backend::{Launch, LaunchArgument, LaunchOp},
    kernel::{
        ArgumentDeclaration, ArgumentKind, Declaration, GridOf, KernelError, Passed, Passing, Permission,
        Running,
    },
    layout::Injectivity,
    statistics::Work,
    stream::StreamCore,
};

impl<D: Launch> StreamCore<D> {
    /// Enqueues a kernel, unless everything that it writes is empty. Does not synchronize. `grid` is the
    /// kernel's own answer to its arguments.
    ///
    /// # Errors
    ///
    /// Another context, an argument that differs from its declaration, an argument that overlaps a
    /// written one, a refusal by `grid`, and any device error.
    #[track_caller]
    pub(crate) fn launch(
        &self,
        declaration: &'static Declaration,
        grid: GridOf<D>,
        arguments: &[Passing<'_, D>],
    ) -> Result<()> {
        let kernel = declaration.name();
        let refused = |error| Error::Kernel { backend: self.core.backend(), kernel, error };
        let mut accesses: SmallVec<[AllocationAccess<'_, D>; 8]> = SmallVec::new();
        let mut names: SmallVec<[&'static str; 8]> = SmallVec::new();
        let mut passed: SmallVec<[LaunchArgument<'_, D::Buffer>; 8]> = SmallVec::new();
        let (mut writes, mut len_bytes) = (false, 0);
        for (at, (argument, declared)) in arguments.iter().zip(declaration.arguments()).enumerate() {
            check_kind(argument, declared).map_err(refused)?;
            let elements = match &argument.passed {
                PassedAs::Value(bytes) => {
                    passed.push(LaunchArgument::Value(bytes));
                    continue;
                }
                PassedAs::Elements(elements) => *elements,
            };
            let ArgumentKind::Elements { permission, passed: form, .. } = declared.kind else { continue };
            self.check_context(kernel, [elements.allocation])?;
            check_form(declared.name, form, elements).map_err(refused)?;
            if permission.writes() {
                writes = true;
                len_bytes += elements.layout.len() * elements.item_bytes;
                if elements.layout.injectivity() != Injectivity::Injective {
                    return Err(refused(KernelError::Aliased { argument: declared.name }));
                }
            }
            if elements.layout.is_empty() {
                passed.push(LaunchArgument::Elements { buffer: None, layout: elements.layout });
                continue;
            }
            for (other, before) in arguments[..at].iter().zip(declaration.arguments()) {
                check_disjoint((elements, declared.name, permission), other, before.name, before.kind)
                    .map_err(refused)?;
            }
            accesses.push(elements.touch(permission.writes()));
            names.push(declared.name);
            passed.push(LaunchArgument::Elements {
                buffer: elements.allocation.any_buffer(),
                layout: elements.layout,
            });
        }
        // Recorded work asks again, with locks held.
        let launched = Running::during(kernel, || grid(arguments))
            .map_err(|refusal| refusal.of(self.core.backend(), kernel))?;
        if writes && len_bytes == 0 {
            return Ok(());
        }
        launched.check().map_err(refused)?;
        if let Some(recorder) = self.recorder() {
            return recorder.kernel(declaration, grid, arguments);
        }
        let op = LaunchOp { declaration, grid: launched, arguments: &passed, checked: true };
        let work = Work::Launch { name: kernel, len_bytes };
        let named = |error| self.with_argument(error, kernel, &accesses, &names);
        let to = self.submit(work, &accesses).map_err(named)?.begin();
        self.core.device.launch(to.raw(), &op)
    }

    /// Makes the error. If it is a hazard, it names the first argument that is refused by itself.
    #[cold]
    fn with_argument(
        &self,
        error: Error,
        kernel: &'static str,
        accesses: &[AllocationAccess<'_, D>],
        names: &[&'static str],
    ) -> Error {
        let Error::Hazard { backend, operation, hazard } = error else { return error };
        let refused = |access| self.order(kernel, from_ref(access)).is_err();
        let argument = accesses.iter().position(refused).and_then(|at| names.get(at).copied());
        Error::Hazard { backend, operation, hazard: Hazard { argument, ..hazard } }
    }
}

/// Returns an error if the type of an argument means something else where the kernel declares it.
/// Otherwise the kernel could write elements that may only be read, or take elements for larger
/// ones.
fn check_kind<D: Launch>(given: &Passing<'_, D>, declared: &ArgumentDeclaration) -> Result<(), KernelError> {
    if given.kind == declared.kind {
        return Ok(());
    }
    let (argument, declared, given) = (declared.name, declared.kind.into(), given.kind.into());
    Err(KernelError::Declaration { argument, declared, given })
}

/// Returns an error unless the elements have the declared layout.
fn check_form<D: Launch>(
    argument: &'static str,
    form: Passed,
    elements: &Elements<'_, D>,
) -> Result<(), KernelError> {
    let found = elements.layout.rank();
    if let Some(expected) = form.rank().filter(|&rank| rank != found) {
        return Err(KernelError::Rank { argument, expected, found });
    }
    match form {
        Passed::Flat | Passed::Dense { .. } if !elements.layout.is_c_contiguous() => {
            Err(KernelError::NotContiguous { argument })
        }
        _ => Ok(()),
    }
}

/// Returns an error if another argument uses elements that are written.
fn check_disjoint<D: Launch>(
    (elements, name, permission): (&Elements<'_, D>, &'static str, Permission),
    other: &Passing<'_, D>,
    other_name: &'static str,
    other_kind: ArgumentKind,
) -> Result<(), KernelError> {
    let (PassedAs::Elements(before), ArgumentKind::Elements { permission: of_other, .. }) =
        (&other.passed, other_kind)
    else {
        return Ok(());
    };
    let writes = permission.writes() || of_other.writes();
    if !writes || before.layout.is_empty() || are_disjoint(before, elements) {
        return Ok(());
    }
    let (argument, other) = if permission.writes() { (name, other_name) } else { (other_name, name) };
    Err(KernelError::Overlap { argument, other })
}
