//! Times the same calls by devarray on the host device, by ndarray and by numr. Prints one JSON line per case.
//!
//! usage: `speed PEER [N [CASE…]]`, where PEER is `devarray`, `ndarray` or `numr`; arrays have N x N
//! elements, 4096 unless told. `DEVARRAY_THREADS` and `RAYON_NUM_THREADS` set the number of threads. Results go
//! into existing arrays where a library can do that. Times are medians of 15 calls after 0.1 s of warm-up, like the
//! times that `peers.py` takes of Python's libraries.
//!
//! `speed six` runs six programs instead, each written with devarray and with ndarray, and prints a table.

#![allow(clippy::reversed_empty_ranges, reason = "ndarray counts `s![1..-1]` from the end")]

mod data;
mod ndarray_peer;
mod numr_peer;
mod ours;
mod report;
mod six;

use std::{env, error::Error, process::ExitCode};

use report::Report;

/// The result of a peer's program.
type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let peer = arguments.next().unwrap_or_default();
    let n = arguments.next().map_or(Ok(4096), |text| text.parse());
    let Ok(n) = n else {
        eprintln!("N is a number");
        return ExitCode::from(2);
    };
    let mut report = Report::new(&peer, n, arguments.collect());
    let done = match &peer[..] {
        "devarray" => ours::run(&mut report),
        "ndarray" => ndarray_peer::run(&mut report),
        "numr" => numr_peer::run(&mut report),
        "six" => six::run(),
        _ => Err("usage: speed devarray|ndarray|numr [N [CASE…]], or speed six".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{peer}: {error}");
            ExitCode::FAILURE
        }
    }
}
