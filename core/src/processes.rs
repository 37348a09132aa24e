//! One program as many processes: ranks that a launcher started, on one machine or on several.
//!
//! `mpirun`, Slurm's `srun`, `torchrun` and `devarray launch` start the same program several times and tell each
//! process by its environment which rank it is. [`Launched`] is what they said;
//! [`Communicator::from_environment`] joins by it. All calls of a [communicator](crate::collective) are the same as
//! between threads, and so are their errors.
//!
//! ```no_run
//! use devarray::{Array, Context, collective::{Combination, Communicator}, processes::Launched};
//! use devarray_host::HostDevice;
//!
//! let launched = Launched::from_environment()?;
//! println!("{launched}");
//! // A program for cards would take the card of this number.
//! let _card = launched.local_rank();
//! let context = Context::new(HostDevice::new())?;
//! let stream = context.stream()?;
//! let mut ranks = Communicator::from_environment(&context)?;
//! let own = Array::from_slice(&stream, &[1], &[ranks.rank() as f32])?;
//! let sum = ranks.all_reduce(&stream, Combination::Sum, &own)?.to_vec(&stream)?;
//! println!("{sum:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The place where ranks meet
//!
//! The process of rank 0 listens, and the others connect to it. The first of these that is there says where:
//!
//! | variables | where rank 0 listens |
//! |---|---|
//! | `DEVARRAY_ADDRESS` | there: `host:port` |
//! | `MASTER_ADDR` and `MASTER_PORT` | there; at the next port if the agent of torchrun has that one |
//! | of a launcher that started all ranks on one machine | at a free port of this machine, which it writes to a file that only the user can read |
//! | of Slurm | the first host of the step, at a port that the number of the job gives |
//!
//! [`CommunicatorId::listen`] and [`to_bytes`](CommunicatorId::to_bytes) are for programs that have another way to
//! tell each other 100 bytes, such as a broadcast of MPI.
//!
//! # A rank that is gone
//!
//! A process that ends without dropping its communicator, killed or crashed, is noticed at once: calls of all other
//! ranks fail with [`CollectiveError::Gone`], and exchanges on their streams are given up. A machine that vanishes is
//! noticed within the [time limit](CommunicatorId::time_limit), or within 2 seconds if that is longer. Rank 0 is
//! needed by all: when its process drops the communicator, calls of others fail that come later.
//!
//! # Protection, and its limits
//!
//! A visitor must prove to have a secret, which never travels; the other side proves it, too. Where only this machine
//! reaches the address, none is needed. Otherwise `DEVARRAY_SECRET`, or a file that `DEVARRAY_SECRET_FILE` names, is
//! needed on all ranks, and an error says so. The ranks then get a key of their own for connections among each other.
//!
//! A visitor without the secret is sent away. It harms nobody: at most 64 wait at a time, each for 5 seconds, and no
//! byte that they send makes memory grow.
//!
//! **Nothing is encrypted**, and bytes are not checked after the first words. Somebody who can read or alter what travels between
//! the machines can read and alter elements. On networks that are not trusted, use a tunnel. Without a secret, other users
//! of the same machine may connect to a `MASTER_PORT` at `localhost`.

mod environment;
mod error;
mod id;
mod launched;
mod published;
mod secret;
mod slurm;
mod start;

pub use error::ProcessError;
pub use launched::{Launched, Launcher};
pub use secret::new_secret;

#[cfg(doc)]
use crate::collective::{CollectiveError, Communicator, CommunicatorId};
