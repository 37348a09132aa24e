//! A driver in front of another that compiles many functions at once.
//!
//! Loading a function's text gives a handle of ours, and a launch of it waits. Before the next copy
//! or wait the texts that came together are loaded as modules of many entries, and what waits
//! reaches the driver, in order. So the library runs as it ships: it writes each text, chooses
//! each launch and its parameter, and hands parts from launch to launch. Only the driver's
//! assembler sees many texts at a time, which takes a fraction of the time.
//!
//! Everything happens on the thread that made the driver.
#![allow(unsafe_code)] // stands before the driver behind its C interface

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    ptr, slice,
    sync::Arc,
    time::{Duration, Instant},
};

use devarray_cuda::driver::{Driver, Table, sys};
use sys::{CUdeviceptr, CUfunction, CUmodule, CUstream};

use super::module::{is_function, joined, name, parameter_bytes, with_mistake};

/// Entries of one module, and bytes of its text.
const MOST_ENTRIES: usize = 64;
const MOST_BYTES: usize = 1 << 19;

/// Handles of ours have this bit, and no address has.
const OURS: usize = 1 << 60;

const INVALID: i32 = 1;
const NOT_FOUND: i32 = 500;

/// A function whose text was handed in.
struct Entry {
    /// The text, until it is loaded.
    text: String,
    parameter_bytes: usize,
    dynamic_bytes: Option<c_int>,
    loaded: Option<(CUmodule, CUfunction)>,
}

enum Waiting {
    Launch { entry: usize, shape: [c_uint; 7], stream: CUstream, parameter: Vec<u64> },
    Free(CUdeviceptr, CUstream),
    Set32(CUdeviceptr, c_uint, usize, CUstream),
}

/// The actions of a driver of this kind so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    pub(crate) entries: usize,
    pub(crate) modules: usize,
    pub(crate) loading: Duration,
    /// Labels of the functions in whose texts a mistake was planted.
    pub(crate) planted: Vec<usize>,
}

struct Batches {
    real: Table,
    entries: BTreeMap<usize, Entry>,
    /// Entries that are alive in each module.
    alive: HashMap<usize, usize>,
    waiting: Vec<Waiting>,
    unloaded: Vec<usize>,
    next: usize,
    label: usize,
    may_plant: bool,
    /// A mistake is planted in the text of every n-th label.
    plants: Option<usize>,
    told: Told,
}

thread_local! {
    static BATCHES: RefCell<Option<Batches>> = const { RefCell::new(None) };
}

/// A driver before `real`, for this thread. `plants`: how often a text gets a mistake.
pub(crate) fn before(real: Table, plants: Option<usize>) -> Arc<Driver> {
    let mut table = real;
    table.module_load_data = Some(load);
    table.module_load_data_ex = Some(load_ex);
    table.module_get_function = Some(function);
    table.module_unload = Some(unload);
    table.func_set_attribute = Some(set_attribute);
    table.launch_kernel = Some(launch);
    table.mem_free_async = Some(free);
    table.memset_d32_async = Some(set_32);
    table.memcpy_htod_async = Some(to_device);
    table.memcpy_dtoh_async = Some(to_host);
    table.stream_synchronize = Some(synchronize);
    table.stream_destroy = Some(destroy);
    BATCHES.set(Some(Batches {
        real,
        entries: BTreeMap::new(),
        alive: HashMap::new(),
        waiting: Vec::new(),
        unloaded: Vec::new(),
        next: 0,
        label: 0,
        may_plant: false,
        plants,
        told: Told::default(),
    }));
    // SAFETY: the functions do what the real ones do, in the same order on each stream, before
    // anybody can see the difference.
    unsafe { Driver::new(table) }
}

/// Texts that come from now on are of this label. `may_plant`: mistakes are planted in functions
/// alone; in other texts one could decide which memory is touched.
pub(crate) fn label(label: usize, may_plant: bool) {
    with(|batches| (batches.label, batches.may_plant) = (label, may_plant));
}

/// The actions of this thread's driver since it was asked last.
pub(crate) fn told() -> Told {
    with(|batches| std::mem::take(&mut batches.told))
}

fn with<R>(call: impl FnOnce(&mut Batches) -> R) -> R {
    BATCHES.with_borrow_mut(|batches| call(batches.as_mut().expect("a driver was made on this thread")))
}

/// Calls a function of the real driver, if it has it.
macro_rules! real {
    ($batches:expr, $method:ident($($argument:expr),*)) => {
        match $batches.real.$method {
            // SAFETY: passed on from the caller, who vouches for the arguments.
            Some(call) => unsafe { call($($argument),*) },
            None => NOT_FOUND,
        }
    };
}

