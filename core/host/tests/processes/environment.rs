//! Variables of launchers, and what they say.

use std::fs;

use devarray::processes::{Launched, ProcessError};

use crate::started::Folder;

fn read(variables: &[(&str, &str)]) -> Result<Launched, ProcessError> {
    Launched::from_variables(|name| {
        let own = variables.iter().rev().find(|(own, _)| *own == name);
        own.map(|(_, text)| (*text).to_owned())
    })
}

const TORCHRUN: &[(&str, &str)] = &[
    ("RANK", "3"),
    ("WORLD_SIZE", "8"),
    ("LOCAL_RANK", "1"),
    ("LOCAL_WORLD_SIZE", "2"),
    ("MASTER_ADDR", "node7"),
    ("MASTER_PORT", "29500"),
];
const OPEN_MPI: &[(&str, &str)] = &[
    ("OMPI_COMM_WORLD_RANK", "2"),
    ("OMPI_COMM_WORLD_SIZE", "4"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "2"),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
    ("PMIX_NAMESPACE", "prterun-node-17@1"),
    ("PMIX_RANK", "2"),
];
const SLURM: &[(&str, &str)] = &[
    ("SLURM_PROCID", "5"),
    ("SLURM_NTASKS", "16"),
    ("SLURM_LOCALID", "1"),
    ("SLURM_JOB_ID", "4711"),
    ("SLURM_STEP_ID", "0"),
    ("SLURM_NNODES", "4"),
    ("SLURM_JOB_NODELIST", "gpu[03-05,9]"),
    ("SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"),
];
const MPICH: &[(&str, &str)] = &[
    ("PMI_RANK", "1"),
    ("PMI_SIZE", "2"),
    ("MPI_LOCALRANKID", "1"),
    ("MPI_LOCALNRANKS", "2"),
    ("PMI_JOBID", "kvs_9"),
];

#[test]
fn what_launchers_say_is_understood() {
    let with =
        |own: &[(&'static str, &'static str)], more: &[(&'static str, &'static str)]| [own, more].concat();
    let cases = [
        (
            with(TORCHRUN, &[]),
            "rank 3 of 8, local rank 1, by the variables of torchrun; rank 0 is at node7:29500",
        ),
        (
            with(TORCHRUN, &[("TORCHELASTIC_USE_AGENT_STORE", "True")]),
            "rank 3 of 8, local rank 1, by the variables of torchrun; rank 0 is at node7:29501",
        ),
        (
            with(TORCHRUN, &[("MASTER_ADDR", "[fd00::7]")]),
            "rank 3 of 8, local rank 1, by the variables of torchrun; rank 0 is at [fd00::7]:29500",
        ),
        (
            with(TORCHRUN, &[("LOCAL_WORLD_SIZE", "8"), ("LOCAL_RANK", "3")]),
            "rank 3 of 8, local rank 3, by the variables of torchrun; rank 0 is at 127.0.0.1:29500",
        ),
        (
            with(
                TORCHRUN,
                &[
                    ("LOCAL_WORLD_SIZE", "8"),
                    ("TORCHELASTIC_USE_AGENT_STORE", "True"),
                    ("TORCHELASTIC_RUN_ID", "none"),
                ],
            ),
            "rank 3 of 8, local rank 1, by the variables of torchrun; \
             rank 0 says in a file of job none-29500 where it is",
        ),
        (
            with(OPEN_MPI, &[]),
            "rank 2 of 4, local rank 2, by the variables of Open MPI; \
             rank 0 says in a file of job prterun-node-17-1 where it is",
        ),
        (
            with(
                OPEN_MPI,
                &[("OMPI_COMM_WORLD_LOCAL_SIZE", "3"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "7")],
            ),
            "rank 2 of 4, local rank 2, by the variables of Open MPI; rank 0 is at a:7",
        ),
        // The script that called `mpirun` is a rank of Slurm.
        (
            with(SLURM, OPEN_MPI),
            "rank 2 of 4, local rank 2, by the variables of Open MPI; \
             rank 0 says in a file of job prterun-node-17-1 where it is",
        ),
        (with(SLURM, &[]), "rank 5 of 16, local rank 1, by the variables of Slurm; rank 0 is at gpu03:24711"),
        (
            with(SLURM, &[("SLURM_NNODES", "1")]),
            "rank 5 of 16, local rank 1, by the variables of Slurm; \
             rank 0 says in a file of job 4711-0 where it is",
        ),
        (
            with(SLURM, &[("MASTER_ADDR", "gpu03"), ("MASTER_PORT", "1234")]),
            "rank 5 of 16, local rank 1, by the variables of Slurm; rank 0 is at gpu03:1234",
        ),
        (
            with(SLURM, &[("DEVARRAY_ADDRESS", "[::1]:99")]),
            "rank 5 of 16, local rank 1, by the variables of Slurm; rank 0 is at [::1]:99",
        ),
        (
            with(MPICH, &[]),
            "rank 1 of 2, local rank 1, by the variables of PMI; rank 0 says in a file of job kvs-9 where it is",
        ),
        (
            with(SLURM, MPICH),
            "rank 1 of 2, local rank 1, by the variables of PMI; rank 0 says in a file of job kvs-9 where it is",
        ),
        // A variable of this name may be anybody's.
        (
            with(OPEN_MPI, &[("RANK", "first")]),
            "rank 2 of 4, local rank 2, by the variables of Open MPI; \
             rank 0 says in a file of job prterun-node-17-1 where it is",
        ),
    ];
    for (variables, due) in cases {
        assert_eq!(
            read(&variables).map(|launched| launched.to_string()).as_deref(),
            Ok(due),
            "{variables:?}"
        );
    }
}

