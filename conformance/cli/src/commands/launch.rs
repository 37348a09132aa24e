//! `devarray launch`: several processes of one program, as ranks of one job.

use std::{
    ffi::OsString,
    net::TcpListener,
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use clap::Args;
use devarray::processes::new_secret;

use crate::Status;

/// The pause between two looks at the processes.
const PAUSE: Duration = Duration::from_millis(10);
/// The time that processes have to end when they are asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// The arguments of `devarray launch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  devarray launch -n 4 target/release/train --steps 100")]
#[non_exhaustive]
pub struct Arguments {
    /// The number of processes
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub ranks: u16,
    /// The port at which rank 0 listens; a free one by default
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// The program, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Processes, which are ended when this is dropped.
struct Ranks(Vec<Child>);

/// Runs the command. Blocks until all processes have ended.
///
/// # Errors
///
/// The program cannot be started, or no port is free.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let mut ranks = start(arguments)?;
    let mut first_failed = None;
    let mut ended = vec![false; ranks.0.len()];
    while ended.contains(&false) {
        for (child, ended) in ranks.0.iter_mut().zip(&mut ended).filter(|(_, ended)| !**ended) {
            let Some(status) = child.try_wait()? else { continue };
            *ended = true;
            if !status.success() && first_failed.is_none() {
                first_failed = Some(code(status));
            }
        }
        if first_failed.is_some() {
            break;
        }
        thread::sleep(PAUSE);
    }
    drop(ranks);
    Ok(first_failed.map_or(Status::Success, Status::Ended))
}

fn start(arguments: &Arguments) -> Result<Ranks> {
    let [program, own @ ..] = &arguments.program[..] else { anyhow::bail!("no program is given") };
    let port = match arguments.port {
        Some(port) => port,
        None => TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr())?.port(),
    };
    let (secret, count) = (new_secret()?, arguments.ranks.to_string());
    let mut ranks = Ranks(Vec::new());
    for rank in 0..arguments.ranks {
        let mut command = Command::new(program);
        command.args(own).env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        command.env("RANK", rank.to_string()).env("LOCAL_RANK", rank.to_string());
        command.env("WORLD_SIZE", &count).env("LOCAL_WORLD_SIZE", &count).env("DEVARRAY_SECRET", &secret);
        // They would say something else.
        for other in ["DEVARRAY_ADDRESS", "DEVARRAY_SECRET_FILE", "TORCHELASTIC_USE_AGENT_STORE"] {
            command.env_remove(other);
        }
        let child = command.spawn().with_context(|| format!("start {}", program.display()))?;
        ranks.0.push(child);
    }
    Ok(ranks)
}

/// The exit status, as shells show it.
fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

impl Drop for Ranks {
    /// Asks all to end that have not, and kills those that do not.
    fn drop(&mut self) {
        let ends = Instant::now() + PATIENCE;
        let is_left = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        self.0.retain_mut(is_left);
        self.0.iter_mut().for_each(ask_to_end);
        while !self.0.is_empty() && Instant::now() < ends {
            thread::sleep(PAUSE);
            self.0.retain_mut(is_left);
        }
        for child in &mut self.0 {
            // An error means that it has ended.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Asks a process to end, where systems can ask.
fn ask_to_end(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        // The number is the child's until it has been waited for, which nobody has.
        if let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // An error means that it has ended.
            let _ = kill_process(id, Signal::TERM);
        }
    }
    #[cfg(not(unix))]
    drop(child.kill());
}
