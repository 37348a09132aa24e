//! A scope never gives borrowed memory back while the device may use it: if it cannot wait, the
//! process ends.
#![cfg(target_os = "linux")] // has /dev/full, to which nothing can be printed
#![allow(clippy::unwrap_used)] // helpers of tests

use std::{
    env,
    fs::OpenOptions,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{self, Command, Stdio},
};

use devarray::{Array, Context, Error, backend::Quiesced};
use devarray_mock::{MockDevice, Site};

const END: &str = "DEVARRAY_TEST_SCOPE_END";
const LEFT: i32 = 10;

/// Exits with `LEFT` if the scope was left, also by unwinding: its memory would then be used again.
fn child(end: impl Fn(Error) -> Quiesced) -> ! {
    let error = Error::Driver { backend: "mock", operation: "synchronize", code: 1, name: "FAILED".into() };
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let a = Array::full(&stream, &[8], 1_u8).unwrap();
    let mut dst = [0; 8];
    device.fail_next(Site::Synchronize, end(error));
    let _ = catch_unwind(AssertUnwindSafe(|| stream.scope(|s| s.download(&a.view(), &mut dst)).map(drop)));
    process::exit(LEFT)
}

#[test]
fn an_unknown_end_aborts_even_if_nothing_can_be_printed() {
    match env::var(END).as_deref() {
        Ok("unknown") => child(Quiesced::Unknown),
        Ok(_) => child(Quiesced::Ended),
        Err(_) => {}
    }
    for (end, code) in [("unknown", None), ("ended", Some(LEFT))] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        for stderr in [Stdio::null(), full.into()] {
            let status = Command::new(env::current_exe().unwrap())
                .args(["--exact", "an_unknown_end_aborts_even_if_nothing_can_be_printed", "--nocapture"])
                .env(END, end)
                .stdout(Stdio::null())
                .stderr(stderr)
                .status()
                .unwrap();
            assert_eq!(status.code(), code, "{end}: {status}");
        }
    }
}
