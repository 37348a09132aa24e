//! `std` of the sources of core: threads, locks and atomics come from the model.

pub use std::{any, cell, collections, fmt, mem, num, panic};

pub mod hint {
    pub use loom::hint::spin_loop;
}

/// With reference counts that nobody watches: of trait objects, and as receivers of methods.
pub mod sync {
    pub use std::sync::{Arc, PoisonError, Weak};

    pub use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
}

/// With reference counts that are part of the model.
pub mod checked {
    pub use super::{any, collections, fmt, hint, mem, panic, thread};

    pub mod sync {
        pub use loom::sync::Arc;

        pub use super::super::sync::{Condvar, Mutex, MutexGuard, PoisonError, atomic};
    }
}

pub mod thread {
    use std::io;

    pub use std::thread::available_parallelism;

    pub struct Builder(loom::thread::Builder);

    pub struct JoinHandle<T>(loom::thread::JoinHandle<T>);

    impl Builder {
        pub fn new() -> Self {
            Self(loom::thread::Builder::new())
        }

        pub fn name(self, name: String) -> Self {
            Self(self.0.name(name))
        }

        /// All stacks of a model are of one size.
        pub fn stack_size(self, _: usize) -> Self {
            self
        }

        pub fn spawn<T: Send + 'static>(
            self,
            f: impl FnOnce() -> T + Send + 'static,
        ) -> io::Result<JoinHandle<T>> {
            self.0.spawn(f).map(JoinHandle)
        }
    }

    impl<T> JoinHandle<T> {
        /// Nobody forgets a thread early.
        pub fn is_finished(&self) -> bool {
            false
        }

        pub fn join(self) -> std::thread::Result<T> {
            self.0.join()
        }
    }
}
