//! The library's description of a shape, and its algorithm for it: made once, and kept.
#![allow(unsafe_code)] // calls the library with handles that this file keeps alive

use std::{
    collections::HashMap,
    ffi::{c_int, c_void},
    fmt, ptr,
    sync::{Arc, Mutex},
};

use devarray::{Error, Result, function::ElementType};

use super::mapped::Shape;
use crate::{
    context::Context,
    cublaslt::{Found, Opaque, Status, Table, compute, data_type, description, layout, preference},
    driver::{BACKEND, Driver, sys::CUstream},
    handle::{Handle, locked},
};

pub(super) const NAME: &str = "matmul";

/// Bytes of memory that an algorithm may use: NVIDIA's advice for its newest cards.
pub(super) const WORKSPACE_BYTES: usize = 32 << 20;

/// The most shapes that are kept; if there are more, all are forgotten.
const MOST_KEPT: usize = 1024;

/// The key by which an algorithm is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) element_type: ElementType,
    pub(super) shape: Shape,
    /// In all calls, the addresses of the operands and of the result are multiples of these.
    pub(super) alignments: [u32; 3],
}

/// The library on a context: its handle, and the algorithms of shapes.
#[derive(Default)]
pub(crate) struct FastProducts(Mutex<Known>);

#[derive(Default)]
struct Known {
    handle: Option<Handle<c_void>>,
    /// `None` for a shape that the library cannot multiply.
    chosen: HashMap<Key, Option<Arc<Chosen>>>,
}

impl FastProducts {
    /// The algorithm for a shape, if there is one. The context must be bound. Does not synchronize.
    pub(super) fn choose(&self, context: &Context, table: &Table, key: &Key) -> Result<Option<Arc<Chosen>>> {
        let mut known = locked(&self.0);
        let handle = match known.handle {
            Some(handle) => handle,
            None => {
                // SAFETY: the context is bound; `close` destroys what is made.
                let handle = made(|handle| unsafe { (table.create)(handle) })?;
                *known.handle.insert(handle)
            }
        };
        if let Some(chosen) = known.chosen.get(key) {
            return Ok(chosen.clone());
        }
        let chosen = Chosen::new(context.driver(), table, handle, key)?.map(Arc::new);
        if known.chosen.len() >= MOST_KEPT {
            known.chosen.clear();
        }
        known.chosen.insert(*key, chosen.clone());
        Ok(chosen)
    }

    /// Gives everything back. No work of the context runs any more.
    pub(crate) fn close(&self, context: &Context) {
        let known = std::mem::take(&mut *locked(&self.0));
        drop(known.chosen);
        let Some(handle) = known.handle else { return };
        let destroyed = context.bound("close").and_then(|driver| {
            let table = driver.cublaslt("close")?;
            // SAFETY: made by `choose`, destroyed once; no work is left that could use it.
            checked(unsafe { (table.destroy)(handle.raw()) })
        });
        destroyed.unwrap_or_else(|error| context.driver().report(error));
    }
}

impl fmt::Debug for FastProducts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FastProducts({} shapes)", locked(&self.0).chosen.len())
    }
}

/// The error of a status.
fn checked(answer: i32) -> Result<()> {
    Status::check(answer).map_err(error)
}

fn error(Status(code): Status) -> Error {
    Error::Driver { backend: BACKEND, operation: NAME, code, name: Status(code).to_string() }
}

/// Returns the handle that a function of the library makes.
fn made(make: impl FnOnce(*mut Opaque) -> i32) -> Result<Handle<c_void>> {
    let mut raw = ptr::null_mut();
    checked(make(&raw mut raw))?;
    Ok(Handle::new(raw))
}

/// A description, layout or preference: memory of the host that no work in flight uses.
struct Owned {
    raw: Handle<c_void>,
    destroy: unsafe extern "C" fn(Opaque) -> i32,
    driver: Arc<Driver>,
}

impl Owned {
    fn new(
        driver: &Arc<Driver>,
        destroy: unsafe extern "C" fn(Opaque) -> i32,
        make: impl FnOnce(*mut Opaque) -> i32,
    ) -> Result<Self> {
        Ok(Self { raw: made(make)?, destroy, driver: Arc::clone(driver) })
    }

    /// Sets an attribute, which the library copies.
    fn set<T: Copy>(
        &self,
        set: unsafe extern "C" fn(Opaque, c_int, *const c_void, usize) -> i32,
        attribute: c_int,
        value: T,
    ) -> Result<()> {
        // SAFETY: the handle is alive and of the function's kind; the value has the length given with it,
        // which the library compares with the attribute's.
        checked(unsafe { set(self.raw.raw(), attribute, (&raw const value).cast(), size_of::<T>()) })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by `new` for this function, destroyed once.
        let destroyed = checked(unsafe { (self.destroy)(self.raw.raw()) });
        destroyed.unwrap_or_else(|error| self.driver.report(error));
    }
}

