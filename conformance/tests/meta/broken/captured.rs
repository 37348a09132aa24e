//! Operations that a broken device captures: copies, fills and functions. With any other operation nothing is
//! captured, and the calls are made one by one.
#![allow(unsafe_code)] // makes operations again, wrongly on purpose, over a simulator that checks every access

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use devarray::{
    Error, Layout, Result,
    backend::{Buffer, Captured, Captures, CopyOp, Device, FillOp, MapOp, Maps, Operand, Stream as _},
};

use super::{BrokenStream, Bug, Placed, driver, memory};

/// Makes an operation again, with the memory at these addresses.
type Again<D> = Box<dyn Fn(&BrokenStream<D>, &[Placed<<D as Device>::Buffer>]) -> Result<()> + Send + Sync>;

/// The number of operations, and the lengths of each one's memory.
type Form = Vec<Vec<usize>>;

/// A captured operation.
struct Operation<D: Device> {
    /// The addresses of its memory; the memory that it writes is last.
    addresses: Vec<(u64, usize)>,
    again: Again<D>,
}

/// The operations that a stream captures.
pub(super) struct Taken<D: Device>(Mutex<Vec<Operation<D>>>);

/// Operations that can be launched.
struct Operations<D: Device>(Arc<Vec<Operation<D>>>);

impl<D: Device> Captured for Operations<D> {}

/// State that the streams of a device share.
pub(super) struct Known<D: Device> {
    memory: Mutex<HashMap<u64, Weak<memory::Known<D::Buffer>>>>,
    /// The first capture with each form.
    first: Mutex<HashMap<Form, Arc<Vec<Operation<D>>>>>,
}

