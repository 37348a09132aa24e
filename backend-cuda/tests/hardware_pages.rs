//! Finds out on a real device whether the driver keeps a page locked while one of several ranges
//! that share it is registered: threads register, copy and unregister neighbours in one page at a
//! time.
//!
//! Needs a CUDA device, so it is ignored by default; run it alone, since a failure is one of the
//! whole process:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_pages:: --nocapture`.
//! Without a device it fails.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../../core/tests/host_kinds/shared_pages.rs"]
mod shared_pages;

use devarray::{Context, backend::Device};
use devarray_cuda::{CudaDevice, driver::Function};
use shared_pages::{Load, neighbours_end_while_others_copy};

/// Copies that take from well below the time of a registration to well above it.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn neighbours_in_a_page_end_while_others_copy() {
    let context = Context::new(CudaDevice::open(0).expect("a CUDA device is needed")).unwrap();
    println!("{}", context.device().info().name);
    for (long_bytes, rounds) in [(5000, 200), (70_001, 200), (1_000_003, 100), (33_333_333, 20)] {
        let calls = |function| context.device().driver().calls(function);
        let (registered, before) = (calls(Function::MemHostRegister), calls(Function::MemHostUnregister));
        let short = neighbours_end_while_others_copy(&context, &Load { long_bytes, rounds });
        let (registered, ended) =
            (calls(Function::MemHostRegister) - registered, calls(Function::MemHostUnregister) - before);
        println!(
            "{long_bytes} bytes, {rounds} rounds: short slices came and went {short} times; {registered} registrations were asked for, \
             {ended} were ended"
        );
        assert!(short > 0, "no neighbour ended meanwhile");
        // A range that the driver refuses, as if it were registered already, is copied as it is:
        // none of these overlaps another.
        assert_eq!(registered, ended, "the driver takes ranges byte by byte, and so all of them");
    }
    assert_eq!(context.device().take_errors(), []);
}
