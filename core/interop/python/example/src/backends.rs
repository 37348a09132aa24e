//! The devices of this module, and what is alive on them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use devarray::{Context, StreamHandle};
use devarray_cuda::CudaDevice;
use devarray_mock::MockDevice;
use devarray_python::{serve, to_py};
use pyo3::{exceptions::PyValueError, prelude::*};

#[derive(Default)]
struct Used {
    mock: Option<(MockDevice, StreamHandle<MockDevice>)>,
    cuda: Option<StreamHandle<CudaDevice>>,
}

static USED: Mutex<Option<Used>> = Mutex::new(None);

fn used() -> MutexGuard<'static, Option<Used>> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a backend into use: `"mock"`, whose memory is the CPU's, or `"cuda"`.
#[pyfunction]
#[pyo3(signature = (name, ordinal=0))]
pub(crate) fn use_backend(name: &str, ordinal: usize) -> PyResult<()> {
    let mut used = used();
    let used = used.get_or_insert_default();
    match name {
        "mock" => {
            let device = MockDevice::builder().adopts_host_memory(true).build();
            let stream = serve(&Context::new(device.clone()).map_err(to_py)?)?;
            used.mock = Some((device, stream));
        }
        "cuda" => {
            let context = Context::new(CudaDevice::open(ordinal).map_err(to_py)?).map_err(to_py)?;
            used.cuda = Some(serve(&context)?);
        }
        _ => return Err(PyValueError::new_err("a backend is \"mock\" or \"cuda\"")),
    }
    Ok(())
}

/// How many allocations are alive, and how much memory of others is lent to this module, after all
/// work is done.
#[pyfunction]
pub(crate) fn live() -> PyResult<(usize, usize)> {
    let used = used();
    let Some(used) = used.as_ref() else { return Ok((0, 0)) };
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

/// What the simulator found wrong so far.
#[pyfunction]
pub(crate) fn findings() -> Vec<String> {
    let used = used();
    let mock = used.as_ref().and_then(|used| used.mock.as_ref());
    mock.map_or_else(Vec::new, |(device, _)| {
        device.report().findings.iter().map(ToString::to_string).collect()
    })
}
