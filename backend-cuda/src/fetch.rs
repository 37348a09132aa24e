//! Brings a few bytes to the host by a kernel, which itself writes them to pinned memory. This is
//! sooner than the copy engine would begin, and needs no event.
//!
//! A *slot* is a few words of 8 bytes. The kernel stores four bytes in the low half of a word and
//! a mark in its high half, by one store, so that the mark is never there without the bytes. The
//! host looks until all marks are there, and clears the words for the next user of the slot.
//!
//! A reduction to one element stores the element in a slot like in any memory, without a mark.
//! Before the launch the host stores the number `ABSENT` there, and then looks until the number has
//! changed. If the element itself has the bytes of `ABSENT`, the host waits for the stream.
#![allow(unsafe_code)] // reads and clears pinned memory

use std::{
    hint, mem,
    num::NonZeroUsize,
    sync::{
        Mutex,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

use devarray::{
    Result,
    backend::{Buffer, FetchOp, FetchSource, Fetching, Quiesced, TotalOp},
};

use crate::{
    context::Context,
    driver::{Answer, Driver, INVALID_VALUE, sys},
    function::{Computing, MARK, WORDS},
    handle::{Handle, locked},
    memory::CudaBuffer,
    stream::RawStream,
};

/// The number of bytes that the words of a slot bring.
pub(crate) const MOST_BYTES: usize = 4 * WORDS;

/// The distance between slots in words. Slots are aligned like buffers.
const SLOT_WORDS: usize = 32;

/// The bytes that are allocated for slots at a time, and the number of slots in them.
const PAGE_BYTES: usize = 4096;
const PAGE_SLOTS: usize = PAGE_BYTES / (8 * SLOT_WORDS);

/// The initial content of a slot for an element. Its low bytes, as a float of any type, are a NaN
/// that no function returns, and its lowest byte is not a truth value.
const ABSENT: u64 = 0x7ff4_dead_7fa5_7fa5;

/// Marks the number of such a slot.
const OF_ELEMENT: u64 = 1 << 63;

/// The number of looks of the host before it waits through the driver: they take some tens of
/// microseconds.
const LOOKS: usize = 4_000;

/// The slots of a context.
#[derive(Debug, Default)]
pub(crate) struct HostSlots(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    pages: Vec<Handle<u64>>,
    /// Numbers of slots that nobody uses. If a kernel may still write to a slot, it never comes
    /// back.
    idle: Vec<usize>,
}

impl State {
    fn slot(&self, number: usize) -> Handle<u64> {
        Handle::new(self.pages[number / PAGE_SLOTS].raw().wrapping_add(number % PAGE_SLOTS * SLOT_WORDS))
    }
}

impl HostSlots {
    /// Takes a slot whose words are 0, and returns its number and its address. The context must be
    /// bound.
    fn take(&self, driver: &Driver) -> Answer<(usize, Handle<u64>)> {
        let mut state = locked(&self.0);
        if state.idle.is_empty() {
            let page = driver.alloc_host(PAGE_BYTES, sys::CU_MEMHOSTALLOC_PORTABLE)?;
            let first = PAGE_SLOTS * state.pages.len();
            state.pages.push(Handle::new(page.cast()));
            state.idle.extend((first..first + PAGE_SLOTS).rev());
        }
        let number = state.idle.pop().ok_or(INVALID_VALUE)?;
        Ok((number, state.slot(number)))
    }

    fn slot(&self, number: usize) -> Handle<u64> {
        locked(&self.0).slot(number)
    }

    fn give_back(&self, number: usize) {
        locked(&self.0).idle.push(number);
    }

    /// Frees all slots. No work may be left on the context, which must be bound.
    pub(crate) fn free(&self, driver: &Driver) -> Answer {
        let State { pages, .. } = mem::take(&mut *locked(&self.0));
        let mut answer = Ok(());
        for page in pages {
            // SAFETY: allocated by `take`, freed once, and no kernel is left that writes there.
            answer = unsafe { driver.mem_free_host(page.raw().cast()) }.and(answer);
        }
        answer
    }
}

/// The words of a slot, which a kernel may be writing to.
fn words(slot: &Handle<u64>) -> &[AtomicU64; WORDS] {
    // SAFETY: slots are of pinned memory, aligned to 8 bytes, that lives as long as the context,
    // which the caller holds; only whole words of it are written, and all are read as atomics.
    unsafe { &*slot.raw().cast_const().cast() }
}

impl HostSlots {
    fn taken(&self, context: &Context) -> Result<(usize, Handle<u64>)> {
        let taken = context.bind().and_then(|driver| self.take(driver));
        taken.map_err(|failure| context.error("fetch", failure))
    }

    /// Begins to bring bytes to a slot. The stream belongs to the context of the slots.
    pub(crate) fn fetch(&self, at: Computing<'_>, op: &FetchOp<'_, CudaBuffer>) -> Result<Fetching> {
        let (number, slot) = self.taken(at.context)?;
        let enqueued = match op.source() {
            FetchSource::Bytes(src, start) => {
                at.fetch(address(&slot), src.address() + *start as u64, op.len_bytes()).map(|()| 0)
            }
            FetchSource::Total(total) => enqueue_total(at, total, &slot, op.len_bytes()),
        };
        match enqueued {
            // SAFETY: the slot was taken for this one alone, and is given back when it is taken.
            Ok(mark) => Ok(unsafe { Fetching::new(number as u64 | mark) }),
            Err(error) => {
                // Nothing was enqueued, so nothing will write there.
                words(&slot)[0].store(0, Relaxed);
                self.give_back(number);
                Err(error)
            }
        }
    }

    /// Waits until the bytes that a stream brings are there, and reads them.
    pub(crate) fn fetched(&self, stream: &RawStream, begun: &Fetching, bytes: &mut [u8]) -> Quiesced {
        let number = number_of(begun);
        let slot = self.slot(number);
        let (words, of_element) = (words(&slot), begun.number() & OF_ELEMENT != 0);
        let each = if of_element { 8 } else { 4 };
        let words = &words[..bytes.len().div_ceil(each)];
        // Bits of a word that an element does not have stay as they are.
        let is_there = |word: &AtomicU64| match word.load(Acquire) {
            word if of_element => (word ^ ABSENT) << (64 - 8 * bytes.len().min(8)) != 0,
            word => word & MARK != 0,
        };
        let are_there = (0..LOOKS).any(|_| {
            words.iter().all(is_there) || {
                hint::spin_loop();
                false
            }
        });
        if !are_there {
            // If this fails, the slot is lost: nobody knows whether a kernel will write to it.
            if let Err(error) = stream.synchronize() {
                return Quiesced::Unknown(error);
            }
        }
        for (word, bytes) in words.iter().zip(bytes.chunks_mut(each)) {
            bytes.copy_from_slice(&word.swap(0, Relaxed).to_le_bytes()[..bytes.len()]);
        }
        self.give_back(number);
        Quiesced::Done
    }
}

/// Enqueues a reduction that stores its element in a slot. Returns the mark of such slots.
fn enqueue_total(
    at: Computing<'_>,
    total: &TotalOp<'_, CudaBuffer>,
    slot: &Handle<u64>,
    len_bytes: usize,
) -> Result<u64> {
    let len_bytes = NonZeroUsize::new(len_bytes).filter(|len_bytes| len_bytes.get() <= 8);
    let len_bytes = len_bytes.ok_or_else(|| at.context.error("fetch", INVALID_VALUE))?;
    words(slot)[0].store(ABSENT, Release);
    let buffer = CudaBuffer::new(at.context, address(slot), len_bytes);
    // SAFETY: the buffer is as long as the element, and the slot was taken for it alone.
    at.reduce(&unsafe { total.to(&buffer) })?;
    Ok(OF_ELEMENT)
}

fn address(slot: &Handle<u64>) -> u64 {
    slot.raw().expose_provenance() as u64
}

/// The number of a slot.
fn number_of(begun: &Fetching) -> usize {
    usize::try_from(begun.number() & !OF_ELEMENT).unwrap_or(usize::MAX)
}
