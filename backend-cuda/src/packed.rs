//! Images of kernels as the program holds them: compressed, and decompressed when first needed.
//!
//! By LZ4, because decompressing delays the first use of a module. One core of an AMD EPYC takes
//! 0.05 ms for 311 kB of machine code, and 0.10 ms for the largest, 648 kB; deflate takes 0.27 ms
//! and 0.62 ms, and makes files that are 12 % smaller than LZ4's. Page faults of fresh memory
//! cost more than decompressing: on a virtual machine the first use of these 311 kB takes 0.26 ms,
//! 0.15 ms of it for page faults; uncompressed, it took 0.04 ms. To measure it on another machine:
//! `cargo test --release -p devarray-cuda --lib first_uses -- --ignored --nocapture`.

use std::sync::OnceLock;

use crate::driver::{Answer, INVALID_IMAGE};

/// The alignment at which the driver may read an image in words of any size, in bytes.
const ALIGNMENT: usize = 64;

/// Most bytes of an image.
const MOST_BYTES: usize = 8 << 20;

/// The bytes of an image before it was compressed.
#[derive(Debug)]
pub(crate) struct Image {
    buffer: Vec<u8>,
    start: usize,
}

impl Image {
    /// Decompresses a block that comes after the length of the image: 4 bytes, low byte first.
    /// `dictionary` is the one used for compression. `None` if the block is corrupt.
    pub(crate) fn of(packed: &[u8], dictionary: &[u8]) -> Option<Self> {
        let (len_bytes, block) = packed.split_first_chunk()?;
        let len_bytes = usize::try_from(u32::from_le_bytes(*len_bytes)).ok()?;
        if len_bytes > MOST_BYTES {
            return None;
        }
        let mut buffer = vec![0; len_bytes + ALIGNMENT];
        let start = buffer.as_ptr().align_offset(ALIGNMENT);
        let image = buffer.get_mut(start..)?.get_mut(..len_bytes)?;
        let written = lz4_flex::block::decompress_into_with_dict(block, image, dictionary).ok()?;
        buffer.truncate(start + len_bytes);
        (written == len_bytes).then_some(Self { buffer, start })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

/// An image that is part of the program.
#[derive(Debug)]
pub(crate) struct Packed {
    packed: &'static [u8],
    image: OnceLock<Option<Image>>,
}

impl Packed {
    pub(crate) const fn new(packed: &'static [u8]) -> Self {
        Self { packed, image: OnceLock::new() }
    }

    /// The image. The first call decompresses it, and it is kept: a process needs few images, and
    /// one for each of its devices.
    pub(crate) fn image(&self) -> Answer<&[u8]> {
        let image = self.image.get_or_init(|| Image::of(self.packed, &[]));
        image.as_ref().map(Image::bytes).ok_or(INVALID_IMAGE)
    }
}

/// The image for a device of generation `major`: machine code for 8.0, which every 8.x runs, and
/// 9.0; for others text, which ends with a zero and which the driver compiles: text for 7.0 cannot
/// copy to shared memory asynchronously. For modules of a folder of `src`.
macro_rules! packed {
    ($folder:literal $name:literal $suffix:literal) => {{
        static IMAGE: $crate::packed::Packed = $crate::packed::Packed::new(include_bytes!(concat!(
            "../../kernels/",
            $folder,
            $name,
            $suffix,
            ".lz4"
        )));
        &IMAGE
    }};
    ($major:ident text $folder:literal $name:literal) => { packed!($folder $name ".70.ptx") };
    ($major:ident code $folder:literal $name:literal) => {
        match $major {
            8 => packed!($folder $name ".sm_80.cubin"),
            9 => packed!($folder $name ".sm_90.cubin"),
            _ => packed!($folder $name ".70.ptx"),
        }
    };
    ($major:ident asynchronous $folder:literal $name:literal) => {
        match $major {
            10.. => packed!($folder $name ".80.ptx"),
            _ => packed!($major code $folder $name),
        }
    };
}
pub(crate) use packed;

#[cfg(test)]
mod tests {
    use super::*;

    static PACKED: &[u8] = include_bytes!("../kernels/strided/gather.sm_90.cubin.lz4");

    #[test]
    fn an_image_is_aligned_and_stays_where_it_is() {
        let packed = Packed::new(PACKED);
        let image = packed.image().unwrap();
        assert!(image.starts_with(b"\x7fELF"));
        assert_eq!(image.len(), usize::try_from(u32::from_le_bytes(*PACKED.first_chunk().unwrap())).unwrap());
        assert_eq!(image.as_ptr().addr() % ALIGNMENT, 0);
        assert_eq!(packed.image().unwrap().as_ptr(), image.as_ptr());
    }

    #[test]
    fn a_corrupt_image_is_an_error() {
        for len_bytes in 0..PACKED.len() {
            assert_eq!(
                Packed::new(&PACKED[..len_bytes]).image(),
                Err(INVALID_IMAGE),
                "{len_bytes} B are left"
            );
        }
        for wrong_len in [0, 1, 22_231, 22_233, u32::MAX] {
            let other = [&wrong_len.to_le_bytes(), &PACKED[4..]].concat();
            assert!(Image::of(&other, &[]).is_none(), "a length of {wrong_len}");
        }
        // Other changes may go unnoticed, but never panic.
        for at in 0..PACKED.len() {
            let mut other = PACKED.to_vec();
            other[at] ^= 0xff;
            let image = Image::of(&other, &[]);
            assert!(image.is_none_or(|image| image.bytes().len() == 22_232));
        }
    }

    #[test]
    fn a_block_needs_its_dictionary() {
        // Four literals, then the four bytes of the dictionary, then five literals.
        let packed = b"\x0d\0\0\0\x40abcd\x08\0\x50efghi";
        assert_eq!(Image::of(packed, b"1234").unwrap().bytes(), b"abcd1234efghi");
        assert!(Image::of(packed, &[]).is_none());
    }
}
