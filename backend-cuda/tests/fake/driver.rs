//! A CUDA driver that carries out every call at once, in host memory: all but memory.
//!
//! It checks what the real one trusts: that a context is current, that handles are alive, that
//! every byte touched lies inside an allocation. Mistakes that it finds are kept in
//! [`State::misuse`](super::state::State::misuse).
#![allow(unsafe_code)] // stands for the driver behind its C interface

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr,
    sync::Arc,
};

use devarray_cuda::driver::{Function, Table, sys};
use sys::{CUevent, CUstream};

use super::{
    kernels,
    ptx::Text,
    state::{CURRENT, INVALID, on, on_any, with, within},
};

/// Stores a result.
pub(crate) fn put<T>(at: *mut T, value: T) -> i32 {
    // SAFETY: the backend passes pointers to variables of its own.
    unsafe { at.write(value) };
    0
}

unsafe extern "C" fn init(_: c_uint) -> i32 {
    with(Function::Init, |state| state.init)
}

unsafe extern "C" fn version(at: *mut c_int) -> i32 {
    with(Function::DriverGetVersion, |state| put(at, state.version))
}

unsafe extern "C" fn error_name(code: i32, at: *mut *const c_char) -> i32 {
    let name = match code {
        1 => c"CUDA_ERROR_INVALID_VALUE",
        2 => c"CUDA_ERROR_OUT_OF_MEMORY",
        100 => c"CUDA_ERROR_NO_DEVICE",
        700 => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        999 => c"CUDA_ERROR_UNKNOWN",
        _ => return with(Function::GetErrorName, |_| INVALID),
    };
    with(Function::GetErrorName, |_| put(at, name.as_ptr()))
}

unsafe extern "C" fn count(at: *mut c_int) -> i32 {
    with(Function::DeviceGetCount, |state| put(at, state.devices))
}

unsafe extern "C" fn device(at: *mut c_int, ordinal: c_int) -> i32 {
    with(Function::DeviceGet, |state| if ordinal < state.devices { put(at, ordinal) } else { 101 })
}

unsafe extern "C" fn device_name(at: *mut c_char, _: c_int, _: c_int) -> i32 {
    with(Function::DeviceGetName, |_| {
        let name: &CStr = c"Fake";
        // SAFETY: the backend passes a buffer longer than that.
        unsafe { at.copy_from_nonoverlapping(name.as_ptr(), name.count_bytes() + 1) };
        0
    })
}

unsafe extern "C" fn attribute(at: *mut c_int, what: sys::CUdevice_attribute, _: c_int) -> i32 {
    use sys::CUdevice_attribute as A;
    with(Function::DeviceGetAttribute, |state| match what {
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => put(at, state.generation.0),
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => put(at, state.generation.1),
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => put(at, state.block_bytes),
        A::CU_DEVICE_ATTRIBUTE_MAX_PITCH => put(at, c_int::MAX),
        A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED => put(at, state.pools),
        A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH => put(at, state.memory_bus_bits),
        A::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED
        | A::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY
        | A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY
        | A::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS => put(at, state.host_kinds),
        what => super::properties::attribute(at, what),
    })
}

/// The handle of a device's context is one more than the device.
unsafe extern "C" fn retain(at: *mut sys::CUcontext, device: c_int) -> i32 {
    with(Function::PrimaryCtxRetain, |state| {
        if state.retain != 0 {
            return state.retain;
        }
        *state.contexts.entry(device).or_default() += 1;
        put(at, ptr::without_provenance_mut(usize::try_from(device).unwrap() + 1))
    })
}

unsafe extern "C" fn release(device: c_int) -> i32 {
    with(Function::PrimaryCtxRelease, |state| match state.contexts.get_mut(&device) {
        Some(count) if *count > 0 => {
            *count -= 1;
            0
        }
        _ => 201,
    })
}

unsafe extern "C" fn set_current(context: sys::CUcontext) -> i32 {
    with(Function::CtxSetCurrent, |_| {
        CURRENT.set(context.addr());
        0
    })
}

unsafe extern "C" fn get_current(context: *mut sys::CUcontext) -> i32 {
    with(Function::CtxGetCurrent, |_| put(context, ptr::without_provenance_mut(CURRENT.get())))
}

unsafe extern "C" fn ctx_synchronize() -> i32 {
    within(Function::CtxSynchronize, |_| 0)
}

unsafe extern "C" fn stream_create(at: *mut CUstream, flags: c_uint) -> i32 {
    within(Function::StreamCreate, |state| {
        if flags != 1 {
            state.misuse.push("a blocking stream".to_owned());
        }
        put(at, ptr::without_provenance_mut(state.create("stream")))
    })
}

