//! The values of exchanges have the same bits, whether ranks are threads or processes.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    thread,
};

use devarray::{
    Array, ArrayView, ArrayViewMut,
    collective::{Combination, Communicator, CommunicatorId},
};
use devarray_host::HostDevice;

use crate::started::{Ranks, Started, Stream, TIME_LIMIT, context};

type View<'a> = ArrayView<'a, f32, HostDevice>;
type ViewMut<'a> = ArrayViewMut<'a, f32, HostDevice>;

fn numbers(rank: usize, len: usize) -> Vec<f32> {
    // The order of their additions shows.
    (0..len).map(|k| 1.0 / (1 + (k * 7 + rank * 13) % 101) as f32).collect()
}

/// Makes all calls. A digest of all results of this rank.
pub(crate) fn digest(mut ranks: Ranks, stream: &Stream) -> u64 {
    let (rank, count) = (ranks.rank(), ranks.ranks());
    let mut hash = DefaultHasher::new();
    let mut add = |values: Vec<f32>| values.iter().for_each(|value| value.to_bits().hash(&mut hash));
    // Elements of a message, of several, of none for some ranks, and more than connections buffer.
    for len in [3, 1, 20_000, 1_500_000] {
        let own = numbers(rank, len);
        let mut source = Array::from_slice(stream, &[len], &own).unwrap();
        for combination in [Combination::Sum, Combination::Mean, Combination::Maximum] {
            add(ranks.all_reduce(stream, combination, &source).unwrap().to_vec(stream).unwrap());
        }
        let root = len % count;
        if let Some(sum) = ranks.reduce(stream, Combination::Sum, root, &source).unwrap() {
            add(sum.to_vec(stream).unwrap());
        }
        ranks.all_reduce_in_place(stream, Combination::Sum, &mut source).unwrap();
        add(source.to_vec(stream).unwrap());
        let mut given = Array::from_slice(stream, &[len], &own).unwrap();
        ranks.broadcast(stream, root, &mut given).unwrap();
        add(given.to_vec(stream).unwrap());
        add(ranks.all_gather(stream, &given).unwrap().to_vec(stream).unwrap());
        let parts = Array::from_slice(stream, &[count, len], &numbers(rank + 5, count * len)).unwrap();
        add(ranks.reduce_scatter(stream, Combination::Sum, &parts).unwrap().to_vec(stream).unwrap());
        add(ranks.all_to_all(stream, &parts).unwrap().to_vec(stream).unwrap());
        let mut sum = Array::zeros(stream, &[len]).unwrap();
        let summed = |on: &Stream, x: &View<'_>, sum: &mut ViewMut<'_>, ranks: &mut Ranks| {
            sum.copy_from(on, x)?;
            ranks.all_reduce_in_place(on, Combination::Sum, sum)
        };
        let recorded = stream
            .record_work((&source, &mut sum, &mut ranks), |on, (x, mut sum, ranks)| {
                summed(on, &x, &mut sum, ranks)
            })
            .unwrap();
        for round in 0..2 {
            // Launches of some ranks meet calls of others.
            if (rank + round) % 2 == 0 {
                recorded.launch(stream, (&source, &mut sum, &mut ranks)).unwrap();
            } else {
                summed(stream, &source.view(), &mut sum.view_mut(), &mut ranks).unwrap();
            }
            add(sum.to_vec(stream).unwrap());
        }
        if rank == 0 {
            ranks.send(stream, count - 1, &given).unwrap();
        } else if rank == count - 1 {
            add(ranks.receive(stream, 0, &[len]).unwrap().to_vec(stream).unwrap());
        }
        ranks.barrier().unwrap();
    }
    let mut half = ranks.split(Some(rank % 2)).unwrap().unwrap();
    let own = Array::from_slice(stream, &[2], &numbers(rank, 2)).unwrap();
    add(half.all_reduce(stream, Combination::Sum, &own).unwrap().to_vec(stream).unwrap());
    (half.rank(), half.ranks()).hash(&mut hash);
    ranks.barrier().unwrap();
    hash.finish()
}

fn digests_of_threads(count: usize) -> Vec<u64> {
    let id = &CommunicatorId::with_time_limit(TIME_LIMIT);
    let rank = |rank| {
        let context = context();
        digest(Communicator::join(&context, id, rank, count).unwrap(), &context.stream().unwrap())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || rank(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn four_processes_have_the_bits_of_four_threads() {
    let due = digests_of_threads(4);
    let mut started = Started::new(4, "values");
    for (rank, due) in due.into_iter().enumerate() {
        assert_eq!(started.wait_for(rank, "digest "), format!("{due:016x}"), "rank {rank}");
    }
    for rank in 0..4 {
        started.end(rank, TIME_LIMIT);
    }
    started.assert_clean();
}
