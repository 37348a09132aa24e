//! NumPy's array files, `.npy` and `.npz`, for arrays on the host and on a device. Needs the
//! feature `npy`; archives need `npz`.
//!
//! | | from a file | to a file |
//! |---|---|---|
//! | on the host | [`read`] | [`write`](fn@write) |
//! | on a device, in pieces | [`read_array`] | [`write_array`] |
//! | any element type, as bytes in pieces | [`NpyReader`] | [`Header::write`] |
//! | archives | `npz::NpzReader` | `npz::NpzWriter` |
//!
//! Headers are NumPy's own, byte for byte. Files are checked: a header that claims more data than
//! the file has is an error, and no memory is allocated for it. Pickled objects are refused.
//!
//! ```
//! use devarray::{Array, Context, npy};
//!
//! let context = Context::new(devarray_mock::MockDevice::new())?;
//! let stream = context.stream()?;
//! let a = Array::from_slice(&stream, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let mut file = Vec::new(); // or a `BufWriter` of a `File`
//! npy::write_array(&stream, &mut file, &a.view())?;
//! let b = npy::read_array::<f32, _>(&stream, &mut &file[..])?;
//! assert_eq!(b.to_vec(&stream)?, a.to_vec(&stream)?);
//! assert_eq!(npy::read::<f32>(&mut &file[..])?[[1, 2]], 6.0);
//! # Ok::<(), npy::NpyError>(())
//! ```

mod device;
mod element;
mod error;
mod header;
mod host;
mod literal;
#[cfg(feature = "npz")]
pub mod npz;
mod reader;
mod scalar;
mod type_text;
mod write;

pub use device::{read_array, write_array};
pub use element::NpyElement;
pub use error::NpyError;
pub use header::Header;
pub use host::{read, write};
pub use reader::NpyReader;
