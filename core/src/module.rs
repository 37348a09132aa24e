//! Modules of device code, and their variables.
#![allow(unsafe_code)] // loads images as its caller vouches for them

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use crate::{
    Array, ArrayView, Context, ErasedArray, Error, LayoutError, Result, StreamHandle,
    allocation::Allocation,
    backend::DeviceSymbols,
    context::ContextCore,
    foreign::{Place, UsablePart},
    hazards::AccessLog,
    layout::{Element, Layout, Order},
    lock::lock,
};

/// A module of device code: compiled kernels and their variables. Cheap to clone.
///
/// The library writes the module's constants in stream order. It does not launch the module's
/// kernels. The program does so, inside [`foreign_work`](StreamHandle::foreign_work), with the
/// [backend's own handle](Self::raw). To have the library launch a kernel, declare it by
/// [`kernel!`](crate::kernel!), with tables that are written once.
///
/// ```
/// use devarray::{Array, Context};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// // On the simulator a module is a list of variables and their bytes. On CUDA it would be PTX or a cubin.
/// // SAFETY: it is a whole image.
/// let module = unsafe { context.load_module(b"scale 16\ntable 4096\n") }?;
/// let mut scale = module.symbol::<f32>("scale")?;
/// assert_eq!(scale.len(), 4);
/// scale.write(&stream, 0, &[1.0, 2.0, 3.0, 4.0])?; // in stream order: kernels launched before read what was there
/// scale.write(&stream, 2, &[9.0])?;
/// assert!(scale.write(&stream, 3, &[0.0; 2]).is_err()); // checked before anything is enqueued
/// assert_eq!(scale.to_vec(&stream)?, [1.0, 2.0, 9.0, 4.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
pub struct Module<D: DeviceSymbols>(Arc<ModuleCore<D>>);

struct ModuleCore<D: DeviceSymbols> {
    /// Variables that the program asked for. They are given back before the module.
    symbols: Mutex<BTreeMap<String, Known<D>>>,
    raw: Arc<D::Module>,
    core: Arc<ContextCore<D>>,
}

/// The memory of a variable and its uses, and whether a [`Symbol`] for it exists.
struct Known<D: DeviceSymbols> {
    allocation: Arc<Allocation<D>>,
    taken: bool,
}

impl<D: DeviceSymbols> Context<D> {
    /// Loads a module of device code. May block for as long as the driver takes.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`], naming
    ///   [`DeviceSymbols`](crate::backend::Capability::DeviceSymbols): the device loads no modules.
    /// - Any device error of the image, for example too much constant memory.
    ///
    /// # Safety
    ///
    /// - The image is complete, and in a form that the device knows: PTX text, a cubin or a
    ///   fatbin on CUDA.
    /// - Its launched kernels are finished when the last clone of the module and the last of its
    ///   symbols are dropped. The library waits for kernels that are declared to use a symbol.
    #[doc(alias = "SourceModule")]
    #[doc(alias = "RawModule")]
    #[track_caller]
    pub unsafe fn load_module(&self, image: &[u8]) -> Result<Module<D>> {
        // SAFETY: passed on to the caller.
        let raw = Arc::new(unsafe { self.0.device.load_module(image) }?);
        Ok(Module(Arc::new(ModuleCore { symbols: Mutex::default(), raw, core: Arc::clone(&self.0) })))
    }
}

