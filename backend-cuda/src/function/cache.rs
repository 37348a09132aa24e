//! A cache of compiled kernels, found by program and class, that holds a limited number.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use devarray::function::primitive::Program;

use super::class::Class;

/// Most kernels of a device that are kept.
const MOST: usize = 1_024;

/// Values of type `T`. If there are too many, the least recently used one leaves.
#[derive(Debug)]
pub(super) struct Cache<T> {
    hasher: RandomState,
    /// By a hash of program and class.
    buckets: HashMap<u64, Vec<Entry<T>>>,
    len: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry<T> {
    program: Program,
    class: Class,
    value: Arc<T>,
    used: u64,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self { hasher: RandomState::new(), buckets: HashMap::new(), len: 0, clock: 0 }
    }
}

impl<T> Cache<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn hash(&self, program: &Program, class: &Class) -> u64 {
        self.hasher.hash_one((program, class))
    }

    /// The value of a program and class, which becomes the most recently used.
    pub(super) fn get(&mut self, program: &Program, class: &Class) -> Option<Arc<T>> {
        let bucket = self.buckets.get_mut(&self.hash(program, class))?;
        let entry = bucket.iter_mut().find(|entry| entry.class == *class && entry.program == *program)?;
        self.clock += 1;
        entry.used = self.clock;
        Some(Arc::clone(&entry.value))
    }

    /// Keeps a value, and returns the one that leaves for it.
    pub(super) fn insert(&mut self, program: Program, class: Class, value: Arc<T>) -> Option<Arc<T>> {
        let evicted = if self.len >= MOST { self.evict() } else { None };
        self.clock += 1;
        let hash = self.hash(&program, &class);
        let entry = Entry { program, class, value, used: self.clock };
        self.buckets.entry(hash).or_default().push(entry);
        self.len += 1;
        evicted
    }

    fn evict(&mut self) -> Option<Arc<T>> {
        let oldest = |(&hash, bucket): (&u64, &Vec<Entry<T>>)| {
            bucket.iter().enumerate().map(|(at, entry)| (entry.used, hash, at)).min()
        };
        let (_, hash, at) = self.buckets.iter().filter_map(oldest).min()?;
        let bucket = self.buckets.get_mut(&hash)?;
        let entry = bucket.swap_remove(at);
        if bucket.is_empty() {
            self.buckets.remove(&hash);
        }
        self.len -= 1;
        Some(entry.value)
    }

    /// Removes and returns all values.
    pub(super) fn take(&mut self) -> Vec<Arc<T>> {
        self.len = 0;
        self.buckets.drain().flat_map(|(_, bucket)| bucket).map(|entry| entry.value).collect()
    }
}
