//! Calls that a program needs in addition to the traits of streams and devices.

use std::ops::Range;

use devarray::Device;

use super::{Op, Program};
use crate::{Access, Finding, MockBuffer, MockDevice, MockHostBuffer};

/// Callbacks of [`Program::play`](super::Program::play), which plays a program on a device.
pub trait Callbacks<D: Device> {
    /// The program begins: later operations are its own.
    fn begin(&mut self);

    /// The program is over, and the device has finished it: later operations clean up.
    fn end(&mut self);

    /// Operation number `index` comes next; the number after the last one stands for the wait for
    /// all of them.
    fn next(&mut self, index: usize);

    /// A second handle to a buffer that is about to be freed, for programs that use it afterwards;
    /// none if no such program is played.
    fn twin(&mut self, buffer: &D::Buffer) -> Option<D::Buffer>;

    /// The host reads or writes these bytes of pinned memory. They may reach outside it; if
    /// [`is_over`](Self::is_over) then returns true, the access is not made.
    fn host_access(&mut self, host: &D::HostBuffer, bytes: Range<usize>, access: Access);

    /// Lets the host write to pinned memory. A device in host memory can make sure that none of its
    /// operations run meanwhile.
    fn write(&mut self, write: &mut dyn FnMut()) {
        write();
    }

    /// Whether the program has made a mistake, so that it is not continued.
    fn is_over(&self) -> bool;
}

/// Reports no mistake, like hardware: for programs that are right.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "nothing is to be known")]
pub struct Unjudged;

impl<D: Device> Callbacks<D> for Unjudged {
    fn begin(&mut self) {}

    fn end(&mut self) {}

    fn next(&mut self, _: usize) {}

    fn twin(&mut self, _: &D::Buffer) -> Option<D::Buffer> {
        None
    }

    fn host_access(&mut self, _: &D::HostBuffer, _: Range<usize>, _: Access) {}

    fn is_over(&self) -> bool {
        false
    }
}

/// Plays programs on the simulator, where every mistake is defined and found.
#[derive(Debug)]
pub(super) struct JudgedCallbacks<'a>(pub(super) &'a MockDevice, pub(super) &'a Program);

impl JudgedCallbacks<'_> {
    pub(super) fn finding(&self) -> Option<Finding> {
        self.0.first_finding()
    }
}

impl Callbacks<MockDevice> for JudgedCallbacks<'_> {
    fn begin(&mut self) {
        self.0.shared().engine().begin_program();
    }

    fn end(&mut self) {
        self.0.shared().engine().end_program();
    }

    fn next(&mut self, index: usize) {
        let mut engine = self.0.shared().engine();
        engine.number_next(index as u64);
        let op = self.1.ops.get(index).map(|prepared| &prepared.op);
        engine.let_waits_pass(matches!(op, None | Some(Op::SyncDevice)));
    }

    fn twin(&mut self, buffer: &MockBuffer) -> Option<MockBuffer> {
        Some(buffer.twin())
    }

    fn host_access(&mut self, host: &MockHostBuffer, bytes: Range<usize>, access: Access) {
        self.0.host_access(host, bytes, access);
    }

    /// Holds the lock of the device: if a wrong program is not judged, another thread could run an
    /// operation on the same bytes.
    fn write(&mut self, write: &mut dyn FnMut()) {
        let _alone = self.0.shared().engine();
        write();
    }

    fn is_over(&self) -> bool {
        self.0.shared().engine().first_finding().is_some()
    }
}
