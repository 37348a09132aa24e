//! Random programs on host memory at tight limits, beside a model: statistics are exact, contents
//! are right, and nothing leaks.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use devarray::{
    Array, Context, Error, ManagedArray, MappedArray, PinnedBuffer, PinnedLimits, StreamHandle,
    backend::{HostFlags, Location},
};
use devarray_conformance::Rng;
use devarray_mock::{MockDevice, Schedule};

const PROGRAMS: u64 = 2000;
const STEPS: usize = 40;
const LIMIT_BYTES: usize = 12_000;

/// A live object, with the byte that fills it.
#[derive(Default)]
struct Live {
    pinned: Vec<(PinnedBuffer<u8, MockDevice>, u8)>,
    mapped: Vec<(MappedArray<u8, MockDevice>, u8)>,
    managed: Vec<(ManagedArray<u8, MockDevice>, u8)>,
    /// The number of allocations that the limits refused.
    refused: u64,
}

impl Live {
    fn pinned_bytes(&self) -> usize {
        let pinned: usize = self.pinned.iter().map(|(buffer, _)| buffer.len()).sum();
        pinned + self.mapped.iter().map(|(array, _)| array.len()).sum::<usize>()
    }

    fn managed_bytes(&self) -> usize {
        self.managed.iter().map(|(array, _)| array.len()).sum()
    }
}

/// Checks that an allocation of `len` bytes succeeds or fails according to `room`.
fn expect<T>(result: devarray::Result<T>, len: usize, room: usize, refused: &mut u64) -> Option<T> {
    match result {
        Ok(made) => {
            assert!(len <= room, "{len} bytes in {room}");
            Some(made)
        }
        Err(Error::OutOfMemory { requested_bytes, .. }) => {
            assert!(len > room && requested_bytes == len, "{len} bytes in {room}");
            *refused += 1;
            None
        }
        Err(other) => panic!("{other}"),
    }
}

fn step(context: &Context<MockDevice>, streams: &[StreamHandle<MockDevice>], live: &mut Live, rng: &mut Rng) {
    let (len, byte) = (1 + rng.below(5000), rng.below(255) as u8 + 1);
    let stream = &streams[rng.below(streams.len())];
    // Memory given up in flight is counted until the device is finished with it.
    streams.iter().for_each(|stream| stream.synchronize().unwrap());
    assert_eq!(context.host_memory_statistics().pinned_bytes, live.pinned_bytes());
    assert_eq!(context.host_memory_statistics().managed_bytes, live.managed_bytes());
    let room = LIMIT_BYTES - live.pinned_bytes();
    match rng.below(9) {
        0 => {
            let flags = if rng.below(2) == 0 { HostFlags::new().portable() } else { HostFlags::new() };
            if let Some(mut buffer) =
                expect(context.pinned_with::<u8>(len, flags), len, room, &mut live.refused)
            {
                assert!(buffer.iter().all(|&byte| byte == 0));
                buffer.fill(byte);
                live.pinned.push((buffer, byte));
            }
        }
        1 => {
            if let Some(mut array) =
                expect(MappedArray::<u8, _>::zeros(context, &[len]), len, room, &mut live.refused)
            {
                array.view_mut().fill(stream, byte).unwrap();
                live.mapped.push((array, byte));
            }
        }
        2 => {
            let room = LIMIT_BYTES - live.managed_bytes();
            if let Some(mut array) =
                expect(ManagedArray::<u8, _>::zeros(context, &[len]), len, room, &mut live.refused)
            {
                array.host_mut().unwrap().fill(byte);
                array.prefetch(stream, Location::Device).unwrap();
                live.managed.push((array, byte));
            }
        }
        3 if !live.pinned.is_empty() => {
            let (buffer, held) = live.pinned.swap_remove(rng.below(live.pinned.len()));
            assert!(buffer.iter().all(|&byte| byte == held));
        }
        4 if !live.mapped.is_empty() => {
            let (mut array, held) = live.mapped.swap_remove(rng.below(live.mapped.len()));
            assert!(array.host().unwrap().iter().all(|&byte| byte == held));
            array.view_mut().fill(stream, byte).unwrap(); // dropped in flight
        }
        5 if !live.managed.is_empty() => {
            let (array, held) = live.managed.swap_remove(rng.below(live.managed.len()));
            array.prefetch(stream, Location::Host).unwrap();
            assert!(array.host().unwrap().iter().all(|&byte| byte == held));
        }
        6 if !live.mapped.is_empty() && !live.managed.is_empty() => {
            let (from, to) = (rng.below(live.mapped.len()), rng.below(live.managed.len()));
            let (source, held) = &live.mapped[from];
            let (target, holds) = &mut live.managed[to];
            if source.len() == target.len() {
                target.view_mut().copy_from(stream, &source.view()).unwrap();
                *holds = *held;
            } else {
                target.view_mut().fill(stream, byte).unwrap();
                *holds = byte;
            }
        }
        7 if !live.pinned.is_empty() => {
            let (buffer, held) = live.pinned.swap_remove(rng.below(live.pinned.len()));
            // It is small enough for the device beside all managed memory.
            let Ok(mut array) = Array::<u8, _>::zeros(stream, &[buffer.len()]) else {
                return live.pinned.push((buffer, held));
            };
            let transfer = array.view_mut().upload(stream, buffer).unwrap();
            if rng.below(2) == 0 {
                live.pinned.push((transfer.wait().unwrap(), held));
            } // else dropped in flight
        }
        _ => {
            let mut data = vec![byte; len];
            let mut whole = Array::<u8, _>::zeros(stream, &[len / 2 + 1]).unwrap();
            context
                .with_pinned(&mut data, |data| {
                    context.with_pinned(&mut data[..len / 2 + 1], |part| {
                        stream.scope(|s| s.upload(part, &mut whole.view_mut()))
                    })
                })
                .unwrap()
                .unwrap()
                .unwrap()
                .unwrap();
            assert!(whole.to_vec(stream).unwrap().iter().all(|&x| x == byte));
            assert_eq!(context.host_memory_statistics().registered, 0);
        }
    }
}

