//! Memory within a capacity.

use devarray::{Array, Context, Error, Result};
use devarray_host::HostDevice;

#[test]
fn beyond_the_capacity_is_a_typed_error_and_room_comes_back() -> Result<()> {
    let context = Context::new(HostDevice::builder().capacity_bytes(16 << 20).build())?;
    let stream = context.stream()?;
    for round in 0..3 {
        let held = Array::<u8, _>::uninit(&stream, &[10 << 20])?;
        let refused = Array::<u8, _>::uninit(&stream, &[7 << 20]).err();
        assert!(matches!(refused, Some(Error::OutOfMemory { free_bytes: Some(6_291_456), .. })), "{round}");
        let pinned = context.pinned::<u8>(7 << 20).err();
        assert!(matches!(pinned, Some(Error::OutOfMemory { .. })), "pinned memory is of the same");
        drop(held);
        drop(Array::<u8, _>::uninit(&stream, &[16 << 20])?);
    }
    Ok(())
}

/// Far more memory than the machine has may be allocated: pages are committed when they are
/// touched.
#[cfg(target_os = "linux")]
#[test]
fn pages_are_committed_when_they_are_touched() -> Result<()> {
    let context = Context::new(HostDevice::new())?;
    let stream = context.stream()?;
    let len = devarray::Device::memory(context.device())?.total_bytes;
    let array = Array::<u8, _>::uninit(&stream, &[len / 2])?;
    assert_eq!(
        array.view().slice_axis(0, (len / 4).cast_signed()..)?.slice_axis(0, ..3)?.to_vec(&stream)?,
        [0; 3]
    );
    Ok(())
}

#[test]
fn pinned_memory_is_zeroed_each_time() -> Result<()> {
    let context = Context::new(HostDevice::builder().capacity_bytes(64 << 20).build())?;
    for len in [100, 100_000, 5 << 20] {
        for _ in 0..3 {
            let mut memory = context.pinned::<u8>(len)?;
            assert!(memory.iter().all(|&byte| byte == 0), "{len}");
            memory.fill(7);
            drop(memory);
            drop(context.pinned::<u8>(64)?);
        }
    }
    Ok(())
}
