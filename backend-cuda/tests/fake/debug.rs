//! `{:?}` of every public type of the backend is short, although a driver is behind most of them.
#![allow(unsafe_code)] // lends memory, which stays

use std::{num::NonZeroI32, num::NonZeroUsize};

use devarray::{
    Error, Layout,
    backend::{
        Buffer, Device, DeviceSymbols, ForeignMemory, FreeOp, Ipc, ManagedMemory, RegisterHost, Stream,
    },
    copy::Plan,
};
use devarray_cuda::{
    CudaDevice, cublaslt,
    driver::{Failure, Fault, Function},
    library::Place,
    nccl,
    strided::{self, Addresses, LaunchCache, Part, Step, StridedLaunch, kernel::Entry},
};

use super::{shown::Shown, state::Fake};

#[test]
fn every_public_type_is_short() -> Result<(), Box<dyn std::error::Error>> {
    let fake = Fake::new();
    let driver = fake.driver();
    let device = CudaDevice::open_with(&driver, 0)?;
    let mut shown = Shown::default();
    values(&mut shown, &device)?;
    launches(&mut shown, &device)?;
    shown.add("CudaDevice", &device);
    shown.add("FunctionStatistics", &device.function_statistics());
    shown.add("Driver", &driver);
    shown.add("Table", driver.table());
    shown.add("Function", &Function::ALL[0]);
    shown.add("Failure", &Failure::Missing(Function::ALL[0]));
    shown.add("Fault", &Fault::new(3, NonZeroI32::MIN).of(Function::ALL[0]).lasting());
    assert!(format!("{device:?}").contains("cuda:0"), "{device:?}");
    // Made by the backend alone, which shows them in `driver::types`.
    shown.is_shown_elsewhere(["LaunchAttribute", "LaunchConfig", "MemAccess"]);
    shown.add("Status", &cublaslt::Status::NOT_SUPPORTED);
    shown.add("Status", &nccl::Status::IN_PROGRESS);
    shown.add("Place", &Place::System("libcublasLt.so.12".to_owned()));
    // Made by joining alone, which no call of this test can.
    shown.is_shown_elsewhere(["CudaCommunicator"]);
    // Blocks of memory that the library reads and writes, and variables of the process, as they are.
    shown.is_shown_elsewhere(["Algorithm", "Config", "Found", "Named", "Surroundings", "UniqueId"]);
    // Blocks of memory that kernels read and write, which nobody has a value of.
    shown.is_shown_elsewhere(["Axis", "IndexedAxis", "Params", "SendParams", "Sent", "Slot", "State"]);
    shown.are_all_of([concat!(env!("CARGO_MANIFEST_DIR"), "/src")]);
    Ok(())
}

fn values(shown: &mut Shown, device: &CudaDevice) -> Result<(), Box<dyn std::error::Error>> {
    let len_bytes = NonZeroUsize::MIN.saturating_add(4095);
    let stream = device.open_stream()?;
    shown.add("CudaStream", &stream);
    shown.add("CudaEvent", &stream.record()?);
    let buffer = stream.alloc(len_bytes)?;
    shown.add("CudaBuffer", &buffer);
    // Where it is, by the handle in it.
    let shown_stream = format!("{stream:?}");
    assert!(shown_stream.contains("0x"), "{shown_stream}");
    // SAFETY: the memory is there until it is freed below.
    shown.add("CudaAdopted", &unsafe { device.adopt(buffer.address(), 0..64) }?.1);
    // SAFETY: allocated on this stream, and used by nobody.
    stream.free(unsafe { FreeOp::new_unchecked(buffer) })?;
    shown.add("CudaHostBuffer", &device.alloc_host(len_bytes)?);
    shown.add("CudaManagedBuffer", &device.alloc_managed(len_bytes)?);
    let mut memory = vec![0_u8; 4096];
    // SAFETY: the memory outlives the registration.
    let registration = unsafe { device.register_host(memory.as_mut_ptr(), len_bytes) }?;
    shown.add("CudaRegistration", &registration);
    device.unregister_host(registration)?;
    // SAFETY: a whole image.
    shown.add("CudaModule", &unsafe { device.load_module(super::symbols::IMAGE) }?);
    let (buffer, exportable) = device.alloc_exportable(len_bytes)?;
    shown.add("CudaExportable", &exportable);
    let name = device.export_memory(&buffer, 0..64)?;
    // SAFETY: exported until the end.
    let (opened, opening) = unsafe { device.open_memory(&name) }?;
    shown.add("CudaOpened", &opening);
    drop((opened, opening, buffer, exportable));
    Ok(())
}

fn launches(shown: &mut Shown, device: &CudaDevice) -> Result<(), Box<dyn std::error::Error>> {
    let layout = Layout::new(&[64, 64], &[64, 1], 0)?;
    let plan = Plan::new(&layout, &layout.transpose(), 4, &device.info().capabilities)?;
    let addresses = Addresses { dst: 1 << 20, src: 1 << 30 };
    shown.add("Addresses", &addresses);
    let speed = strided::MemorySpeed::of(&device.info().properties);
    shown.add("MemorySpeed", &speed);
    let mut chosen = LaunchCache::default();
    strided::select(speed, &plan, addresses, &mut chosen, |launch: &StridedLaunch| {
        shown.add("StridedLaunch", launch);
        shown.add("Kernel", &launch.kernel);
        shown.add("Module", &launch.kernel.module());
        shown.add("Entry", &launch.kernel.entry);
        shown.add("Family", &launch.kernel.entry.family());
        shown.add("Params", &launch.params);
        Ok::<(), Error>(())
    })?;
    shown.add("LaunchCache", &chosen);
    let parts =
        [0, 64].map(|offset| Part { plan: &plan, addresses: Addresses { dst: offset << 20, ..addresses } });
    shown.add("Part", &parts[0]);
    strided::join(&parts, |step| {
        shown.add("Step", &step);
        if let Step::Together(launch) = step {
            shown.add("JoinParams", &launch.params);
        }
        Ok::<(), Error>(())
    })?;
    let tile = Entry::TableWideFused.tile().ok_or("a kernel of tiles")?;
    shown.add("TileKernel", &tile);
    shown.add("Find", &tile.find);
    Ok(())
}

/// A failure of a driver call becomes the error that the backend itself would return.
#[test]
fn failures_become_errors() {
    let driver = Fake::new().driver();
    let error = |failure| driver.error("my_kernel", failure);
    assert!(error(Failure::Code(719)).is_sticky());
    assert!(error(Failure::Code(2)).is_retryable());
    assert!(matches!(
        error(Failure::Code(1)),
        Error::Driver { backend: "cuda", operation: "my_kernel", code: 1, .. }
    ));
    assert!(matches!(error(Failure::Missing(Function::ALL[0])), Error::Unavailable { .. }));
    assert_eq!(Failure::Code(719).to_string(), "the driver answered 719");
}
