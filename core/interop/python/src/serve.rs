//! The contexts of this extension module, by device as other code names it.
#![allow(unsafe_code)] // passes promises of memory on

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use devarray::{Context, ErasedArray, StreamHandle, backend::ForeignStream};
use devarray_interop::{
    ArrayInterface, DataType, Door, Result, Tensor,
    arrow::{OwnedArray, OwnedSchema},
    device::DeviceId,
    dlpack::{
        Owned,
        abi::{ManagedTensor, ManagedTensorVersioned},
    },
};
use pyo3::PyResult;

use crate::{
    any::{AnyArray, On},
    error::to_py,
    kept::Kept,
    others::Others,
};

/// Takes in memory of other code, on one device.
pub(crate) trait AnyServer: Send + Sync {
    fn id(&self) -> DeviceId;
    fn reaches(&self, device: DeviceId) -> bool;
    fn stream_number(&self) -> Option<u64>;
    /// Makes our stream wait for a stream of other code.
    fn wait_for(&self, other: ForeignStream) -> Result<()>;
    /// New memory without values.
    fn allocate(&self, shape: &[usize], data_type: DataType) -> Result<Arc<dyn AnyArray>>;
    /// # Safety
    ///
    /// Like [`Tensor::from_dlpack`].
    unsafe fn import_dlpack(
        &self,
        structure: Owned<ManagedTensorVersioned>,
        others: Others,
    ) -> Result<Arc<dyn AnyArray>>;
    /// # Safety
    ///
    /// Like [`Tensor::from_dlpack`].
    unsafe fn import_legacy(
        &self,
        structure: Owned<ManagedTensor>,
        others: Others,
    ) -> Result<Arc<dyn AnyArray>>;
    /// `device` is the device that the publisher names, if it names one.
    ///
    /// # Safety
    ///
    /// Like [`Tensor::from_array_interface`].
    unsafe fn import_interface(
        &self,
        interface: &ArrayInterface,
        device: Option<DeviceId>,
        owner: Kept,
        others: Others,
    ) -> Result<Arc<dyn AnyArray>>;
    /// # Safety
    ///
    /// Like [`Tensor::from_arrow`].
    unsafe fn import_arrow(&self, schema: &OwnedSchema, array: OwnedArray) -> Result<Arc<dyn AnyArray>>;
}

struct Server<D: Door> {
    id: DeviceId,
    context: Context<D>,
    stream: StreamHandle<D>,
}

impl<D: Door> Server<D> {
    fn shared(&self, tensor: Tensor<D>, others: Others) -> Arc<dyn AnyArray> {
        // The owner of memory without elements is dropped at once, and the lender's stream may be gone with it.
        let others = if tensor.layout().is_empty() { Others::default() } else { others };
        Arc::new(On::lent(tensor, &self.stream, others))
    }
}

impl<D: Door> AnyServer for Server<D> {
    fn id(&self) -> DeviceId {
        self.id
    }

    fn reaches(&self, device: DeviceId) -> bool {
        // A kernel may be working on managed memory, and nobody on the host could wait for it.
        let own = self.context.device();
        own.reaches(device) && (device.device_type != DeviceId::CUDA_MANAGED || !own.is_host())
    }

    fn stream_number(&self) -> Option<u64> {
        D::stream_number(self.stream.raw())
    }

    fn wait_for(&self, other: ForeignStream) -> Result<()> {
        Ok(self.stream.wait_for_foreign(other)?)
    }

    fn allocate(&self, shape: &[usize], data_type: DataType) -> Result<Arc<dyn AnyArray>> {
        let array = ErasedArray::uninit(&self.stream, shape, data_type.item_bytes())?;
        Ok(Arc::new(On::new(Tensor::new(array, data_type)?, &self.stream)))
    }

    unsafe fn import_dlpack(
        &self,
        structure: Owned<ManagedTensorVersioned>,
        others: Others,
    ) -> Result<Arc<dyn AnyArray>> {
        // SAFETY: passed on to the caller.
        let tensor = unsafe { Tensor::from_dlpack(&self.stream, structure) }?;
        Ok(self.shared(tensor, others))
    }

    unsafe fn import_legacy(
        &self,
        structure: Owned<ManagedTensor>,
        others: Others,
    ) -> Result<Arc<dyn AnyArray>> {
        // SAFETY: passed on to the caller.
        let tensor = unsafe { Tensor::from_dlpack(&self.stream, structure) }?;
        Ok(self.shared(tensor, others))
    }

    unsafe fn import_interface(
        &self,
        interface: &ArrayInterface,
        device: Option<DeviceId>,
        owner: Kept,
        others: Others,
    ) -> Result<Arc<dyn AnyArray>> {
        let tensor = match device {
            // SAFETY: passed on to the caller.
            Some(device) => unsafe {
                Tensor::from_array_interface_on(&self.stream, interface, device, owner)
            },
            // SAFETY: as above.
            None => unsafe { Tensor::from_array_interface(&self.stream, interface, owner) },
        }?;
        Ok(self.shared(tensor, others))
    }

    unsafe fn import_arrow(&self, schema: &OwnedSchema, array: OwnedArray) -> Result<Arc<dyn AnyArray>> {
        // SAFETY: passed on to the caller.
        let tensor = unsafe { Tensor::from_arrow(&self.stream, schema, array) }?;
        Ok(self.shared(tensor, Others::lent_by(ForeignStream::LEGACY)))
    }
}

static SERVERS: Mutex<Vec<Arc<dyn AnyServer>>> = Mutex::new(Vec::new());

fn servers() -> MutexGuard<'static, Vec<Arc<dyn AnyServer>>> {
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves memory of other code on this context's device through this context, from now on. Work on
/// such memory goes to one stream, which is opened and returned here. Only the last context of a
/// device is used; the one before is dropped on this thread, with no lock held.
///
/// # Errors
///
/// `RuntimeError`: no stream could be opened.
pub fn serve<D: Door>(context: &Context<D>) -> PyResult<StreamHandle<D>> {
    let stream = context.stream().map_err(to_py)?;
    let id = context.device().id();
    let server: Arc<dyn AnyServer> =
        Arc::new(Server { id, context: context.clone(), stream: stream.clone() });
    let mut servers = servers();
    let replaced: Vec<_> = servers.extract_if(.., |other| other.id() == id).collect();
    servers.push(server);
    drop(servers);
    // Dropped outside the lock: the last clone of a context drops its memory and the owners of
    // adopted memory, whose destructors, like the program's hooks, may ask for a server.
    drop(replaced);
    Ok(stream)
}

/// The devices whose memory is taken in, as DLPack numbers them.
#[must_use]
pub fn served() -> Vec<(i32, i32)> {
    servers().iter().map(|server| (server.id().device_type, server.id().device_id)).collect()
}

/// The server that takes in memory of a device.
pub(crate) fn server_of(device: DeviceId) -> Option<Arc<dyn AnyServer>> {
    let exact = servers().iter().find(|server| server.id() == device).cloned();
    exact.or_else(|| {
        // Called outside the lock: a backend answers, and may ask a driver.
        let all = servers().clone();
        all.into_iter().find(|server| server.reaches(device))
    })
}

/// The server that takes in memory of such a kind of device; `number` selects one of several.
pub(crate) fn server_at(kind: i32, number: usize) -> Option<Arc<dyn AnyServer>> {
    servers().iter().filter(|server| server.id().device_type == kind).nth(number).cloned()
}
