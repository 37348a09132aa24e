//! Computes what numbers name on a device, and compares every byte with the interpreter's.

use std::{collections::BTreeMap, time::Duration};

use devarray_cuda::{CudaDevice, CudaStream};

use super::{
    Strata, Stratum, batch,
    shown::operands,
    shrink::smaller,
    work::{Work, Wrong, together},
};

/// Pairs that are computed together.
const TOGETHER: usize = 192;

/// One number in `ALONE` is also computed by the driver alone, a module a function. It has no factor
/// in common with the cycle of the strata.
const ALONE: u64 = 61;

/// A device whose functions are compiled together, and one as programs open it.
pub(crate) struct Devices<'d> {
    pub(crate) together: (&'d CudaDevice, &'d CudaStream),
    pub(crate) alone: (&'d CudaDevice, &'d CudaStream),
}

/// A pair that is wrong.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) number: u64,
    pub(crate) nth: usize,
    pub(crate) wrong: Wrong,
    /// Whether the driver compiled the function alone.
    pub(crate) alone: bool,
}

/// Counts of computed work.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// Functions and pairs, by the place of the stratum in the list of them.
    pub(crate) strata: BTreeMap<usize, [u64; 2]>,
    /// Pairs that were also computed with a module a function.
    pub(crate) alone: u64,
    pub(crate) kernels: u64,
    pub(crate) modules: u64,
    pub(crate) loading: Duration,
    pub(crate) faults: Vec<Fault>,
    /// Numbers in whose texts a mistake was planted.
    pub(crate) planted: Vec<u64>,
}

/// Computes the functions of some numbers, until there is no time left.
///
/// # Panics
///
/// The driver refuses something.
pub(crate) fn check(
    strata: &Strata,
    numbers: impl Iterator<Item = u64>,
    devices: &Devices<'_>,
    has_time: impl Fn() -> bool,
) -> Counted {
    let mut counted = Counted::default();
    let (mut works, mut names) = (Vec::new(), Vec::new());
    for number in numbers.take_while(|_| has_time()) {
        let place = Stratum::ALL.iter().position(|(of, _)| *of == Strata::place(number).0).unwrap();
        let own = strata.works(number);
        let [functions, pairs] = counted.strata.entry(place).or_default();
        *functions += 1;
        *pairs += own.len() as u64;
        names.extend((0..own.len()).map(|nth| (number, nth)));
        if number % ALONE == 0 {
            for (nth, work) in own.iter().enumerate() {
                counted.alone += 1;
                if let Some(wrong) = alone(work, devices) {
                    counted.faults.push(Fault { number, nth, wrong, alone: true });
                }
            }
        }
        works.extend(own);
        if works.len() >= TOGETHER {
            all(&mut counted, &mut works, &mut names, devices);
        }
    }
    if !works.is_empty() {
        all(&mut counted, &mut works, &mut names, devices);
    }
    counted
}

fn alone(work: &Work, devices: &Devices<'_>) -> Option<Wrong> {
    work.wrong(&work.run(devices.alone.0, devices.alone.1), &work.expected())
}

/// Tells which numbers were computed, if that panics: a kernel can end the whole process.
struct Telling<'n>(&'n [(u64, usize)]);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if let (true, [(first, _), .., (last, _)]) = (std::thread::panicking(), self.0) {
            eprintln!("numbers {first} to {last} were computed together; NUMBER={first} computes one");
        }
    }
}

fn all(counted: &mut Counted, works: &mut Vec<Work>, names: &mut Vec<(u64, usize)>, devices: &Devices<'_>) {
    let telling = Telling(names);
    let found = together(devices.together.0, devices.together.1, works);
    drop(telling);
    for (&(number, nth), wrong) in names.iter().zip(found) {
        counted.faults.extend(wrong.map(|wrong| Fault { number, nth, wrong, alone: false }));
    }
    let told = batch::told();
    counted.planted.extend(told.planted.iter().map(|&label| names[label].0));
    counted.kernels += told.entries as u64;
    counted.modules += told.modules as u64;
    counted.loading += told.loading;
    works.clear();
    names.clear();
}

/// A fault in words: what it is, and the smallest function found that is wrong by itself.
pub(crate) fn told(strata: &Strata, fault: &Fault, devices: &Devices<'_>) -> String {
    let Fault { number, nth, wrong, alone: by_itself } = fault;
    let work = strata.works(*number).swap_remove(*nth);
    let how = if *by_itself { "a module of its own" } else { "a module of many" };
    let what = if wrong.elsewhere { "a byte elsewhere, at" } else { "element" };
    let mut text = format!(
        "wrong: number {number} ({}), pair {nth}, in {how}: {what} {} of the memory is {:02x?}, not {:02x?}\n",
        Strata::place(*number).0.name(),
        wrong.element,
        wrong.found,
        wrong.expected
    );
    if let Some(joined) = strata.joined(*number) {
        text += &format!("it joins {:?}\n", joined.primitives());
    }
    text += &in_words(&work, wrong);
    let Some(_) = alone(&work, devices) else {
        return text + "it is right in a module of its own\n";
    };
    let (small, tried) = smaller(&work, |work| alone(work, devices).is_some());
    if let Some(wrong) = alone(&small, devices) {
        text += &format!("smaller, of {tried} tried: {:02x?}, not {:02x?}\n", wrong.found, wrong.expected);
        text += &in_words(&small, &wrong);
    }
    text
}

fn in_words(work: &Work, wrong: &Wrong) -> String {
    match work {
        Work::Map(case) => format!("{}\n{work}", operands(case, wrong)),
        Work::Reduce(_) => work.to_string(),
    }
}
