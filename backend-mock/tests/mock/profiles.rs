//! Runs random programs on all streams and host memories that profiles treat differently. An oracle of edges
//! and reachability says, for each program and profile, whether the program is correct, and under which other
//! profiles it is. A correct program leaves the results of the order of issue under every schedule.
#![allow(unsafe_code)] // makes operations on its own memory, which it keeps

use std::collections::{BTreeMap, BTreeSet};

use devarray::backend::{DownloadOp, ForeignStream, HostBuffer, Stream, UploadOp};
use devarray_conformance::Rng;
use devarray_mock::{Access, Code, MockDevice, Profile, ProfileSet, Schedule};

use super::support::{Host, PLAIN, Queue};

const CELL: usize = 8;
/// The numbers of cells on the device and in pageable memory, and of all cells. The rest is in pinned memory.
const DEVICE: usize = 2;
const PAGEABLE: usize = 2;
const CELLS: usize = 6;
/// Two streams of the library, two blocking streams, the legacy stream, the per-thread stream, and stream
/// 0.
const STREAMS: usize = 7;
const LEGACY: usize = 4;
const NULL: usize = 6;

#[derive(Debug, Clone, Copy)]
enum Do {
    Fill { stream: usize, cell: usize },
    Upload { stream: usize, from: usize, to: usize },
    Download { stream: usize, from: usize, to: usize },
    Record { stream: usize, event: usize },
    Wait { stream: usize, event: usize },
    SyncStream { stream: usize },
    SyncEvent { event: usize },
    HostRead { cell: usize },
    HostWrite { cell: usize },
}

fn program(seed: u64) -> Vec<Do> {
    let mut rng = Rng::new(seed);
    // Each program uses few streams, so that operations conflict.
    let streams: Vec<usize> = (0..3).map(|_| rng.below(STREAMS)).collect();
    let length = 3 + rng.below(8);
    let step = |_| {
        let (stream, event) = (streams[rng.below(3)], rng.below(2));
        let (cell, host) = (rng.below(DEVICE), DEVICE + rng.below(CELLS - DEVICE));
        match rng.below(11) {
            0 => Do::Fill { stream, cell },
            1..=3 => Do::Upload { stream, from: host, to: cell },
            4..=6 => Do::Download { stream, from: cell, to: host },
            7 => [Do::Record { stream, event }, Do::Wait { stream, event }][rng.below(2)],
            8 => Do::Wait { stream, event },
            9 => [Do::SyncStream { stream }, Do::SyncEvent { event }][rng.below(2)],
            _ => [Do::HostRead { cell: host }, Do::HostWrite { cell: host }][rng.below(2)],
        }
    };
    (0..length).map(step).collect()
}

fn is_pageable(cell: usize) -> bool {
    (DEVICE..DEVICE + PAGEABLE).contains(&cell)
}

/// An access: its node, its cell, and whether it writes.
type Touch = (usize, usize, bool);

/// The edges under one profile, as the table in the documentation states them.
#[derive(Default)]
struct Oracle {
    reads_early: bool,
    free_at_return: bool,
    download_blocks: bool,
    null_is_legacy: bool,
    /// For each node, the nodes before it.
    before: Vec<u64>,
    /// The last node of each lane; the nodes on blocking lanes; the nodes that are barriers.
    last: BTreeMap<usize, usize>,
    blocking: u64,
    barriers: u64,
    /// The operations that the host has waited for.
    host: u64,
    events: BTreeMap<usize, usize>,
    touched: Vec<Touch>,
}

impl Oracle {
    fn of(profile: Profile) -> Self {
        let (discrete, coherent) = (profile == Profile::Cuda12Discrete, profile == Profile::CoherentHost);
        Self {
            reads_early: !coherent,
            free_at_return: discrete,
            download_blocks: discrete,
            null_is_legacy: profile == Profile::Legacy,
            ..Self::default()
        }
    }

    fn node(&mut self, direct: u64) -> usize {
        let all = (0..self.before.len()).filter(|node| direct & 1 << node != 0);
        let before = all.fold(direct, |before, node| before | self.before[node]);
        self.before.push(before);
        self.before.len() - 1
    }

