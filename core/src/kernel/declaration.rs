//! The declaration of a kernel.
#![allow(unsafe_code)] // declares an unsafe constructor, and looks at tables as bytes

use std::{fmt, slice};

use crate::layout::{Element, Layout};

/// A kernel: its name, its arguments in order, its image, its tables, and its host
/// function.
pub struct Declaration {
    name: &'static str,
    image: Image,
    arguments: &'static [ArgumentDeclaration],
    constants: &'static [Constant],
    host: HostFunction,
}

/// A host function: it does the work of a kernel on memory of the host.
///
/// # Safety
///
/// Each call passes one argument for each declared one, of its kind. Elements are in memory from
/// their start on; nobody else uses that memory meanwhile, and it is initialized and aligned for
/// the element type.
///
/// # Panics
///
/// If the author's code panics. A call of a device from inside panics too, because the device that
/// runs the function waits for it.
pub type HostFunction = unsafe fn(&[HostArgument<'_>]);

/// One argument of a [`HostFunction`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum HostArgument<'h> {
    /// Elements.
    #[non_exhaustive]
    Elements {
        /// The element at index (0, 0, …).
        start: *mut u8,
        /// The layout of all elements.
        layout: &'h Layout,
    },
    /// The bytes of a value.
    Value(&'h [u8]),
}

impl<'h> HostArgument<'h> {
    /// Passes elements; `start` is the one at index (0, 0, …).
    #[must_use]
    pub fn elements(start: *mut u8, layout: &'h Layout) -> Self {
        Self::Elements { start, layout }
    }
}

/// A declared argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgumentDeclaration {
    /// Its name.
    pub name: &'static str,
    /// The kind of the argument.
    pub kind: ArgumentKind,
}

impl ArgumentDeclaration {
    /// Declares an argument by name.
    #[must_use]
    pub const fn new(name: &'static str, kind: ArgumentKind) -> Self {
        Self { name, kind }
    }
}

/// The kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a kernel takes elements and values")]
pub enum ArgumentKind {
    /// Elements of an array.
    Elements {
        /// Whether the kernel reads or writes them.
        permission: Permission,
        /// The numbers that tell the entry where they are.
        passed: Passed,
        /// Bytes of one element.
        item_bytes: usize,
        /// The alignment of their address.
        align_bytes: usize,
    },
    /// A value.
    Value {
        /// Its size.
        len_bytes: usize,
    },
}

/// Whether a kernel reads or writes elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum Permission {
    /// The kernel reads the elements.
    Read,
    /// The kernel writes every element, and reads none.
    Write,
    /// The kernel reads the elements, and writes some or all.
    ReadWrite,
}

impl Permission {
    /// Whether elements are written.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }

    /// Whether elements are read.
    #[must_use]
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write)
    }
}

/// The numbers that tell an entry where elements are. All have 64 bits and count elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum Passed {
    /// Pointer and number of elements, which are C-contiguous.
    Flat,
    /// Pointer and extents of elements, which are C-contiguous.
    Dense {
        /// The number of extents.
        rank: usize,
    },
    /// Pointer, extents and strides.
    Strided {
        /// The number of extents, and of strides.
        rank: usize,
    },
}

impl Passed {
    /// The count of numbers that are passed after the pointer.
    #[must_use]
    pub const fn numbers(self) -> usize {
        match self {
            Self::Flat => 1,
            Self::Dense { rank } => rank,
            Self::Strided { rank } => 2 * rank,
        }
    }

    /// The number of axes that the elements must have; `None` for any number.
    #[must_use]
    pub const fn rank(self) -> Option<usize> {
        match self {
            Self::Flat => None,
            Self::Dense { rank } | Self::Strided { rank } => Some(rank),
        }
    }
}

/// Device code, and the name of the entry in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Image {
    code: ImageCode,
    entry: &'static str,
}

