//! Tests host memory that is not pinned, rows 6 and 7, under every profile. If code relies on a row, the other
//! profiles report this.
#![allow(unsafe_code)] // makes operations on its own memory, which it keeps

use std::{collections::BTreeSet, slice};

use devarray::backend::{DownloadOp, RegisterHost, Stream, UploadOp};
use devarray_mock::{Access, Code, MockBuffer, MockDevice, Profile, ProfileSet};

use super::support::{Host, PLAIN, Queue, every_schedule, size};

use Profile::{CoherentHost, Cuda12Discrete, Legacy, PerThread, Strict};

/// Memory of the program, kept until the device is gone.
struct Pageable {
    start: *mut u8,
    len: usize,
}

impl Pageable {
    fn new(len: usize, value: u8) -> Self {
        Self { start: Box::into_raw(vec![value; len].into_boxed_slice()).cast(), len }
    }

    fn upload(&self, queue: &Queue, to: &MockBuffer) {
        // SAFETY: the memory is kept; in bounds. The simulator defines the effect of a conflict.
        let op = unsafe { UploadOp::new_unchecked(to, 0, self.start.cast_const(), self.len) };
        queue.0.upload(&op).expect(PLAIN);
    }

    /// Downloads to its first bytes.
    fn download(&self, queue: &Queue, from: &MockBuffer, len: usize) {
        // SAFETY: as for an upload.
        queue.0.download(&unsafe { DownloadOp::new_unchecked(from, 0, self.start, len) }).expect(PLAIN);
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: initialized; there is only one thread, and no operation runs while the slice
        // exists.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }

    fn write(&mut self, device: &MockDevice, value: u8) {
        device.host_access_at(self.bytes().as_ptr_range(), Access::Write);
        // SAFETY: inside the memory.
        unsafe { self.start.write_bytes(value, self.len) };
    }
}

impl Drop for Pageable {
    fn drop(&mut self) {
        // SAFETY: from `Box::into_raw` of a slice of this length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.start, self.len)) });
    }
}

/// Runs a program under all schedules. Returns its findings, which must be equal, and all values that it reads.
fn outcome(
    profile: Profile,
    program: impl Fn(&MockDevice) -> bool,
) -> (Vec<(Code, ProfileSet)>, BTreeSet<bool>) {
    let (mut told, mut seen) = (None, BTreeSet::new());
    for (schedule, seed) in every_schedule() {
        let device = MockDevice::builder().profile(profile).schedule(schedule).seed(seed).build();
        seen.insert(program(&device));
        let findings = device.report().findings.into_iter();
        let findings: Vec<_> = findings.map(|found| (found.code, found.passes_under)).collect();
        assert_eq!(*told.get_or_insert(findings.clone()), findings, "the verdict is one");
    }
    (told.unwrap_or_default(), seen)
}

fn relies_on(profiles: &[Profile]) -> Vec<(Code, ProfileSet)> {
    vec![(Code::ReliesOnProfile, profiles.iter().copied().collect())]
}

const BOTH: [bool; 2] = [false, true];
const RIGHT: [bool; 1] = [true];

/// Uploads pageable memory, and writes it again. Returns whether the device got the bytes of the time
/// of the call.
fn written_again(device: &MockDevice, waits: bool) -> bool {
    let queue = Queue::open(device);
    let (buffer, mut source) = (queue.alloc(8), Pageable::new(8, 7));
    source.upload(&queue, &buffer);
    if waits {
        queue.synchronize();
    }
    source.write(device, 9);
    let seen = queue.bytes(device, &buffer, 0, 8);
    queue.free(buffer).expect(PLAIN);
    device.finish();
    seen == [7; 8]
}

#[test]
fn row_06_a_pageable_source_may_be_read_later() {
    for profile in [Strict, CoherentHost, Legacy, PerThread] {
        let outcome = outcome(profile, |device| written_again(device, false));
        assert_eq!(outcome, (relies_on(&[Cuda12Discrete]), BOTH.into()), "{profile}");
    }
    let discrete = outcome(Cuda12Discrete, |device| written_again(device, false));
    assert_eq!(discrete, (vec![], RIGHT.into()));
    for profile in Profile::ALL {
        assert_eq!(outcome(profile, |device| written_again(device, true)), (vec![], RIGHT.into()));
    }
}

/// Downloads to the first half of memory, then uploads all of it. The first half or all of it is registered.
fn read_behind_a_download(device: &MockDevice, waits: bool, all_registered: bool) -> bool {
    let queue = Queue::open(device);
    let (from, to, memory) = (queue.alloc(8), queue.alloc(16), Pageable::new(16, 1));
    let registered = if all_registered { 16 } else { 8 };
    // SAFETY: the memory outlives the registration.
    let registration = unsafe { device.register_host(memory.start, size(registered)) }.expect(PLAIN);
    queue.fill(&from, 0, 8, 7).expect(PLAIN);
    memory.download(&queue, &from, 8);
    if waits {
        queue.synchronize();
    }
    memory.upload(&queue, &to);
    let seen = queue.bytes(device, &to, 0, 8);
    queue.free(from).and(queue.free(to)).expect(PLAIN);
    device.finish();
    device.unregister_host(registration).expect(PLAIN);
    seen == [7; 8]
}

#[test]
fn row_06_a_pageable_source_may_be_read_before_earlier_work() {
    for profile in [Strict, Cuda12Discrete, Legacy, PerThread] {
        let outcome = outcome(profile, |device| read_behind_a_download(device, false, false));
        assert_eq!(outcome, (relies_on(&[CoherentHost]), BOTH.into()), "{profile}");
    }
    let coherent = outcome(CoherentHost, |device| read_behind_a_download(device, false, false));
    assert_eq!(coherent, (vec![], RIGHT.into()));
    for (profile, waits) in Profile::ALL.into_iter().zip([true, false, true, false, true]) {
        let outcome = outcome(profile, |device| read_behind_a_download(device, waits, !waits));
        assert_eq!(outcome, (vec![], RIGHT.into()), "{profile}, waits: {waits}");
    }
}

/// Uploads memory as pinned memory, then as a pageable part of a larger range: the first read may still run when
/// the second read is over.
#[test]
fn row_06_a_pinned_read_outlasts_a_pageable_one() {
    let program = |device: &MockDevice, pinned_first: bool| {
        let queue = Queue::open(device);
        let (buffer, mut memory) = (queue.alloc(16), Pageable::new(16, 7));
        // SAFETY: the memory outlives the registration.
        let registration = unsafe { device.register_host(memory.start, size(8)) }.expect(PLAIN);
        let half = Pageable { start: memory.start, len: 8 };
        if pinned_first {
            half.upload(&queue, &buffer);
        }
        memory.upload(&queue, &buffer);
        memory.write(device, 9);
        std::mem::forget(half);
        queue.free(buffer).expect(PLAIN);
        device.finish();
        device.unregister_host(registration).expect(PLAIN);
        true
    };
    for profile in Profile::ALL {
        let told = outcome(profile, |device| program(device, true)).0;
        assert_eq!(told, [(Code::HostWrite, [].into())], "{profile}");
    }
    let told = outcome(Strict, |device| program(device, false)).0;
    assert_eq!(told, relies_on(&[Cuda12Discrete]), "the twin");
}

/// Downloads to memory of the program, and checks whether the bytes are there on return.
fn read_at_return(device: &MockDevice, registered: bool, waits: bool) -> bool {
    let queue = Queue::open(device);
    let (buffer, memory) = (queue.alloc(8), Pageable::new(8, 1));
    // SAFETY: the memory outlives the registration.
    let registration =
        registered.then(|| unsafe { device.register_host(memory.start, size(8)) }.expect(PLAIN));
    queue.fill(&buffer, 0, 8, 7).expect(PLAIN);
    memory.download(&queue, &buffer, 8);
    if waits {
        queue.synchronize();
    }
    device.host_access_at(memory.bytes().as_ptr_range(), Access::Read);
    let seen = memory.bytes() == [7; 8];
    queue.free(buffer).expect(PLAIN);
    device.finish();
    if let Some(registration) = registration {
        device.unregister_host(registration).expect(PLAIN);
    }
    seen
}

#[test]
fn row_07_a_pageable_download_may_return_before_it_is_done() {
    for profile in [Strict, CoherentHost, Legacy, PerThread] {
        let outcome = outcome(profile, |device| read_at_return(device, false, false));
        assert_eq!(outcome, (relies_on(&[Cuda12Discrete]), BOTH.into()), "{profile}");
    }
    let discrete = outcome(Cuda12Discrete, |device| read_at_return(device, false, false));
    assert_eq!(discrete, (vec![], RIGHT.into()));
    for profile in Profile::ALL {
        let pinned = outcome(profile, |device| read_at_return(device, true, false));
        assert_eq!(pinned, (vec![(Code::HostRead, [].into())], BOTH.into()), "{profile}: row 8 is the same");
        assert_eq!(outcome(profile, |device| read_at_return(device, false, true)), (vec![], RIGHT.into()));
    }
}

/// The work that a blocking download has waited for comes before everything that is issued later, on every stream.
/// The allocation of the memory does, too.
#[test]
fn row_07_a_download_that_blocks_has_waited_for_its_stream() {
    let program = |device: &MockDevice, pageable: bool| {
        let [one, two] = [(); 2].map(|()| Queue::open(device));
        let (buffer, memory, pinned) = (one.alloc(8), Pageable::new(8, 1), Host::new(device, &[0; 8]));
        one.fill(&buffer, 0, 8, 7).expect(PLAIN);
        if pageable {
            memory.download(&one, &buffer, 8);
        } else {
            one.download(&buffer, 0, &pinned).expect(PLAIN);
        }
        two.fill(&buffer, 0, 8, 9).expect(PLAIN);
        device.finish();
        one.free(buffer).expect(PLAIN);
        device.finish();
        true
    };
    let told = |profile, pageable| outcome(profile, |device| program(device, pageable)).0;
    assert_eq!(told(Strict, true), relies_on(&[Cuda12Discrete]));
    assert_eq!(told(Cuda12Discrete, true), []);
    for profile in Profile::ALL {
        assert_eq!(told(profile, false), [(Code::UseBeforeAlloc, [].into())]);
    }
}

/// The report names the row that the program relies on, and the machine on which the
/// program is right.
#[test]
fn a_reliance_names_profile_row_and_copy() {
    let device = MockDevice::new();
    read_at_return(&device, false, false);
    let told = device.report().findings[0].to_string();
    for due in [
        "may[DA21]: ",
        "the download #2 may have waited for itself",
        "right under profile cuda12-discrete, and not under strict",
        "rows 6 and 7",
        "help: wait for stream 0",
    ] {
        assert!(told.contains(due), "{due} is missing:\n{told}");
    }
}
