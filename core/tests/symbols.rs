//! Variables of modules on the simulator: the laws under every schedule, failures of calls, and the twin that
//! does not declare its reads, which must be detected.
#![allow(unsafe_code, clippy::unwrap_used)] // helpers of tests; loads images, and stands for kernels

#[path = "interop/symbols.rs"]
mod laws;

use devarray::{
    Context, Error, Layout, Module,
    backend::{Buffer, Capabilities, Capability, CopyOp, Stream},
    copy::Plan,
};
use devarray_mock::{Code, MockDevice, Schedule, Site};

const IMAGE: &[u8] = b"other 5\nscale 16\ntable 4096\n";

fn load(context: &Context<MockDevice>) -> Module<MockDevice> {
    // SAFETY: a whole image.
    unsafe { context.load_module(IMAGE) }.unwrap()
}

#[test]
fn variables_keep_their_laws_under_every_schedule() {
    let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy];
    let fixed = fixed.into_iter().map(|schedule| MockDevice::builder().schedule(schedule));
    let random = (0..30).map(|seed| MockDevice::builder().schedule(Schedule::Random).seed(seed));
    for builder in fixed.chain(random) {
        let device = builder.build();
        let context = Context::new(device.clone()).unwrap();
        let module = load(&context);
        laws::written_and_read(&context, &module);
        laws::sizes_are_checked(&context, &module);
        laws::names_and_elements_are_checked(&context, &module);
        laws::the_module_goes_last(&context, module);
        assert_eq!(context.take_errors(), []);
        drop(context);
        assert!(device.report().is_clean(), "{}", device.report());
    }
}

#[test]
fn too_much_constant_memory_and_no_image_are_refused() {
    let context = Context::new(MockDevice::new()).unwrap();
    for image in [&b"a 65536\nb 1\n"[..], b"a -1\n", b"a\n", b"a 1 2\n", b"\xff 1\n"] {
        // SAFETY: the simulator refuses an image that it cannot read.
        let refused = unsafe { context.load_module(image) }.unwrap_err();
        assert!(matches!(refused, Error::Driver { operation: "load_module", code: 218, .. }), "{refused}");
    }
    // SAFETY: a whole image.
    unsafe { context.load_module(b"a 65536\n") }.unwrap();
    let plain = MockDevice::builder().capabilities(Capabilities::default()).build();
    // SAFETY: a whole image.
    let refused = unsafe { Context::new(plain).unwrap().load_module(IMAGE) }.unwrap_err();
    assert!(matches!(refused, Error::Unsupported { capability: Capability::DeviceSymbols, .. }));
}

/// A read of the constants, like a kernel's: if it is declared, the next write waits for it; if it is not,
/// the race is found.
#[test]
fn who_reads_constants_without_saying_so_is_found() {
    for declared in [true, false] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let context = Context::new(device.clone()).unwrap();
        let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
        let module = load(&context);
        let mut scale = module.symbol::<u8>("scale").unwrap();
        scale.write(&one, 0, &[1; 16]).unwrap();
        let line = Layout::new(&[16], &[1], 0).unwrap();
        let view = scale.view();
        let plan = Plan::new(&line, view.layout(), 1, &Capabilities::default()).unwrap();
        let out = two.raw().alloc(16.try_into().unwrap()).unwrap();
        let source = view.buffer().unwrap().twin();
        let kernel = |stream: &devarray_mock::MockStream| {
            // SAFETY: inside both buffers; whether the read is declared is the matter of the test.
            stream.copy(&unsafe { CopyOp::new_unchecked(&out, &source, &plan) })
        };
        if declared {
            two.foreign_work().reads(&view).enqueue(kernel).unwrap();
        } else {
            two.raw().wait(&one.raw().record().unwrap()).unwrap();
            kernel(two.raw()).unwrap();
        }
        scale.write(&one, 0, &[2; 16]).unwrap();
        let codes: Vec<Code> = device.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, if declared { vec![] } else { vec![Code::Race] });
        assert_eq!(out.len_bytes(), 16);
    }
}

#[test]
fn every_call_fails_once() {
    let failed =
        || Error::Driver { backend: "mock", operation: "planned", code: 999, name: "PLANNED".into() };
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    device.fail_next(Site::LoadModule, failed());
    // SAFETY: a whole image.
    assert_eq!(unsafe { context.load_module(IMAGE) }.unwrap_err(), failed());
    let module = load(&context);
    device.fail_next(Site::Symbol, failed());
    assert_eq!(module.symbol::<u8>("scale").unwrap_err(), failed());
    let stream = context.stream().unwrap();
    let mut scale = module.symbol::<u8>("scale").unwrap();
    device.fail_next(Site::Upload, failed());
    assert_eq!(scale.write(&stream, 0, &[1; 16]), Err(failed()));
    scale.write(&stream, 0, &[2; 16]).unwrap();
    assert_eq!(scale.to_vec(&stream).unwrap(), [2; 16]);
    drop((scale, module, stream, context));
    assert!(device.report().is_clean(), "{}", device.report());
}
