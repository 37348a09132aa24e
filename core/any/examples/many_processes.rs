//! One rank of several, started by any launcher: `devarray launch`, `mpirun`, `srun` or `torchrun`.
//!
//! ```text
//! devarray launch -n 4 target/debug/examples/many_processes
//! mpirun -n 4 target/debug/examples/many_processes
//! srun -n 4 target/debug/examples/many_processes
//! torchrun --nproc-per-node 4 --no-python target/debug/examples/many_processes
//! ```
//!
//! Each rank takes the GPU of its number on its machine, or the CPU where there is none. It adds vectors of all
//! ranks, exchanges others, and checks the results.

use std::error::Error;

use devarray::{
    Array, Context,
    collective::{Combination, Communicator},
    processes::Launched,
};
use devarray_any::AnyDevice;
use devarray_host::HostDevice;

const LEN: usize = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let launched = Launched::from_environment()?;
    println!("{launched}");
    let context = Context::new(device(launched.local_rank())?)?;
    let stream = context.stream()?;
    let mut ranks = Communicator::from_environment(&context)?;
    let (rank, count) = (ranks.rank(), ranks.ranks());

    let own = Array::full(&stream, &[LEN], 1.0 + rank as f64)?;
    let sum = ranks.all_reduce(&stream, Combination::Sum, &own)?.to_vec(&stream)?;
    let due = (count * (count + 1)) as f64 / 2.0;
    check(sum.iter().all(|&x| x == due), "the sum of all ranks")?;

    let all = ranks.all_gather(&stream, &own)?.to_vec(&stream)?;
    check((0..count).all(|from| all[from * LEN] == 1.0 + from as f64), "the elements of all ranks")?;

    let mut given = Array::full(&stream, &[3], rank as f64)?;
    ranks.broadcast(&stream, count - 1, &mut given)?;
    check(given.to_vec(&stream)? == [(count - 1) as f64; 3], "the elements of the last rank")?;

    // Each half of the ranks adds numbers of its own.
    if let Some(mut half) = ranks.split(Some(rank % 2))? {
        let one = Array::full(&stream, &[1], 1.0_f64)?;
        let members = half.all_reduce(&stream, Combination::Sum, &one)?.to_vec(&stream)?;
        check(members == [half.ranks() as f64], "the members of a half")?;
        half.barrier()?;
    }
    // No rank continues before all ranks are here.
    ranks.barrier()?;
    println!("rank {rank} of {count} is right");
    Ok(())
}

/// The GPU of this number. Without a GPU, the CPU with one thread for each rank.
fn device(number: usize) -> Result<AnyDevice, Box<dyn Error>> {
    Ok(match AnyDevice::best()?.backend() {
        "cuda" => AnyDevice::named(&format!("cuda:{number}"))?,
        _ => HostDevice::builder().threads(1).build().into(),
    })
}

fn check(is_right: bool, what: &str) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(format!("{what} is wrong")) }
}
