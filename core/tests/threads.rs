//! Threads that share streams, events and arrays neither race nor block each other for good.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::{sync::Mutex, thread};

use devarray::{Array, Context, EventHandle, StreamHandle, Transfer};
use devarray_conformance::Rng;
use devarray_mock::{MockDevice, Schedule};

const LEN: usize = 48;

type Mock = MockDevice;

/// An array and its expected elements. A thread that holds the lock submits a call and notes it, so
/// the calls on one array have one order.
type Slot = Mutex<(Array<u32, Mock>, Vec<u32>)>;

/// The state that all threads use.
struct Shared {
    context: Context<Mock>,
    slots: Vec<Slot>,
    streams: Mutex<Vec<StreamHandle<Mock>>>,
    events: Mutex<Vec<EventHandle<Mock>>>,
}

/// One thread.
struct Worker<'a> {
    shared: &'a Shared,
    rng: Rng,
    own: StreamHandle<Mock>,
    in_flight: Vec<(Transfer<u32, Mock>, Vec<u32>)>,
}

impl Worker<'_> {
    fn call(&mut self, value: u32) {
        let Shared { context, slots, streams, events } = self.shared;
        let stream = if self.rng.below(3) == 0 {
            let streams = streams.lock().unwrap();
            streams[self.rng.below(streams.len())].clone()
        } else {
            self.own.clone()
        };
        let [at, to] = [(); 2].map(|()| self.rng.below(slots.len()));
        match self.rng.below(14) {
            0 | 1 => {
                let (array, model) = &mut *slots[at].lock().unwrap();
                array.view_mut().fill(&stream, value).unwrap();
                model.fill(value);
            }
            2..=4 if at < to => {
                let ((dst, model), (src, values)) =
                    (&mut *slots[at].lock().unwrap(), &*slots[to].lock().unwrap());
                dst.view_mut().copy_from(&stream, &src.view().flip(&[0]).unwrap()).unwrap();
                *model = values.iter().rev().copied().collect();
            }
            2..=6 => {
                let (array, model) = &*slots[at].lock().unwrap();
                assert_eq!(array.to_vec(&stream).unwrap(), *model);
            }
            7 => {
                let (array, model) = &mut *slots[at].lock().unwrap();
                *model = (value..).take(LEN).collect();
                array.view_mut().copy_from_slice(&stream, model).unwrap();
            }
            8 => {
                let (array, model) = &mut *slots[at].lock().unwrap();
                let mut host = context.pinned(LEN).unwrap();
                host.fill(value);
                model.fill(value);
                let transfer = array.view_mut().upload(&stream, host).unwrap();
                if self.rng.below(2) == 0 {
                    self.in_flight.push((transfer, model.clone()));
                }
            }
            9 => {
                let (array, model) = &*slots[at].lock().unwrap();
                let transfer = array.view().download(&stream, context.pinned(LEN).unwrap()).unwrap();
                self.in_flight.push((transfer, model.clone()));
            }
            10 => self.end_transfer(),
            11 => {
                let old = {
                    let mut events = events.lock().unwrap();
                    events.push(stream.record().unwrap());
                    let at = self.rng.below(events.len());
                    events.swap_remove(at)
                };
                match self.rng.below(3) {
                    0 => stream.wait(&old).unwrap(),
                    1 => drop(old.query()),
                    _ => old.synchronize().unwrap(),
                }
                events.lock().unwrap().push(old);
            }
            12 if self.rng.below(2) == 0 => self.own = context.stream().unwrap(),
            12 => {
                let mut streams = streams.lock().unwrap();
                let at = self.rng.below(streams.len());
                streams[at] = context.stream().unwrap();
            }
            _ if self.rng.below(3) == 0 => stream.synchronize().unwrap(),
            _ => {
                let made = (Array::full(&stream, &[LEN], value).unwrap(), vec![value; LEN]);
                *slots[at].lock().unwrap() = made;
            }
        }
    }

    fn end_transfer(&mut self) {
        if let Some((transfer, expected)) = self.in_flight.pop() {
            assert_eq!(transfer.wait().unwrap()[..], expected);
        }
    }
}

#[test]
fn threads_neither_race_nor_wait_for_each_other_for_ever() {
    // A release build tries all seeds.
    for seed in (0..60).step_by(if cfg!(debug_assertions) { 3 } else { 1 }) {
        let device = MockDevice::builder().schedule(Schedule::Random).seed(seed).build();
        let context = Context::new(device.clone()).unwrap();
        let streams = [(); 3].map(|()| context.stream().unwrap());
        let slot = |k| Mutex::new((Array::full(&streams[0], &[LEN], k).unwrap(), vec![k; LEN]));
        let slots = (0..6).map(slot).collect();
        let shared = Shared { context, slots, streams: Mutex::new(streams.into()), events: Mutex::default() };
        thread::scope(|threads| {
            for number in 0..4_u32 {
                let shared = &shared;
                threads.spawn(move || {
                    let (rng, own) =
                        (Rng::new(seed * 4 + u64::from(number)), shared.context.stream().unwrap());
                    let mut worker = Worker { shared, rng, own, in_flight: Vec::new() };
                    (0..400).for_each(|value| worker.call(value * 4 + number));
                    while !worker.in_flight.is_empty() {
                        worker.end_transfer();
                    }
                });
            }
        });
        assert_eq!(shared.context.take_errors(), []);
        drop(shared);
        assert!(device.report().is_clean(), "{}", device.report());
    }
}
