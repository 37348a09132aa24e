//! The devices of this module, and the live allocations on them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use devarray::{
    Context, StreamHandle,
    memory::{AllocationRecord, MemoryHook},
};
use devarray_cuda::CudaDevice;
use devarray_mock::MockDevice;
use devarray_python::{serve, to_py};
use pyo3::{exceptions::PyValueError, prelude::*};

#[derive(Clone)]
struct Used {
    mock: Option<(MockDevice, StreamHandle<MockDevice>)>,
    cuda: Option<StreamHandle<CudaDevice>>,
}

static USED: Mutex<Used> = Mutex::new(Used { mock: None, cuda: None });

/// Do not hold the guard while Python may run, or while waiting for a thread that runs Python:
/// clone the content instead.
fn used() -> MutexGuard<'static, Used> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a backend into use: `"mock"`, whose memory is the CPU's, or `"cuda"`.
#[pyfunction]
#[pyo3(signature = (name, ordinal=0))]
pub(crate) fn use_backend(name: &str, ordinal: usize) -> PyResult<()> {
    match name {
        "mock" => {
            let device = MockDevice::builder().adopts_host_memory(true).build();
            let context = Context::new(device.clone()).map_err(to_py)?;
            // Dropped outside the lock: the destructors of a device's objects may run Python, which
            // may come here again. `serve` drops the rest of the device with its last array.
            let before = used().mock.take();
            drop(before);
            let stream = serve(&context)?;
            used().mock = Some((device, stream));
        }
        "cuda" => {
            let context = Context::new(CudaDevice::open(ordinal).map_err(to_py)?).map_err(to_py)?;
            let before = used().cuda.take();
            drop(before);
            let stream = serve(&context)?;
            used().cuda = Some(stream);
        }
        _ => return Err(PyValueError::new_err("a backend is \"mock\" or \"cuda\"")),
    }
    Ok(())
}

/// The number of live allocations, and of other code's memory lent to this module, after all work
/// is done.
#[pyfunction]
pub(crate) fn live() -> PyResult<(usize, usize)> {
    let used = used().clone();
    let (mut allocations, mut adopted) = (0, 0);
    if let Some((device, stream)) = &used.mock {
        stream.synchronize().map_err(to_py)?;
        device.finish();
        allocations += stream.context().live_allocations().len();
        adopted += device.report().adopted;
    }
    if let Some(stream) = &used.cuda {
        stream.synchronize().map_err(to_py)?;
        allocations += stream.context().live_allocations().len();
    }
    Ok((allocations, adopted))
}

/// From now on calls `told` for each allocation on the simulator in use, with a word
/// (`"allocated"`, `"freed"`) and its bytes; and when the simulator is closed, with `"closed"` and
/// the number of live allocations.
#[pyfunction]
pub(crate) fn watch(told: Py<PyAny>) -> PyResult<()> {
    let used = used().clone();
    let (_, stream) = used.mock.ok_or_else(|| PyValueError::new_err("the simulator is not in use"))?;
    stream.context().set_memory_hook(Some(Arc::new(Watch(told))));
    Ok(())
}

/// A hook that calls Python. Neither the library nor this module holds a lock meanwhile.
struct Watch(Py<PyAny>);

impl Watch {
    fn tell(&self, word: &str, number: usize) {
        Python::attach(|py| {
            // Memory is also freed while an exception is under way, which a call into Python would replace.
            let under_way = PyErr::take(py);
            if let Err(error) = self.0.call1(py, (word, number)) {
                error.write_unraisable(py, None);
            }
            if let Some(exception) = under_way {
                exception.restore(py);
            }
        });
    }
}

impl MemoryHook for Watch {
    fn allocated(&self, record: &AllocationRecord) {
        self.tell("allocated", record.len_bytes);
    }

    fn freed(&self, record: &AllocationRecord) {
        self.tell("freed", record.len_bytes);
    }

    fn closed(&self, live: &[AllocationRecord]) {
        self.tell("closed", live.len());
    }
}

/// The simulator's findings so far.
#[pyfunction]
pub(crate) fn findings() -> Vec<String> {
    let used = used().clone();
    used.mock.map_or_else(Vec::new, |(device, _)| {
        device.report().findings.iter().map(ToString::to_string).collect()
    })
}
