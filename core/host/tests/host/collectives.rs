//! Ranks as threads: the values of their exchanges.

use std::thread;

use devarray::{
    Array, Context, Error, Result, StreamHandle,
    collective::{CollectiveError, Combination, Communicator, CommunicatorId},
};
use devarray_host::HostDevice;

pub(crate) type Ranks = Communicator<HostDevice>;
pub(crate) type Stream = StreamHandle<HostDevice>;

/// One of the ranks.
pub(crate) struct Rank {
    pub(crate) number: usize,
    pub(crate) stream: Stream,
    pub(crate) ranks: Ranks,
}

pub(crate) fn context() -> Context<HostDevice> {
    Context::new(HostDevice::builder().capacity_bytes(16 << 20).threads(1).build()).unwrap()
}

/// Runs a function on a thread for each rank. The outcomes, in the order of ranks.
pub(crate) fn on_each<R: Send>(count: usize, run: impl Fn(Rank) -> R + Sync) -> Vec<R> {
    let id = &CommunicatorId::new();
    let run = &run;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                scope.spawn(move || {
                    let context = context();
                    let stream = context.stream().unwrap();
                    let ranks = Communicator::join(&context, id, number, count).unwrap();
                    run(Rank { number, stream, ranks })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The mistake of a call.
pub(crate) fn mistake<T>(outcome: Result<T>) -> CollectiveError {
    match outcome {
        Err(Error::Collective { error, .. }) => error,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

fn numbers(rank: usize, len: usize) -> Vec<f32> {
    // The order of their additions shows.
    (0..len).map(|k| 1.0 / (1 + (k * 7 + rank * 13) % 101) as f32).collect()
}

#[test]
fn floats_are_added_in_the_order_of_ranks() {
    for (count, len) in [(1, 5), (2, 0), (2, 7), (3, 1), (3, 20_000), (4, 3)] {
        let all: Vec<Vec<f32>> = (0..count).map(|rank| numbers(rank, len)).collect();
        let sum_of = |k: usize, ranks: &mut dyn Iterator<Item = usize>| {
            ranks.map(|rank| all[rank][k]).reduce(|sum, x| sum + x).unwrap().to_bits()
        };
        let due: Vec<u32> = (0..len).map(|k| sum_of(k, &mut (0..count))).collect();
        let backwards: Vec<u32> = (0..len).map(|k| sum_of(k, &mut (0..count).rev())).collect();
        assert!(len < 1000 || due != backwards, "the order shows in these numbers");
        let sums = on_each(count, |Rank { number, stream, mut ranks }| {
            let mut own = Array::from_slice(&stream, &[len], &numbers(number, len)).unwrap();
            let sum = ranks.all_reduce(&stream, Combination::Sum, &own).unwrap().to_vec(&stream).unwrap();
            ranks.all_reduce_in_place(&stream, Combination::Sum, &mut own).unwrap();
            (sum, own.to_vec(&stream).unwrap())
        });
        for (sum, in_place) in sums {
            assert_eq!(sum.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), due, "{count} ranks, {len}");
            assert_eq!(in_place.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), due, "in place");
        }
    }
}

#[test]
fn elements_go_where_they_belong() {
    on_each(3, |Rank { number, stream, mut ranks }| {
        let base = 100 * i32::try_from(number).unwrap();
        let parts: Vec<i32> = (0..12).map(|k| base + k).collect();
        let x = Array::from_slice(&stream, &[3, 4], &parts).unwrap();

        let gathered = ranks.all_gather(&stream, &x).unwrap();
        assert_eq!(gathered.shape(), [3, 3, 4]);
        let due: Vec<i32> = (0..3).flat_map(|rank| (0..12).map(move |k| 100 * rank + k)).collect();
        assert_eq!(gathered.to_vec(&stream).unwrap(), due);

        let exchanged = ranks.all_to_all(&stream, &x).unwrap().to_vec(&stream).unwrap();
        let first = 4 * i32::try_from(number).unwrap();
        let due: Vec<i32> = (0..3).flat_map(|rank| (first..first + 4).map(move |k| 100 * rank + k)).collect();
        assert_eq!(exchanged, due);

        let part = ranks.reduce_scatter(&stream, Combination::Maximum, &x).unwrap();
        assert_eq!(part.to_vec(&stream).unwrap(), (first..first + 4).map(|k| 200 + k).collect::<Vec<_>>());

        let root = ranks.reduce(&stream, Combination::Sum, 1, &x).unwrap();
        assert_eq!(root.is_some(), number == 1);
        if let Some(root) = root {
            assert_eq!(root.to_vec(&stream).unwrap(), (0..12).map(|k| 300 + 3 * k).collect::<Vec<_>>());
        }

        let mut same = Array::from_slice(&stream, &[3, 4], &parts).unwrap();
        ranks.broadcast(&stream, 2, &mut same).unwrap();
        assert_eq!(same.to_vec(&stream).unwrap(), (0..12).map(|k| 200 + k).collect::<Vec<_>>());

        let mut kept = Array::from_slice(&stream, &[3, 4], &parts).unwrap();
        ranks.reduce_in_place(&stream, Combination::Minimum, 0, &mut kept).unwrap();
        assert_eq!(kept.to_vec(&stream).unwrap(), if number == 0 { (0..12).collect() } else { parts });

        match number {
            0 => ranks.send(&stream, 2, &x.slice_axis(0, 1..2).unwrap()).unwrap(),
            2 => {
                let row = ranks.receive::<i32>(&stream, 0, &[2, 2]).unwrap();
                assert_eq!(row.to_vec(&stream).unwrap(), [4, 5, 6, 7]);
            }
            _ => {}
        }
        ranks.barrier().unwrap();
    });
}

#[test]
fn views_of_any_strides_are_exchanged() {
    on_each(2, |Rank { number, stream, mut ranks }| {
        let own: Vec<u16> = (0..6).map(|k| k + 10 * u16::try_from(number).unwrap()).collect();
        let x = Array::from_slice(&stream, &[2, 3], &own).unwrap();
        let mut wide = Array::full(&stream, &[3, 4], 9_u16).unwrap();
        let columns = wide.view_mut();
        let mut columns = columns.index(&devarray::ix![.., ..;2]).unwrap();
        ranks.all_reduce_into(&stream, Combination::Sum, &x.transpose(), &mut columns).unwrap();
        assert_eq!(wide.to_vec(&stream).unwrap(), [10, 9, 16, 9, 12, 9, 18, 9, 14, 9, 20, 9]);

        let mut turned = Array::from_slice(&stream, &[2, 3], &own).unwrap();
        let backwards = turned.view_mut();
        ranks.all_reduce_in_place(&stream, Combination::Sum, &mut backwards.flip(&[1]).unwrap()).unwrap();
        let mut there = Array::from_slice(&stream, &[2, 3], &own).unwrap();
        ranks.broadcast(&stream, 1, &mut there.view_mut().transpose()).unwrap();
        assert_eq!(turned.to_vec(&stream).unwrap(), [10, 12, 14, 16, 18, 20]);
        assert_eq!(there.to_vec(&stream).unwrap(), [10, 11, 12, 13, 14, 15]);
    });
}

#[test]
fn a_mean_is_a_quotient_and_integers_wrap() {
    on_each(3, |Rank { number, stream, mut ranks }| {
        let x = Array::from_slice(&stream, &[2], &[0.1_f64 * (number as f64), 1.0]).unwrap();
        let mean = ranks.all_reduce(&stream, Combination::Mean, &x).unwrap().to_vec(&stream).unwrap();
        assert_eq!(mean, [((0.0 + 0.1) + 0.2) / 3.0, 1.0]);
        let bytes = Array::from_slice(&stream, &[2], &[100_u8, 2]).unwrap();
        let sum = ranks.all_reduce(&stream, Combination::Sum, &bytes).unwrap().to_vec(&stream).unwrap();
        let product = ranks.all_reduce(&stream, Combination::Product, &bytes).unwrap();
        assert_eq!((sum, product.to_vec(&stream).unwrap()), (vec![44, 6], vec![64, 8]));
        assert!(matches!(
            mistake(ranks.all_reduce(&stream, Combination::Mean, &bytes)),
            CollectiveError::NoMean(_)
        ));
        ranks.barrier().unwrap(); // told to this rank alone, which goes on
    });
}

#[test]
fn a_result_is_used_on_other_streams_at_once() {
    on_each(2, |Rank { number, stream, mut ranks }| {
        let other = ranks.context().stream().unwrap();
        for round in 0..50 {
            let mut x = Array::full(&other, &[500], number as u64 + round).unwrap();
            let sum = ranks.all_reduce(&stream, Combination::Sum, &x).unwrap();
            x.view_mut().fill(&other, 0).unwrap();
            assert_eq!(sum.to_vec(&other).unwrap(), [2 * round + 1; 500]);
        }
    });
}

#[test]
fn groups_of_a_split_are_communicators_of_their_own() {
    on_each(4, |Rank { number, stream, mut ranks }| {
        let color = (number != 2).then_some(number % 2);
        let group = ranks.split(color).unwrap();
        let x = Array::full(&stream, &[1], number as u64).unwrap();
        if let Some(mut group) = group {
            let due = if number == 0 { (0, 1, 0) } else { (number / 2, 2, 4) };
            let sum = group.all_reduce(&stream, Combination::Sum, &x).unwrap().to_vec(&stream).unwrap();
            assert_eq!((group.rank(), group.ranks(), sum[0]), due);
        }
        assert_eq!(ranks.all_reduce(&stream, Combination::Sum, &x).unwrap().to_vec(&stream).unwrap(), [6]);
    });
}