unsafe extern "C" fn stream_destroy(stream: CUstream) -> i32 {
    within(Function::StreamDestroy, |state| {
        state.graphs.forget(stream.addr());
        state.destroy(stream.addr(), "stream")
    })
}

unsafe extern "C" fn stream_synchronize(stream: CUstream) -> i32 {
    on(stream, Function::StreamSynchronize, |_| 0)
}

unsafe extern "C" fn stream_wait(stream: CUstream, event: CUevent, _: c_uint) -> i32 {
    on_any(
        stream,
        Function::StreamWaitEvent,
        |state| if state.alive(event.addr(), "event") { 0 } else { 400 },
    )
}

unsafe extern "C" fn host_func(stream: CUstream, function: sys::CUhostFn, data: *mut c_void) -> i32 {
    on(stream, Function::LaunchHostFunc, |_| {
        let Some(function) = function else { return INVALID };
        // SAFETY: the caller vouches for the function.
        unsafe { function(data) };
        0
    })
}

unsafe extern "C" fn event_create(at: *mut CUevent, flags: c_uint) -> i32 {
    within(Function::EventCreate, |state| {
        let event = state.create("event");
        if flags & 2 == 0 {
            state.timed.insert(event);
        }
        if flags & 4 != 0 {
            state.exported.insert(event);
        }
        put(at, ptr::without_provenance_mut(event))
    })
}

/// A millisecond and a half, whichever they are.
unsafe extern "C" fn event_elapsed_time(at: *mut f32, from: CUevent, to: CUevent) -> i32 {
    within(Function::EventElapsedTime, |state| {
        if [from, to].iter().any(|event| !state.timed.contains(&event.addr())) {
            state.misuse.push("the time of an event without one".to_owned());
            return 400;
        }
        if state.query == 0 { put(at, 1.5) } else { state.query }
    })
}

unsafe extern "C" fn event_destroy(event: CUevent) -> i32 {
    within(Function::EventDestroy, |state| state.destroy(event.addr(), "event"))
}

unsafe extern "C" fn event_record(event: CUevent, stream: CUstream) -> i32 {
    on_any(stream, Function::EventRecord, |state| if state.alive(event.addr(), "event") { 0 } else { 400 })
}

unsafe extern "C" fn event_query(event: CUevent) -> i32 {
    within(Function::EventQuery, |state| if state.alive(event.addr(), "event") { state.query } else { 400 })
}

unsafe extern "C" fn event_synchronize(event: CUevent) -> i32 {
    within(Function::EventSynchronize, |state| if state.alive(event.addr(), "event") { 0 } else { 400 })
}

unsafe extern "C" fn module_load(at: *mut sys::CUmodule, image: *const c_void) -> i32 {
    // SAFETY: the driver asks for text that ends with a zero, or machine code, which contains some.
    let text = unsafe { CStr::from_ptr(image.cast()) };
    within(Function::ModuleLoadData, |state| {
        if let Some(module) = super::gathers::load(state, image) {
            return put(at, ptr::without_provenance_mut(module));
        }
        if state.machine_code && text.to_bytes().starts_with(b"\x7fELF") {
            let module = state.create("module");
            let nothing = ".version 6.0\n.target sm_70\n.address_size 64\n\
                .extern .shared .align 16 .b8 kept[];\n.visible .entry map(.param .align 8 .b8 p[8])\n.maxntid 256, 1, 1\n{\n    ret;\n}\n";
            let text = Arc::new(Text::parse(nothing).unwrap());
            state.texts.insert(module, [("map".to_owned(), text)].into());
            return put(at, ptr::without_provenance_mut(module));
        }
        let known = kernels::known(image, u32::try_from(state.generation.0).unwrap());
        if known.is_none() && !text.to_bytes().starts_with(b"//") {
            return 218;
        }
        let module = state.create("module");
        match known {
            Some(known) => state.modules.extend([(module, known)]),
            None => super::symbols::declare(state, module, text.to_str().unwrap()),
        }
        put(at, ptr::without_provenance_mut(module))
    })
}