fn ours(number: usize) -> usize {
    OURS | ((number + 1) * 16)
}

fn number_of(handle: usize) -> Option<usize> {
    (handle & OURS != 0).then(|| (handle & !OURS) / 16 - 1)
}

impl Batches {
    /// Loads the texts that wait, then makes the calls that wait.
    fn flush(&mut self) -> i32 {
        let waiting = std::mem::take(&mut self.waiting);
        let code = self.load_waiting();
        if code != 0 {
            return code;
        }
        for call in waiting {
            let code = match call {
                Waiting::Free(address, stream) => real!(self, mem_free_async(address, stream)),
                Waiting::Set32(address, value, count, stream) => {
                    real!(self, memset_d32_async(address, value, count, stream))
                }
                Waiting::Launch { entry, shape, stream, mut parameter } => {
                    let Some((_, function)) = self.entries[&entry].loaded else { return NOT_FOUND };
                    let [x, y, z, u, v, w, shared] = shape;
                    let mut parameters = [parameter.as_mut_ptr().cast::<c_void>()];
                    let (parameters, none) = (parameters.as_mut_ptr(), ptr::null_mut());
                    real!(self, launch_kernel(function, x, y, z, u, v, w, shared, stream, parameters, none))
                }
            };
            if code != 0 {
                return code;
            }
        }
        self.unload_waiting()
    }

    fn load_waiting(&mut self) -> i32 {
        let fresh: Vec<usize> =
            self.entries.iter().filter(|(_, entry)| entry.loaded.is_none()).map(|(&at, _)| at).collect();
        let (mut group, mut bytes) = (Vec::new(), 0);
        let mut groups = Vec::new();
        for entry in fresh {
            let len = self.entries[&entry].text.len();
            if group.len() == MOST_ENTRIES || bytes + len > MOST_BYTES && !group.is_empty() {
                groups.push(std::mem::take(&mut group));
                bytes = 0;
            }
            bytes += len;
            group.push(entry);
        }
        groups.extend((!group.is_empty()).then_some(group));
        groups.iter().map(|group| self.load_group(group)).find(|&code| code != 0).unwrap_or(0)
    }

    fn load_group(&mut self, group: &[usize]) -> i32 {
        let began = Instant::now();
        let text = joined(group.iter().map(|&entry| (entry, self.entries[&entry].text.as_str())));
        let text = CString::new(text).expect("a text has no zeros");
        let mut log = [0_u8; 8_192];
        let (mut options, mut module) = ([5, 6], ptr::null_mut());
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len() - 1)];
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        let code =
            real!(self, module_load_data_ex(&raw mut module, text.as_ptr().cast(), 2, options, values));
        if code != 0 {
            let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().into_owned();
            eprintln!("{code}: {log}\nin the text:\n{}", text.to_string_lossy());
            return code;
        }
        for &at in group {
            let name = CString::new(name(at)).expect("a name has no zeros");
            let mut function = ptr::null_mut();
            let code = real!(self, module_get_function(&raw mut function, module, name.as_ptr()));
            if code != 0 {
                return code;
            }
            let Some(entry) = self.entries.get_mut(&at) else { return INVALID };
            entry.loaded = Some((module, function));
            entry.text = String::new();
            if let Some(bytes) = entry.dynamic_bytes {
                // The attribute that says how much dynamic shared memory launches may ask for.
                let code = real!(self, func_set_attribute(function, 8, bytes));
                if code != 0 {
                    return code;
                }
            }
        }
        self.alive.insert(module.addr(), group.len());
        self.told.entries += group.len();
        self.told.modules += 1;
        self.told.loading += began.elapsed();
        0
    }

    /// Unloads modules none of whose entries is wanted any more.
    fn unload_waiting(&mut self) -> i32 {
        let mut waited = false;
        for at in std::mem::take(&mut self.unloaded) {
            let Some((module, _)) = self.entries.remove(&at).and_then(|entry| entry.loaded) else { continue };
            let Some(alive) = self.alive.get_mut(&module.addr()) else { return INVALID };
            *alive -= 1;
            if *alive > 0 {
                continue;
            }
            self.alive.remove(&module.addr());
            if !waited && real!(self, ctx_synchronize()) != 0 {
                return INVALID;
            }
            waited = true;
            let code = real!(self, module_unload(module));
            if code != 0 {
                return code;
            }
        }
        0
    }

    /// Makes what waits happen, then something else.
    fn then(&mut self, call: impl FnOnce(&mut Self) -> i32) -> i32 {
        let code = self.flush();
        if code == 0 { call(self) } else { code }
    }
}

