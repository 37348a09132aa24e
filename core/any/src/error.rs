//! Errors of choosing a device.

use devarray::Error;

use crate::parts::BUILT_IN;

/// No device was chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// No backend has this name.
    #[error("no device is called {name:?}; built in are {}", built_in())]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The backend exists, but is not built in: a feature of `devarray-any` is off.
    #[error(
        "{backend:?} is not built in, for devarray-any was built without its feature {backend:?}; built in are {}",
        built_in()
    )]
    NotBuiltIn {
        /// The requested backend.
        backend: &'static str,
    },
    /// The text after the colon is not the number of a device.
    #[error("{name:?} names no device: {}", numbers(backend))]
    Number {
        /// The name that was asked for.
        name: String,
        /// The backend before the colon.
        backend: &'static str,
    },
    /// The device did not open.
    #[error("{name:?}: {error}")]
    Open {
        /// The name that was asked for.
        name: String,
        /// The reason.
        #[source]
        error: Box<Error>,
    },
    /// There is no GPU, and the backend of the CPU is not built in.
    #[error(
        "there is no best device: {}, and \"host\" is not built in; built in are {}",
        gpu.as_ref().map_or_else(|| "\"cuda\" is not built in".to_owned(), ToString::to_string), built_in()
    )]
    NoBest {
        /// Why there is no GPU; `None` if no backend for GPUs is built in.
        gpu: Option<Box<Error>>,
    },
}

fn built_in() -> String {
    let quoted: Vec<_> = BUILT_IN.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}

fn numbers(backend: &str) -> String {
    if backend == "cuda" {
        "the GPUs are \"cuda:0\", \"cuda:1\" and so on".to_owned()
    } else {
        format!("there is one device {backend:?}")
    }
}
