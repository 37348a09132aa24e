//! Shows on a real device whether the driver keeps a page locked while one of several ranges
//! that share it is registered: several threads register, copy and unregister neighbours in one page at the same
//! time.
//!
//! Needs a CUDA device, so it is ignored by default. Run it alone, since a failure breaks the
//! whole process:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_pages:: --nocapture`.
//! Without a device it fails.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../../core/tests/host_kinds/shared_pages.rs"]
mod shared_pages;

use devarray::{Context, backend::Device};
use devarray_cuda::{CudaDevice, driver::Function};
use shared_pages::{Load, neighbours_end_while_others_copy};

/// The longest copies take much longer than a registration, and the shortest ones much less.
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
        // If the driver refuses a range because it seems registered already, the range is copied without a
        // registration. These ranges do not overlap, so the driver must accept all of them.
        assert_eq!(registered, ended, "the driver takes ranges byte by byte, and so all of them");
    }
    assert_eq!(context.device().take_errors(), []);
}