/// Text of a function, which is checked line by line. Its mistakes go to the buffer of
/// the error log.
unsafe extern "C" fn module_load_ex(
    at: *mut sys::CUmodule,
    image: *const c_void,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> i32 {
    // SAFETY: the driver asks for text that ends with a zero.
    let ptx = unsafe { CStr::from_ptr(image.cast()) }.to_str().unwrap();
    within(Function::ModuleLoadDataEx, |state| {
        if let Some(module) = super::programs_of::load(state, ptx) {
            return put(at, ptr::without_provenance_mut(module));
        }
        let (ptx, follows) = match super::products::standing_in(ptx) {
            Some((text, follows)) => (text, Some(follows)),
            None => (ptx.to_owned(), None),
        };
        let ptx = &ptx[..];
        let parts = super::entries::entries(ptx);
        let texts = match &state.refusal {
            Some(why) => Err(why.clone()),
            None => parts.iter().map(|(_, text)| Text::parse(text)).collect::<Result<Vec<_>, _>>(),
        };
        // SAFETY: the caller passes two options.
        let options = unsafe { options.cast::<[c_uint; 2]>().read() };
        // SAFETY: and two values.
        let values = unsafe { values.cast::<[*mut c_void; 2]>().read() };
        if (count, options) != (2, [5, 6]) {
            return INVALID;
        }
        match texts {
            Ok(texts) => {
                let module = state.create("module");
                let texts = parts.iter().zip(texts).map(|((name, _), mut text)| {
                    text.follows.clone_from(&follows);
                    (name.clone(), Arc::new(text))
                });
                state.texts.insert(module, texts.collect());
                state.written.push(ptx.to_owned());
                put(at, ptr::without_provenance_mut(module))
            }
            Err(why) => {
                let len = why.len().min(values[1].addr() - 1);
                // SAFETY: the buffer has the length given with it.
                unsafe { values[0].cast::<u8>().copy_from(why.as_ptr(), len) };
                218
            }
        }
    })
}

unsafe extern "C" fn module_unload(module: sys::CUmodule) -> i32 {
    within(Function::ModuleUnload, |state| {
        super::symbols::forget(state, module.addr());
        super::programs_of::forget(state, module.addr());
        super::gathers::forget(state, module.addr());
        state.texts.remove(&module.addr());
        state.functions.retain(|_, (of, _)| *of != module.addr());
        state.destroy(module.addr(), "module")
    })
}

unsafe extern "C" fn module_function(
    at: *mut sys::CUfunction,
    module: sys::CUmodule,
    name: *const c_char,
) -> i32 {
    // SAFETY: the driver asks for text that ends with a zero.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap();
    within(Function::ModuleGetFunction, |state| {
        if !state.alive(module.addr(), "module") {
            return 400;
        }
        match super::programs_of::function(state, module.addr(), name) {
            Some(Ok(function)) => return put(at, ptr::without_provenance_mut(function)),
            Some(Err(code)) => return code,
            None => {}
        }
        match super::gathers::function(state, module.addr(), name) {
            Some(Ok(function)) => return put(at, ptr::without_provenance_mut(function)),
            Some(Err(code)) => return code,
            None => {}
        }
        state.asked.push(name.to_owned());
        if let Some(text) = state.texts.get(&module.addr()).and_then(|texts| texts.get(name)) {
            let text = Arc::clone(text);
            state.next += 0x10;
            state.functions.insert(state.next, (module.addr(), text));
            return put(at, ptr::without_provenance_mut(state.next));
        }
        let kernel = state.modules.get(&module.addr()).and_then(|&module| kernels::named(module, name));
        let Some(kernel) = kernel else { return 500 };
        state.next += 0x10;
        state.kernels.insert(state.next, kernel);
        put(at, ptr::without_provenance_mut(state.next))
    })
}

/// All functions of the fake.
pub(crate) fn table() -> Table {
    use super::{foreign, graphs, host_kinds, ipc, memory, peer, programs_of, properties, symbols};
    let parts = [
        host_kinds::table,
        foreign::table,
        graphs::table,
        properties::table,
        peer::table,
        ipc::table,
        symbols::table,
        programs_of::table,
    ];
    let mut table = parts.into_iter().fold(memory::table(), |table, part: fn(Table) -> Table| part(table));
    table.init = Some(init);
    table.driver_get_version = Some(version);
    table.get_error_name = Some(error_name);
    table.device_get_count = Some(count);
    table.device_get = Some(device);
    table.device_get_name = Some(device_name);
    table.device_get_attribute = Some(attribute);
    table.primary_ctx_retain = Some(retain);
    table.primary_ctx_release = Some(release);
    table.ctx_get_current = Some(get_current);
    table.ctx_set_current = Some(set_current);
    table.ctx_synchronize = Some(ctx_synchronize);
    table.stream_create = Some(stream_create);
    table.stream_destroy = Some(stream_destroy);
    table.stream_synchronize = Some(stream_synchronize);
    table.stream_wait_event = Some(stream_wait);
    table.launch_host_func = Some(host_func);
    table.event_create = Some(event_create);
    table.event_elapsed_time = Some(event_elapsed_time);
    table.event_destroy = Some(event_destroy);
    table.event_record = Some(event_record);
    table.event_query = Some(event_query);
    table.event_synchronize = Some(event_synchronize);
    table.module_load_data = Some(module_load);
    table.module_load_data_ex = Some(module_load_ex);
    table.module_unload = Some(module_unload);
    table.module_get_function = Some(module_function);
    table
}
