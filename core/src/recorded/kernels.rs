//! Kernels of the program's own that are recorded: launched again with the memory of a launch.

use smallvec::SmallVec;

use super::{Kept, Recorder, memory::Placed};
use crate::{
    Result,
    backend::Launch,
    kernel::{ArgumentKind, Declaration, GridOf, PassedAs, Passing, Permission},
    operations::Elements,
};

/// An argument of a kernel, kept.
enum KeptArgument {
    Elements(Kept),
    Value(SmallVec<[u8; 16]>),
}

impl<D: Launch> Recorder<D> {
    /// Takes a kernel down. `grid` is asked again at each launch that makes the call.
    #[track_caller]
    pub(crate) fn kernel(
        &self,
        declaration: &'static Declaration,
        grid: GridOf<D>,
        arguments: &[Passing<'_, D>],
    ) -> Result<()> {
        let mut call = self.call(declaration.name());
        let kept: SmallVec<[(ArgumentKind, KeptArgument); 4]> = arguments
            .iter()
            .map(|argument| match argument.passed {
                PassedAs::Elements(elements) => {
                    let reads =
                        matches!(argument.kind, ArgumentKind::Elements { permission: Permission::Read, .. });
                    (argument.kind, KeptArgument::Elements(call.uses(elements, !reads)))
                }
                PassedAs::Value(bytes) => (argument.kind, KeptArgument::Value(bytes.into())),
            })
            .collect();
        call.push(move |stream, memory| {
            let of_elements = kept.iter().filter_map(|(_, argument)| match argument {
                KeptArgument::Elements(kept) => Some(kept.at(memory)),
                KeptArgument::Value(_) => None,
            });
            let placed: SmallVec<[Placed<'_, D>; 4]> = of_elements.collect::<Result<_>>()?;
            let elements: SmallVec<[Elements<'_, D>; 4]> = placed.iter().map(Placed::elements).collect();
            let mut next = elements.iter();
            let arguments: SmallVec<[Passing<'_, D>; 8]> = kept
                .iter()
                .map(|&(kind, ref argument)| {
                    let passed = match argument {
                        KeptArgument::Value(bytes) => PassedAs::Value(bytes),
                        KeptArgument::Elements(_) => {
                            PassedAs::Elements(next.next().expect("placed above, one for each"))
                        }
                    };
                    Passing { kind, passed }
                })
                .collect();
            stream.launch(declaration, grid, &arguments)
        })
    }
}