impl<D: DeviceSymbols> Module<D> {
    /// Returns a variable of the module, as elements of `T`. The memory belongs to the module, and
    /// stays as long as it is needed.
    ///
    /// # Errors
    ///
    /// - [`Error::Handle`]: the module has no variable of this name, or another symbol for it
    ///   exists, which must be dropped first.
    /// - [`LayoutError::ElementSize`]: the size of the variable is not a whole number of
    ///   elements, or it is not aligned to them.
    /// - Any other device error.
    #[doc(alias = "get_global")]
    #[track_caller]
    pub fn symbol<T: Element>(&self, name: &str) -> Result<Symbol<T, D>> {
        let ModuleCore { symbols, raw, core } = &*self.0;
        let mut symbols = lock(symbols);
        let taken = symbols.get(name).is_some_and(|known| known.taken);
        if taken {
            let (backend, reason) = (core.backend(), "somebody has this variable already");
            return Err(Error::Handle { backend, operation: "symbol", reason });
        }
        let (address, len_bytes) = core.device.symbol(raw, name)?;
        let item_bytes = T::BYTES;
        let mut bytes_of_it = Layout::contiguous(&[len_bytes], Order::C)?;
        let Place { start, bytes } = Place::of(address, &mut bytes_of_it, 1)?;
        if !len_bytes.is_multiple_of(item_bytes) || !bytes.start.is_multiple_of(item_bytes) {
            let reason = "the variable is not a whole number of elements, or not aligned to them";
            return Err(LayoutError::ElementSize { item_bytes, reason }.into());
        }
        let layout = Layout::new(&[len_bytes / item_bytes], &[1], bytes.start / item_bytes)?;
        let allocation = match symbols.get(name) {
            Some(known) => Arc::clone(&known.allocation),
            None if bytes.is_empty() => Arc::new(Allocation::empty(core)),
            None => {
                let buffer = core.device.symbol_buffer(raw, start, bytes)?;
                let (owner, usable) = (Box::new(Arc::clone(raw)), UsablePart::elements(&layout, item_bytes));
                Arc::new(Allocation::lent_in_part(core, buffer, owner, Some(usable), AccessLog::default()))
            }
        };
        symbols.insert(name.to_owned(), Known { allocation: Arc::clone(&allocation), taken: true });
        drop(symbols);
        let array = Array::of_erased(ErasedArray::of_allocation(allocation, layout, item_bytes));
        Ok(Symbol { array, module: self.clone(), name: name.to_owned() })
    }

    /// The backend's module, for launching its kernels.
    #[must_use]
    pub fn raw(&self) -> &D::Module {
        &self.0.raw
    }
}

/// A variable of a module. Kernels see it as constant memory. It is written and read in stream
/// order.
///
/// Only one exists at a time for each variable, so that whoever writes it knows its readers.
pub struct Symbol<T: Element, D: DeviceSymbols> {
    array: Array<T, D>,
    module: Module<D>,
    name: String,
}

impl<T: Element, D: DeviceSymbols> Symbol<T, D> {
    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.array.layout().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes elements from position `start` on, in stream order. Does not synchronize: the slice
    /// is free on return (see [staging](crate::manual::_3_host_memory) for when it may wait).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::OutOfBounds`]: fewer elements follow `start`; nothing was enqueued.
    /// - Another context's stream, and any device error.
    #[doc(alias = "cudaMemcpyToSymbol")]
    #[track_caller]
    pub fn write(&mut self, stream: &StreamHandle<D>, start: usize, data: &[T]) -> Result<()> {
        let len = self.len();
        match start.checked_add(data.len()) {
            Some(end) if end <= len => {
                self.array.view_mut().slice_axis(0, start..end)?.copy_from_slice(stream, data)
            }
            end => Err(LayoutError::OutOfBounds { start, end: end.unwrap_or(usize::MAX), len }.into()),
        }
    }

    /// Copies the elements to the host. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::to_vec`].
    #[track_caller]
    pub fn to_vec(&self, stream: &StreamHandle<D>) -> Result<Vec<T>> {
        self.array.to_vec(stream)
    }

    /// The elements, to be read by copies, and by kernels that
    /// [declare](StreamHandle::foreign_work) that they read them.
    #[must_use]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        self.array.view()
    }
}

impl<T: Element, D: DeviceSymbols> Drop for Symbol<T, D> {
    /// Lets another symbol for the variable be made. Work in flight on it is remembered.
    fn drop(&mut self) {
        if let Some(known) = lock(&self.module.0.symbols).get_mut(&self.name) {
            known.taken = false;
        }
    }
}

impl<D: DeviceSymbols> Clone for Module<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D: DeviceSymbols> fmt::Debug for Module<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Module").field(&self.0.raw).finish()
    }
}

impl<T: Element, D: DeviceSymbols> fmt::Debug for Symbol<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbol").field("name", &self.name).field("len", &self.len()).finish_non_exhaustive()
    }
}