impl<D: Device> Default for Known<D> {
    fn default() -> Self {
        Self { memory: Mutex::default(), first: Mutex::default() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Device> Known<D> {
    /// Notes memory, so that it can be found by its address.
    pub(super) fn note(&self, memory: Placed<D::Buffer>) -> Placed<D::Buffer> {
        lock(&self.memory).insert(memory.address(), memory.downgrade());
        memory
    }

    fn at(&self, (address, len_bytes): (u64, usize)) -> Result<Placed<D::Buffer>> {
        let found = lock(&self.memory).get(&address).and_then(Placed::upgrade);
        found.filter(|found| found.len_bytes() == len_bytes).ok_or_else(|| driver("launch", "NO_MEMORY"))
    }
}

impl<D: Device> Taken<D> {
    fn push(
        &self,
        stream: &BrokenStream<D>,
        memory: &[&Placed<D::Buffer>],
        again: impl Fn(&BrokenStream<D>, &[Placed<D::Buffer>]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        let addresses: Vec<_> = memory.iter().map(|memory| (memory.address(), memory.len_bytes())).collect();
        // Memory of other code cannot be found again.
        addresses.iter().try_for_each(|&of| stream.device.captures.at(of).map(drop))?;
        lock(&self.0).push(Operation { addresses, again: Box::new(again) });
        Ok(())
    }

    pub(super) fn copy(&self, on: &BrokenStream<D>, op: &CopyOp<'_, Placed<D::Buffer>>) -> Result<()> {
        let plan = op.plan().clone();
        self.push(on, &[op.src(), op.dst()], move |stream, memory| {
            // SAFETY: the same operation.
            stream.copy(&unsafe { CopyOp::new_unchecked(&memory[1], &memory[0], &plan) })
        })
    }

    pub(super) fn fill(&self, on: &BrokenStream<D>, op: &FillOp<'_, Placed<D::Buffer>>) -> Result<()> {
        let (plan, pattern) = (op.plan().clone(), op.pattern().to_vec());
        self.push(on, &[op.dst()], move |stream, memory| {
            // SAFETY: the same operation.
            stream.fill(&unsafe { FillOp::new_unchecked(&memory[0], &plan, &pattern) })
        })
    }
}

impl<D: Maps> Taken<D> {
    pub(super) fn map(&self, on: &BrokenStream<D>, op: &MapOp<'_, Placed<D::Buffer>>) -> Result<()> {
        let (program, scalars) = (op.program().clone(), op.scalars().to_vec());
        let operands = || op.inputs().iter().chain([op.result()]);
        let layouts: Vec<Layout> = operands().map(|operand| operand.layout().clone()).collect();
        let memory: Vec<_> = operands().map(Operand::buffer).collect();
        self.push(on, &memory, move |stream, memory| {
            let mut inputs: Vec<_> =
                memory.iter().zip(&layouts).map(|(memory, layout)| Operand::new(memory, layout)).collect();
            let Some(result) = inputs.pop() else { return Ok(()) };
            // SAFETY: the same operation.
            let op = unsafe { MapOp::new_unchecked(&program, &inputs, &scalars, result) };
            stream.device.map(stream, &op)
        })
    }
}

/// Puts the second result of the same size in place of the first one, which may still be needed.
fn placed_over<D: Device>(operations: &mut [Operation<D>]) {
    let results = operations.iter().filter_map(|of| of.addresses.last().copied());
    let results: Vec<_> = results.collect();
    let Some(&first) = results.first() else { return };
    let Some(&second) = results.iter().find(|&&of| of != first && of.1 == first.1) else { return };
    let all = operations.iter_mut().flat_map(|of| &mut of.addresses);
    all.filter(|of| **of == second).for_each(|of| *of = first);
}

// SAFETY: no promise is kept; only used over a simulator, which checks every access to device memory.
unsafe impl<D: Device> Captures for BrokenStream<D> {
    fn capture(&self) -> Result<Option<Self>> {
        self.device.open(Some(Taken(Mutex::default()))).map(Some)
    }

    fn end_capture(self) -> Result<Box<dyn Captured>> {
        let mut operations =
            self.taken.as_ref().map(|taken| std::mem::take(&mut *lock(&taken.0))).unwrap_or_default();
        if self.bug == Bug::CapturesPlaceOneOverAnother {
            placed_over(&mut operations);
        }
        let operations = Arc::new(operations);
        let form = operations.iter().map(|of| of.addresses.iter().map(|&(_, len_bytes)| len_bytes).collect());
        let mut first = lock(&self.device.captures.first);
        let first = first.entry(form.collect()).or_insert_with(|| Arc::clone(&operations));
        let kept = if self.bug == Bug::CapturesKeepAddresses { first } else { &operations };
        Ok(Box::new(Operations(Arc::clone(kept))))
    }

    unsafe fn launch_captured(&self, captured: &dyn Captured, _: Range<u64>) -> Result<()> {
        let captured: &dyn Any = captured;
        let Some(Operations::<D>(operations)) = captured.downcast_ref() else {
            return Err(Error::DeviceMismatch { backend: "broken", operation: "launch" });
        };
        for (nth, Operation { addresses, again }) in operations.iter().enumerate() {
            let memory = addresses.iter().map(|&of| self.device.captures.at(of));
            let memory = memory.collect::<Result<Vec<_>>>()?;
            let strays = self.bug == Bug::CapturesLeaveOutAnEdge && nth % 2 == 1;
            self.strays.store(strays, std::sync::atomic::Ordering::Relaxed);
            let done = again(self, &memory);
            self.strays.store(false, std::sync::atomic::Ordering::Relaxed);
            done?;
        }
        Ok(())
    }
}

impl<D: Device> BrokenStream<D> {
    /// Refuses operations that are not captured.
    pub(super) fn runs(&self) -> Result<()> {
        if self.taken.is_some() { Err(driver("capture", "NOT_CAPTURED")) } else { Ok(()) }
    }
}

impl<D: Device> fmt::Debug for Operations<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operations({})", self.0.len())
    }
}

impl<D: Device> fmt::Debug for Taken<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Taken({})", lock(&self.0).len())
    }
}

impl<D: Device> fmt::Debug for Known<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Known({} pieces of memory)", lock(&self.memory).len())
    }
}
