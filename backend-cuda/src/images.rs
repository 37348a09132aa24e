//! The images of kernels that are loaded in a context, as long as the context is open.
//!
//! Images are part of the program, so their number is limited, and each is loaded once: no launch
//! can outlive its module, because the context waits for all work before it is closed.
//!
//! They are kept apart from other kernels: a kernel is found by its declaration, and its module may
//! have tables.
#![allow(unsafe_code)] // loads modules, writes their tables, and unloads them

mod declared_kernel;
mod launch_declared;
mod ptx;

use std::{
    collections::HashMap,
    ffi::CString,
    mem, ptr,
    sync::{Arc, Mutex},
};

use devarray::{
    Error, Result,
    kernel::{Declaration, ImageCode, KernelError},
};

pub(crate) use declared_kernel::DeclaredKernel;
use declared_kernel::refused;

use crate::{
    context::Context,
    driver::{Answer, Driver, Failure, INVALID_VALUE, NOT_FOUND, sys},
    handle::{Handle, locked},
};

/// Codes that mean a bad image and no other failure: an invalid image, none for this device, a text
/// that does not compile or is too new, and linker errors.
const REFUSALS: [i32; 9] = [200, 209, 218, 220, 221, 222, 223, 300, 301];

/// The kernels of one context.
#[derive(Debug, Default)]
pub(crate) struct Images(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Kernels by the address of their declaration.
    kernels: HashMap<usize, Arc<DeclaredKernel>>,
    /// Modules by the image's address in the program. A kernel with tables has a module of its own,
    /// under the address of its declaration, because tables belong to a module.
    modules: HashMap<(usize, usize), Handle<sys::CUmod_st>>,
    /// Replaced kernels. Their launches may be in flight, and dropping one may unload its module.
    replaced: Vec<Arc<DeclaredKernel>>,
}

impl Images {
    pub(crate) fn len(&self) -> usize {
        locked(&self.0).modules.len()
    }

    /// The kernel of a declaration in a context, which must be bound. If necessary, loads it, and
    /// waits for that.
    pub(crate) fn kernel(
        &self,
        context: &Context,
        declaration: &'static Declaration,
    ) -> Result<Arc<DeclaredKernel>> {
        // The lock is held while an image is loaded, so that no two threads load one.
        let mut state = locked(&self.0);
        if let Some(kernel) = state.kernels.get(&key(declaration)) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(state.prepare(context, declaration)?);
        state.kernels.insert(key(declaration), Arc::clone(&kernel));
        Ok(kernel)
    }

    /// Replaces the kernel of a declaration.
    #[cfg(feature = "cudarc")]
    pub(crate) fn put(&self, declaration: &'static Declaration, kernel: DeclaredKernel) {
        let mut state = locked(&self.0);
        let before = state.kernels.insert(key(declaration), Arc::new(kernel));
        state.replaced.extend(before);
    }

    /// Unloads everything. No work may be left on the context, which must be bound.
    pub(crate) fn unload(&self, driver: &Driver) -> Answer {
        let State { kernels, modules, replaced } = mem::take(&mut *locked(&self.0));
        drop((kernels, replaced));
        let mut answer = Ok(());
        for module in modules.into_values() {
            answer = driver.unload(module).and(answer);
        }
        answer
    }
}

fn key(declaration: &'static Declaration) -> usize {
    ptr::from_ref(declaration).addr()
}

impl State {
    fn prepare(&mut self, context: &Context, declaration: &'static Declaration) -> Result<DeclaredKernel> {
        let image = declaration.image();
        let code = match image.code() {
            ImageCode::Ptx(text) => text.as_bytes(),
            ImageCode::Binary(code) => code,
            _ => return Err(refused(declaration.name(), KernelError::NoImage)),
        };
        let (own, shared) =
            ((key(declaration), size_of::<Declaration>()), (code.as_ptr().addr(), code.len()));
        let place = if declaration.constants().is_empty() { shared } else { own };
        let known = self.modules.get(&place).copied();
        let module = known.map_or_else(|| load(context, declaration, code), Ok)?;
        let prepared = (|| {
            if known.is_none() {
                write_tables(context, declaration, module)?;
            }
            let function = function(context, declaration, module)?;
            check_parameters(context, declaration, function)?;
            DeclaredKernel::new(context, declaration, function, None)
        })();
        match (&prepared, known) {
            (Ok(_), None) => {
                self.modules.insert(place, module);
            }
            (Err(_), None) => context.release(declaration.name(), |driver| driver.unload(module)),
            (_, Some(_)) => {}
        }
        prepared
    }
}

