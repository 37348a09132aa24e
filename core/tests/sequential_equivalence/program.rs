//! A random program, run on a device and on a model side by side.
#![allow(unsafe_code)] // opens unchecked streams for the twin that must fail

use std::{fmt::Debug, mem};

use devarray::{
    Array, Context, Element, Error, EventHandle, Layout, Result, SharedArray, StreamHandle, Transfer,
    backend::Quiesced,
};
use devarray_mock::{Code, MockDevice as Mock, Site};

use super::views::{Rng, Step, narrowed, positions, steps};

/// The number of calls in a program.
const CALLS: usize = 40;

/// The elements after the calls so far; `None` where they are unknown.
pub(super) type Model<T> = Vec<Option<T>>;

/// An array, and its expected elements.
pub(super) struct Held<T: Element> {
    pub(super) array: Array<T, Mock>,
    pub(super) model: Model<T>,
}

impl<T: Element> Held<T> {
    pub(super) fn expected(&self, layout: &Layout) -> Vec<Option<T>> {
        positions(layout).into_iter().map(|at| self.model[at]).collect()
    }
}

/// Applies a call to the model: fully if it succeeded, not at all if it was refused, and with
/// unknown elements if it failed.
pub(super) fn apply<T: Element>(
    model: &mut [Option<T>],
    layout: &Layout,
    values: &[Option<T>],
    outcome: &Result<()>,
) {
    for (at, value) in positions(layout).into_iter().zip(values) {
        match outcome {
            Ok(()) => model[at] = *value,
            Err(Error::Hazard { .. }) => {}
            Err(_) => model[at] = None,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Automatic and strict streams.
    Tracked,
    /// Like `Tracked`, and calls of the backend fail now and then.
    Failing,
    /// Streams that keep no order, for the twin.
    Unchecked,
}

/// A running program.
pub(super) struct Program<T: Element> {
    pub(super) rng: Rng,
    pub(super) kind: Kind,
    pub(super) device: Mock,
    pub(super) context: Context<Mock>,
    pub(super) streams: Vec<StreamHandle<Mock>>,
    pub(super) events: Vec<EventHandle<Mock>>,
    pub(super) rank: usize,
    pub(super) arrays: Vec<Held<T>>,
    pub(super) shared: Vec<(SharedArray<T, Mock>, Model<T>)>,
    pub(super) in_flight: Vec<(Transfer<T, Mock>, Model<T>)>,
    pub(super) forgot: bool,
    pub(super) different: Option<String>,
}

impl<T: Element + Debug + PartialEq> Program<T> {
    /// Runs a program, and returns the first difference.
    pub(super) fn run(device: &Mock, seed: u64, kind: Kind) -> Option<String> {
        let mut rng = Rng::new(seed);
        let context = Context::new(device.clone()).unwrap();
        let rank = *rng.pick(&[1, 2, 2, 3, 7]);
        let (streams, events, arrays, shared, in_flight) = Default::default();
        let device = device.clone();
        let (forgot, different) = (false, None);
        let mut program = Self {
            rng,
            kind,
            device,
            context,
            streams,
            events,
            rank,
            arrays,
            shared,
            in_flight,
            forgot,
            different,
        };
        for _ in 0..2 + program.rng.below(3) {
            program.open();
        }
        (0..3).for_each(|_| program.allocate());
        for call in 0..CALLS {
            let what = program.call();
            if let Some(difference) = program.different.take() {
                return Some(format!("call {call}, {what}: {difference}"));
            }
        }
        program.finish()
    }

    pub(super) fn call(&mut self) -> &'static str {
        if self.kind == Kind::Failing && self.rng.below(6) == 0 {
            let sites = [Site::Alloc, Site::Free, Site::Copy, Site::Fill, Site::Upload, Site::Download];
            let others = [Site::Record, Site::Record, Site::Wait, Site::Wait, Site::Query, Site::AllocHost];
            let site = *self.rng.pick(&[sites, others].concat());
            self.device.fail_next(site, failure());
            if self.rng.below(3) == 0 {
                self.device.fail_next(Site::Synchronize, Quiesced::Unknown(failure()));
            }
        }
        let (name, call): (_, fn(&mut Self)) = match self.rng.below(24) {
            0 | 1 => ("allocate", Self::allocate),
            2 | 3 => ("fill", Self::fill),
            4..=7 => ("copy", Self::copy),
            8 | 9 => ("parts", Self::parts),
            10 => ("upload", Self::upload),
            11 | 12 => ("start upload", Self::start_upload),
            13 | 14 => ("start download", Self::start_download),
            15 => ("scope", Self::scope),
            16 | 17 => ("download", Self::download),
            18 => ("drop an array", Self::drop_array),
            19 => ("end a transfer", Self::end_transfer),
            20 => ("replace a stream", Self::replace_stream),
            21 | 22 => ("event", Self::event),
            _ => ("share", Self::share),
        };
        call(self);
        name
    }

    pub(super) fn open(&mut self) {
        let opened = match self.kind {
            // SAFETY: the work is left unordered on purpose; in the simulator a race shows as wrong
            // bytes, not as harm.
            Kind::Unchecked => unsafe { self.context.unchecked_stream() },
            _ if self.rng.below(3) == 0 => self.context.strict_stream(),
            _ => self.context.stream(),
        };
        self.streams.push(opened.unwrap());
    }

    pub(super) fn stream(&mut self) -> StreamHandle<Mock> {
        let stream = self.rng.pick(&self.streams).clone();
        if self.rng.below(3) == 0 {
            for other in &self.streams {
                let _ = other.record().and_then(|event| stream.wait(&event)); // fails only if it is made to
            }
        }
        stream
    }

    /// The value, if there is one; an error that no fault planned is a difference.
    pub(super) fn checked<V>(&mut self, result: Result<V>) -> Option<V> {
        match result {
            Ok(value) => return Some(value),
            Err(Error::Hazard { .. }) if self.kind != Kind::Unchecked => {}
            Err(error) if self.kind == Kind::Failing && error == failure() => {}
            Err(error) => self.different = Some(error.to_string()),
        }
        None
    }

    pub(super) fn compare(&mut self, found: &[T], expected: &[Option<T>]) {
        let same = found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, expected)| expected.is_none_or(|e| e == *found));
        if !same {
            self.different = Some(format!("found {found:?}, expected {expected:?}"));
        }
    }

    /// Draws an array and a view of a part of it.
    pub(super) fn part(&mut self) -> Option<(usize, Vec<Step>, Layout)> {
        let at = self.rng.below(self.arrays.len());
        let whole = self.arrays.get(at)?.array.layout().clone();
        let steps = steps(&mut self.rng, &whole);
        let layout = steps.iter().fold(whole, |layout, step| narrowed(&layout, step));
        Some((at, steps, layout))
    }

    /// Reads all remaining arrays, drops everything, and asks the device for findings.
    pub(super) fn finish(mut self) -> Option<String> {
        while !self.in_flight.is_empty() {
            self.end_transfer();
        }
        let stream = self.context.stream().unwrap();
        while stream.synchronize().is_err() {}
        for Held { array, model } in mem::take(&mut self.arrays) {
            let expected: Vec<_> = positions(array.layout()).into_iter().map(|at| model[at]).collect();
            let found = array.to_vec(&stream);
            if let Some(found) = self.checked(found) {
                self.compare(&found, &expected);
            }
        }
        let sunk = self.context.take_errors();
        let (device, kind, forgot, different) =
            (self.device.clone(), self.kind, self.forgot, self.different.take());
        drop((self, stream));
        let mut report = device.report();
        // Programs read uninitialized arrays on purpose: the model says which elements then have no
        // meaning.
        report.findings.retain(|finding| finding.code != Code::Uninitialized);
        if different.is_some() || !report.findings.is_empty() {
            return different.or(Some(report.to_string()));
        }
        if kind == Kind::Failing {
            return sunk.into_iter().find(|error| *error != failure()).map(|error| error.to_string());
        }
        (!forgot && !report.is_clean() || !sunk.is_empty()).then(|| format!("{sunk:?} {report}"))
    }
}

pub(super) fn failure() -> Error {
    Error::Driver { backend: "mock", operation: "planned", code: 1, name: "PLANNED".into() }
}
