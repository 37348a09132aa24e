//! The words of a launcher to a process.

use std::fmt;

use crate::collective::Secret;

/// The words of the launcher of this process: the rank, the number of ranks, and where they find each other.
///
/// `{}` says it in one line:
///
/// ```
/// use devarray::processes::Launched;
///
/// let variables = |name: &str| {
///     let text = match name {
///         "RANK" | "LOCAL_RANK" => "3",
///         "WORLD_SIZE" => "4",
///         "MASTER_ADDR" => "127.0.0.1",
///         "MASTER_PORT" => "29500",
///         _ => return None,
///     };
///     Some(text.to_owned())
/// };
/// let launched = Launched::from_variables(variables)?;
/// assert_eq!(
///     launched.to_string(),
///     "rank 3 of 4, local rank 3, by the variables of torchrun; rank 0 is at 127.0.0.1:29500"
/// );
/// # Ok::<(), devarray::processes::ProcessError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Launched {
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) local_rank: usize,
    pub(super) launcher: Launcher,
    pub(super) meeting: Meeting,
    pub(super) secret: Option<Secret>,
}

/// A program that starts ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Launcher {
    /// `torchrun`, `devarray launch`, or whoever sets `RANK` and `WORLD_SIZE`.
    Torchrun,
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpirun` of MPICH and its relatives.
    Pmi,
    /// `srun` of Slurm.
    Slurm,
}

/// Where ranks find each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meeting {
    /// Rank 0 listens there.
    At { host: String, port: u16 },
    /// Rank 0 says where it listens, in a file of this job.
    File { job: String },
}

impl Launched {
    /// The rank of this process.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The number of this rank among the ranks of its machine: the number of the device that it should take.
    #[must_use]
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// The launcher.
    #[must_use]
    pub fn launcher(&self) -> Launcher {
        self.launcher
    }

    /// The host and the port of rank 0. None if rank 0 says in a file where it listens.
    #[must_use]
    pub fn address(&self) -> Option<(&str, u16)> {
        match &self.meeting {
            Meeting::At { host, port } => Some((host, *port)),
            Meeting::File { .. } => None,
        }
    }
}

impl Launcher {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Torchrun => "torchrun",
            Self::OpenMpi => "Open MPI",
            Self::Pmi => "PMI",
            Self::Slurm => "Slurm",
        }
    }
}

impl fmt::Display for Launched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, ranks, local_rank, launcher, meeting, .. } = self;
        write!(
            f,
            "rank {rank} of {ranks}, local rank {local_rank}, by the variables of {}; ",
            launcher.name()
        )?;
        match meeting {
            Meeting::At { host, port } if host.contains(':') => write!(f, "rank 0 is at [{host}]:{port}"),
            Meeting::At { host, port } => write!(f, "rank 0 is at {host}:{port}"),
            Meeting::File { job } => write!(f, "rank 0 says in a file of job {job} where it is"),
        }
    }
}