/// Loads the image of a declaration. The error holds the driver's message.
fn load(context: &Context, declaration: &'static Declaration, code: &[u8]) -> Result<Handle<sys::CUmod_st>> {
    let name = declaration.name();
    let text;
    let start = if matches!(declaration.image().code(), ImageCode::Ptx(_)) {
        text = context.text(name, code)?;
        text.as_ptr().cast()
    } else {
        code.as_ptr().cast()
    };
    // SAFETY: the image is text that ends with a zero, or machine code that says how long it is, as
    // the declaration vouches.
    let loaded = unsafe { context.driver().load_logged(start) };
    loaded.map_err(|(failure, mut log)| match (failure, context.error(name, failure)) {
        (Failure::Code(code), Error::Driver { name: of_code, .. }) if REFUSALS.contains(&code) => {
            if !log.is_empty() {
                log.push('\n');
            }
            refused(name, KernelError::Image { log: format!("{log}{of_code} ({code})") })
        }
        (_, error) => error,
    })
}

fn function(
    context: &Context,
    declaration: &'static Declaration,
    module: Handle<sys::CUmod_st>,
) -> Result<sys::CUfunction> {
    let entry = declaration.image().entry();
    let text = CString::new(entry).map_err(|_| context.error(declaration.name(), INVALID_VALUE))?;
    let found = context.driver().function(module, &text).map_err(|failure| match failure {
        NOT_FOUND => refused(declaration.name(), KernelError::NoEntry { entry }),
        failure => context.error(declaration.name(), failure),
    })?;
    Ok(found.raw())
}

/// Returns an error if a function takes other parameters than declared. Drivers before CUDA 12.4 do
/// not know the parameters of machine code.
pub(crate) fn check_parameters(
    context: &Context,
    declaration: &'static Declaration,
    function: sys::CUfunction,
) -> Result<()> {
    let mut found = Vec::new();
    loop {
        let (index, mut offset_bytes, mut len_bytes) = (found.len(), 0, 0);
        let (offset, len) = (&raw mut offset_bytes, &raw mut len_bytes);
        // SAFETY: the pointers are to locals of the right types; the function is loaded, and its
        // context bound.
        let answer = unsafe { context.driver().func_get_param_info(function, index, offset, len) };
        match answer {
            Ok(()) => found.push(len_bytes),
            Err(INVALID_VALUE) => break,
            Err(Failure::Missing(_)) => {
                let ImageCode::Ptx(text) = declaration.image().code() else { return Ok(()) };
                let Some(parsed) = ptx::parameters(text, declaration.image().entry()) else { return Ok(()) };
                found = parsed;
                break;
            }
            Err(failure) => return Err(context.error(declaration.name(), failure)),
        }
    }
    compare(declaration, &found).map_err(|error| refused(declaration.name(), error))
}

/// Whether an entry with parameters of these sizes in bytes takes the declared arguments.
fn compare(declaration: &Declaration, found: &[usize]) -> Result<(), KernelError> {
    let declared = declaration.parameters().count();
    for (index, ((argument, declared_bytes), &found_bytes)) in declaration.parameters().zip(found).enumerate()
    {
        if declared_bytes != found_bytes {
            return Err(KernelError::ParameterSize { index, argument, declared_bytes, found_bytes });
        }
    }
    if declared != found.len() {
        return Err(KernelError::ParameterCount { declared, found: found.len() });
    }
    Ok(())
}

/// Writes the tables of a module, before any of its kernels is launched. Waits for that, on a
/// stream of its own.
fn write_tables(
    context: &Context,
    declaration: &'static Declaration,
    module: Handle<sys::CUmod_st>,
) -> Result<()> {
    let operation = declaration.name();
    for constant in declaration.constants() {
        let name = CString::new(constant.name()).map_err(|_| context.error(operation, INVALID_VALUE))?;
        let (address, found_bytes) = match context.driver().variable(module, &name) {
            Ok((address, len_bytes)) => (address, Some(len_bytes)),
            Err(NOT_FOUND) => (0, None),
            Err(failure) => return Err(context.error(operation, failure)),
        };
        let (name, declared_bytes) = (constant.name(), constant.bytes().len());
        if found_bytes != Some(declared_bytes) {
            return Err(refused(operation, KernelError::Constant { name, declared_bytes, found_bytes }));
        }
        write(context.driver(), address, constant.bytes())
            .map_err(|failure| context.error(operation, failure))?;
    }
    Ok(())
}

/// Copies bytes to the device, and waits for it.
fn write(driver: &Driver, address: u64, bytes: &'static [u8]) -> Answer {
    let mut stream = ptr::null_mut();
    let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: the pointer is to a local of the right type, and the context is bound.
    unsafe { driver.stream_create(&raw mut stream, flags) }?;
    // SAFETY: the destination is a variable of that many bytes, which nothing uses yet; the source
    // is part of the program.
    let copied = unsafe { driver.memcpy_htod_async(address, bytes.as_ptr().cast(), bytes.len(), stream) };
    // SAFETY: the stream is alive, and its context bound.
    let waited = copied.and_then(|()| unsafe { driver.stream_synchronize(stream) });
    // SAFETY: created above, and destroyed once.
    unsafe { driver.stream_destroy(stream) }.and(waited)
}
