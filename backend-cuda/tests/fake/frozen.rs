//! The kernels that functions are launched as: a change of a text, a grid or shared memory is seen,
//! also where it changes time and no byte.
//!
//! `tests/functions/NAME.txt` has a line for each case. With `DEVARRAY_WRITE_DIGESTS=1` the tests
//! write these files anew.

use std::{fmt::Write as _, sync::Mutex};

use devarray_conformance::Rng;
use devarray_cuda::{CudaDevice, CudaStream};

use super::{
    functions::{close, open},
    maps::Case,
    reductions_of::Reduced,
    state::Fake,
};

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

/// Compares all launches of a test with its line of `tests/functions/tests.txt`.
pub(crate) fn check_all(fake: &Fake, name: &str) {
    static FILE: Mutex<()> = Mutex::new(());
    let path = "tests/functions/tests.txt";
    let Digest { hash, launches } = fake.state(|state| state.launched);
    let line = format!("{name} {hash:016x} {launches}");
    let of_name = |line: &&str| line.split(' ').next() == Some(name);
    // Tests run side by side.
    let _file = FILE.lock();
    let text = std::fs::read_to_string(path).unwrap_or_default();
    if std::env::var_os("DEVARRAY_WRITE_DIGESTS").is_some() {
        let mut lines: Vec<&str> = text.lines().filter(|line| !of_name(line)).chain([&*line]).collect();
        lines.sort_unstable();
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
        return;
    }
    assert_eq!(text.lines().find(of_name), Some(&*line), "{path}: see `Frozen::check`");
}

/// Many cases, which are not run: their kernels do nothing.
fn many(name: &'static str, run: impl Fn(&mut Rng, usize, &(CudaDevice, CudaStream))) {
    let fake = Fake::new();
    fake.state(|state| (state.idle, state.total_bytes) = (true, 1 << 30));
    let opened = open(&fake);
    let mut frozen = Frozen::new(&fake, name);
    for ten in 0..200 {
        for which in 10 * ten..10 * ten + 10 {
            // A few are so large that launches differ by it.
            let most = if which % 20 == 0 { 1 << 19 } else { 1 << (8 + which % 6) };
            run(&mut Rng::new(1 << 20 | which), most, &opened);
        }
        frozen.case();
    }
    frozen.check();
    close(&fake, opened.0, opened.1);
}

#[test]
fn functions_are_launched_as_they_were() {
    many("many", |rng, most, (device, stream)| drop(Case::random(rng, most).run(device, stream)));
}

#[test]
fn reductions_are_launched_as_they_were() {
    many("many_reductions", |rng, most, (device, stream)| {
        drop(Reduced::random(rng, most).run(device, stream))
    });
}
