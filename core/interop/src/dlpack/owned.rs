//! An owned structure, given back once.
#![allow(unsafe_code)] // reads structures of other code, and calls their deleters

use std::{fmt, ptr::NonNull};

use super::abi::{MAJOR, ManagedTensor, ManagedTensorVersioned, READ_ONLY, TensorAbi, Version};
use crate::{DoorError, Result, error::field};

mod sealed {
    #[expect(unnameable_types, reason = "nobody else implements it")]
    pub trait Sealed {}
    impl Sealed for super::ManagedTensor {}
    impl Sealed for super::ManagedTensorVersioned {}
}

/// The two kinds of structures.
pub trait Managed: sealed::Sealed + Sized + 'static {
    /// The name of a Python capsule that holds the structure, until it is consumed.
    const CAPSULE: &'static std::ffi::CStr;
    /// The capsule's name after its use.
    const USED_CAPSULE: &'static std::ffi::CStr;

    #[doc(hidden)]
    fn version(&self) -> Version;
    #[doc(hidden)]
    fn flags(&self) -> u64;
    #[doc(hidden)]
    fn tensor(&self) -> &TensorAbi;
    #[doc(hidden)]
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    #[doc(hidden)]
    fn context(&self) -> *mut std::ffi::c_void;
    /// Whether the structure can say that memory is read-only.
    #[doc(hidden)]
    const SAYS_READ_ONLY: bool;
    #[doc(hidden)]
    fn made(
        tensor: TensorAbi,
        flags: u64,
        context: *mut std::ffi::c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self;
}

impl Managed for ManagedTensor {
    const CAPSULE: &'static std::ffi::CStr = c"dltensor";
    const USED_CAPSULE: &'static std::ffi::CStr = c"used_dltensor";
    const SAYS_READ_ONLY: bool = false;

    fn version(&self) -> Version {
        // It is older than versions, and means the same as the first.
        Version { major: MAJOR, minor: 0 }
    }

    fn flags(&self) -> u64 {
        0
    }

    fn tensor(&self) -> &TensorAbi {
        &self.dl_tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    fn context(&self) -> *mut std::ffi::c_void {
        self.manager_ctx
    }

    fn made(
        dl_tensor: TensorAbi,
        _: u64,
        manager_ctx: *mut std::ffi::c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self {
        Self { dl_tensor, manager_ctx, deleter: Some(deleter) }
    }
}

impl Managed for ManagedTensorVersioned {
    const CAPSULE: &'static std::ffi::CStr = c"dltensor_versioned";
    const USED_CAPSULE: &'static std::ffi::CStr = c"used_dltensor_versioned";
    const SAYS_READ_ONLY: bool = true;

    fn version(&self) -> Version {
        self.version
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn tensor(&self) -> &TensorAbi {
        &self.dl_tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    fn context(&self) -> *mut std::ffi::c_void {
        self.manager_ctx
    }

    fn made(
        dl_tensor: TensorAbi,
        flags: u64,
        manager_ctx: *mut std::ffi::c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self {
        let version = Version { major: MAJOR, minor: super::abi::MINOR };
        Self { version, manager_ctx, deleter: Some(deleter), flags, dl_tensor }
    }
}

/// A structure from other code, or for other code. Dropping it calls the deleter.
pub struct Owned<M: Managed>(NonNull<M>);

// SAFETY: the standard lets the deleter be called from any thread, and nobody else reads the
// structure.
unsafe impl<M: Managed> Send for Owned<M> {}
// SAFETY: a shared reference reads the structure, which nobody writes.
unsafe impl<M: Managed> Sync for Owned<M> {}

impl<M: Managed> Owned<M> {
    /// Takes a structure over.
    ///
    /// # Safety
    ///
    /// It is a structure of this kind; a versioned one may be of another major version. Its
    /// pointers are null or lead to what they say: `shape` and `strides` to `ndim` numbers if
    /// `ndim` is from 1 to 64. The caller may give it away; it stays until its deleter is called,
    /// and the deleter may be called from any thread.
    #[must_use]
    pub unsafe fn from_raw(structure: NonNull<M>) -> Self {
        Self(structure)
    }

    /// Gives the structure away: its holder calls the deleter.
    #[must_use]
    pub fn into_raw(self) -> NonNull<M> {
        let structure = self.0;
        std::mem::forget(self);
        structure
    }

    /// The address of the structure.
    #[must_use]
    pub fn as_ptr(&self) -> *mut M {
        self.0.as_ptr()
    }

    pub(super) fn structure(&self) -> Result<&M> {
        // SAFETY: it is there, and of this kind as far as the version says; the version comes first
        // in every version.
        let structure = unsafe { self.0.as_ref() };
        let Version { major, minor } = structure.version();
        if major != MAJOR {
            return Err(DoorError::Version { major, minor });
        }
        Ok(structure)
    }

    /// The description of the memory.
    ///
    /// # Errors
    ///
    /// - [`DoorError::Version`]: the structure is of another major version.
    /// - [`DoorError::Field`]: it has more axes than are possible, or axes and no shape.
    pub fn tensor(&self) -> Result<Described<'_>> {
        let structure = self.structure()?;
        let tensor = structure.tensor();
        let rank = usize::try_from(tensor.ndim).map_err(|_| field("ndim", "negative"))?;
        if rank > crate::incoming::MOST_AXES {
            return Err(field("ndim", "more than 64 axes"));
        }
        let [shape, strides] = [tensor.shape, tensor.strides].map(|numbers| match NonNull::new(numbers) {
            Some(_) if rank == 0 => Some(&[][..]),
            Some(numbers) => {
                // SAFETY: it leads to as many numbers as there are axes, which are at most 64, and
                // stays with the structure.
                Some(unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast_const(), rank) })
            }
            None if rank == 0 => Some(&[][..]),
            None => None,
        });
        let shape = shape.ok_or(field("shape", "null, and there are axes"))?;
        Ok(Described { tensor, shape, strides, is_read_only: structure.flags() & READ_ONLY != 0 })
    }
}

/// The description in a structure.
#[derive(Debug, Clone, Copy)]
pub struct Described<'a> {
    pub(super) tensor: &'a TensorAbi,
    shape: &'a [i64],
    strides: Option<&'a [i64]>,
    is_read_only: bool,
}

impl<'a> Described<'a> {
    /// Extents.
    #[must_use]
    pub fn shape(&self) -> &'a [i64] {
        self.shape
    }

    /// Strides in elements; `None` means C order without gaps.
    #[must_use]
    pub fn strides(&self) -> Option<&'a [i64]> {
        self.strides
    }

    /// Whether the structure says that the memory is read-only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// The structure.
    #[must_use]
    pub fn abi(&self) -> &'a TensorAbi {
        self.tensor
    }
}

impl<M: Managed> Drop for Owned<M> {
    fn drop(&mut self) {
        // SAFETY: version, context and deleter lie at the same place in all versions, and the
        // structure is there.
        let deleter = unsafe { self.0.as_ref() }.deleter();
        if let Some(deleter) = deleter {
            // SAFETY: the structure is ours to give back, which happens here alone.
            unsafe { deleter(self.0.as_ptr()) }
        }
    }
}

impl<M: Managed> fmt::Debug for Owned<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tensor() {
            Ok(described) => write!(f, "Owned({:?}, {:?})", described.tensor, described.shape),
            Err(error) => write!(f, "Owned({error})"),
        }
    }
}