/// The description and algorithm that each call for a shape uses.
pub(super) struct Chosen {
    handle: Handle<c_void>,
    description: Owned,
    /// Layouts of the operands and of the result.
    layouts: [Owned; 3],
    found: Found,
}

impl Chosen {
    /// Asks the library. Returns `None` if it has no algorithm for this.
    fn new(driver: &Arc<Driver>, table: &Table, handle: Handle<c_void>, key: &Key) -> Result<Option<Self>> {
        let (operands, sum) = match key.element_type {
            ElementType::F16 => (data_type::F16, compute::F32),
            ElementType::BF16 => (data_type::BF16, compute::F32),
            _ => (data_type::F32, compute::F32_OF_TF32),
        };
        let shape = &key.shape;
        let described = Owned::new(driver, table.description_destroy, |made| {
            // SAFETY: the pointer is to a local of the right type.
            unsafe { (table.description_create)(made, sum, data_type::F32) }
        })?;
        let attributes = [description::TRANSPOSES_A, description::TRANSPOSES_B];
        for (attribute, transposed) in attributes.into_iter().zip(shape.transposed) {
            described.set(table.description_set, attribute, i32::from(transposed))?;
        }
        let of_side = |side: usize| -> Result<Owned> {
            let [rows, columns] = shape.stored(side);
            let made = Owned::new(driver, table.layout_destroy, |made| {
                // SAFETY: the pointer is to a local of the right type.
                unsafe { (table.layout_create)(made, operands, rows, columns, shape.column_strides[side]) }
            })?;
            if shape.batch > 1 {
                made.set(table.layout_set, layout::BATCH_COUNT, shape.batch)?;
                made.set(table.layout_set, layout::BATCH_STRIDE, shape.batch_strides[side])?;
            }
            Ok(made)
        };
        let layouts = [of_side(0)?, of_side(1)?, of_side(2)?];
        let preferred = Owned::new(driver, table.preference_destroy, |made| {
            // SAFETY: the pointer is to a local of the right type.
            unsafe { (table.preference_create)(made) }
        })?;
        preferred.set(table.preference_set, preference::WORKSPACE_BYTES, WORKSPACE_BYTES as u64)?;
        // Rounding parts of a sum to the result's type would break the bound.
        preferred.set(table.preference_set, preference::REDUCTIONS, preference::UNROUNDED)?;
        let [a, b, y] = key.alignments;
        for (attribute, alignment) in preference::ALIGNMENTS.into_iter().zip([a, b, y, y]) {
            preferred.set(table.preference_set, attribute, alignment)?;
        }
        let (mut found, mut count) = (Found::default(), 0);
        let [a, b, y] = layouts.each_ref().map(|layout| layout.raw.raw());
        let (description, preference) = (described.raw.raw(), preferred.raw.raw());
        // SAFETY: the handles are alive and of the kinds that are asked for; one algorithm goes to a local.
        let asked = Status::check(unsafe {
            (table.find)(handle.raw(), description, a, b, y, y, preference, 1, &raw mut found, &raw mut count)
        });
        match asked {
            Ok(()) if count > 0 && found.state == 0 && found.workspace_bytes <= WORKSPACE_BYTES => {
                Ok(Some(Self { handle, description: described, layouts, found }))
            }
            Ok(()) | Err(Status::NOT_SUPPORTED) => Ok(None),
            Err(status) => Err(error(status)),
        }
    }

    /// Bytes of memory that a call needs.
    pub(super) fn workspace_bytes(&self) -> usize {
        self.found.workspace_bytes
    }

    /// Enqueues a call. Operands and result begin at these addresses.
    ///
    /// # Safety
    ///
    /// The context is bound, and the stream belongs to it. The elements of the shape at the addresses may be
    /// read and written in order of the stream, and are aligned as the key says. The memory for the
    /// algorithm has as many bytes as it needs, and only this stream uses it.
    pub(super) unsafe fn multiply(
        &self,
        table: &Table,
        [a, b, y]: [u64; 3],
        workspace: u64,
        stream: CUstream,
    ) -> Result<()> {
        let (alpha, beta) = (1_f32, 0_f32);
        let [of_a, of_b, of_y] = self.layouts.each_ref().map(|layout| layout.raw.raw());
        let (handle, description, found) = (self.handle.raw(), self.description.raw.raw(), &self.found);
        let (alpha, beta) = ((&raw const alpha).cast(), (&raw const beta).cast());
        let (algorithm, bytes) = (&raw const found.algorithm, found.workspace_bytes);
        // SAFETY: passed on to the caller; the handles are alive and of the kinds that are asked for; the
        // library reads the factors before it returns, and does not read the result, whose factor is 0.
        checked(unsafe {
            (table.multiply)(
                handle,
                description,
                alpha,
                a,
                of_a,
                b,
                of_b,
                beta,
                y,
                of_y,
                y,
                of_y,
                algorithm,
                workspace,
                bytes,
                stream.cast(),
            )
        })
    }
}
