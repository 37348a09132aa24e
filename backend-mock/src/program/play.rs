//! Plays a program on a device, operation by operation.
#![allow(unsafe_code)] // calls raw streams, below hazard tracking

use std::{mem::ManuallyDrop, num::NonZeroUsize, ops::Range, slice};

use devarray::{
    Device, Error, Layout, Result,
    backend::{
        Capabilities, CopyOp, DownloadOp, Event as _, FillOp, FreeOp, HostBuffer, Quiesced, Stream, UploadOp,
    },
    copy::Plan,
};

use super::{Buffer, Callbacks, Op, Program, callbacks::JudgedCallbacks, ops::Prepared};
use crate::{Access, Finding, MockDevice};

/// No memory reaches this far, and ends stay far from the limit of numbers.
const FAR: usize = 1 << 40;

impl Program {
    /// Plays the program on a simulated device, which nobody else uses meanwhile. Returns the bytes of its
    /// pinned memories at the end, or the first mistake, with operations numbered as in the program. Leaves
    /// nothing queued on the device. The device must have no findings yet.
    ///
    /// # Errors
    ///
    /// The device fails: it has not enough memory, or a failure was planned.
    pub fn play_on_mock(&self, device: &MockDevice) -> Result<Result<Vec<Vec<u8>>, Finding>> {
        let mut callbacks = JudgedCallbacks(device, self);
        // SAFETY: the simulator defines the effect of mistakes, and stops at the first one that it cannot
        // execute.
        let hosts = unsafe { self.play(device, &mut callbacks) };
        match callbacks.finding() {
            Some(finding) => Ok(Err(finding)),
            None => hosts.map(Ok),
        }
    }

    /// Plays the program on a device. Returns the bytes of its pinned memories at the end, or at the
    /// operation at which the callbacks said that it is over.
    ///
    /// Blocks until the device has finished it.
    ///
    /// # Safety
    ///
    /// The program is right; or the device defines the effect of mistakes, and the callbacks say that the
    /// program is over at the first operation that reaches outside a memory.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub unsafe fn play<D: Device>(
        &self,
        device: &D,
        callbacks: &mut impl Callbacks<D>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut stage = Stage::set(self, device)?;
        let played = stage.play(self, callbacks);
        callbacks.next(self.ops.len());
        // This is also needed after a failure: the pinned memory must not be freed before.
        let quiesced = stage.synchronize();
        if let Quiesced::Unknown(error) = quiesced {
            std::mem::forget(stage);
            return Err(error);
        }
        callbacks.end();
        let hosts: Result<_> = stage.hosts.iter().map(|host| stage.bytes(device, host)).collect();
        let cleared = stage.clear();
        let finished = played.and(quiesced.into_result());
        finished.and(cleared).and(hosts)
    }
}

/// All objects of a program on a device.
struct Stage<D: Device> {
    streams: Vec<D::Stream>,
    /// The stream for setting up and cleaning up.
    hand: D::Stream,
    events: Vec<Option<D::Event>>,
    buffers: Vec<Option<D::Buffer>>,
    /// Whether a buffer was freed; its entry is then a twin.
    freed: Vec<bool>,
    hosts: Vec<ManuallyDrop<D::HostBuffer>>,
}

