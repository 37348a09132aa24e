//! Probes of a device for behaviour that its documentation leaves open, for people who run on new hardware.
//!
//! CUDA's documentation leaves much open: "any call may block or synchronize". A probe makes one such call
//! and reports the outcome. Under enough schedules, the simulator gives every outcome that it allows; the
//! probe lists these. Hardware must give one of them, so that the simulator can do everything that hardware
//! does. An outcome that the contract forbids is in no list.
//!
//! The numbers are rows of the table in `SIMULATOR.md` of `devarray-mock`.

mod default_streams;
mod events;
mod memory;
mod pageable;
mod transfers;

use std::fmt;

use devarray::{
    Array, Context, Device, Result, StreamHandle,
    backend::{ForeignMemory, RegisterHost},
};

/// One probe.
pub struct Probe<D: Device> {
    /// The row of the table, and the probed behaviour: `row_20_a_record_is_a_snapshot`.
    pub name: &'static str,
    /// Every answer that the simulator gives, and no other.
    pub allowed: &'static [&'static str],
    /// The profiles of the simulator with fewer answers, by name, and these answers.
    pub under: &'static [(&'static str, &'static [&'static str])],
    ask: fn(Setting<D>) -> Result<&'static str>,
}

impl<D: Device> Probe<D> {
    /// Every answer that the simulator gives under a profile.
    #[must_use]
    pub fn allowed_under(&self, profile: &str) -> &'static [&'static str] {
        self.under.iter().find(|(name, _)| *name == profile).map_or(self.allowed, |(_, allowed)| allowed)
    }

    /// Probes a device.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub fn ask(&self, device: D, load: Load) -> Result<&'static str> {
        (self.ask)(Setting::new(device, load)?)
    }
}

/// The work that is given to a stream to delay it.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The bytes of each of two arrays that are copied back and forth.
    pub bytes: usize,
    /// The number of copies.
    pub copies: usize,
}

/// A device in use.
struct Setting<D: Device> {
    context: Context<D>,
    one: StreamHandle<D>,
    two: StreamHandle<D>,
    load: Load,
    from: Array<u8, D>,
}

impl<D: Device> Setting<D> {
    fn new(device: D, load: Load) -> Result<Self> {
        let context = Context::new(device)?;
        let (one, two) = (context.stream()?, context.stream()?);
        let from = Array::full(&one, &[load.bytes], 1)?;
        // A first call may be slow, which must not happen while another call is meant to be late.
        Array::<u8, D>::zeros(&two, &[64])?.to_vec(&two)?;
        one.synchronize()?;
        Ok(Self { context, one, two, load, from })
    }

    /// Gives a stream work, so that its later work is delayed.
    fn delay(&self, stream: &StreamHandle<D>) -> Result<()> {
        let mut to = Array::<u8, D>::uninit(stream, &[self.load.bytes])?;
        for _ in 0..self.load.copies {
            to.view_mut().copy_from(stream, &self.from.view())?;
        }
        Ok(())
    }
}

macro_rules! probes {
    ($($module:ident :: $name:ident [$($allowed:literal),+] $($profile:literal: [$($under:literal),+])*;)*) => {
        /// Every probe.
        #[must_use]
        pub fn all<D: ForeignMemory + RegisterHost>() -> Vec<Probe<D>> {
            vec![$(Probe {
                name: stringify!($name),
                allowed: &[$($allowed),+],
                under: &[$(($profile, &[$($under),+])),*],
                ask: $module::$name::<D>,
            }),*]
        }
    };
}

probes! {
    transfers::row_06_a_borrowed_source_is_free_at_return ["the bytes at the call"];
    transfers::row_07_a_borrowed_destination_is_there_at_return ["the new bytes"];
    transfers::row_08_a_pinned_download_may_return_before_it_is_done ["done at return", "not done at return"];
    transfers::row_08_a_pinned_upload_may_return_before_it_is_done ["done at return", "not done at return"];
    transfers::row_11_a_fill_may_return_before_it_is_done ["done at return", "not done at return"];
    transfers::row_11_a_copy_may_return_before_it_is_done ["done at return", "not done at return"];
    pageable::row_06_a_pageable_source_may_be_read_later ["the bytes at the call", "later bytes", "bytes of both"]
        "cuda12-discrete": ["the bytes at the call"];
    pageable::row_07_a_pageable_download_may_return_before_it_is_done ["done at return", "not done at return"]
        "cuda12-discrete": ["done at return"];
    pageable::row_18_pinned_memory_may_be_had_before_the_device_is_done ["the device is done", "the device is not done"];
    pageable::row_18_pinned_memory_may_be_gone_before_the_device_is_done ["the device is done", "the device is not done"];
    pageable::row_18_memory_may_be_pinned_and_unpinned_before_the_device_is_done
        ["the device is done", "the device is not done"];
    default_streams::row_26_the_legacy_stream_waits_for_no_stream_of_the_library
        ["the other is done", "the other is not done"];
    default_streams::row_26_no_stream_of_the_library_waits_for_the_legacy_stream
        ["the other is done", "the other is not done"];
    default_streams::row_26_order_passes_through_the_legacy_stream ["the other is done"];
    default_streams::row_26_the_legacy_stream_waits_for_that_of_the_thread ["the other is done"];
    default_streams::row_26_the_stream_of_the_thread_waits_for_the_legacy_stream ["the other is done"];
    default_streams::row_27_order_passes_through_the_stream_of_the_thread ["the other is done"];
    default_streams::row_27_each_thread_has_a_stream_of_its_own ["the other is done", "the other is not done"];
    transfers::row_32_an_overlapping_move_is_as_through_a_copy ["as through a copy"];
    memory::row_12_no_bytes_need_no_memory ["an array"];
    memory::row_15_another_stream_sees_memory_that_is_there ["the bytes written"];
    memory::row_16_a_free_is_after_every_use ["the bytes of the reader"];
    memory::row_16_a_free_may_return_before_it_is_done ["done at return", "not done at return"];
    memory::row_17_memory_may_be_used_again_by_its_stream ["at another address", "at the same address"];
    memory::row_31_what_is_refused_changes_nothing ["as before"];
    memory::row_33_arrays_keep_their_device ["usable"];
    events::row_20_a_record_is_a_snapshot ["later work is done", "later work is not done"];
    events::row_20_earlier_work_is_in_the_snapshot ["earlier work is done"];
    events::row_21_a_wait_is_for_what_was_recorded ["later work is done", "later work is not done"];
    events::row_22_a_query_does_not_wait ["no", "yes"];
    events::row_22_a_query_that_says_yes_is_an_edge ["the new bytes"];
    events::row_22_yes_is_for_good ["yes again"];
    events::row_23_a_wait_for_a_stream_is_for_all_of_it ["all done"];
    events::row_23_a_wait_for_a_stream_is_for_no_other ["the other is done", "the other is not done"];
    events::row_24_a_dropped_stream_does_its_work ["done"];
    events::row_24_a_dropped_event_keeps_its_edges ["the bytes written"];
}

impl<D: Device> fmt::Debug for Probe<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("name", &self.name)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}