    /// Adds a node on a stream. It also comes after the nodes in `also`.
    fn on(&mut self, stream: usize, also: u64) -> usize {
        // Stream 0 and the per-thread stream are one stream, or have the order of one stream.
        let lane = if stream == NULL { NULL - 1 } else { stream };
        let is_blocking = lane >= 2;
        let is_barrier = stream == LEGACY || stream == NULL && self.null_is_legacy;
        let mut direct = also | self.host | self.last.get(&lane).map_or(0, |last| 1 << last);
        if is_blocking {
            direct |= self.barriers;
        }
        if is_barrier {
            direct |= self.blocking;
        }
        let node = self.node(direct);
        self.last.insert(lane, node);
        self.blocking |= u64::from(is_blocking) << node;
        self.barriers |= u64::from(is_barrier) << node;
        node
    }

    /// Adds an operation, and returns the nodes of the accesses that conflict with it.
    fn issue(&mut self, step: Do) -> BTreeSet<usize> {
        let touches: Vec<Touch> = match step {
            Do::Fill { stream, cell } => vec![(self.on(stream, 0), cell, true)],
            Do::Upload { stream, from, to } if is_pageable(from) => {
                // The read and the write are two accesses, and the read comes first.
                let read = self.before.len();
                let host = self.host;
                self.before.push(0);
                let write = self.on(stream, 1 << read);
                let stream_order = self.before[write] & !(1 << read);
                let direct = if self.reads_early { host } else { stream_order };
                let nodes = (0..read).filter(|node| direct & 1 << node != 0);
                self.before[read] = nodes.fold(direct, |before, node| before | self.before[node]);
                self.host |= u64::from(self.free_at_return) << read;
                vec![(read, from, false), (write, to, true)]
            }
            Do::Upload { stream, from, to } => {
                let node = self.on(stream, 0);
                vec![(node, from, false), (node, to, true)]
            }
            Do::Download { stream, from, to } => {
                let node = self.on(stream, 0);
                self.host |= u64::from(self.download_blocks && is_pageable(to)) << node;
                vec![(node, from, false), (node, to, true)]
            }
            Do::Record { stream, event } => {
                let node = self.on(stream, 0);
                self.events.insert(event, node);
                vec![]
            }
            Do::Wait { stream, event } => {
                if let Some(record) = self.events.get(&event) {
                    self.on(stream, 1 << record);
                }
                vec![]
            }
            Do::SyncStream { stream } => {
                let lane = if stream == NULL { NULL - 1 } else { stream };
                self.host |= self.last.get(&lane).map_or(0, |last| 1 << last);
                vec![]
            }
            Do::SyncEvent { event } => {
                self.host |= self.events.get(&event).map_or(0, |record| 1 << record);
                vec![]
            }
            Do::HostRead { cell } => vec![(self.node(self.host), cell, false)],
            Do::HostWrite { cell } => vec![(self.node(self.host), cell, true)],
        };
        let mut conflicts = BTreeSet::new();
        for (node, cell, write) in &touches {
            for (earlier, other, wrote) in &self.touched {
                let clash = cell == other && (*write || *wrote) && self.before[*node] & 1 << earlier == 0;
                if clash {
                    conflicts.insert(*earlier);
                }
            }
        }
        // Everything that is issued later comes after an access of the host.
        if matches!(step, Do::HostRead { .. } | Do::HostWrite { .. }) {
            self.host |= 1 << touches[0].0;
        }
        self.touched.extend(touches);
        conflicts
    }
}