impl<D: Device> Stage<D> {
    fn set(program: &Program, device: &D) -> Result<Self> {
        let streams = (0..program.streams).map(|_| device.open_stream()).collect::<Result<_>>()?;
        let hand = device.open_stream()?;
        let hosts = program.hosts.iter().map(|host| device.alloc_host(size(host.bytes)));
        let hosts: Vec<_> = hosts.collect::<Result<_>>()?;
        let mut stage = Self {
            streams,
            hand,
            events: (0..program.events).map(|_| None).collect(),
            buffers: (0..program.buffers.len()).map(|_| None).collect(),
            freed: vec![false; program.buffers.len()],
            hosts: hosts.into_iter().map(ManuallyDrop::new).collect(),
        };
        for (index, &Buffer { bytes, from_start }) in program.buffers.iter().enumerate() {
            let Some(zeroed) = from_start else { continue };
            let buffer = stage.hand.alloc(size(bytes))?;
            if zeroed {
                let line = Layout::new(&[bytes], &[1], 0)?;
                let plan = Plan::new(&line, &line, 1, &Capabilities::default())?;
                // SAFETY: the plan covers the buffer, which was allocated on this stream and which nothing
                // else uses.
                stage.hand.fill(&unsafe { FillOp::new_unchecked(&buffer, &plan, &[0]) })?;
            }
            stage.buffers[index] = Some(buffer);
        }
        stage.hand.synchronize().into_result()?;
        Ok(stage)
    }

    fn play(&mut self, program: &Program, callbacks: &mut impl Callbacks<D>) -> Result<()> {
        callbacks.begin();
        for (index, prepared) in program.ops.iter().enumerate() {
            callbacks.next(index);
            let done = self.issue(program, prepared, callbacks);
            // The mistake is the program's result, also if it makes the device refuse the operation.
            if callbacks.is_over() {
                return Ok(());
            }
            done?;
        }
        Ok(())
    }

    fn issue(
        &mut self,
        program: &Program,
        prepared: &Prepared,
        callbacks: &mut impl Callbacks<D>,
    ) -> Result<()> {
        match (&prepared.op, &prepared.plan) {
            (&Op::Fill { stream, buffer, value, .. }, Some(plan)) => {
                let (buffer, pattern) = (self.buffer(buffer), [value]);
                // SAFETY: the program is right, or the device defines what happens.
                self.streams[stream].fill(&unsafe { FillOp::new_unchecked(buffer, plan, &pattern) })
            }
            (&Op::Copy { stream, src, dst, .. }, Some(plan)) => {
                let (dst, src) = (self.buffer(dst), self.buffer(src));
                // SAFETY: as for a fill.
                self.streams[stream].copy(&unsafe { CopyOp::new_unchecked(dst, src, plan) })
            }
            (Op::Fill { .. } | Op::Copy { .. }, None) => unreachable!("plans were made with the program"),
            (&Op::Upload { stream, host, host_offset, dst, dst_offset, len }, _) => {
                let (from, len) = self.host_range(host, host_offset, len);
                let (dst, offset) = (self.buffer(dst), dst_offset.min(FAR));
                // SAFETY: as for a fill; pinned memory lives until the device is done.
                self.streams[stream].upload(&unsafe { UploadOp::new_unchecked(dst, offset, from, len) })
            }
            (&Op::Download { stream, src, src_offset, host, host_offset, len }, _) => {
                let (to, len) = self.host_range(host, host_offset, len);
                let (src, offset) = (self.buffer(src), src_offset.min(FAR));
                // SAFETY: as for an upload.
                self.streams[stream].download(&unsafe { DownloadOp::new_unchecked(src, offset, to, len) })
            }
            (&Op::Alloc { stream, buffer }, _) => {
                self.buffers[buffer] = Some(self.streams[stream].alloc(size(program.buffers[buffer].bytes))?);
                Ok(())
            }
            (&Op::Free { stream, buffer }, _) => {
                let twin = callbacks.twin(self.buffer(buffer));
                let Some(freed) = std::mem::replace(&mut self.buffers[buffer], twin) else { return Ok(()) };
                self.freed[buffer] = true;
                // SAFETY: as for a fill.
                self.streams[stream].free(unsafe { FreeOp::new_unchecked(freed) })
            }
            (&Op::Record { stream, event }, _) => {
                self.events[event] = Some(self.streams[stream].record()?);
                Ok(())
            }
            (&Op::Wait { stream, event }, _) => {
                self.events[event].as_ref().map_or(Ok(()), |event| self.streams[stream].wait(event))
            }
            (&Op::SyncStream { stream }, _) => self.streams[stream].synchronize().into_result(),
            (&Op::SyncEvent { event }, _) => {
                self.events[event].as_ref().map_or(Ok(()), |event| event.synchronize().into_result())
            }
            (Op::SyncDevice, _) => self.synchronize().into_result(),
            (&Op::HostRead { host, offset, len }, _) => {
                callbacks.host_access(&self.hosts[host], touched(offset, len), Access::Read);
                Ok(())
            }
            (&Op::HostWrite { host, offset, len, value }, _) => {
                callbacks.host_access(&self.hosts[host], touched(offset, len), Access::Write);
                if !callbacks.is_over() {
                    // SAFETY: the callbacks did not say that it is over, so the bytes lie inside the memory,
                    // or the program is right.
                    let start = unsafe { self.hosts[host].as_ptr().add(offset) };
                    callbacks.write(&mut || {
                        // SAFETY: as above; no operation in flight uses the bytes, or the device
                        // runs none meanwhile.
                        unsafe { start.write_bytes(value, len) };
                    });
                }
                Ok(())
            }
        }
    }

