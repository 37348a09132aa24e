//! A cache of compiled kernels, by program and class. It holds a limited number.
//!
//! Other layouts and other streams find the kernel there without writing its text, which the driver
//! takes milliseconds to compile.

use std::{collections::HashMap, sync::Arc};

use devarray::function::primitive::Program;

use super::class::Class;

/// The most kernels of a device that are kept.
const MOST: usize = 1_024;

/// Values of type `T`. If there are too many, the least recently used one is evicted.
#[derive(Debug)]
pub(super) struct KernelCache<T> {
    programs: HashMap<Program, HashMap<Class, Entry<T>>>,
    clock: u64,
}

#[derive(Debug)]
struct Entry<T> {
    value: Arc<T>,
    used: u64,
}

impl<T> Default for KernelCache<T> {
    fn default() -> Self {
        Self { programs: HashMap::new(), clock: 0 }
    }
}

impl<T> KernelCache<T> {
    pub(super) fn len(&self) -> usize {
        self.programs.values().map(HashMap::len).sum()
    }

    /// The value for a program and class. It becomes the most recently used.
    pub(super) fn get(&mut self, program: &Program, class: &Class) -> Option<Arc<T>> {
        let entry = self.programs.get_mut(program)?.get_mut(class)?;
        self.clock += 1;
        entry.used = self.clock;
        Some(Arc::clone(&entry.value))
    }

    /// Keeps a value, and returns the evicted one.
    pub(super) fn insert(&mut self, program: Program, class: Class, value: Arc<T>) -> Option<Arc<T>> {
        let evicted = if self.len() >= MOST { self.evict() } else { None };
        self.clock += 1;
        self.programs.entry(program).or_default().insert(class, Entry { value, used: self.clock });
        evicted
    }

    fn evict(&mut self) -> Option<Arc<T>> {
        let oldest = self.programs.values().flat_map(HashMap::values).map(|entry| entry.used).min()?;
        let mut evicted = None;
        self.programs.retain(|_, classes| {
            evicted = evicted.take().or_else(|| classes.extract_if(|_, entry| entry.used == oldest).next());
            !classes.is_empty()
        });
        evicted.map(|(_, entry)| entry.value)
    }

    /// Removes and returns all values.
    pub(super) fn take(&mut self) -> Vec<Arc<T>> {
        self.programs.drain().flat_map(|(_, classes)| classes).map(|(_, entry)| entry.value).collect()
    }
}