#[test]
fn mistakes_name_the_variable_and_its_text() {
    type Own = &'static [(&'static str, &'static str)];
    type Without = &'static [&'static str];
    let cases: [(Own, Without, (&str, &str), &str); 14] = [
        (&[], &[], ("", ""), "no launcher started this process"),
        (&[], &[], ("PMIX_RANK", "0"), "PMIX_RANK is set, but OMPI_COMM_WORLD_SIZE is not"),
        (TORCHRUN, &["WORLD_SIZE"], ("", ""), "RANK is set, but WORLD_SIZE is not"),
        (TORCHRUN, &[], ("RANK", "three"), "RANK is \"three\": it is no number"),
        (TORCHRUN, &[], ("RANK", "8"), "RANK is \"8\": WORLD_SIZE is 8, and ranks are below it"),
        (TORCHRUN, &[], ("WORLD_SIZE", "0"), "WORLD_SIZE is \"0\": a number from 1 to 4096 is needed"),
        (TORCHRUN, &[], ("LOCAL_RANK", "2"), "LOCAL_RANK is \"2\": ranks of this machine are below 2"),
        (TORCHRUN, &["MASTER_PORT"], ("", ""), "MASTER_ADDR is set, but MASTER_PORT is not"),
        (TORCHRUN, &["MASTER_ADDR"], ("", ""), "RANK is set, but MASTER_ADDR is not"),
        (
            TORCHRUN,
            &[],
            ("MASTER_PORT", "65536"),
            "MASTER_PORT is \"65536\": a number from 1 to 65535 is needed",
        ),
        (OPEN_MPI, &[], ("OMPI_COMM_WORLD_LOCAL_SIZE", "3"), "Open MPI started ranks on several machines"),
        (
            SLURM,
            &[],
            ("SLURM_JOB_NODELIST", "gpu[3"),
            "SLURM_JOB_NODELIST is \"gpu[3\": it is no list of hosts",
        ),
        (SLURM, &["SLURM_JOB_ID"], ("", ""), "SLURM_PROCID is set, but SLURM_JOB_ID is not"),
        (
            SLURM,
            &[],
            ("DEVARRAY_ADDRESS", "node"),
            "DEVARRAY_ADDRESS is \"node\": a host and a port are needed",
        ),
    ];
    for (variables, without, more, due) in cases {
        let mut all = variables.to_vec();
        all.retain(|(name, _)| !without.contains(name));
        all.push(more);
        let text = read(&all).unwrap_err().to_string();
        assert!(text.starts_with(due), "{text}");
    }
}

#[test]
fn the_secret_comes_from_a_variable_or_a_file_and_is_not_shown() {
    let folder = Folder::new();
    let file = folder.0.join("secret");
    let with = |name, text| read(&[TORCHRUN, &[(name, text)]].concat());
    let refused = |name, text| with(name, text).unwrap_err().to_string();
    let shown = format!("{:?}", with("DEVARRAY_SECRET", "correct horse battery").unwrap());
    assert!(!shown.contains("horse") && shown.contains("Some(Secret)"), "{shown}");
    assert!(refused("DEVARRAY_SECRET", "short").contains("at least 16 letters"));
    assert!(refused("DEVARRAY_SECRET_FILE", file.to_str().unwrap()).contains("cannot be read"));
    fs::write(&file, "correct horse battery\n").unwrap();
    assert!(with("DEVARRAY_SECRET_FILE", file.to_str().unwrap()).is_ok());
}