/// The first wrong step under each profile, and the profiles under which this step is right.
fn due(steps: &[Do]) -> Vec<Option<(usize, ProfileSet)>> {
    let conflicts: Vec<Vec<BTreeSet<usize>>> = Profile::ALL
        .map(|profile| {
            let mut oracle = Oracle::of(profile);
            steps.iter().map(|&step| oracle.issue(step)).collect()
        })
        .into();
    let first = |of: &Vec<BTreeSet<usize>>| {
        let at = of.iter().position(|conflicts| !conflicts.is_empty())?;
        let passes = |(other, _): &(&Vec<BTreeSet<usize>>, Profile)| other[at].is_disjoint(&of[at]);
        Some((at, conflicts.iter().zip(Profile::ALL).filter(passes).map(|(_, profile)| profile).collect()))
    };
    conflicts.iter().map(first).collect()
}

/// The values that the program leaves in the cells if it runs in the order of issue.
fn in_order(steps: &[Do]) -> [u8; CELLS] {
    let mut cells = [0; CELLS];
    for (value, &step) in (1..).zip(steps) {
        match step {
            Do::Fill { cell, .. } | Do::HostWrite { cell } => cells[cell] = value,
            Do::Upload { from, to, .. } | Do::Download { from, to, .. } => cells[to] = cells[from],
            _ => {}
        }
    }
    cells
}

/// Plays a program. Returns the first finding of the device, and the values in the cells.
fn played(steps: &[Do], device: &MockDevice) -> (Option<(usize, Code, ProfileSet)>, [u8; CELLS]) {
    let library = [(); 2].map(|()| Queue::open(device));
    let mut queues: Vec<Queue> = library.into();
    queues.extend([(); 2].map(|()| Queue(device.open_blocking_stream().expect(PLAIN))));
    for stream in [ForeignStream::LEGACY, ForeignStream::PER_THREAD] {
        queues.push(Queue(device.foreign_stream(stream).expect(PLAIN)));
    }
    queues.push(Queue(device.null_stream()));
    let buffers = [(); DEVICE].map(|()| queues[0].alloc(CELL));
    buffers.iter().for_each(|buffer| queues[0].fill(buffer, 0, CELL, 0).expect(PLAIN));
    device.finish();
    let pageable = Box::into_raw(vec![0_u8; PAGEABLE * CELL].into_boxed_slice());
    let pinned = Host::new(device, &[0; (CELLS - DEVICE - PAGEABLE) * CELL]);
    let host = |cell: usize| match cell - DEVICE {
        at if at < PAGEABLE => pageable.cast::<u8>().wrapping_add(at * CELL),
        at => pinned.0.as_ptr().wrapping_add((at - PAGEABLE) * CELL),
    };
    let mut events = BTreeMap::new();
    let mut told = None;
    for (value, &step) in (1..).zip(steps) {
        match step {
            Do::Fill { stream, cell } => queues[stream].fill(&buffers[cell], 0, CELL, value).expect(PLAIN),
            Do::Upload { stream, from, to } => {
                // SAFETY: in bounds of memory that is kept until the end. The simulator defines the
                // effect of a race.
                let op = unsafe { UploadOp::new_unchecked(&buffers[to], 0, host(from).cast_const(), CELL) };
                queues[stream].0.upload(&op).expect(PLAIN);
            }
            Do::Download { stream, from, to } => {
                // SAFETY: as for an upload.
                let op = unsafe { DownloadOp::new_unchecked(&buffers[from], 0, host(to), CELL) };
                queues[stream].0.download(&op).expect(PLAIN);
            }
            Do::Record { stream, event } => drop(events.insert(event, queues[stream].record())),
            Do::Wait { stream, event } => {
                if let Some(event) = events.get(&event) {
                    queues[stream].wait(event);
                }
            }
            Do::SyncStream { stream } => queues[stream].synchronize(),
            Do::SyncEvent { event } => {
                if let Some(event) = events.get(&event) {
                    assert_eq!(
                        devarray::backend::Event::synchronize(event),
                        devarray::backend::Quiesced::Done
                    );
                }
            }
            Do::HostRead { cell } | Do::HostWrite { cell } => {
                let writes = matches!(step, Do::HostWrite { .. });
                let (start, access) = (host(cell), if writes { Access::Write } else { Access::Read });
                device.host_access_at(start.cast_const()..start.wrapping_add(CELL).cast_const(), access);
                if writes {
                    // SAFETY: inside the memory; no operation runs meanwhile.
                    unsafe { start.write_bytes(value, CELL) };
                }
            }
        }
        if let Some(finding) = device.first_finding() {
            told = Some((usize::from(value) - 1, finding.code, finding.passes_under));
            break;
        }
    }
    device.finish();
    let mut cells = [0; CELLS];
    for (cell, value) in cells.iter_mut().enumerate() {
        *value = match cell {
            _ if cell < DEVICE => queues[0].bytes(device, &buffers[cell], 0, 1)[0],
            // SAFETY: inside the memory; nothing is in flight.
            _ => unsafe { host(cell).read() },
        };
    }
    for buffer in buffers {
        queues[0].free(buffer).expect(PLAIN);
    }
    device.finish();
    // SAFETY: from `Box::into_raw`, and nothing is in flight.
    drop(unsafe { Box::from_raw(pageable) });
    (told, cells)
}

