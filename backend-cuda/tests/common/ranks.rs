//! Every exchange of a few ranks, on any backend: what each rank has in the end.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // numbers between 0 and 1, times a type's range

use std::{thread, time::Duration};

use devarray::{
    Array, Context, Result,
    backend::Collects,
    collective::{Combination, Communicator, CommunicatorId},
    function::Number,
};
use devarray_host::HostDevice;

const COMBINATIONS: [Combination; 5] =
    [Combination::Sum, Combination::Product, Combination::Minimum, Combination::Maximum, Combination::Mean];

/// Runs a function on a thread for each context, which is a rank. Each thread calls `begin` first.
pub(crate) fn on_each<D: Collects, R: Send>(
    contexts: &[Context<D>],
    begin: impl Fn() + Sync,
    run: impl Fn(&Context<D>, &mut Communicator<D>) -> Result<R> + Sync,
) -> Vec<Result<R>> {
    let id = &CommunicatorId::with_time_limit(Duration::from_secs(60));
    let (begin, run, ranks) = (&begin, &run, contexts.len());
    thread::scope(|scope| {
        let start = |(rank, context): (usize, &Context<D>)| {
            let context = context.clone();
            scope.spawn(move || {
                begin();
                run(&context, &mut Communicator::join(&context, id, rank, ranks)?)
            })
        };
        let threads: Vec<_> = contexts.iter().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The bytes that a rank has after each exchange, of arrays of `len` elements; `value` makes elements of numbers
/// whose sums show the order of their additions.
pub(crate) fn exchanged<T: Number, D: Collects>(
    context: &Context<D>,
    ranks: &mut Communicator<D>,
    len: usize,
    (value, has_mean): (fn(f64) -> T, bool),
) -> Result<Vec<Vec<u8>>> {
    let (stream, rank, count) = (context.stream()?, ranks.rank(), ranks.ranks());
    let s = &stream;
    let numbers = |seed: usize, len: usize| -> Vec<T> {
        (0..len).map(|k| value(1.0 / (1 + (k * 7 + rank * 13 + seed) % 101) as f64)).collect()
    };
    let own = Array::from_slice(s, &[len], &numbers(0, len))?;
    let parts = Array::from_slice(s, &[count, len], &numbers(1, count * len))?;
    let mut found = Vec::new();
    let mut keep = |array: Array<T, D>| -> Result<()> {
        found.push(array.into_erased().view().to_bytes(s)?);
        Ok(())
    };
    for combination in COMBINATIONS.into_iter().take(if has_mean { 5 } else { 4 }) {
        keep(ranks.all_reduce(s, combination, &own)?)?;
        let mut in_place = Array::from_slice(s, &[len], &numbers(2, len))?;
        ranks.all_reduce_in_place(s, combination, &mut in_place)?;
        keep(in_place)?;
        keep(ranks.reduce_scatter(s, combination, &parts)?)?;
        for root in 0..count {
            if let Some(array) = ranks.reduce(s, combination, root, &own)? {
                keep(array)?;
            }
        }
        let mut kept = Array::from_slice(s, &[len], &numbers(3, len))?;
        ranks.reduce_in_place(s, combination, count - 1, &mut kept)?;
        keep(kept)?;
    }
    for root in 0..count {
        let mut elements = Array::from_slice(s, &[len], &numbers(4, len))?;
        ranks.broadcast(s, root, &mut elements)?;
        keep(elements)?;
    }
    keep(ranks.all_gather(s, &own)?)?;
    keep(ranks.all_to_all(s, &parts)?)?;
    // Backwards, every other element.
    if len > 2 {
        let view = own.view().slice_axis(0, ..len / 2 * 2)?.flip([0])?;
        keep(ranks.all_reduce(s, Combination::Sum, &view)?)?;
    }
    // Around: one half sends first.
    let (next, before) = ((rank + 1) % count, (rank + count - 1) % count);
    if count > 1 {
        let from = |ranks: &mut Communicator<D>| ranks.receive::<T>(s, before, &[len]);
        let received = if rank == 0 {
            ranks.send(s, next, &own)?;
            from(ranks)?
        } else {
            let received = from(ranks)?;
            ranks.send(s, next, &own)?;
            received
        };
        keep(received)?;
    }
    ranks.barrier()?;
    Ok(found)
}

/// Exchanges of all kinds on these contexts have the bits that they have on the CPU: of every kind of elements for
/// some lengths, of `f32` for others.
pub(crate) fn equal_the_cpu<D: Collects>(
    contexts: &[Context<D>],
    begin: impl Fn() + Sync,
    lens: &[usize],
    of_f32: &[usize],
) {
    fn all<D: Collects>(
        context: &Context<D>,
        ranks: &mut Communicator<D>,
        (lens, of_f32): (&[usize], &[usize]),
    ) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        for &len in lens {
            found.extend(exchanged::<f64, D>(context, ranks, len, (|x| x, true))?);
            found.extend(exchanged::<i32, D>(context, ranks, len, (|x| (x * 1e9) as i32, false))?);
            found.extend(exchanged::<u8, D>(context, ranks, len, (|x| (x * 255.0) as u8, false))?);
            found.extend(exchanged::<half::f16, D>(context, ranks, len, (half::f16::from_f64, true))?);
        }
        for &len in lens.iter().chain(of_f32) {
            found.extend(exchanged::<f32, D>(context, ranks, len, (|x| x as f32, true))?);
        }
        Ok(found)
    }
    let host = |_| Context::new(HostDevice::builder().threads(1).build()).unwrap();
    let hosts: Vec<_> = contexts.iter().map(host).collect();
    let due = on_each(&hosts, || (), |context, ranks| all(context, ranks, (lens, of_f32)));
    let found = on_each(contexts, begin, |context, ranks| all(context, ranks, (lens, of_f32)));
    for (rank, (found, due)) in found.iter().zip(&due).enumerate() {
        let (found, due) = (found.as_ref().unwrap(), due.as_ref().unwrap());
        assert_eq!(found.len(), due.len());
        let differs = found.iter().zip(due).position(|(found, due)| found != due);
        assert_eq!(differs, None, "rank {rank}: the exchange that differs, of {}", due.len());
    }
}
