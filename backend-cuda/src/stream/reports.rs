//! Where operations that a stream captures report indices without a place: pages in memory of the device, which the
//! graph keeps. After each launch a kernel sends the reports to the host, and clears them for the next launch.
#![allow(unsafe_code)] // clears memory that was just allocated

use std::num::NonZeroUsize;

use devarray::{Result, gather::IndexError};

use super::{
    RawStream,
    held::{CapturedReports, Purpose},
};
use crate::{driver::sys::CUdeviceptr, handle::locked};

/// Reports of a page.
pub(crate) const PAGE_REPORTS: usize = 64;
/// Bytes of a report.
pub(crate) const SLOT_BYTES: usize = 32;
/// Bytes of the state that the threads share which find such an index.
pub(crate) const STATE_BYTES: usize = 16;
/// Bytes of a page: all reports, and then all states.
pub(crate) const PAGE_BYTES: NonZeroUsize =
    NonZeroUsize::new(PAGE_REPORTS * (SLOT_BYTES + STATE_BYTES)).unwrap();

/// Where an operation of a graph reports, in memory of the device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportPlace {
    pub(crate) slot: CUdeviceptr,
    pub(crate) state: CUdeviceptr,
}

impl RawStream {
    /// The place where the operation that is captured next reports such `errors`. `None` on a stream that captures
    /// nothing. Does not synchronize.
    pub(crate) fn report_place(&self, errors: [IndexError; 2]) -> Result<Option<ReportPlace>> {
        let Some(held) = &self.held else { return Ok(None) };
        let mut held = locked(held);
        let nth = held.reports.errors.len() % PAGE_REPORTS;
        if nth == 0 {
            let page = held.alloc(self, (Purpose::Reports, PAGE_BYTES), Self::clear_reports)?;
            held.reports.pages.push(page);
        }
        held.reports.errors.push(errors);
        let page = held.reports.pages.last().copied().unwrap_or_default();
        let states = page + (PAGE_REPORTS * SLOT_BYTES) as u64;
        let (slot, state) = (page + (nth * SLOT_BYTES) as u64, states + (nth * STATE_BYTES) as u64);
        Ok(Some(ReportPlace { slot, state }))
    }

    /// The reports of the capture, which is over.
    pub(crate) fn take_reports(&self) -> CapturedReports {
        self.held.as_ref().map(|held| std::mem::take(&mut locked(held).reports)).unwrap_or_default()
    }

    /// Clears a page, whose memory is held by a stream that captured.
    pub(crate) fn clear_reports(&self, page: CUdeviceptr) -> Result<()> {
        self.enqueue("launch", |driver, stream| {
            // SAFETY: the page is memory of the graph, which nothing else uses in front of this in the stream.
            unsafe { driver.memset_d32_async(page, 0, PAGE_BYTES.get() / 4, stream) }
        })
    }
}
