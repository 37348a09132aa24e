//! The words between a rank and the service.

use std::{num::NonZeroU64, time::Duration};

use super::{
    bytes::{Garbled, Reader, Writer},
    limits::{MOST_GIVEN, MOST_PROCESSES},
    words::{
        read_call, read_counts, read_error, read_limit, text, write_call, write_counts, write_error,
        write_limit,
    },
};
use crate::collective::{CollectiveError, RankCall, call::compared};

/// Bytes of a message of a rank.
pub(super) const MOST_REQUEST: usize = MOST_GIVEN + (8 << 10);

/// Bytes of a message of the service before it is known how many ranks there are.
pub(super) const MOST_FIRST: usize = 16 << 10;

/// Bytes of a message of the service.
pub(super) const fn most_answer(ranks: usize) -> usize {
    ranks * (MOST_GIVEN + 8) + (16 << 10)
}

/// The words of a rank.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// It joins a board.
    Join(Join),
    /// It makes a call.
    Agree { call: RankCall, color: Option<usize>, given: Vec<u8> },
    /// It ends the communicator.
    Break(CollectiveError),
    /// It goes.
    Leave { panicked: bool },
    /// It is there.
    Ping,
}

/// The words with which a rank takes its seat.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Join {
    /// The number of the board.
    pub(super) board: u64,
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) backend: &'static str,
    pub(super) process: NonZeroU64,
    pub(super) context: u64,
    pub(super) call: RankCall,
}

/// The words of the service.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The first word.
    Welcome { limit: Duration },
    /// All have joined. The key is for connections between ranks.
    Joined { token: [u8; 32], is_local: bool },
    /// The call fits.
    Agreed {
        number: u64,
        group: Option<(u64, usize, usize)>,
        given: Option<Vec<Vec<u8>>>,
        received: Vec<usize>,
    },
    /// The call failed.
    Failed(CollectiveError),
    /// The communicator is over, whether the rank is in a call or not.
    Told(CollectiveError),
    /// The service is there.
    Pong,
    /// The service ends.
    Bye,
}

impl Request {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to;
        match self {
            Self::Join(join) => {
                to = Writer::of(0);
                to.u64(join.board)
                    .usize(join.rank)
                    .usize(join.ranks)
                    .bytes(compared(join.backend).as_bytes());
                write_call(to.u64(join.process.get()).u64(join.context), &join.call);
            }
            Self::Agree { call, color, given } => {
                to = Writer::of(1);
                write_call(&mut to, call);
                to.option(*color).bytes(given);
            }
            Self::Break(error) => {
                to = Writer::of(2);
                write_error(&mut to, error);
            }
            Self::Leave { panicked } => {
                to = Writer::of(3);
                to.u8(u8::from(*panicked));
            }
            Self::Ping => to = Writer::of(4),
        }
        to.into_bytes()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut of = Reader::new(bytes);
        let request = match of.u8()? {
            0 => {
                let (board, rank) = (of.u64()?, of.below(MOST_PROCESSES)?);
                let (ranks, backend) = (of.below(MOST_PROCESSES + 1)?, text(&mut of)?);
                let process = NonZeroU64::new(of.u64()?).ok_or(Garbled)?;
                let (context, call) = (of.u64()?, read_call(&mut of)?);
                Self::Join(Join { board, rank, ranks, backend, process, context, call })
            }
            1 => {
                let (call, color) = (read_call(&mut of)?, of.option()?);
                Self::Agree { call, color, given: of.bytes(MOST_GIVEN)?.to_vec() }
            }
            2 => Self::Break(read_error(&mut of)?),
            3 => Self::Leave { panicked: of.u8()? != 0 },
            4 => Self::Ping,
            _ => return Err(Garbled),
        };
        of.end().map(|()| request)
    }
}