/// The text of an image, if it is a function's.
fn function_text(image: *const c_void) -> Option<String> {
    // SAFETY: an image is text that ends with a zero, or machine code, which contains some.
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_str().ok()?;
    is_function(text).then(|| text.to_owned())
}

unsafe extern "C" fn load(at: *mut CUmodule, image: *const c_void) -> i32 {
    with(|batches| batches.then(|batches| real!(batches, module_load_data(at, image))))
}

unsafe extern "C" fn load_ex(
    at: *mut CUmodule,
    image: *const c_void,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> i32 {
    with(|batches| {
        let Some(mut text) = function_text(image) else {
            return batches
                .then(|batches| real!(batches, module_load_data_ex(at, image, count, options, values)));
        };
        let Some(parameter_bytes) = parameter_bytes(&text) else { return INVALID };
        if batches.may_plant
            && batches.plants.is_some_and(|every| batches.label.is_multiple_of(every))
            && let Some(wrong) = with_mistake(&text)
        {
            text = wrong;
            batches.told.planted.push(batches.label);
        }
        let number = batches.next;
        batches.next += 1;
        batches.entries.insert(number, Entry { text, parameter_bytes, dynamic_bytes: None, loaded: None });
        // SAFETY: the caller's place for a handle.
        unsafe { at.write(ptr::without_provenance_mut(ours(number))) };
        0
    })
}

unsafe extern "C" fn function(at: *mut CUfunction, module: CUmodule, name: *const c_char) -> i32 {
    with(|batches| {
        if number_of(module.addr()).is_none() {
            return real!(batches, module_get_function(at, module, name));
        }
        // SAFETY: the caller's place for a handle.
        unsafe { at.write(ptr::without_provenance_mut(module.addr())) };
        0
    })
}

unsafe extern "C" fn unload(module: CUmodule) -> i32 {
    with(|batches| match number_of(module.addr()) {
        None => real!(batches, module_unload(module)),
        Some(number) => {
            batches.unloaded.push(number);
            // Nobody waits any more at the end of a device.
            if batches.waiting.is_empty() { batches.unload_waiting() } else { 0 }
        }
    })
}

unsafe extern "C" fn set_attribute(function: CUfunction, what: c_uint, value: c_int) -> i32 {
    with(|batches| match number_of(function.addr()).and_then(|number| batches.entries.get_mut(&number)) {
        None => real!(batches, func_set_attribute(function, what, value)),
        Some(entry) if what == 8 => {
            entry.dynamic_bytes = Some(value);
            0
        }
        Some(_) => INVALID,
    })
}

unsafe extern "C" fn launch(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: CUstream,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> i32 {
    let shape = [grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes];
    with(|batches| {
        let Some(number) = number_of(function.addr()) else {
            let [x, y, z, u, v, w, shared] = shape;
            return batches.then(|batches| {
                real!(batches, launch_kernel(function, x, y, z, u, v, w, shared, stream, parameters, extra))
            });
        };
        let Some(entry) = batches.entries.get(&number) else { return NOT_FOUND };
        // SAFETY: a function has one parameter.
        let start = unsafe { parameters.read() }.cast::<u64>();
        // SAFETY: it has as many words as its text says.
        let parameter = unsafe { slice::from_raw_parts(start, entry.parameter_bytes / 8) }.to_vec();
        batches.waiting.push(Waiting::Launch { entry: number, shape, stream, parameter });
        0
    })
}

unsafe extern "C" fn free(address: CUdeviceptr, stream: CUstream) -> i32 {
    with(|batches| {
        batches.waiting.push(Waiting::Free(address, stream));
        0
    })
}

unsafe extern "C" fn set_32(address: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) -> i32 {
    with(|batches| {
        batches.waiting.push(Waiting::Set32(address, value, count, stream));
        0
    })
}

unsafe extern "C" fn to_device(to: CUdeviceptr, from: *const c_void, len: usize, stream: CUstream) -> i32 {
    with(|batches| batches.then(|batches| real!(batches, memcpy_htod_async(to, from, len, stream))))
}

unsafe extern "C" fn to_host(to: *mut c_void, from: CUdeviceptr, len: usize, stream: CUstream) -> i32 {
    with(|batches| batches.then(|batches| real!(batches, memcpy_dtoh_async(to, from, len, stream))))
}

unsafe extern "C" fn synchronize(stream: CUstream) -> i32 {
    with(|batches| batches.then(|batches| real!(batches, stream_synchronize(stream))))
}

unsafe extern "C" fn destroy(stream: CUstream) -> i32 {
    with(|batches| batches.then(|batches| real!(batches, stream_destroy(stream))))
}
