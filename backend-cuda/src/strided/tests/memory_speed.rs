//! Fast memory.

use devarray::backend::DeviceProperties;

use super::super::MemorySpeed;

fn device(clock_khz: usize, memory_clock_khz: usize, memory_bus_bits: usize) -> DeviceProperties {
    let mut device = DeviceProperties::default();
    (device.multiprocessors, device.clock_khz) = (132, clock_khz);
    (device.memory_clock_khz, device.memory_bus_bits) = (memory_clock_khz, memory_bus_bits);
    device
}

#[test]
fn what_was_measured_and_what_nobody_knows() {
    assert_eq!(MemorySpeed::of(&device(1_980_000, 2_619_000, 5120)), MemorySpeed::Even, "H100");
    assert_eq!(MemorySpeed::of(&device(1_980_000, 3_201_000, 6144)), MemorySpeed::Fast, "H200");
    assert_eq!(MemorySpeed::of(&device(0, 3_201_000, 6144)), MemorySpeed::Even);
    assert_eq!(MemorySpeed::of(&DeviceProperties::default()), MemorySpeed::Even);
}
