//! Why processes do not find each other.

/// Why ranks that are processes did not find each other, or lost each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The environment says nothing about ranks: no launcher started this process.
    #[error(
        "no launcher started this process: neither RANK and WORLD_SIZE (torchrun, devarray launch), nor \
         OMPI_COMM_WORLD_RANK, PMI_RANK (mpirun) or SLURM_PROCID (srun) is set"
    )]
    NotLaunched,
    /// A variable is absent that belongs to one that is there.
    #[error("{present} is set, but {missing} is not")]
    Missing {
        /// The variable that is there.
        present: &'static str,
        /// The variable that is not.
        missing: &'static str,
    },
    /// A variable does not hold what it should.
    #[error("{name} is {text:?}: {reason}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its text.
        text: String,
        /// The mistake in it.
        reason: String,
    },
    /// The ranks are on several machines, and nothing says where rank 0 is.
    #[error(
        "{launcher} started ranks on several machines, and MASTER_ADDR is not set: nothing says where rank 0 is"
    )]
    NoAddress {
        /// The launcher.
        launcher: &'static str,
    },
    /// Other machines can reach the address, and there is no secret.
    #[error(
        "other machines can reach {address}: set DEVARRAY_SECRET or DEVARRAY_SECRET_FILE, the same for all ranks"
    )]
    NoSecret {
        /// The address of rank 0.
        address: String,
    },
    /// The other side has another secret, or does not speak for devarray.
    #[error("{address} has another secret, or is no rank 0 of this program")]
    Refused {
        /// The address of rank 0.
        address: String,
    },
    /// Rank 0 was not found in time.
    #[error("rank 0 was not reached at {address}: {reason}")]
    Unreachable {
        /// The address of rank 0.
        address: String,
        /// The last failure.
        reason: String,
    },
    /// The process that compares the calls is gone.
    #[error("the process of rank 0 is gone, which compares the calls")]
    NoService,
    /// The process that compares the calls has left: its rank dropped its communicators. Exchanges that all ranks had
    /// come to are carried out.
    #[error("the process of rank 0 has left, which compares the calls")]
    ServiceLeft,
    /// A connection to another rank broke, or its bytes are not what was agreed on.
    #[error("the connection to rank {rank} broke: {reason}")]
    Connection {
        /// The rank.
        rank: usize,
        /// The failure.
        reason: String,
    },
    /// A rank gives the others more bytes than it may.
    #[error("{len} bytes for the other ranks are more than {most}")]
    TooLong {
        /// The bytes.
        len: usize,
        /// The most that are possible.
        most: usize,
    },
    /// Bytes that are no id of a communicator.
    #[error("the bytes are no id of a communicator")]
    NoId,
    /// The system refused.
    #[error("{what}: {reason}")]
    System {
        /// The request.
        what: String,
        /// The answer.
        reason: String,
    },
}

impl ProcessError {
    /// The error of a call of the system.
    pub(crate) fn system(what: impl Into<String>, error: &std::io::Error) -> Self {
        Self::System { what: what.into(), reason: error.to_string() }
    }
}