/// Device code.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageCode {
    /// There is no image: the kernel runs only on backends that call the host function.
    None,
    /// PTX text, which the driver compiles when the kernel is first launched.
    Ptx(&'static str),
    /// A cubin or a fatbin.
    Binary(&'static [u8]),
}

impl Image {
    /// PTX text: `unsafe { Image::ptx(include_str!("scale.ptx"), "scale") }`.
    ///
    /// # Safety
    ///
    /// For each kernel that is declared with it, and for every launch that the kernel's block
    /// `launch` does not refuse:
    ///
    /// - The entry takes the parameters that the arguments are [passed as](mod@crate::kernel).
    /// - It reads elements of arguments that may be read, writes elements of arguments that may be
    ///   written, writes all elements of `Out` arguments, and touches no other memory but its
    ///   own shared memory and the module's variables.
    /// - It ends.
    /// - If this depends on the block `launch`, the block gives the same answer for the same arguments: a
    ///   launch of [recorded work](crate::recorded) may rest on the answer to an earlier launch with the same
    ///   elements and values.
    #[must_use]
    pub const unsafe fn ptx(text: &'static str, entry: &'static str) -> Self {
        Self { code: ImageCode::Ptx(text), entry }
    }

    /// A cubin or a fatbin: `unsafe { Image::binary(include_bytes!("scale.cubin"), "scale") }`.
    ///
    /// # Safety
    ///
    /// The conditions of [`ptx`](Self::ptx). The code is complete: it states its own length.
    #[must_use]
    pub const unsafe fn binary(code: &'static [u8], entry: &'static str) -> Self {
        Self { code: ImageCode::Binary(code), entry }
    }

    /// No image yet: the kernel runs on the CPU and on the simulator. This is safe, because there is no
    /// device code.
    #[must_use]
    pub const fn none() -> Self {
        Self { code: ImageCode::None, entry: "" }
    }

    /// The device code.
    #[must_use]
    pub const fn code(&self) -> ImageCode {
        self.code
    }

    /// The name of the entry.
    #[must_use]
    pub const fn entry(&self) -> &'static str {
        self.entry
    }
}

/// A table in constant memory. It is written when the image is loaded, before the first launch, and
/// never again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Constant {
    name: &'static str,
    bytes: &'static [u8],
}

impl Constant {
    /// Names a table's elements after the image's variable.
    #[must_use]
    pub const fn new<T: Element>(name: &'static str, table: &'static [T]) -> Self {
        // SAFETY: the values of an element are its bytes, which are all initialized; they live
        // as long as the table.
        let bytes = unsafe { slice::from_raw_parts(table.as_ptr().cast::<u8>(), size_of_val(table)) };
        Self { name, bytes }
    }

    /// The name of the variable.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The bytes that the image gets.
    #[must_use]
    pub const fn bytes(&self) -> &'static [u8] {
        self.bytes
    }
}

impl Declaration {
    /// A declaration. [`kernel!`](crate::kernel!) makes it.
    ///
    /// # Safety
    ///
    /// - `host` may be called under the conditions of [`HostFunction`], with arguments of these
    ///   kinds, from any thread. It does nothing that the kinds do not permit.
    /// - The author of the image vouches for it with these arguments.
    #[must_use]
    pub const unsafe fn new(
        name: &'static str,
        image: Image,
        arguments: &'static [ArgumentDeclaration],
        constants: &'static [Constant],
        host: HostFunction,
    ) -> Self {
        Self { name, image, arguments, constants, host }
    }

    /// The name of the kernel.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The device code.
    #[must_use]
    pub const fn image(&self) -> &Image {
        &self.image
    }

    /// The arguments, in order.
    #[must_use]
    pub const fn arguments(&self) -> &'static [ArgumentDeclaration] {
        self.arguments
    }

    /// The tables in constant memory.
    #[must_use]
    pub const fn constants(&self) -> &'static [Constant] {
        self.constants
    }

    /// The function that runs on the host.
    #[must_use]
    pub const fn host(&self) -> HostFunction {
        self.host
    }

    /// The parameters of the entry, in order: for each, the argument that it belongs to and its
    /// size in bytes.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.arguments.iter().flat_map(|argument| {
            let (count, len_bytes) = match argument.kind {
                ArgumentKind::Elements { passed, .. } => (1 + passed.numbers(), size_of::<u64>()),
                ArgumentKind::Value { len_bytes } => (1, len_bytes),
            };
            std::iter::repeat_n((argument.name, len_bytes), count)
        })
    }
}

impl fmt::Debug for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.arguments.iter().map(|argument| argument.name).collect();
        write!(f, "Declaration({} of {:?})", self.name, crate::layout::List(&names))
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({:?} in {:?})", self.entry, self.code)
    }
}

impl fmt::Debug for ImageCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("nothing"),
            Self::Ptx(text) => write!(f, "{} bytes of PTX", text.len()),
            Self::Binary(code) => write!(f, "{} bytes of machine code", code.len()),
        }
    }
}

impl fmt::Debug for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Constant({}, {} bytes)", self.name, self.bytes.len())
    }
}
