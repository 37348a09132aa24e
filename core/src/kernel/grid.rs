//! The grid of a launch: blocks, threads, shared memory.

use super::KernelError;

/// The most blocks along each axis, on every generation that this library knows.
const MOST_BLOCKS: [u32; 3] = [i32::MAX.unsigned_abs(), 65_535, 65_535];
/// The most threads of a block along each axis. The first number also limits all threads of a block
/// together.
const MOST_THREADS: [u32; 3] = [1024, 1024, 64];
const MOST_BLOCK_THREADS: u64 = 1024;

/// The grid of a launch: blocks, the threads of each, and shared memory.
///
/// ```
/// use devarray::kernel::Grid;
///
/// let grid = Grid::elements(1000, 256); // a thread for each element, some of the last block without
/// assert_eq!((grid.blocks(), grid.threads()), ([4, 1, 1], [256, 1, 1]));
/// let tiles = Grid::new([300, 20, 1], [32, 8, 1]).shared_bytes(33 * 32 * 4);
/// assert_eq!(tiles.dynamic_shared_bytes(), 4224);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub struct Grid {
    blocks: [u32; 3],
    threads: [u32; 3],
    shared_bytes: usize,
    cluster: Option<[u32; 3]>,
    cooperative: bool,
}

impl Grid {
    /// Launches this many blocks along x, y and z, each with this many threads along x, y and z.
    ///
    /// A number of blocks that is too large to be counted becomes the largest number, which no
    /// device launches.
    #[doc(alias = "gridDim")]
    #[doc(alias = "blockDim")]
    pub fn new(blocks: [usize; 3], threads: [u32; 3]) -> Self {
        let blocks = blocks.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        Self { blocks, threads, shared_bytes: 0, cluster: None, cooperative: false }
    }

    /// Launches a thread for each of `len` elements, in blocks of `block_threads` along x. No
    /// elements make no block.
    #[doc(alias = "forall")]
    pub fn elements(len: usize, block_threads: u32) -> Self {
        Self::new([len.div_ceil(block_threads.max(1) as usize), 1, 1], [block_threads, 1, 1])
    }

    /// Gives each block dynamic shared memory, beside the memory that the image declares.
    pub const fn shared_bytes(self, len_bytes: usize) -> Self {
        Self { shared_bytes: len_bytes, ..self }
    }

    /// Runs all blocks at once, so that they may wait for each other.
    #[doc(alias = "cuLaunchCooperativeKernel")]
    pub const fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// Groups blocks into clusters of this size along x, y and z. The size must divide the blocks.
    pub const fn cluster(self, blocks: [u32; 3]) -> Self {
        Self { cluster: Some(blocks), ..self }
    }

    /// Blocks along x, y and z.
    #[must_use]
    pub const fn blocks(&self) -> [u32; 3] {
        self.blocks
    }

    /// Threads of a block along x, y and z.
    #[must_use]
    pub const fn threads(&self) -> [u32; 3] {
        self.threads
    }

    /// Threads of a block.
    #[must_use]
    pub fn block_threads(&self) -> u64 {
        self.threads.iter().map(|&count| u64::from(count)).fold(1, u64::saturating_mul)
    }

    /// Dynamic shared memory of a block.
    #[must_use]
    pub const fn dynamic_shared_bytes(&self) -> usize {
        self.shared_bytes
    }

    /// Blocks of a cluster along x, y and z, if there are clusters.
    #[must_use]
    pub const fn cluster_blocks(&self) -> Option<[u32; 3]> {
        self.cluster
    }

    /// Whether all blocks run at once.
    #[must_use]
    pub const fn is_cooperative(&self) -> bool {
        self.cooperative
    }

    /// Returns an error for a grid that no device launches.
    pub(crate) fn check(&self) -> Result<(), KernelError> {
        let limit = |what, requested: u64, least: u64, most: u64| {
            if (least..=most).contains(&requested) {
                return Ok(());
            }
            Err(KernelError::Limit { what, requested, most })
        };
        for (axis, what) in ["blocks along x", "blocks along y", "blocks along z"].into_iter().enumerate() {
            limit(what, self.blocks[axis].into(), 1, MOST_BLOCKS[axis].into())?;
        }
        let along =
            ["threads of a block along x", "threads of a block along y", "threads of a block along z"];
        for (axis, what) in along.into_iter().enumerate() {
            limit(what, self.threads[axis].into(), 1, MOST_THREADS[axis].into())?;
        }
        limit("threads of a block", self.block_threads(), 1, MOST_BLOCK_THREADS)?;
        limit("bytes of shared memory of a block", self.shared_bytes as u64, 0, u32::MAX.into())?;
        for (axis, blocks) in self.cluster.into_iter().flatten().enumerate() {
            // A cluster divides the blocks, so its limit is the number of blocks.
            let fits = blocks > 0 && self.blocks[axis].is_multiple_of(blocks);
            if !fits {
                let (requested, most) = (blocks.into(), self.blocks[axis].into());
                return Err(KernelError::Limit {
                    what: "blocks of a cluster, which divide those of the grid",
                    requested,
                    most,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Grid;

    #[test]
    fn blocks_cover_the_elements_and_no_block_is_idle() {
        for len in [0, 1, 255, 256, 257, 1 << 20] {
            let blocks = Grid::elements(len, 256).blocks()[0] as usize;
            assert!(blocks * 256 >= len && blocks * 256 < len + 256, "{len}");
        }
        assert_eq!(Grid::elements(usize::MAX, 1).blocks()[0], u32::MAX);
    }

    #[test]
    fn what_no_device_launches_is_refused_by_name() {
        let refused = |grid: Grid| grid.check().unwrap_err().to_string();
        assert_eq!(Grid::new([1, 1, 1], [32, 32, 1]).check(), Ok(()));
        assert_eq!(refused(Grid::new([1, 1, 1], [64, 32, 1])), "2048 threads of a block: at most 1024");
        assert_eq!(refused(Grid::new([1, 65_536, 1], [1, 1, 1])), "65536 blocks along y: at most 65535");
        assert_eq!(refused(Grid::new([1, 1, 1], [1, 1, 65])), "65 threads of a block along z: at most 64");
        assert_eq!(refused(Grid::new([0, 1, 1], [1, 1, 1])), "0 blocks along x: at least 1");
        assert_eq!(refused(Grid::elements(7, 0)), "0 threads of a block along x: at least 1");
        assert_eq!(Grid::new([4, 1, 1], [1, 1, 1]).cluster([2, 1, 1]).check(), Ok(()));
        for cluster in [[3, 1, 1], [0, 1, 1], [8, 1, 1]] {
            let text = refused(Grid::new([4, 1, 1], [1, 1, 1]).cluster(cluster));
            assert!(text.contains("blocks of a cluster"), "{text}");
        }
    }
}
