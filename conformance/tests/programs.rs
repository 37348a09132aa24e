//! Random programs on the simulator: right programs are right under every schedule, and failures
//! are found, reduced, and printed as tests.

#[path = "programs/raw.rs"]
mod raw;

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    env, fs,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use devarray_conformance::{
    Harness,
    programs::{
        Away, Combined, End, Extras, Formula, Found, Item, MOST_OPS, Op, Ordered, Program, Search, Start,
        Transform, part, programs,
    },
};
use devarray_mock::{MockDevice, Schedule};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};

thread_local! {
    /// The device that this thread opened last.
    static LAST: RefCell<Option<MockDevice>> = const { RefCell::new(None) };
}

const SCHEDULES: [Schedule; 3] = [Schedule::Lazy, Schedule::ReverseLazy, Schedule::Random];

/// All extras that the simulator has.
fn extras() -> Extras<MockDevice> {
    Extras::none().functions().kernels()
}

/// The number of programs in one search, which has one seed.
const BLOCK: usize = 250;

fn harness(schedule: &Schedule, seed: u64, cases: usize) -> Harness<MockDevice> {
    let schedule = schedule.clone();
    Harness::new(move || {
        let device = MockDevice::builder().schedule(schedule.clone()).seed(seed).build();
        LAST.set(Some(device.clone()));
        Ok::<_, devarray::Error>(device)
    })
    .with_second(|| Ok::<_, devarray::Error>(MockDevice::new()))
    .with_seed(seed)
    .with_cases(cases)
}

/// Fails if the judge of the device that was opened last has found anything.
fn clean() -> Result<(), String> {
    let report = LAST.with_borrow(|last| last.as_ref().map(MockDevice::report));
    match report.filter(|report| !report.is_clean()) {
        Some(report) => Err(report.to_string().lines().take(3).collect::<Vec<_>>().join(" | ")),
        None => Ok(()),
    }
}

fn search(schedule: &Schedule, seed: u64, cases: usize) -> Result<(), Box<Found>> {
    let again = format!(
        "DEVARRAY_PROGRAMS={cases} DEVARRAY_PROGRAMS_SEED={seed} cargo test -p devarray-conformance --test programs \
         many -- --ignored # {schedule:?}"
    );
    Search::new().again(again).after(clean).run_with(&harness(schedule, seed, cases), extras())
}

