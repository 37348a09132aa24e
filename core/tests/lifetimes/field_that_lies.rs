//! The library alone says where a field lies, also in a record of the program's own.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use devarray::array::{Field, FieldItems, FieldOf};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Record([u32; 4]);

impl FieldOf<Record> for Field<u8, u8> {
    type Item = u32;

    fn range_bytes(&self) -> Range<usize> {
        0..0
    }

    fn axis(&self) -> Option<usize> {
        Some(1000)
    }
}

impl FieldOf<Record> for FieldItems<[u8; 4], u8, 4> {
    type Item = u32;

    fn range_bytes(&self) -> Range<usize> {
        0..0
    }

    fn axis(&self) -> Option<usize> {
        Some(1000)
    }
}

fn main() {}
