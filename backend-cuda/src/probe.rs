//! Finds the driver, its version and its devices. Everything absent is a typed error.
#![allow(unsafe_code)] // asks the driver; every pointer passed is to a local of the asked type

use std::ffi::{CStr, c_char, c_int};

use devarray::{
    Error, Result,
    backend::{Capability, DeviceInfo},
};

use crate::driver::{BACKEND, Driver, Failure, sys::CUdevice, sys::CUdevice_attribute, unavailable};

/// The oldest driver that can load the kernels: the PTX version of `kernels/strided/*.ptx.lz4` came
/// with CUDA 12.0.
const OLDEST_DRIVER: c_int = 12_000;

/// The oldest generation that the kernels are compiled for.
const OLDEST_GENERATION: (u32, u32) = (7, 0);

/// The CUDA devices of this machine, in ordinal order; at least one.
///
/// Opens none of them, so none of their memory is used.
///
/// # Errors
///
/// [`Error::Unavailable`]: no driver library, a driver too old, or no device. Never panics without
/// a driver.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    Driver::load()?.devices()
}

impl Driver {
    /// The devices of this driver; as [`devices`](fn@crate::devices).
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`]: the driver lacks a function, is too old, does not start, or has no
    /// device. [`Error::Driver`]: it could not describe a device.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>> {
        (0..self.start()?).map(|ordinal| Ok(self.find(ordinal)?.info)).collect()
    }

    /// Starts the driver and counts its devices, at least one.
    pub(crate) fn start(&self) -> Result<usize> {
        let (major, minor) = split(OLDEST_DRIVER);
        if let Some(function) = self.missing() {
            let symbol = function.symbol();
            return Err(unavailable(format_args!(
                "the driver library has no {symbol}; a driver for CUDA {major}.{minor} or newer is needed"
            )));
        }
        let version = self.version()?;
        if version < OLDEST_DRIVER {
            let (old_major, old_minor) = split(version);
            return Err(unavailable(format_args!(
                "the driver is for CUDA {old_major}.{old_minor}; one for {major}.{minor} or newer is needed"
            )));
        }
        // SAFETY: may be called at any time, any number of times.
        unsafe { self.init(0) }.map_err(|failure| self.refused("cuInit", failure))?;
        let mut count = 0;
        // SAFETY: the pointer is to a local of the right type.
        unsafe { self.device_get_count(&raw mut count) }
            .map_err(|failure| self.refused("cuDeviceGetCount", failure))?;
        match usize::try_from(count) {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(unavailable("the driver sees no device")),
        }
    }

    /// Describes device `ordinal`. The driver must have been started.
    pub(crate) fn find(&self, ordinal: usize) -> Result<Found> {
        let number = c_int::try_from(ordinal)
            .map_err(|_| unavailable(format_args!("there is no device {ordinal}")))?;
        let mut device = 0;
        // SAFETY: the pointer is to a local of the right type.
        unsafe { self.device_get(&raw mut device, number) }
            .map_err(|failure| self.error("describe device", failure))?;
        let mut name: [c_char; 256] = [0; 256];
        // SAFETY: the buffer has the length given with it, and the driver ends the name with a zero
        // inside it.
        unsafe { self.device_get_name(name.as_mut_ptr(), 256, device) }
            .map_err(|failure| self.error("describe device", failure))?;
        name[255] = 0;
        // SAFETY: the buffer ends with a zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();

        let attribute = |attribute| self.attribute(device, attribute);
        let generation = (
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let max_pitch = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_PITCH)?;
        let pools = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0;
        let registers = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED)? != 0;
        let maps = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY)? != 0;
        // Without the second, the host must not touch managed memory while the device uses any.
        let manages = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)? != 0
            && attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? != 0;
        let shares = cfg!(target_os = "linux")
            && attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED)? != 0;
        let (major, minor) = split(self.version()?);

        let properties = self.properties(device, generation)?;
        let mut info = DeviceInfo::new(BACKEND, name);
        info.properties = properties;
        info.ordinal = ordinal;
        info.generation = format!("{}.{}", generation.0, generation.1);
        info.driver = format!("{major}.{minor}");
        // A row is no longer than the pitch; of the number of rows no limit is documented.
        info.capabilities.max_pitch_bytes = usize::try_from(max_pitch).unwrap_or(0);
        info.capabilities.max_width_bytes = info.capabilities.max_pitch_bytes;
        let extras = [
            (true, Capability::EventTiming),
            (true, Capability::Functions),
            (true, Capability::Reductions),
            // Devices tell of indices in memory of the host, of order likewise.
            (maps, Capability::Gathers),
            (maps, Capability::Orders),
            (true, Capability::Products),
            (true, Capability::Collectives),
            (true, Capability::Kernels),
            (true, Capability::WriteCombinedMemory),
            (true, Capability::ForeignMemory),
            (true, Capability::PeerAccess),
            (true, Capability::DeviceSymbols),
            (shares, Capability::Ipc),
            (true, Capability::MemoryPool),
            (registers, Capability::RegisteredMemory),
            (maps, Capability::MappedMemory),
            (manages, Capability::ManagedMemory),
        ];
        for (_, extra) in extras.into_iter().filter(|(has, _)| *has) {
            info.capabilities.extras = info.capabilities.extras.with(extra);
        }
        Ok(Found { device, pools, info })
    }

    fn version(&self) -> Result<c_int> {
        let mut version = 0;
        // SAFETY: the pointer is to a local of the right type; needs no initialized driver.
        unsafe { self.driver_get_version(&raw mut version) }
            .map_err(|failure| self.refused("cuDriverGetVersion", failure))?;
        Ok(version)
    }

    pub(crate) fn attribute(&self, device: CUdevice, attribute: CUdevice_attribute) -> Result<c_int> {
        let mut value = 0;
        // SAFETY: the pointer is to a local of the right type.
        unsafe { self.device_get_attribute(&raw mut value, attribute, device) }
            .map_err(|failure| self.error("describe device", failure))?;
        Ok(value)
    }

    /// The driver is there but cannot be used.
    pub(crate) fn refused(&self, call: &str, failure: Failure) -> Error {
        let Failure::Code(code) = failure else { return self.error("start", failure) };
        let name = self.code_name(code);
        let hint = match code {
            34 => ": the library is the toolkit's stub, not a driver",
            46 => ": the device is in use by another process that has it alone",
            100 => ": the driver sees no device",
            802..=804 => ": the kernel module and the driver library do not fit each other",
            _ => "",
        };
        unavailable(format_args!("{call} answered {name} ({code}){hint}"))
    }
}

/// A device as the driver describes it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) device: CUdevice,
    pub(crate) info: DeviceInfo,
    pools: bool,
}

impl Found {
    /// An error if this backend cannot use the device.
    pub(crate) fn check(&self) -> Result<()> {
        let DeviceInfo { name, ordinal, generation, properties, .. } = &self.info;
        if properties.compute_capability < Some(OLDEST_GENERATION) {
            let (major, minor) = OLDEST_GENERATION;
            return Err(unavailable(format_args!(
                "device {ordinal} ({name}) is of generation {generation}; {major}.{minor} or newer is needed"
            )));
        }
        if !self.pools {
            return Err(unavailable(format_args!("device {ordinal} ({name}) has no memory pools")));
        }
        Ok(())
    }
}

/// The driver's version number as (major, minor): 12040 is 12.4.
const fn split(version: c_int) -> (c_int, c_int) {
    (version / 1000, version % 1000 / 10)
}