#[test]
fn the_judge_says_of_every_profile_what_reachability_says() {
    let mut seen = BTreeMap::<String, usize>::new();
    for seed in 0..3000 {
        let steps = program(seed);
        for (profile, due) in Profile::ALL.into_iter().zip(due(&steps)) {
            let schedule = match seed % 5 {
                0 => Schedule::Lazy,
                1 => Schedule::ReverseLazy,
                2 => Schedule::Eager,
                _ => Schedule::Random,
            };
            let device = MockDevice::builder().profile(profile).schedule(schedule).seed(seed).build();
            let (told, cells) = played(&steps, &device);
            let place = told.map(|(at, _, passes)| (at, passes));
            assert_eq!(place, due, "seed {seed} under {profile}: {steps:?}");
            match told {
                None => assert_eq!(cells, in_order(&steps), "seed {seed} under {profile}: {steps:?}"),
                Some((_, code, passes)) => {
                    assert_eq!(code == Code::ReliesOnProfile, !passes.is_empty(), "seed {seed}: {code}");
                }
            }
            let what = told.map_or("right".to_owned(), |(_, _, passes)| format!("right under [{passes}]"));
            *seen.entry(format!("{profile}: {what}")).or_default() += 1;
        }
    }
    println!("{seen:#?}");
    for (what, least) in [
        ("strict: right", 300),
        ("strict: right under []", 300),
        ("strict: right under [cuda12-discrete]", 100),
        ("strict: right under [legacy]", 100),
        ("strict: right under [cuda12-discrete, coherent-host]", 20),
        ("cuda12-discrete: right", 400),
        ("legacy: right", 400),
    ] {
        assert!(seen.get(what).is_some_and(|&count| count >= least), "{what}: {seen:#?}");
    }
}

/// Under one profile, stream 0 waits for the blocking streams. A wait for its event is then a wait for them,
/// too.
#[test]
fn an_event_that_the_host_waited_for_counts_as_each_profile_has_it() {
    let (event, blocking, pinned) = (0, 2, DEVICE + PAGEABLE);
    let steps = [
        Do::Upload { stream: blocking, from: pinned, to: 0 },
        Do::Record { stream: NULL, event },
        Do::SyncEvent { event },
        Do::HostWrite { cell: pinned },
    ];
    let legacy: ProfileSet = [Profile::Legacy].into_iter().collect();
    // The twin does not wait for the event, and is wrong under every profile.
    for (steps, passes) in
        [(steps.to_vec(), legacy), ([&steps[..2], &steps[3..]].concat(), ProfileSet::default())]
    {
        let device = MockDevice::builder().profile(Profile::Strict).build();
        let told = played(&steps, &device).0.map(|(at, _, passes)| (at, passes));
        assert_eq!(told, Some((steps.len() - 1, passes)));
        for (profile, due) in Profile::ALL.into_iter().zip(due(&steps)) {
            let device = MockDevice::builder().profile(profile).build();
            let told = played(&steps, &device).0.map(|(at, _, passes)| (at, passes));
            assert_eq!(told, due, "under {profile}");
        }
    }
}