#[test]
fn random_programs_at_tight_limits() {
    let mut refused = 0;
    for seed in 1..=PROGRAMS {
        let mut rng = Rng::new(seed);
        let schedule = if seed % 2 == 0 { Schedule::Random } else { Schedule::Lazy };
        let builder = MockDevice::builder().schedule(schedule).seed(seed);
        // Managed memory counts against the device's free memory, so nothing else stays there
        // between steps.
        let device = builder.memory_limit_bytes(LIMIT_BYTES).build();
        let context = Context::new(device.clone()).unwrap();
        context.set_pinned_limits(PinnedLimits::new(LIMIT_BYTES, 0));
        let streams = [context.stream().unwrap(), context.stream().unwrap()];
        let mut live = Live::default();
        for _ in 0..STEPS {
            step(&context, &streams, &mut live, &mut rng);
        }
        refused += live.refused;
        drop((live, streams));
        let errors = context.take_errors();
        assert_eq!(errors, [], "seed {seed}");
        drop(context);
        assert!(device.report().is_clean(), "seed {seed}: {}", device.report());
    }
    assert!(refused > PROGRAMS, "the limits are met all the time: {refused}");
}

/// Threads that pin, register and map at once: the counts are right in the end.
#[test]
fn threads_share_the_counts() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    context.set_pinned_limits(PinnedLimits::new(1 << 20, 1 << 14));
    std::thread::scope(|threads| {
        for thread in 0..4_usize {
            let context = context.clone();
            threads.spawn(move || {
                let stream = context.stream().unwrap();
                let mut data = vec![thread as u8; 1000];
                for round in 0..200 {
                    let mut mapped = MappedArray::<u8, _>::zeros(&context, &[100 + round]).unwrap();
                    mapped.view_mut().fill(&stream, thread as u8).unwrap();
                    assert!(mapped.host().unwrap().iter().all(|&x| usize::from(x) == thread));
                    mapped.view_mut().fill(&stream, 0).unwrap();
                    drop(mapped);
                    drop(context.pinned_from(&data).unwrap());
                    context.with_pinned(&mut data, |data| assert_eq!(data.len(), 1000)).unwrap();
                }
                stream.synchronize().unwrap();
            });
        }
    });
    let statistics = context.host_memory_statistics();
    assert_eq!((statistics.pinned, statistics.registered), (0, 0));
    assert!(statistics.idle_bytes <= 1 << 14 && statistics.reuses > 0);
    drop(context);
    assert!(device.report().is_clean(), "{}", device.report());
}
