//! Truth values that a device may write.

use std::{
    fmt,
    hash::{Hash, Hasher},
    ops::Not,
};

use bytemuck::{Pod, Zeroable};

/// A truth value in one byte. Every byte is valid, as in NumPy: 0 is false, any other byte is true.
///
/// It is written as 0 or 1. Values compare and hash by their truth. They are displayed as `True`
/// and `False`, as in NumPy's arrays.
///
/// ```
/// use devarray::Bool;
///
/// let written_by_a_device: Bool = bytemuck::cast(2_u8);
/// assert_eq!(written_by_a_device, Bool::TRUE);
/// assert!(bool::from(written_by_a_device));
/// assert_eq!(Bool::from(false).to_string(), "False");
/// ```
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// False: the byte 0.
    pub const FALSE: Self = Self(0);
    /// True: the byte 1.
    pub const TRUE: Self = Self(1);
}

impl From<bool> for Bool {
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl From<Bool> for bool {
    fn from(value: Bool) -> Self {
        value.0 != 0
    }
}

impl Not for Bool {
    type Output = Self;

    fn not(self) -> Self {
        Self::from(self.0 == 0)
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Self) -> bool {
        bool::from(*self) == bool::from(*other)
    }
}

impl Eq for Bool {}

impl Hash for Bool {
    fn hash<H: Hasher>(&self, state: &mut H) {
        bool::from(*self).hash(state);
    }
}

impl fmt::Debug for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bool").field(&bool::from(*self)).finish()
    }
}

impl fmt::Display for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if bool::from(*self) { "True" } else { "False" })
    }
}