impl Answer {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to;
        match self {
            Self::Welcome { limit } => {
                to = Writer::of(0);
                write_limit(&mut to, *limit);
            }
            Self::Joined { token, is_local } => {
                to = Writer::of(1);
                to.array(token).u8(u8::from(*is_local));
            }
            Self::Agreed { number, group, given, received } => {
                to = Writer::of(2);
                to.u64(*number);
                match group {
                    Some((board, rank, ranks)) => to.u8(1).u64(*board).usize(*rank).usize(*ranks),
                    None => to.u8(0),
                };
                match given {
                    Some(given) => {
                        to.u8(1).usize(given.len());
                        for bytes in given {
                            to.bytes(bytes);
                        }
                    }
                    None => {
                        to.u8(0);
                    }
                }
                write_counts(&mut to, received);
            }
            Self::Failed(error) => {
                to = Writer::of(3);
                write_error(&mut to, error);
            }
            Self::Told(error) => {
                to = Writer::of(4);
                write_error(&mut to, error);
            }
            Self::Pong => to = Writer::of(5),
            Self::Bye => to = Writer::of(6),
        }
        to.into_bytes()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut of = Reader::new(bytes);
        let answer = match of.u8()? {
            0 => Self::Welcome { limit: read_limit(&mut of)? },
            1 => Self::Joined { token: of.array()?, is_local: of.u8()? != 0 },
            2 => {
                let number = of.u64()?;
                let group = match of.u8()? {
                    0 => None,
                    _ => Some((of.u64()?, of.below(MOST_PROCESSES)?, of.below(MOST_PROCESSES + 1)?)),
                };
                let given = match of.u8()? {
                    0 => None,
                    _ => {
                        let count = of.below(MOST_PROCESSES + 1)?;
                        let each = (0..count).map(|_| of.bytes(MOST_GIVEN).map(<[u8]>::to_vec));
                        Some(each.collect::<Result<_, _>>()?)
                    }
                };
                Self::Agreed { number, group, given, received: read_counts(&mut of)? }
            }
            3 => Self::Failed(read_error(&mut of)?),
            4 => Self::Told(read_error(&mut of)?),
            5 => Self::Pong,
            6 => Self::Bye,
            _ => return Err(Garbled),
        };
        of.end().map(|()| answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Combination, RankState, RankStates, RowCounts},
        processes::ProcessError,
    };

    fn call() -> RankCall {
        let mut call = RankCall::new("all_reduce", 9);
        (call.combination, call.element_type) = (Some(Combination::Mean), "f32");
        (call.count, call.peer, call.item_bytes) = (usize::MAX, Some(3), 4);
        call.counts = Some(RowCounts::new(&[1, usize::MAX], Some(&[0, 7])));
        call
    }

    #[test]
    fn messages_come_back() {
        let process = NonZeroU64::new(7).unwrap();
        let (board, rank, ranks, backend, context) = (1, 2, 3, "host", 8);
        let requests = [
            Request::Join(Join { board, rank, ranks, backend, process, context, call: call() }),
            Request::Agree { call: call(), color: Some(4), given: vec![1, 2] },
            Request::Break(CollectiveError::Aborted),
            Request::Leave { panicked: true },
            Request::Ping,
        ];
        for request in requests {
            let bytes = request.encode();
            assert_eq!(Request::decode(&bytes), Ok(request));
            for len in 0..bytes.len() {
                assert_eq!(Request::decode(&bytes[..len]), Err(Garbled), "{len} of {bytes:?}");
            }
        }
    }

    #[test]
    fn errors_come_back_with_lines() {
        let states = || -> RankStates {
            use RankState::{Away, Calls, Dropped, Lost, Missing, Panicked, Unknown};
            [Calls(call()), Away(call()), Missing, Dropped, Panicked, Lost, Unknown].into_iter().collect()
        };
        let errors = [
            CollectiveError::NoRank { rank: 1, ranks: 1 },
            CollectiveError::Taken(1),
            CollectiveError::Sizes { rank: 1, ranks: 2, others: 3 },
            CollectiveError::OneContext(1, 2),
            CollectiveError::Apart(1),
            CollectiveError::Disagree(states()),
            CollectiveError::Stuck(states()),
            CollectiveError::Gone { rank: 1, states: states() },
            CollectiveError::TimeLimit { limit: Duration::from_millis(5), states: states() },
            ProcessError::NoService.into(),
            ProcessError::ServiceLeft.into(),
            CollectiveError::Aborted,
        ];
        for error in errors {
            let answers = [Answer::Failed(error.clone()), Answer::Told(error)];
            for answer in answers {
                let back = Answer::decode(&answer.encode()).unwrap();
                assert_eq!(format!("{back:?}"), format!("{answer:?}"));
                assert_eq!(back, answer);
            }
        }
        let given = Some(vec![vec![], vec![5; 3]]);
        let agreed = Answer::Agreed { number: 4, group: Some((1, 2, 3)), given, received: vec![6, 0] };
        assert_eq!(Answer::decode(&agreed.encode()), Ok(agreed));
    }
}
