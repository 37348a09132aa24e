//! The variables of launchers.

use std::fs;

use super::{
    Launched, Launcher, ProcessError,
    launched::Meeting,
    slurm::{first_host, port},
};
use crate::collective::{MOST_PROCESSES, Secret};

/// The variables by which a launcher says which rank this is.
struct Names {
    launcher: Launcher,
    rank: &'static str,
    /// The first of these that is there counts.
    ranks: &'static [&'static str],
    local_rank: &'static [&'static str],
    /// Ranks of this machine.
    local_ranks: &'static [&'static str],
    /// A name that all ranks of the job have, and no other job.
    job: &'static [&'static str],
}

/// Launchers, the innermost first: a script of Slurm may call `mpirun`.
const LAUNCHERS: [Names; 4] = [
    Names {
        launcher: Launcher::Torchrun,
        rank: "RANK",
        ranks: &["WORLD_SIZE"],
        local_rank: &["LOCAL_RANK"],
        local_ranks: &["LOCAL_WORLD_SIZE"],
        job: &["TORCHELASTIC_RUN_ID"],
    },
    Names {
        launcher: Launcher::OpenMpi,
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: &["OMPI_COMM_WORLD_SIZE"],
        local_rank: &["OMPI_COMM_WORLD_LOCAL_RANK"],
        local_ranks: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
        job: &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_ess_jobid"],
    },
    Names {
        launcher: Launcher::Slurm,
        rank: "SLURM_PROCID",
        ranks: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"],
        local_rank: &["SLURM_LOCALID"],
        local_ranks: &[],
        job: &["SLURM_JOB_ID", "SLURM_JOBID"],
    },
    Names {
        launcher: Launcher::Pmi,
        rank: "PMI_RANK",
        ranks: &["PMI_SIZE"],
        local_rank: &["MPI_LOCALRANKID", "PMI_LOCAL_RANK"],
        local_ranks: &["MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"],
        job: &["PMI_JOBID", "HYDRA_JOBID"],
    },
];

type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

impl Launched {
    /// Reads the environment of this process.
    ///
    /// # Errors
    ///
    /// The errors of [`from_variables`](Self::from_variables).
    pub fn from_environment() -> Result<Self, ProcessError> {
        Self::from_variables(|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    }

    /// Reads these variables, by their names.
    ///
    /// # Errors
    ///
    /// No launcher is known; a variable is absent or does not fit, which is named; nothing says where rank 0 is; or the
    /// file of the secret cannot be read.
    pub fn from_variables(variables: impl Fn(&str) -> Option<String>) -> Result<Self, ProcessError> {
        read(&variables)
    }
}

/// Reads the variables.
fn read(variables: Variables<'_>) -> Result<Launched, ProcessError> {
    let has = |name: &&str| variables(name).is_some();
    // A rank without the number of ranks may be a variable of somebody else, if there is a better one.
    let complete = |names: &&Names| variables(names.rank).is_some() && names.ranks.iter().any(has);
    let begun = |names: &&Names| variables(names.rank).is_some();
    // MPICH under Slurm leaves Slurm's rank as the script had it.
    let slurm_last = |names: &&Names| names.launcher == Launcher::Slurm && is_below_mpich(variables);
    let known = LAUNCHERS.iter().filter(|names| !slurm_last(names));
    let Some(names) = known.clone().find(complete).or_else(|| known.clone().find(begun)) else {
        // PMIx sets only the rank; the number of ranks would need a call of its library.
        return Err(match variables("PMIX_RANK") {
            Some(_) => ProcessError::Missing { present: "PMIX_RANK", missing: "OMPI_COMM_WORLD_SIZE" },
            None => ProcessError::NotLaunched,
        });
    };
    let first = |of: &'static [&'static str]| of.iter().copied().find(has);
    let Some(ranks_name) = first(names.ranks) else {
        return Err(ProcessError::Missing { present: names.rank, missing: names.ranks[0] });
    };
    let ranks = number(variables, ranks_name)?.unwrap_or(0);
    if ranks == 0 || ranks > MOST_PROCESSES {
        return Err(refused(variables, ranks_name, format!("a number from 1 to {MOST_PROCESSES} is needed")));
    }
    let rank = number(variables, names.rank)?.unwrap_or(0);
    if rank >= ranks {
        return Err(refused(
            variables,
            names.rank,
            format!("{ranks_name} is {ranks}, and ranks are below it"),
        ));
    }
    let local_ranks = match first(names.local_ranks) {
        Some(name) => number(variables, name)?,
        None => None,
    };
    let local_rank = match first(names.local_rank) {
        Some(name) => {
            let local_rank = number(variables, name)?.unwrap_or(0);
            if local_rank >= local_ranks.unwrap_or(ranks) {
                let reason = format!("ranks of this machine are below {}", local_ranks.unwrap_or(ranks));
                return Err(refused(variables, name, reason));
            }
            local_rank
        }
        None => rank,
    };
    let is_one_machine = match names.launcher {
        Launcher::Slurm => {
            let name = first(&["SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"]);
            name.map(|name| number(variables, name)).transpose()?.flatten() == Some(1)
        }
        // `mpirun` says it if there are several.
        Launcher::OpenMpi | Launcher::Pmi => local_ranks.is_none_or(|local| local == ranks),
        Launcher::Torchrun => local_ranks == Some(ranks),
    };
    let meeting = meeting(variables, names, is_one_machine)?;
    Ok(Launched { rank, ranks, local_rank, launcher: names.launcher, meeting, secret: secret(variables)? })
}

