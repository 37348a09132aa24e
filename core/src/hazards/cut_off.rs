//! Exchanges with other ranks that may be cut off: ended before their end, after they were enqueued. The next wait of
//! the program that covers one tells.

use std::sync::Arc;

use super::{Clock, Position};
use crate::backend::CutOff;

/// Exchanges of a context beyond which neighbours are kept as one.
const MOST: usize = 1024;

/// An exchange that a wait has not covered yet, or several neighbours.
#[derive(Debug)]
struct Exchange {
    lane: usize,
    /// The places in the lane of the first and of the last.
    first: u64,
    last: u64,
    /// The number of the last.
    number: u64,
    operation: &'static str,
    of: Arc<dyn CutOff>,
}

/// The exchanges of a context that no wait of the program has covered.
#[derive(Debug, Default)]
pub(super) struct Exchanges(Vec<Exchange>);

impl Exchanges {
    /// Notes an exchange, the last operation of a lane.
    pub(super) fn note(
        &mut self,
        (lane, sequence): (usize, u64),
        number: u64,
        operation: &'static str,
        of: &Arc<dyn CutOff>,
    ) {
        if self.0.len() >= MOST {
            self.thin_out();
        }
        self.0.push(Exchange {
            lane,
            first: sequence,
            last: sequence,
            number,
            operation,
            of: Arc::clone(of),
        });
    }

    /// Keeps two neighbours of a lane and a communicator as one. If an exchange is cut off, so are the later ones of its
    /// communicator, so none is overlooked.
    fn thin_out(&mut self) {
        let mut kept: Vec<(Exchange, bool)> = Vec::with_capacity(self.0.len());
        for exchange in self.0.drain(..) {
            let same = |(last, _): &&mut (Exchange, bool)| {
                last.lane == exchange.lane && Arc::ptr_eq(&last.of, &exchange.of)
            };
            match kept.iter_mut().rev().find(same) {
                Some((kept, is_two @ false)) => {
                    (kept.last, kept.number, *is_two) = (exchange.last, exchange.number, true);
                }
                _ => kept.push((exchange, false)),
            }
        }
        self.0 = kept.into_iter().map(|(exchange, _)| exchange).collect();
    }

    /// Whether there is anything to ask for.
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Forgets the exchanges that a finished wait covers. Returns the operation of the first that was cut off.
    /// Exchanges that are known to be over (`done`) count as covered: later work need not be ordered after them.
    pub(super) fn take(&mut self, wait: &Position, done: &Clock) -> Option<&'static str> {
        let mut told: Option<(&'static str, Arc<dyn CutOff>)> = None;
        self.0.retain_mut(|exchange| {
            let Exchange { lane, first, last, number, operation, of } = exchange;
            let own = if wait.lane == *lane { wait.sequence } else { 0 };
            let over = own.max(wait.seen.of(*lane)).max(done.of(*lane));
            if over < *first {
                return true;
            }
            let is_cut_off = of.cut_off(*number);
            if !is_cut_off && over < *last {
                // The later ones still run, and may yet be cut off.
                return true;
            }
            // A wait tells one of each communicator; another one is for the next wait.
            let is_other = told.as_ref().is_some_and(|(_, first)| !Arc::ptr_eq(first, of));
            if is_cut_off && told.is_none() {
                told = Some((*operation, Arc::clone(of)));
            }
            // The next wait that covers a later one tells, too.
            let is_later = over < *last;
            if !is_other {
                *first = over + 1;
            }
            is_cut_off && (is_other || is_later)
        });
        told.map(|(operation, _)| operation)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::lock::lock;

    #[derive(Debug, Default)]
    struct From(Mutex<Option<u64>>);

    impl CutOff for From {
        fn cut_off(&self, number: u64) -> bool {
            lock(&self.0).is_some_and(|from| number >= from)
        }
    }

    fn wait(lane: usize, sequence: u64) -> Position {
        Position { lane, sequence, ..Position::default() }
    }

    #[test]
    fn the_first_wait_that_covers_a_cut_exchange_tells_once() {
        let (of, mut exchanges) = (Arc::new(From::default()), Exchanges::default());
        let shared: Arc<dyn CutOff> = Arc::<From>::clone(&of);
        for number in 0..4 {
            exchanges.note((1, 10 * (number + 1)), number, "all_reduce", &shared);
        }
        *lock(&of.0) = Some(2);
        assert_eq!(exchanges.take(&wait(1, 25), &Clock::default()), None, "two are over");
        assert_eq!(exchanges.take(&wait(2, 99), &Clock::default()), None, "of another lane");
        let mut after = wait(2, 100);
        after.seen.raise(1, 30);
        assert_eq!(exchanges.take(&after, &Clock::default()), Some("all_reduce"));
        assert_eq!(exchanges.take(&after, &Clock::default()), None);
        assert!(exchanges.any());
        let mut done = Clock::default();
        done.raise(1, 40);
        assert_eq!(exchanges.take(&wait(2, 101), &done), Some("all_reduce"), "known to be over");
        assert!(!exchanges.any());
    }

    #[test]
    fn two_communicators_that_are_cut_off_are_told_by_two_waits() {
        let of = [(); 2].map(|()| Arc::new(From(Mutex::new(Some(0)))));
        let mut exchanges = Exchanges::default();
        for (lane, of) in (1..).zip(&of) {
            let of: Arc<dyn CutOff> = Arc::<From>::clone(of);
            exchanges.note((lane, 1), 0, "reduce", &of);
        }
        let mut both = wait(3, 1);
        both.seen.raise(1, 1);
        both.seen.raise(2, 1);
        let mut told = || exchanges.take(&both, &Clock::default());
        assert_eq!([told(), told(), told()], [Some("reduce"), Some("reduce"), None]);
    }

    #[test]
    fn no_cut_exchange_is_overlooked_where_there_are_many() {
        let (of, mut exchanges) = (Arc::new(From::default()), Exchanges::default());
        let shared: [Arc<dyn CutOff>; 2] = [Arc::<From>::clone(&of), Arc::new(From::default())];
        let many = 5000;
        for number in 0..many {
            // Two communicators in turn.
            exchanges.note((1, number + 1), number / 2, "broadcast", &shared[usize::from(number % 2 == 1)]);
        }
        assert!(exchanges.0.len() <= MOST);
        *lock(&of.0) = Some(many / 2 - 1);
        assert_eq!(exchanges.take(&wait(1, many), &Clock::default()), Some("broadcast"));
    }

    /// A wait covers some of many exchanges, and a later one is cut off after it.
    #[test]
    fn no_exchange_that_is_cut_off_later_is_forgotten() {
        for covered in 1..100 {
            let (of, mut exchanges) = (Arc::new(From::default()), Exchanges::default());
            let shared: Arc<dyn CutOff> = Arc::<From>::clone(&of);
            let many = 2 * MOST as u64;
            for number in 0..many {
                exchanges.note((1, number + 1), number, "reduce", &shared);
            }
            assert_eq!(exchanges.take(&wait(1, covered), &Clock::default()), None);
            *lock(&of.0) = Some(covered);
            assert_eq!(exchanges.take(&wait(1, covered + 1), &Clock::default()), Some("reduce"), "{covered}");
            assert_eq!(exchanges.take(&wait(1, many), &Clock::default()), Some("reduce"), "later ones");
            assert!(!exchanges.any());
        }
    }
}
