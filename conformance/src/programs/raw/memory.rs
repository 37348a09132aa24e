//! The memories of a raw program, as they are after each operation in turn.

use super::Bytes;

/// The sizes of memories in bytes, used in turn for the memories of a kind.
const SIZES: [usize; 4] = [64, 16, 100, 256];

/// A block of bytes: rows of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) memory: usize,
    pub(super) at: usize,
    pub(super) pitch: usize,
    pub(super) width: usize,
    pub(super) rows: usize,
}

impl Block {
    /// The positions of all bytes, row after row.
    pub(super) fn places(&self) -> Vec<usize> {
        let row = |row: usize| (0..self.width).map(move |byte| self.at + row * self.pitch + byte);
        (0..self.rows).flat_map(row).collect()
    }

    /// Whether both have a byte in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let places = other.places();
        self.memory == other.memory && self.places().iter().any(|place| places.contains(place))
    }
}

/// One memory.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    pub(super) name: String,
    pub(super) on_host: bool,
    /// The operation that allocated it, if one did.
    pub(super) born: Option<usize>,
    pub(super) freed: bool,
    pub(super) bytes: Vec<u8>,
    /// The bytes that somebody wrote.
    pub(super) written: Vec<bool>,
    /// The accesses to it: the operation, the bytes, and whether it wrote.
    pub(super) touches: Vec<(usize, Block, bool)>,
}

impl Memory {
    pub(super) fn new(name: String, size: usize, on_host: bool, born: Option<usize>) -> Self {
        let len = SIZES[size % SIZES.len()];
        let written = vec![born.is_none(); len];
        Self { name, on_host, born, freed: false, bytes: vec![0; len], written, touches: Vec::new() }
    }

    /// The block for some bytes.
    pub(super) fn block(&self, memory: usize, bytes: Bytes) -> Block {
        let at = bytes.at % self.bytes.len();
        let width = bytes.len.clamp(1, self.bytes.len() - at);
        Block { memory, at, pitch: width, width, rows: 1 }
    }

    /// The block cut to at most `width`, with as many rows as fit, up to `rows`, and with `gap`
    /// bytes between them.
    pub(super) fn rows(&self, mut block: Block, width: usize, rows: usize, gap: usize) -> Block {
        (block.width, block.pitch) = (width, width + gap);
        block.rows = 1 + (self.bytes.len() - block.at - width) / block.pitch;
        block.rows = block.rows.min(rows.max(1));
        block
    }

    pub(super) fn is_written(&self, block: &Block) -> bool {
        block.places().iter().all(|&place| self.written[place])
    }

    /// Each byte, and whether somebody wrote it.
    pub(super) fn read(&self, block: &Block) -> Vec<(u8, bool)> {
        block.places().iter().map(|&place| (self.bytes[place], self.written[place])).collect()
    }

    pub(super) fn write(&mut self, block: &Block, values: &[(u8, bool)]) {
        for (place, &(byte, written)) in block.places().into_iter().zip(values) {
            (self.bytes[place], self.written[place]) = (byte, written);
        }
    }

    /// The longest runs of bytes that somebody wrote.
    pub(super) fn runs(&self, memory: usize) -> Vec<Block> {
        let mut runs: Vec<Block> = Vec::new();
        for at in (0..self.bytes.len()).filter(|&at| self.written[at]) {
            match runs.last_mut().filter(|run| run.at + run.width == at) {
                Some(run) => (run.width, run.pitch) = (run.width + 1, run.width + 1),
                None => runs.push(Block { memory, at, pitch: 1, width: 1, rows: 1 }),
            }
        }
        runs
    }
}
