//! Tests ranks that are processes with a device each, through NCCL: random programs, and the end of a killed rank.
//!
//! Needs two CUDA devices or more, and NCCL, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_processes:: --nocapture
//! --test-threads 1`.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    env,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use devarray::{
    Array, Context, Error, StreamHandle,
    collective::{CollectiveError, Combination, Communicator},
    processes::Launched,
};
use devarray_conformance::rank_programs::{Functions, RankProgram};
use devarray_cuda::CudaDevice;

/// The variable that names the task of a started process.
const TASK: &str = "DEVARRAY_TEST_TASK";
/// The longest time that ranks wait for each other.
const TIME_LIMIT: Duration = Duration::from_secs(30);

type Ranks = Communicator<CudaDevice>;

fn count(name: &str, normally: usize) -> usize {
    env::var(name).map_or(normally, |text| text.parse().unwrap())
}

/// Runs the task of a started process. Without a task it does nothing.
#[test]
#[ignore = "started by the others"]
fn child() {
    let Ok(task) = env::var(TASK) else { return };
    let launched = Launched::from_environment().unwrap();
    let context = Context::new(CudaDevice::open(launched.local_rank()).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    let id = launched.id(TIME_LIMIT).unwrap();
    let ranks = Communicator::join(&context, &id, launched.rank(), launched.ranks()).unwrap();
    drop(id);
    match task.as_str() {
        "programs" => programs(ranks),
        "killed" => exchange_until_one_is_gone(ranks, &stream),
        other => panic!("no task {other}"),
    }
}

fn programs(mut ranks: Ranks) {
    let count = count("DEVARRAY_RANK_PROGRAMS", 40);
    for seed in 0..count as u64 {
        let program = RankProgram::drawn(seed, ranks.ranks());
        let group = ranks.split(Some(0)).unwrap().unwrap();
        let seen = program.play(group, Functions::of_device()).unwrap_or_else(|told| panic!("{told}"));
        program.compare(ranks.rank(), &seen).unwrap_or_else(|told| panic!("{told}"));
    }
    ranks.barrier().unwrap();
    println!("{count} programs");
}

/// Makes exchanges until one fails. A wait either gives the right sum or fails.
fn exchange_until_one_is_gone(mut ranks: Ranks, stream: &StreamHandle<CudaDevice>) {
    let own = Array::full(stream, &[1 << 20], 1.0_f32).unwrap();
    let due = ranks.ranks() as f32;
    for round in 0_u64.. {
        let sum = ranks.all_reduce(stream, Combination::Sum, &own);
        let outcome =
            sum.and_then(|sum| sum.to_vec(stream)).map(|sum| assert!(sum.iter().all(|&x| x == due)));
        match outcome {
            Ok(()) if round == 2 => println!("ready"),
            Ok(()) => {}
            Err(Error::Collective { error, .. }) => {
                assert!(
                    matches!(error, CollectiveError::Gone { .. } | CollectiveError::Aborted),
                    "another error: {error}"
                );
                return println!("told");
            }
            Err(Error::Library { reason, .. }) => return println!("told by the library: {reason}"),
            Err(other) => panic!("another error: {other}"),
        }
    }
}

struct Started {
    children: Vec<Child>,
    outputs: Vec<BufReader<ChildStdout>>,
}

impl Started {
    fn new(task: &str) -> Self {
        let count = devarray_cuda::devices().unwrap().len();
        assert!(count > 1, "two devices are needed");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let start = |rank: usize| {
            let mut program = Command::new(env::current_exe().unwrap());
            program.args([
                "--exact",
                "hardware_processes::child",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ]);
            program.env(TASK, task).stdout(Stdio::piped()).stdin(Stdio::null());
            program.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
            for (name, value) in [("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", count)] {
                program.env(name, value.to_string());
            }
            program.spawn().unwrap()
        };
        let mut children: Vec<_> = (0..count).map(start).collect();
        let output = |child: &mut Child| BufReader::new(child.stdout.take().unwrap());
        let outputs = children.iter_mut().map(output).collect();
        Self { children, outputs }
    }

    /// Blocks until the rank has printed a line with this text.
    fn wait_for(&mut self, rank: usize, text: &str) -> String {
        let mut line = String::new();
        while self.outputs[rank].read_line(&mut line).unwrap() > 0 {
            if line.contains(text) {
                return line;
            }
            line.clear();
        }
        panic!("rank {rank} ended without {text:?}: {:?}", self.children[rank].wait());
    }

    /// Waits until the process of the rank exits, and checks that it succeeded.
    fn end(&mut self, rank: usize) {
        let ends = Instant::now() + TIME_LIMIT;
        loop {
            if let Some(status) = self.children[rank].try_wait().unwrap() {
                return assert!(status.success(), "rank {rank}: {status}");
            }
            assert!(Instant::now() < ends, "rank {rank} did not end within {TIME_LIMIT:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        for child in &mut self.children {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

#[test]
#[ignore = "needs two CUDA devices and NCCL"]
fn programs_of_processes_have_the_bits_of_vectors() {
    let mut started = Started::new("programs");
    for rank in 0..started.children.len() {
        print!("rank {rank}: {}", started.wait_for(rank, "programs"));
        started.end(rank);
    }
}

/// If a process is killed, each other process gets an error and exits, and no wait returns a wrong sum.
#[test]
#[ignore = "needs two CUDA devices and NCCL"]
fn the_others_are_told_of_a_killed_process_and_end() {
    let (rounds, mut slowest) = (count("DEVARRAY_TEST_KILLS", 10), Duration::ZERO);
    for round in 0..rounds {
        let mut started = Started::new("killed");
        let (ranks, victim) = (started.children.len(), round % started.children.len());
        for rank in 0..ranks {
            started.wait_for(rank, "ready");
        }
        // Each round kills at another time in the exchange.
        thread::sleep(Duration::from_micros(137 * (round as u64 % 16)));
        started.children[victim].kill().unwrap();
        let begun = Instant::now();
        started.children[victim].wait().unwrap();
        for rank in (0..ranks).filter(|&rank| rank != victim) {
            let told = started.wait_for(rank, "told");
            started.end(rank);
            if round < 4 {
                print!("round {round}, rank {rank}: {told}");
            }
        }
        slowest = slowest.max(begun.elapsed());
    }
    println!("{rounds} processes killed; the others ended within {slowest:?}");
}
