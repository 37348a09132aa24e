//! The backend keeps every law.

use devarray_template::HostDevice;

devarray_conformance::suite!(Ok::<_, devarray::Error>(HostDevice::new()), extras = [functions, reductions, gathers, orders, products, recordings]);
