//! A scope never lets go of borrowed memory while the device may use it: where it cannot wait, the process ends.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Command, Stdio},
};

use devarray::{Array, Context, Error, backend::Quiesced};
use devarray_mock::{MockDevice, Site};

const CHILD: &str = "DEVARRAY_SCOPE_CHILD";

/// The wait ends unknown. Whoever comes back from the scope, even by unwinding, has its memory back too early.
fn child() {
    let error = Error::Driver { backend: "mock", operation: "synchronize", code: 1, name: "FAILED".into() };
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let a = Array::full(&stream, &[8], 1_u8).unwrap();
    let mut dst = [0; 8];
    device.fail_next(Site::Synchronize, Quiesced::Unknown(error));
    let left = catch_unwind(AssertUnwindSafe(|| {
        let _ = stream.scope(|s| s.download(&a.view(), &mut dst));
    }));
    std::process::exit(if left.is_ok() { 10 } else { 11 });
}

#[test]
fn an_unknown_end_aborts_even_if_nothing_can_be_printed() {
    if env::var_os(CHILD).is_some() {
        child();
    }
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for stderr in [Stdio::null(), full.into()] {
        let this = Command::new(env::current_exe().unwrap())
            .args(["--exact", "an_unknown_end_aborts_even_if_nothing_can_be_printed", "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::null())
            .stderr(stderr)
            .status()
            .unwrap();
        assert_eq!(this.code(), None, "the scope was left: {this}");
    }
}
