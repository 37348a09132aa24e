//! The program's own kernels as queued operations, and how they run.
//!
//! A host function gets copies of the elements of its arguments, with guards around and between
//! them, so that all its effects stay in the copies. If kernels are checked, it runs a second time
//! with different bytes wherever it must not read: around and between elements, and in elements
//! that it only writes. Both runs must give equal results.

mod attempt;
mod mistake;

use std::panic::Location;

use devarray::{
    Layout,
    backend::{LaunchArgument, LaunchOp},
    kernel::{ArgumentDeclaration, ArgumentKind, Declaration, Permission},
};
use smallvec::SmallVec;

use super::{Memory, compute::Elements, reach::Reach, source::Source};
use crate::{
    allocation::Allocated,
    finding::{Access, Finding, Memory as Named, Operation},
    judge::{Place, Touch},
};
use attempt::Attempt;
use mistake::Mistake;

/// A kernel and its arguments.
#[derive(Debug)]
pub(crate) struct LaunchedKernel {
    declaration: &'static Declaration,
    arguments: Vec<Argument>,
    location: &'static Location<'static>,
}

/// One argument.
#[derive(Debug)]
enum Argument {
    Elements {
        elements: Elements,
        permission: Permission,
        align_bytes: usize,
    },
    /// An argument without elements.
    Nothing {
        layout: Layout,
        align_bytes: usize,
    },
    Value(Vec<u8>),
}

impl LaunchedKernel {
    pub(crate) fn of<B: Allocated>(op: &LaunchOp<'_, B>, location: &'static Location<'static>) -> Self {
        let declaration = op.declaration();
        let argument = |(given, declared): (&LaunchArgument<'_, B>, &ArgumentDeclaration)| match (
            given,
            declared.kind,
        ) {
            (
                LaunchArgument::Elements { buffer: Some(buffer), layout },
                ArgumentKind::Elements { permission, item_bytes, align_bytes, .. },
            ) => {
                let elements = Elements::of(*buffer, layout, item_bytes);
                Argument::Elements { elements, permission, align_bytes }
            }
            (LaunchArgument::Elements { layout, .. }, kind) => {
                let align_bytes =
                    if let ArgumentKind::Elements { align_bytes, .. } = kind { align_bytes } else { 1 };
                Argument::Nothing { layout: (*layout).clone(), align_bytes }
            }
            (LaunchArgument::Value(bytes), _) => Argument::Value(bytes.to_vec()),
        };
        let arguments = op.arguments().iter().zip(declaration.arguments()).map(argument).collect();
        Self { declaration, arguments, location }
    }

    pub(super) fn name(&self) -> &'static str {
        self.declaration.name()
    }

    /// The arguments that are elements, with what may be done to them.
    fn elements(&self) -> impl Iterator<Item = (usize, &Elements, Permission)> {
        self.arguments.iter().enumerate().filter_map(|(at, argument)| match argument {
            Argument::Elements { elements, permission, .. } => Some((at, elements, *permission)),
            Argument::Nothing { .. } | Argument::Value(_) => None,
        })
    }

    /// Each such argument, once if it is read and once if it is written; reads come first.
    fn accesses(&self) -> impl Iterator<Item = (usize, &Elements, Access)> {
        let read = self.elements().filter(|(_, _, permission)| permission.reads());
        let written = self.elements().filter(|(_, _, permission)| permission.writes());
        let read = read.map(|(at, elements, _)| (at, elements, Access::Read));
        read.chain(written.map(|(at, elements, _)| (at, elements, Access::Write)))
    }

    /// The number of bytes that it may write.
    pub(super) fn len_bytes(&self) -> usize {
        let written = self.elements().filter(|(_, _, permission)| permission.writes());
        written.map(|(_, elements, _)| elements.layout.len() * elements.item_bytes).sum()
    }

    pub(super) fn reaches(&self) -> SmallVec<[Reach; 2]> {
        self.accesses().map(|(_, elements, access)| elements.reach(access)).collect()
    }

    pub(super) fn touches(&self) -> SmallVec<[Touch; 2]> {
        let touch = |(_, elements, access): (usize, &Elements, Access)| Touch {
            place: Place::Device(elements.buffer),
            bytes: elements.bytes(),
            access,
        };
        self.accesses().map(touch).collect()
    }

    /// Runs the host function, and stores the elements that it wrote. Returns its mistakes.
    pub(super) fn run(&self, memory: &mut Memory, check: bool, look_for_unused: bool) -> Vec<Mistake> {
        let held: Vec<Vec<u8>> = self.arguments.iter().map(|argument| argument.held(memory)).collect();
        let first = Attempt::new(self, &held, |_| attempt::PATTERN);
        let mut mistakes = mistake::of_one(self, &first);
        if check && first.panic.is_none() {
            mistakes.extend(mistake::of_two(self, &held, &first));
        }
        if look_for_unused && first.panic.is_none() {
            mistakes.extend(mistake::unused(self, &held, &first));
        }
        for (at, elements, permission) in self.elements() {
            if permission.writes() {
                first.put(at, |offset_bytes, bytes| {
                    let start = (elements.span_bytes().start + offset_bytes).min(usize::MAX - bytes.len());
                    let Some(memory) = memory.bytes_mut(elements.buffer) else { return };
                    let into = memory.part_mut(start..start + bytes.len());
                    let there = into.len();
                    into.copy_from_slice(&bytes[..there]);
                });
            }
        }
        mistakes
    }
}

impl Argument {
    /// The bytes of memory from the lowest element to the end of the highest one, with 0 between
    /// elements; or the bytes of the value.
    fn held(&self, memory: &Memory) -> Vec<u8> {
        match self {
            Self::Elements { elements, .. } => {
                let span = elements.span_bytes();
                let mut bytes = vec![0; span.len()];
                let source = Source::new(memory, elements.buffer);
                for range in elements.bytes().ranges() {
                    source.read(range.start, &mut bytes[range.start - span.start..range.end - span.start]);
                }
                bytes
            }
            Self::Nothing { .. } => Vec::new(),
            Self::Value(bytes) => bytes.clone(),
        }
    }
}

impl LaunchedKernel {
    /// The operation for findings; `number` is its place in the order of all operations.
    pub(super) fn operation(&self, number: u64, lane: usize) -> Operation {
        let (kind, stream, location) = (self.name(), Some(lane), self.location);
        Operation { number, kind, stream, location, argument: None }
    }

    /// The name of the argument that belongs to this position in [`touches`](Self::touches).
    pub(super) fn argument(&self, at: usize) -> Option<&'static str> {
        self.accesses().nth(at).map(|(argument, ..)| self.declaration.arguments()[argument].name)
    }

    /// The finding, with the name of the argument that it is about, if there is one.
    pub(super) fn explain(&self, mut finding: Box<Finding>) -> Box<Finding> {
        let concerned = self.accesses().find(|(_, elements, access)| {
            matches!(finding.memory, Named::Device { id, .. } if id == elements.buffer)
                && *access == finding.access
                && elements.span_bytes().contains(&finding.bytes.start)
        });
        match concerned {
            Some((at, ..)) => {
                finding.operation.argument = Some(self.declaration.arguments()[at].name);
                Box::new((*finding).note(self.named(at)))
            }
            None => finding,
        }
    }

    /// An argument in the words of a message.
    fn named(&self, at: usize) -> String {
        format!("it is argument `{}` of kernel `{}`", self.declaration.arguments()[at].name, self.name())
    }
}