#[test]
fn programs_give_what_running_them_call_by_call_gives() {
    for schedule in SCHEDULES {
        search(&schedule, 1, 150).unwrap_or_else(|found| panic!("{found}"));
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Runs `DEVARRAY_PROGRAMS` programs under each schedule, from `DEVARRAY_PROGRAMS_SEED` on, on all
/// processors. Another seed is another shard; the blocks of a shard have their own seeds, and the
/// first block has the shard's seed.
#[test]
#[ignore = "as many programs as the environment asks for"]
fn many() {
    let (count, seed) = (number("DEVARRAY_PROGRAMS", 100_000), number("DEVARRAY_PROGRAMS_SEED", 0));
    for schedule in SCHEDULES {
        if let Some((before, found)) = in_blocks(count, seed, |seed, cases| search(&schedule, seed, cases)) {
            let (case, len) = (before + found.case as u64, found.program.ops.len());
            panic!("{found}\nfound: program {case} under {schedule:?}, {len} operations");
        }
        println!("{schedule:?}: {count} programs hold");
    }
}

/// Searches on all processors, block by block, each with its own seed. Returns the finding of the
/// first block that fails, and the number of programs before that block.
fn in_blocks<E: Send>(
    count: u64,
    seed: u64,
    search: impl Fn(u64, usize) -> Result<(), E> + Sync,
) -> Option<(u64, E)> {
    let blocks = count.div_ceil(BLOCK as u64);
    let next = AtomicU64::new(0);
    let blocks_in_turn = || loop {
        let block = next.fetch_add(1, Relaxed);
        if block >= blocks {
            return None;
        }
        let before = block * BLOCK as u64;
        let cases = usize::try_from(count - before).unwrap_or(BLOCK).min(BLOCK);
        if let Err(found) = search(seed.wrapping_add(block.wrapping_mul(0x1_0000_0001)), cases) {
            next.store(blocks, Relaxed);
            return Some((before, found));
        }
    };
    thread::scope(|scope| {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads: Vec<_> = (0..processors).map(|_| scope.spawn(blocks_in_turn)).collect();
        let joined = threads.into_iter().filter_map(|thread| thread.join().expect("a search does not panic"));
        joined.min_by_key(|(before, _)| *before)
    })
}

/// Lower bounds for what is drawn and for calls of devices, so that nothing that is meant to be
/// tried is left out.
#[test]
fn programs_cover_what_they_claim() {
    const PROGRAMS: usize = 600;
    let mut runner = TestRunner::deterministic();
    let (mut by_kind, mut by_threads, mut callers) = (HashMap::<String, usize>::new(), [0; 4], [0; 4]);
    for _ in 0..PROGRAMS {
        let program = programs(MOST_OPS).new_tree(&mut runner).unwrap().current();
        by_threads[program.threads] += 1;
        let called: HashSet<usize> = program.ops.iter().map(|op| op.thread(program.threads)).collect();
        callers[called.len()] += 1;
        for op in &program.ops {
            let kind = format!("{op:?}").split([' ', '{']).next().unwrap().to_owned();
            *by_kind.entry(kind).or_default() += 1;
        }
    }
    let all: usize = by_kind.values().sum();
    assert_eq!(by_kind.len(), 39, "{by_kind:?}");
    let floor = |kind: &str| if kind == "Large" { 1000 } else { 150 };
    assert!(
        by_kind.iter().all(|(kind, &count)| count * floor(kind) > all),
        "each is more than one in 150, but for large arrays: {by_kind:?}"
    );
    assert!(by_threads[1..].iter().all(|&count| count * 10 > PROGRAMS), "{by_threads:?}");
    assert!(callers[2..].iter().all(|&count| count * 12 > PROGRAMS), "threads that do call: {callers:?}");

    // For each kind of work, the number of programs in which the device did it.
    let did = Arc::new([const { AtomicU64::new(0) }; 14]);
    let counted = Arc::clone(&did);
    let look = move || {
        let done = LAST.with_borrow(|last| last.as_ref().map(MockDevice::statistics)).expect("a device");
        let of = done.enqueued;
        let moved = [of.copies, of.fills, of.uploads, of.downloads].map(|tally| tally.count);
        let computed = [of.maps, of.reductions, of.gathers, of.launches].map(|tally| tally.count);
        let waited = [of.waits, of.records, done.queries, of.frees.count];
        let ordered = [of.orders, of.products].map(|tally| tally.count);
        for (count, times) in
            counted.iter().zip([moved, computed, waited].as_flattened().iter().chain(&ordered))
        {
            count.fetch_add(u64::from(*times > 0), Relaxed);
        }
        Ok(())
    };
    let ran = 300;
    Search::new().after(look).run_with(&harness(&Schedule::Random, 5, ran), extras()).unwrap();
    let did: Vec<u64> = did.iter().map(|count| count.load(Relaxed)).collect();
    let floors = [50, 50, 50, 50, 15, 10, 20, 12, 50, 50, 15, 50, 30, 15];
    assert!(did.iter().zip(floors).all(|(&count, percent)| count * 100 >= percent * ran as u64), "{did:?}");
}

/// The twin: every objection is found, and the program that remains has nothing unnecessary.
#[test]
fn what_is_wrong_is_found_and_made_small() {
    let copied = || {
        let copies = LAST
            .with_borrow(|last| last.as_ref().map_or(0, |device| device.statistics().enqueued.copies.count));
        if copies > 1 { Err(format!("{copies} copies")) } else { Ok(()) }
    };
    let found =
        Search::new().after(copied).run_with(&harness(&Schedule::Lazy, 3, 100), extras()).unwrap_err();
    let ops = &found.program.ops;
    assert!(ops.len() <= 4 && matches!(ops[0], Op::Create { .. } | Op::Large { .. }), "{found}");
    let text = found.to_string();
    assert!(text.lines().count() <= 15 && text.contains("seed 3") && text.contains("expected: "), "{text}");
    let call = ".check_with(&Harness::new(|| device()), Extras::none().functions().kernels()).unwrap() }";
    assert!(text.ends_with(call), "{text}");
}

/// A printed program is equal to the program.
#[test]
fn printed_programs_compile_as_tests() {
    use Transform::{Cut, Index, Whole};
    let program = Program::new(
        Item::U32,
        2,
        &[
            Op::Create { stream: 0, extents: [4, 3, 1], rank: 2, start: Start::Uploaded, value: 7 },
            Op::Contiguous { stream: 1, from: part(0, [Whole, Transform::Flip(1)]), fortran: true },
            Op::Map {
                stream: 1,
                to: part(1, [Index(0, 2), Whole]),
                from: part(0, [Cut { axis: 1, start: 0, step: 1, count: 2 }, Transform::NewAxis(0)]),
                formula: Formula::Fold,
                value: 9,
            },
            Op::Kernel { stream: 1, to: part(0, [Whole, Whole]), from: part(1, [Whole, Whole]), value: 3 },
            Op::Put { stream: 0, to: part(0, [Whole, Whole]), axis: 1, value: 5 },
            Op::Sort { stream: 1, from: part(0, [Whole, Whole]), axis: 1, by: Ordered::Top, value: 3 },
            Op::Combine { stream: 0, to: part(1, [Whole, Whole]), axis: 0, by: Combined::Most, value: 2 },
            Op::Matmul { stream: 0, first: part(0, [Whole, Whole]), second: part(2, [Whole, Whole]) },
            Op::Recorded {
                stream: 1,
                to: part(1, [Whole, Whole]),
                beside: part(0, [Transform::Flip(0), Whole]),
                from: part(0, [Whole, Whole]),
                calls: 2,
                launches: 2,
                value: 9,
            },
            Op::Square { stream: 0, to: part(0, [Whole, Whole]), from: part(2, [Whole, Whole]) },
            Op::Take { stream: 0, from: part(1, [Whole, Whole]), axis: 0, value: 4 },
            Op::StartDownload { stream: 0, from: part(1, [Transform::Section(0, 1, 1), Whole]) },
            Op::EndTransfer { transfer: 0, end: End::Polled },
            Op::Drop { array: 0, away: Away::Elsewhere },
        ],
    )
    .on_threads(2);
    let printed = fs::read_to_string("tests/printed/program.rs").unwrap();
    assert_eq!(printed.trim_end(), program.to_string());
}

/// The file that the test above compares with.
#[expect(clippy::redundant_closure, reason = "as printed: what opens a device may be any expression")]
mod printed {
    use devarray_mock::MockDevice;

    fn device() -> devarray::Result<MockDevice> {
        Ok(MockDevice::new())
    }

    include!("printed/program.rs");
}
