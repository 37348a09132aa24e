//! Proves on a real device what the fake driver cannot show: arrays can use memory of the driver and of
//! another process, two devices access each other's memory in the right order, and the
//! driver's descriptions of devices are right.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test -p devarray-cuda --test card -- --ignored hardware_interop::`. Without a device they then
//! fail; none is skipped. The test of two devices needs two.
#![allow(unsafe_code)] // plays other code and another process
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../../core/tests/interop/numba.rs"]
mod numba;
#[path = "../../core/tests/interop/symbols.rs"]
mod symbol_laws;

use std::{
    env,
    fmt::Write as _,
    io::{BufRead, BufReader, Write as _},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

use devarray::{
    Array, Context, Crossing, Error, Layout, Order, StreamHandle,
    backend::{Capability, Device},
    ipc::{RemoteArray, RemoteEvent},
};
use devarray_cuda::{CudaDevice, devices, driver::Driver};

fn open(ordinal: usize) -> Context<CudaDevice> {
    Context::new(CudaDevice::open(ordinal).expect("a CUDA device is needed")).unwrap()
}

fn finish(context: &Context<CudaDevice>) {
    assert_eq!(context.take_errors(), []);
    assert_eq!(context.device().take_errors(), []);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn properties() {
    for info in devices().unwrap() {
        println!("{info:#?}");
        let properties = &info.properties;
        let (major, minor) = properties.compute_capability.unwrap();
        assert_eq!(format!("{major}.{minor}"), info.generation);
        assert!(properties.uuid.is_some_and(|uuid| uuid.0 != [0; 16]) && properties.pci.is_some());
        assert!(properties.multiprocessors > 0 && properties.warp_threads == 32);
        assert_eq!(properties.constant_memory_bytes, 64 << 10);
        let memory = CudaDevice::open(info.ordinal).unwrap().memory().unwrap();
        assert!(
            memory.total_bytes <= properties.total_memory_bytes
                && properties.total_memory_bytes < 2 * memory.total_bytes
        );
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn behaviours_known_from_numba() {
    let context = open(0);
    numba::numba_18_repeated_elements_tell_their_strides(&context);
    numba::numba_36_adopted_memory_waits_for_its_producer(&context);
    // Behaviour 37 is fixed here: the name of a stream for other code is never 0, which means no stream, nor
    // 1 or 2, which name the default streams.
    assert!(context.stream().unwrap().raw().raw().addr() > 2);
    numba::numba_38_the_name_of_a_slice_has_its_place(&context);
    finish(&context);
}

/// Memory from `cuMemAlloc`. Its drop frees it, and sets the flag.
struct DriverMemory(u64, Arc<Driver>, Arc<AtomicBool>);

impl DriverMemory {
    fn new(context: &Context<CudaDevice>, len_bytes: usize) -> Self {
        let driver = context.device().driver();
        context.device().memory().unwrap(); // binds the context to this thread
        let mut address = 0;
        // SAFETY: the pointer is to a local of the right type, and the context is bound.
        unsafe { driver.mem_alloc(&raw mut address, len_bytes) }.unwrap();
        Self(address, Arc::clone(driver), Arc::default())
    }
}

impl Drop for DriverMemory {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated above, and is freed once; the context of the test is bound to its thread.
        unsafe { self.1.mem_free(self.0) }.unwrap();
        self.2.store(true, Relaxed);
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn memory_of_the_driver_is_adopted() {
    let context = open(0);
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let memory = DriverMemory::new(&context, 4 << 20);
    let gone = Arc::clone(&memory.2);
    let layout = Layout::new(&[1000, 600], &[-602, 1], 602 * 1000).unwrap();
    // SAFETY: the elements lie in the memory, which its owner keeps.
    let mut array = unsafe { Array::<f32, _>::adopt(&one, memory.0 + 36, &layout, memory) }.unwrap();
    let data: Vec<f32> = (0..600_000_u32).map(|k| k as f32).collect();
    array.view_mut().copy_from_slice(&one, &data).unwrap();
    let turned = array.view().transpose().to_contiguous(&two, Order::C).unwrap();
    drop(array);
    let turned = turned.to_vec(&two).unwrap();
    assert!((0..600_000).all(|k| turned[k] == data[k % 1000 * 600 + k / 1000]));
    one.synchronize().unwrap();
    drop((one, two));
    drop(context);
    assert!(gone.load(Relaxed), "the owner went, at the latest with the context");
    let context = open(0);
    let stream = context.stream().unwrap();
    let host = [0_u8; 64];
    // SAFETY: nothing is adopted, because the driver says that this is not device memory.
    let refused = unsafe {
        Array::<u8, _>::adopt(&stream, host.as_ptr().addr() as u64, &Layout::new(&[64], &[1], 0).unwrap(), ())
    };
    println!("pageable host memory: {}", refused.unwrap_err());
    finish(&context);
}

const CHILD: &str = "DEVARRAY_TEST_IPC_CHILD";
const LEN: usize = 16 << 20;

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.trim().as_bytes();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The part of the other process: checks the elements, reverses them, exports an event for the end of this work,
/// and waits until the parent has seen the result.
fn child() {
    let mut lines = std::io::stdin().lines();
    let remote = RemoteArray::from_bytes(&from_hex(&lines.next().unwrap().unwrap())).unwrap();
    let context = open(0);
    let stream = context.stream().unwrap();
    // SAFETY: the parent keeps what it exported until this process ends.
    let mut array = unsafe { Array::<u32, _>::open(&stream, &remote) }.unwrap();
    let half = remote.clone().with_layout(remote.layout().slice_axis(0, LEN / 2..).unwrap()).unwrap();
    // SAFETY: as above; read only.
    let again = unsafe { Array::<u32, _>::open(&stream, &half) }.unwrap();
    let found = array.to_vec(&stream).unwrap();
    assert!((0..LEN).all(|k| found[k] as usize == k), "what the parent wrote");
    assert_eq!(again.view().slice_axis(0, ..3).unwrap().to_vec(&stream).unwrap(), found[LEN / 2..][..3]);
    drop(again);
    let reversed = array.view().flip(&[0]).unwrap().to_contiguous(&stream, Order::C).unwrap();
    // The work is long, so that the parent gets the event before the work is done.
    for _ in 0..200 {
        array.view_mut().fill(&stream, 7).unwrap();
        array.view_mut().copy_from(&stream, &reversed.view()).unwrap();
    }
    let event = stream.record_exported().unwrap();
    let at_once = stream.record().unwrap().query().unwrap();
    println!("\nevent:{}:{at_once}", to_hex(&event.event().to_bytes()));
    lines.next().unwrap().unwrap();
    drop((array, reversed));
    stream.synchronize().unwrap();
    drop(stream);
    finish(&context);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn two_processes_share_memory() {
    if env::var_os(CHILD).is_some() {
        return child();
    }
    let context = open(0);
    assert!(context.device().info().capabilities.extras.has(Capability::Ipc));
    let stream = context.stream().unwrap();
    let mut array = Array::<u32, _>::zeros_exportable(&stream, &[LEN]).unwrap();
    let numbers: Vec<u32> = (0..u32::try_from(LEN).unwrap()).collect();
    array.view_mut().copy_from_slice(&stream, &numbers).unwrap();
    let exported = array.export(&stream).unwrap();
    // SAFETY: this process exported the memory itself, so opening it is refused.
    let own = unsafe { Array::<u32, _>::open(&stream, exported.array()) }.unwrap_err();
    assert!(matches!(own, Error::Handle { .. }), "{own}");

    let mut other = Command::new(env::current_exe().unwrap())
        .args(["--exact", "hardware_interop::two_processes_share_memory", "--ignored", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = other.stdin.take().unwrap();
    writeln!(to, "{}", to_hex(&exported.array().to_bytes())).unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.find_map(|line| line.strip_prefix("event:").map(str::to_owned));
    let told = told.expect("the other process says when it is done");
    let (event, at_once) = told.split_once(':').unwrap();
    println!("the other process's work was done when it told of it: {at_once}");
    let event = RemoteEvent::from_bytes(&from_hex(event)).unwrap();
    // SAFETY: the other process keeps the event until it is told to end.
    unsafe { stream.wait_exported(&event) }.unwrap();
    let seen = array.to_vec(&stream).unwrap();
    assert!(seen.iter().rev().eq(&numbers), "what the other process wrote");
    writeln!(to, "seen").unwrap();
    lines.for_each(drop);
    assert!(other.wait().unwrap().success());
    // An event of a process that has ended cannot be opened, and the device stays usable.
    // SAFETY: the driver refuses the event.
    println!("an event of a process that is gone: {:?}", unsafe { stream.wait_exported(&event) });
    drop(exported);
    assert_eq!(array.view().slice_axis(0, ..2).unwrap().to_vec(&stream).unwrap(), seen[..2]);
    drop((array, stream));
    finish(&context);
}

fn seconds(stream: &StreamHandle<CudaDevice>, mut work: impl FnMut()) -> f64 {
    work();
    stream.synchronize().unwrap();
    let start = Instant::now();
    (0..5).for_each(|_| work());
    stream.synchronize().unwrap();
    start.elapsed().as_secs_f64() / 5.0
}

#[test]
#[ignore = "needs two CUDA devices: run with --ignored"]
fn two_devices_reach_each_other() {
    let (here, there) = (open(0), open(1));
    let (s, t) = (here.stream().unwrap(), there.stream().unwrap());
    let (rows, columns) = (4096, 4096);
    let src = Array::from_slice(&t, &[rows, columns], &(0..1 << 24).collect::<Vec<u32>>()).unwrap();
    let mut dst = Array::<u32, _>::zeros(&s, &[rows, columns]).unwrap();
    let way = dst.view_mut().copy_from_peer(&s, &t, &src.view()).unwrap();
    assert_eq!(way, Crossing::Staged, "access is not enabled yet");
    let bytes = (rows * columns * 4) as f64;
    let mut time = |what: &str, turned: bool| {
        let view = if turned { src.view().transpose() } else { src.view() };
        let time = seconds(&s, || {
            dst.view_mut().copy_from_peer(&s, &t, &view).unwrap();
        });
        println!("64 MiB of u32, {what}: {:.1} GB/s", bytes / time / 1e9);
    };
    time("staged", false);
    time("staged, transposed", true);
    let can = here.can_access_peer(&there).unwrap();
    println!("device 0 can access device 1: {can}");
    if can {
        here.enable_peer_access(&there).unwrap();
        here.enable_peer_access(&there).unwrap();
        time("in place", false);
        time("in place, transposed", true);
        let way = dst.view_mut().copy_from_peer(&s, &t, &src.view().transpose()).unwrap();
        assert_eq!(way, Crossing::InPlace);
        let found = dst.to_vec(&s).unwrap();
        assert!((0..rows * columns).all(|k| found[k] as usize == k % rows * columns + k / rows));
    }
    finish(&here);
    finish(&there);
}

/// Two variables, and a kernel that stores the second element of one of them at a given address.
const PTX: &[u8] = b".version 7.0
.target sm_70
.address_size 64
.visible .const .align 8 .b8 scale[16];
.visible .const .align 8 .b8 table[4096];
.visible .entry read_scale(.param .u64 out) {
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    ld.const.u32 %r1, [scale+4];
    st.global.u32 [%rd2], %r1;
    ret;
}
";

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn constants_are_written_in_the_order_of_streams() {
    let context = open(0);
    let driver = Arc::clone(context.device().driver());
    // SAFETY: a whole module.
    let module = unsafe { context.load_module(PTX) }.unwrap();
    symbol_laws::written_and_read(&context, &module);
    symbol_laws::sizes_are_checked(&context, &module);
    symbol_laws::names_and_elements_are_checked(&context, &module);

    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let mut kernel = std::ptr::null_mut();
    // SAFETY: the pointer is to a local of the right type; the module is loaded; the name ends with
    // a zero.
    unsafe { driver.module_get_function(&raw mut kernel, module.raw().raw(), c"read_scale".as_ptr()) }
        .unwrap();
    let mut scale = module.symbol::<u32>("scale").unwrap();
    let mut out = Array::<u32, _>::zeros(&two, &[1000]).unwrap();
    let mut twice = vec![];
    for round in 0..1000 {
        scale.write(&one, 1, &[round]).unwrap();
        let (constants, mut target) = (scale.view(), out.view_mut());
        let at = round as usize;
        let mut element = target.reborrow().slice_axis(0, at..at + 1).unwrap();
        let mut address = element.address();
        two.foreign_work()
            .reads(&constants)
            .writes(&mut element)
            .enqueue(|stream| {
                let null = std::ptr::null_mut();
                let mut arguments = [(&raw mut address).cast()];
                // SAFETY: the kernel takes one address, writes four bytes to it, and reads
                // the variable: both are declared.
                let launched = unsafe {
                    driver.launch_kernel(
                        kernel,
                        1,
                        1,
                        1,
                        1,
                        1,
                        1,
                        0,
                        stream.raw(),
                        arguments.as_mut_ptr(),
                        null,
                    )
                };
                launched.map_err(|failure| panic!("{failure:?}"))
            })
            .unwrap();
        twice.push(round);
    }
    assert_eq!(out.to_vec(&one).unwrap(), twice);
    drop(scale);
    symbol_laws::the_module_goes_last(&context, module);
    // SAFETY: the driver refuses an image that it cannot read.
    println!("no module: {}", unsafe { context.load_module(b"nonsense") }.unwrap_err());
    drop((one, two, out));
    finish(&context);
}