    /// Waits for every stream. Returns the first result that is not `Done`, but an unknown one takes
    /// precedence.
    fn synchronize(&self) -> Quiesced {
        let mut all = Quiesced::Done;
        for stream in self.streams.iter().chain([&self.hand]) {
            match (stream.synchronize(), &all) {
                (unknown @ Quiesced::Unknown(_), _) => return unknown,
                (end, Quiesced::Done) => all = end,
                _ => {}
            }
        }
        all
    }

    /// The buffer of this number, or its twin: a program uses a buffer only after its allocation was issued.
    fn buffer(&self, index: usize) -> &D::Buffer {
        self.buffers[index]
            .as_ref()
            .expect("names are known from the allocation on, and freed ones have twins")
    }

    /// The start of a transfer in pinned memory, and its length. A transfer that starts outside is changed to
    /// start at the last byte and to end outside, so that its pointer still shows which memory it leaves.
    fn host_range(&self, host: usize, offset: usize, len: usize) -> (*mut u8, usize) {
        let host = &self.hosts[host];
        let start = offset.min(host.len_bytes() - 1);
        let len = len.min(FAR) + (offset.min(FAR) - start);
        (host.as_ptr().wrapping_add(start), len)
    }

    fn bytes(&self, device: &D, host: &D::HostBuffer) -> Result<Vec<u8>> {
        let (mut bytes, len_bytes) = (Vec::new(), host.len_bytes());
        let no_room = |_| Error::out_of_memory(device.info().backend, "play", len_bytes, None);
        bytes.try_reserve_exact(len_bytes).map_err(no_room)?;
        // SAFETY: the memory is initialized and as long as the buffer says; the device has finished.
        bytes.extend_from_slice(unsafe { slice::from_raw_parts(host.as_ptr(), len_bytes) });
        Ok(bytes)
    }

    /// Frees everything. The device has finished.
    fn clear(self) -> Result<()> {
        let mut cleared = Ok(());
        for (buffer, freed) in self.buffers.into_iter().zip(self.freed) {
            if let Some(buffer) = buffer.filter(|_| !freed) {
                // SAFETY: nothing is in flight, and the handle is the last one.
                cleared = cleared.and(self.hand.free(unsafe { FreeOp::new_unchecked(buffer) }));
            }
        }
        self.hosts.into_iter().for_each(|host| drop(ManuallyDrop::into_inner(host)));
        cleared.and(self.hand.synchronize().into_result())
    }
}

/// The bytes that the host touches, cut off at a distance at which addresses still exist.
fn touched(offset: usize, len: usize) -> Range<usize> {
    let start = offset.min(FAR);
    start..start + len.min(FAR)
}

fn size(bytes: usize) -> NonZeroUsize {
    NonZeroUsize::new(bytes).expect("sizes were checked with the program")
}
