//! Recorded work: a function of arrays that is recorded once and launched again and again.
//!
//! [`StreamHandle::record_work`](crate::StreamHandle::record_work) runs a closure once. Its stream records
//! the calls and enqueues none; its arrays stand for the arguments. [`Recording::launch`] enqueues all
//! calls, with any arrays of the same shapes and strides.
//!
//! ```
//! use devarray::{Array, Context, prelude::*};
//!
//! let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
//! let mut u = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 4.0])?;
//! let mut v = Array::zeros(&stream, &[3])?;
//! let step = stream.record_work((&u, &mut v, 0.5_f32), |on, (u, mut v, rate)| {
//!     let mean = u.mean(on, 0)?; // memory of the recording
//!     (u, mean.view(), rate).map_into(on, &mut v, |(u, mean, rate)| u + (mean - u) * rate)
//! })?;
//! step.launch(&stream, (&u, &mut v, 0.0))?;
//! step.launch(&stream, (&v, &mut u, 1.0))?; // other arrays, another number
//! assert_eq!(v.to_vec(&stream)?, [1.0, 2.0, 4.0]);
//! assert_eq!(u.to_vec(&stream)?, [7.0 / 3.0; 3]);
//! # Ok::<(), devarray::Error>(())
//! ```
//!
//! # What can be recorded
//!
//! Functions, reductions, scans, elements by index, order, products, copies, joins, fills, and
//! [kernels](mod@crate::kernel) of one's own. Values of a kernel are part of the recording; a number that each
//! launch gives goes to an argument `In<T>` of the kernel. A kernel's block `launch` runs while the work is
//! recorded, and again at a launch whose arguments begin elsewhere. Arrays that the closure makes belong to the
//! recording, which keeps their memory and reuses it from launch to launch. Arguments are `&Array`, `&ArrayView`, `&SharedArray`, `&mut Array`, `&mut ArrayViewMut`,
//! numbers, and [`&mut Communicator`](#ranks); a number comes to the closure as an array without axes. The closure may
//! also use [`SharedArray`](crate::SharedArray)s, which the recording keeps alive.
//!
//! Every other call of the closure is an [`Error::Recording`](crate::Error::Recording) that names it: a wait,
//! a read back (`to_vec`, `item`), a copy from or to the host, foreign work, another recording's launch, and an array
//! or a communicator that is no argument. An array that is alive after the closure is an error, too.
//!
//! # Ranks
//!
//! A [`Communicator`](crate::collective::Communicator) is an argument like an array: exchanges by it are recorded, and
//! each launch makes them by the communicator that it is given, which is the recorded rank of as many ranks.
//!
//! ```
//! # use std::thread;
//! # use devarray::{Array, Context, Result, prelude::*};
//! # use devarray::collective::{Combination, Communicator, CommunicatorId};
//! # use devarray_host::HostDevice;
//! # fn fit(rank: usize, id: &CommunicatorId) -> Result<Vec<f32>> {
//! # let context = Context::new(HostDevice::builder().threads(1).build())?;
//! # let stream = context.stream()?;
//! # let mut ranks = Communicator::join(&context, id, rank, 2)?;
//! # let x = Array::from_slice(&stream, &[2], &[1.0_f32, rank as f32])?;
//! # let mut weights = Array::full(&stream, &[2], 1.0_f32)?;
//! let step = stream.record_work((&x, &mut weights, &mut ranks), |on, (x, mut weights, ranks)| {
//!     let mut slopes = (&x, &weights.as_view()).map(on, |(x, w)| (x * w - 1.0) * x)?;
//!     ranks.all_reduce_in_place(on, Combination::Mean, &mut slopes)?;
//!     weights.update(on, &slopes, |w, slope| w - slope * 0.5)
//! })?;
//! for _ in 0..10 {
//!     step.launch(&stream, (&x, &mut weights, &mut ranks))?;
//! }
//! # weights.to_vec(&stream)
//! # }
//! # let id = CommunicatorId::new();
//! # thread::scope(|scope| {
//! #     let other = scope.spawn(|| fit(1, &id));
//! #     assert_eq!(fit(0, &id)?, [1.0, 1.0]);
//! #     assert_eq!(other.join().unwrap()?, [1.0, 1.0]);
//! #     Ok::<(), devarray::Error>(())
//! # })?;
//! # Ok::<(), devarray::Error>(())
//! ```
//!
//! While work is recorded no other rank is asked, so ranks may record at any time, or not at all: a launch on one rank
//! fits the same calls on another. At each launch the calls between two exchanges are enqueued as one, and an exchange
//! as its call would be: it blocks until the other ranks make it, and [their calls are
//! compared](crate::collective#blocking) unless the communicator is
//! [unchecked](crate::collective::Communicator::into_unchecked). Errors name the lines of the recorded calls.
//!
//! Refused are calls that ask other ranks for more than elements: `barrier`, `split`, and `all_to_all_counted`, whose
//! counts come from the other ranks (`all_to_all_counted_into` is recorded). `abort` and `aborter` end the
//! communicator that was given, at once. If an exchange of a launch fails, the launch ends with its error, and the
//! calls before it are enqueued. A launch that fails ends its unchecked communicators, as the other ranks count on
//! its exchanges.
//!
//! # Order
//!
//! A launch waits for whatever its arguments conflict with, like any other call. Launches of one recording follow
//! each other, on any streams, because they use the same memory; one that waits for other ranks holds up launches of
//! other threads. A strict stream refuses a launch before anything of it is enqueued and any rank is asked.
//!
//! Within a launch, a call comes behind the earlier calls that it conflicts with: both use the same bytes, and one of
//! them writes them. Calls that do not conflict may run side by side, where the backend can do that; nobody forks or
//! joins anything. Arrays of at most 1 MiB that the closure makes share memory only if all calls on one come before
//! all calls on the other, so that memory puts no call behind another; larger ones share it as soon as one is gone.
//! Calls that may find an index without a place keep their order among each other, so that the first error is the
//! first call's. A launch whose written argument may share bytes with a `SharedArray` of the recording (memory of
//! other code that was adopted twice) makes all calls in order.

mod arguments;
mod branches;
mod calls;
mod captured;
mod error;
mod exchanges;
mod kernels;
mod launch;
mod memory;
mod record;
mod recorder;
mod segments;

pub(crate) use arguments::{Given, Stand};
pub use arguments::{Number, Ranks, Reads, RecordedArgument, RecordedArguments, Writes};
pub use error::RecordingError;
pub(crate) use exchanges::Exchanging;
pub use launch::Recording;
pub(crate) use memory::{Kept, Placed, Placement};
pub(crate) use recorder::{Part, Recorder};
