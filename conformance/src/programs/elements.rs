//! Elements of programs' arrays.

use std::fmt::Debug;

use devarray::{Element, function::ElementType};

use super::kernels::Kernel;

/// An element type that programs use.
pub(super) trait Elements: Element + Debug + PartialEq {
    /// The type by which functions know the elements, if functions take them.
    const TYPE: Option<ElementType>;

    /// The kernel that takes the elements, if there is one.
    const KERNEL: Option<Kernel>;

    /// The first bytes of a number, as an element.
    fn of_bits(bits: u64) -> Self {
        let mut value = Self::zeroed();
        let bytes = bytemuck::bytes_of_mut(&mut value);
        let len = bytes.len();
        bytes.copy_from_slice(&bits.to_le_bytes()[..len]);
        value
    }

    /// The number whose first bytes are this element.
    fn bits(&self) -> u64 {
        bytemuck::bytes_of(self).iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
    }

    /// `count` values from a seed, with some special ones among them.
    fn values(seed: usize, count: usize) -> Vec<Self> {
        let special = |bits: u64| match bits % 16 {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << (size_of::<Self>() * 8 - 1),
            _ => bits,
        };
        let mut rng = crate::Rng::new(seed as u64);
        (0..count).map(|_| Self::of_bits(special(rng.bits()))).collect()
    }
}

impl Elements for u8 {
    const TYPE: Option<ElementType> = Some(ElementType::U8);
    const KERNEL: Option<Kernel> = Some(Kernel::Reverse);
}
impl Elements for [u8; 3] {
    const TYPE: Option<ElementType> = None;
    const KERNEL: Option<Kernel> = None;
}
impl Elements for u16 {
    const TYPE: Option<ElementType> = Some(ElementType::U16);
    const KERNEL: Option<Kernel> = Some(Kernel::AddTo);
}
impl Elements for u32 {
    const TYPE: Option<ElementType> = Some(ElementType::U32);
    const KERNEL: Option<Kernel> = Some(Kernel::Scale);
}
impl Elements for u64 {
    const TYPE: Option<ElementType> = Some(ElementType::U64);
    const KERNEL: Option<Kernel> = None;
}
