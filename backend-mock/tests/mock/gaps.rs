//! Bytes between the elements of adopted memory belong to other code. In these tests they are pages that
//! cannot be accessed.
#![allow(unsafe_code, clippy::unwrap_used)] // memory with pages that end the process; helpers of tests

use std::{env, os::unix::process::ExitStatusExt, process::Command, ptr};

use devarray::{
    Array, Context, Layout, Order, Result, StreamHandle,
    gather::{OutOfRange, Repeats},
    kernel::{Grid, Image, In, InOut, Strided, same_shape},
};
use devarray_mock::MockDevice;

devarray::kernel! {
    /// Adds the elements of one matrix to the elements of another.
    struct AddTo(from: In<i32, Strided<2>>, to: InOut<i32, Strided<2>>);
    image = Image::none();
    launch { same_shape(from, to)?; Grid::elements(to.len(), 32) }
    host { for (to, from) in to.iter_mut().zip(from.iter()) { *to += from } }
}

const PAGE_BYTES: usize = 4096;
const ROWS: usize = 3;
const COLUMNS: usize = 100;

/// Memory with a row at the start of every second page. The pages in between cannot be read or
/// written.
struct Guarded(*mut libc::c_void);

// SAFETY: it is an address; the memory may be accessed and freed from any thread.
unsafe impl Send for Guarded {}
// SAFETY: as above.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn new() -> Self {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever there is room.
        let start = unsafe { libc::mmap(ptr::null_mut(), 2 * ROWS * PAGE_BYTES, access, kind, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        for row in 0..ROWS {
            let guard = start.wrapping_byte_add((2 * row + 1) * PAGE_BYTES);
            // SAFETY: a page of the mapping, which nobody uses.
            assert_eq!(unsafe { libc::mprotect(guard, PAGE_BYTES, libc::PROT_NONE) }, 0);
        }
        Self(start)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the owner of the array unmaps the memory, and the array was dropped.
        unsafe { libc::munmap(self.0, 2 * ROWS * PAGE_BYTES) };
    }
}

fn open() -> (MockDevice, StreamHandle<MockDevice>) {
    let builder = MockDevice::builder().adopts_host_memory(true).check_kernels(true).lints(true);
    let device = builder.build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    (device, stream)
}

fn adopted(stream: &StreamHandle<MockDevice>, layout: &Layout) -> Array<i32, MockDevice> {
    let memory = Guarded::new();
    let address = memory.0.expose_provenance() as u64;
    // SAFETY: the elements of the rows exist until the owner is dropped, and nobody else uses them.
    // (The twin names bytes that do not exist.)
    unsafe { Array::adopt(stream, address, layout, memory) }.unwrap()
}

/// Every kind of operation reads and writes only elements.
#[test]
fn no_operation_touches_what_lies_between_elements() -> Result<()> {
    let (device, stream) = open();
    let rows = Layout::new(&[ROWS, COLUMNS], &[isize::try_from(2 * PAGE_BYTES / 4).unwrap(), 1], 0)?;
    let mut x = adopted(&stream, &rows);
    let upwards: Vec<i32> = (0..).take(COLUMNS).collect();
    // Uploads and fills, copies from and to other memory, and copies inside this memory.
    x.view_mut().fill(&stream, 5)?;
    x.view_mut().index(&devarray::ix![0])?.copy_from_slice(&stream, &upwards)?;
    let (first, rest) = (devarray::ix![0], devarray::ix![1..]);
    assert_eq!(x.view().index(&first)?.to_vec(&stream)?, upwards);
    let copy = x.view().to_contiguous(&stream, Order::F)?;
    x.view_mut().copy_from(&stream, &copy)?;
    {
        let view = x.view_mut();
        let mut chunks = view.axis_chunks(0, 1)?;
        let (Some(from), Some(mut to)) = (chunks.next(), chunks.next()) else { panic!("three rows") };
        to.copy_from(&stream, &from)?;
    }
    assert_eq!(x.view().index(&devarray::ix![1])?.to_vec(&stream)?, upwards);
    // Functions, some of them in place, and reductions.
    x.view_mut().map_in_place(&stream, |x| x + 1)?;
    let total = x.view().sum(&stream, ..)?.item(&stream)?;
    assert_eq!(total, 2 * (99 * 50 + 100) + 600);
    // A gather from the array, and a scatter whose indices, values and target all lie in it.
    let last = Array::from_slice(&stream, &[1], &[2])?;
    assert_eq!(x.take(&stream, &last, 0, OutOfRange::Error)?.to_vec(&stream)?, vec![6; COLUMNS]);
    x.view_mut().index(&first)?.copy_from_slice(&stream, &upwards)?;
    {
        let view = x.view_mut();
        let mut chunks = view.axis_chunks(0, 1)?;
        let (Some(by), Some(values), Some(mut to)) = (chunks.next(), chunks.next(), chunks.next()) else {
            panic!("three rows")
        };
        to.put_along_axis(&stream, &by, &values, 1, OutOfRange::Error, Repeats::None)?;
    }
    // A kernel on columns, which reach all pages.
    {
        let view = x.view_mut();
        let mut columns = view.axis_chunks(1, 1)?;
        let (Some(from), Some(mut to)) = (columns.next(), columns.next()) else { panic!("many columns") };
        AddTo::launch(&stream, &from.as_view(), &mut to)?;
    }
    let found = x.view().index(&rest)?.to_vec(&stream)?;
    let row = |first: i32| [vec![first, 2 * first + 1], (first + 2..).take(COLUMNS - 2).collect()].concat();
    assert_eq!(found, [row(1), row(1)].concat());
    drop(x);
    stream.synchronize()?;
    assert_eq!(device.report().findings, []);
    Ok(())
}

/// The twin: the process is killed if an array includes the bytes between the rows.
#[test]
fn pages_between_elements_end_the_process() {
    const CHILD: &str = "DEVARRAY_TEST_TOUCHES_GAPS";
    let (_, stream) = open();
    if env::var_os(CHILD).is_some() {
        let whole = Layout::contiguous(&[2 * PAGE_BYTES / 4], Order::C).unwrap();
        let mut x = adopted(&stream, &whole);
        x.view_mut().fill(&stream, 1).unwrap();
        stream.synchronize().unwrap();
        return;
    }
    let test = "gaps::pages_between_elements_end_the_process";
    let child = Command::new(env::current_exe().unwrap()).args(["--exact", test]).env(CHILD, "1").output();
    let child = child.unwrap();
    // AddressSanitizer reports the signal, and the process exits.
    let is_reported = String::from_utf8_lossy(&child.stderr).contains("AddressSanitizer: SEGV");
    assert!(child.status.signal() == Some(libc::SIGSEGV) || is_reported, "{child:?}");
}