/// Whether MPICH's launcher started the process, in a step of Slurm with fewer ranks.
fn is_below_mpich(variables: Variables<'_>) -> bool {
    let (own, slurm) = (variables("PMI_SIZE"), variables("SLURM_STEP_NUM_TASKS"));
    variables("PMI_RANK").is_some() && own.is_some() && own != slurm
}

fn meeting(variables: Variables<'_>, names: &Names, is_one_machine: bool) -> Result<Meeting, ProcessError> {
    const ADDRESS: &str = "DEVARRAY_ADDRESS";
    if let Some(text) = variables(ADDRESS) {
        let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let Some((host, port)) = parts.filter(|(host, port)| !host.is_empty() && *port != 0) else {
            return Err(refused(
                variables,
                ADDRESS,
                "a host and a port are needed, as in node1:29500".into(),
            ));
        };
        return Ok(Meeting::At { host: without_brackets(host), port });
    }
    let agent_has_the_port = names.launcher == Launcher::Torchrun
        && variables("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    if let Some(host) = variables("MASTER_ADDR").filter(|_| !(agent_has_the_port && is_one_machine)) {
        if host.is_empty() {
            return Err(refused(variables, "MASTER_ADDR", "the host of rank 0 is needed".into()));
        }
        let Some(text) = variables("MASTER_PORT") else {
            return Err(ProcessError::Missing { present: "MASTER_ADDR", missing: "MASTER_PORT" });
        };
        let Some(port) = text.trim().parse::<u16>().ok().filter(|&port| port != 0) else {
            return Err(refused(variables, "MASTER_PORT", "a number from 1 to 65535 is needed".into()));
        };
        let port = if agent_has_the_port { port.checked_add(1).unwrap_or(port - 1) } else { port };
        let host = if is_one_machine { "127.0.0.1".into() } else { without_brackets(&host) };
        return Ok(Meeting::At { host, port });
    }
    if is_one_machine {
        return Ok(Meeting::File { job: job(variables, names) });
    }
    match names.launcher {
        Launcher::Slurm => slurm(variables),
        Launcher::Torchrun => Err(ProcessError::Missing { present: "RANK", missing: "MASTER_ADDR" }),
        launcher => Err(ProcessError::NoAddress { launcher: launcher.name() }),
    }
}

fn slurm(variables: Variables<'_>) -> Result<Meeting, ProcessError> {
    let job = ["SLURM_JOB_ID", "SLURM_JOBID"].into_iter().find(|name| variables(name).is_some());
    let Some(job) = job else {
        return Err(ProcessError::Missing { present: "SLURM_PROCID", missing: "SLURM_JOB_ID" });
    };
    let job = number(variables, job)?.unwrap_or(0) as u64;
    // Steps that scripts start have large numbers of their own.
    let step = variables("SLURM_STEP_ID").and_then(|text| text.parse().ok()).unwrap_or(0);
    let lists = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"];
    let host = match lists.into_iter().find(|name| variables(name).is_some()) {
        Some(name) => {
            let host = first_host(&variables(name).unwrap_or_default());
            host.ok_or_else(|| refused(variables, name, "it is no list of hosts".into()))?
        }
        None => variables("SLURM_LAUNCH_NODE_IPADDR")
            .ok_or(ProcessError::Missing { present: "SLURM_PROCID", missing: "SLURM_JOB_NODELIST" })?,
    };
    Ok(Meeting::At { host, port: port(job, step) })
}

/// A name for the job, of letters that a file may have.
fn job(variables: Variables<'_>, names: &Names) -> String {
    const MOST_LETTERS: usize = 100;
    let said = names.job.iter().find_map(|name| variables(name));
    let mut job = said.unwrap_or_else(|| format!("child-of-{}", parent()));
    let also = match names.launcher {
        Launcher::Slurm => variables("SLURM_STEP_ID"),
        // A job of torchrun may have no name (`TORCHELASTIC_RUN_ID`); the port tells jobs apart.
        Launcher::Torchrun => variables("MASTER_PORT"),
        _ => None,
    };
    if let Some(also) = also {
        job = format!("{job}.{also}");
    }
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    job.chars().map(plain).take(MOST_LETTERS).collect()
}

/// The number of the launcher, which started all ranks.
fn parent() -> u32 {
    #[cfg(unix)]
    return std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    return 0;
}

fn without_brackets(host: &str) -> String {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_owned()
}

fn secret(variables: Variables<'_>) -> Result<Option<Secret>, ProcessError> {
    const LEAST_LETTERS: usize = 16;
    const NAMES: [&str; 2] = ["DEVARRAY_SECRET", "DEVARRAY_SECRET_FILE"];
    let Some(name) = NAMES.into_iter().find(|name| variables(name).is_some()) else { return Ok(None) };
    let mut text = variables(name).unwrap_or_default();
    // The secret is not shown.
    let reason = |reason: String| ProcessError::Variable { name, text: "…".into(), reason };
    if name == NAMES[1] {
        text =
            fs::read_to_string(&text).map_err(|error| reason(format!("the file cannot be read: {error}")))?;
    }
    let text = text.trim();
    if text.len() < LEAST_LETTERS {
        return Err(reason(format!("a secret has at least {LEAST_LETTERS} letters")));
    }
    Ok(Some(Secret::new(text.as_bytes())))
}

fn number(variables: Variables<'_>, name: &'static str) -> Result<Option<usize>, ProcessError> {
    let Some(text) = variables(name) else { return Ok(None) };
    let number = text.trim().parse();
    number.map(Some).map_err(|_| refused(variables, name, "it is no number".into()))
}

fn refused(variables: Variables<'_>, name: &'static str, reason: String) -> ProcessError {
    let text = variables(name).unwrap_or_default().chars().take(80).collect();
    ProcessError::Variable { name, text, reason }
}
