//! Properties of a device, from the driver.
#![allow(unsafe_code)] // asks the driver; every pointer passed is to a local of the asked type

use devarray::{
    Result,
    backend::{DeviceProperties, DeviceUuid, PciAddress},
};

use crate::driver::{
    Driver,
    sys::{CUdevice, CUdevice_attribute, CUuuid},
};

impl Driver {
    /// Describes a device. The driver must have been started.
    pub(crate) fn properties(&self, device: CUdevice, generation: (i32, i32)) -> Result<DeviceProperties> {
        use CUdevice_attribute as A;
        let number = |attribute: A| -> Result<u32> {
            Ok(u32::try_from(self.attribute(device, attribute)?).unwrap_or(0))
        };
        let size = |attribute: A| -> Result<usize> { Ok(number(attribute)? as usize) };
        let unsigned = |number: i32| u32::try_from(number).unwrap_or(0);

        let mut properties = DeviceProperties::default();
        properties.uuid = Some(self.uuid(device)?);
        properties.pci = Some(PciAddress::new(
            number(A::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
            number(A::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
            number(A::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
        ));
        properties.compute_capability = Some((unsigned(generation.0), unsigned(generation.1)));
        // SAFETY: the pointer is to a local of the right type.
        unsafe { self.device_total_mem(&raw mut properties.total_memory_bytes, device) }
            .map_err(|failure| self.error("describe device", failure))?;
        properties.l2_cache_bytes = size(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
        properties.constant_memory_bytes = size(A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)?;
        properties.multiprocessors = size(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        properties.warp_threads = size(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?;
        properties.max_block_threads = size(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        properties.max_multiprocessor_threads = size(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        properties.block_shared_memory_bytes = size(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
        properties.max_block_shared_memory_bytes =
            size(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        properties.block_registers = size(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?;
        properties.clock_khz = size(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
        properties.memory_clock_khz = size(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?;
        properties.memory_bus_bits = size(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?;
        properties.copy_engines = size(A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)?;
        properties.is_integrated = number(A::CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0;
        properties.has_ecc = number(A::CU_DEVICE_ATTRIBUTE_ECC_ENABLED)? != 0;
        Ok(properties)
    }

    fn uuid(&self, device: CUdevice) -> Result<DeviceUuid> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: the pointer is to a local of the right type.
        unsafe { self.device_get_uuid(&raw mut uuid, device) }
            .map_err(|failure| self.error("describe device", failure))?;
        Ok(DeviceUuid(uuid.bytes.map(|byte| byte.to_ne_bytes()[0])))
    }
}
