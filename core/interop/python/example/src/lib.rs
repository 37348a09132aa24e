//! An extension module: layout transforms and functions on arrays of any library, on the simulator
//! and on CUDA.
//!
//! ```text
//! cargo build --release -p devarray-python-example
//! cp target/release/libdevarray_example.so devarray_example.so
//! python3 -c "import numpy, devarray_example as d; d.use_backend('mock'); print(numpy.from_dlpack(d.centre(numpy.eye(3))))"
//! ```

mod backends;
mod functions;

use pyo3::prelude::*;

#[pymodule]
mod devarray_example {
    #[pymodule_export]
    use super::{
        backends::{findings, live, use_backend, watch},
        functions::{asarray, centre, count_up, relayout, scale, total},
    };
    #[pymodule_export]
    use devarray_python::DeviceArray;
}
