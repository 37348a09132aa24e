//! Which kernels functions are launched as: a change of a text, a grid or shared memory is seen,
//! also where it changes time and no byte.
//!
//! `tests/functions/NAME.txt` has a line for each case. With `DEVARRAY_WRITE_DIGESTS=1` the tests
//! write these files anew.

use std::fmt::Write as _;

use super::state::Fake;

/// A 64-bit FNV-1a hash of launches, and how many they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    /// Different from the usual start by exclusive or, so that no launches are 0.
    hash: u64,
    launches: u32,
}

impl Digest {
    /// Adds a launch of a text.
    pub(crate) fn launch(&mut self, text: u64, numbers: [u32; 2]) {
        self.launches += 1;
        let bytes = text.to_le_bytes().into_iter().chain(numbers.into_iter().flat_map(u32::to_le_bytes));
        self.hash = fnv(self.hash, bytes);
    }
}

/// Continues a hash.
pub(crate) fn fnv(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(hash ^ START, step) ^ START
}

/// The launches of cases, one after the other.
pub(crate) struct Frozen<'f> {
    fake: &'f Fake,
    name: &'static str,
    lines: String,
    cases: usize,
}

impl<'f> Frozen<'f> {
    pub(crate) fn new(fake: &'f Fake, name: &'static str) -> Self {
        fake.state(|state| state.launched = Digest::default());
        Self { fake, name, lines: String::new(), cases: 0 }
    }

    /// Ends a case.
    pub(crate) fn case(&mut self) {
        let Digest { hash, launches } = self.fake.state(|state| std::mem::take(&mut state.launched));
        writeln!(self.lines, "{:4} {hash:016x} {launches}", self.cases).unwrap();
        self.cases += 1;
    }

    /// Compares all cases with the file.
    pub(crate) fn check(self) {
        let path = format!("tests/functions/{}.txt", self.name);
        if std::env::var_os("DEVARRAY_WRITE_DIGESTS").is_some() {
            std::fs::write(&path, &self.lines).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap();
        let differ = |(found, expected): &(&str, &str)| found != expected;
        let changed: Vec<_> = self.lines.lines().zip(expected.lines()).filter(differ).collect();
        assert!(
            changed.is_empty() && self.lines.len() == expected.len(),
            "{path}: launches are other ones (case, digest, number; found and expected); if that is meant, \
             write the file anew by DEVARRAY_WRITE_DIGESTS=1: {changed:?}"
        );
    }
}
