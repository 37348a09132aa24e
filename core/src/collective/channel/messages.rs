//! The words between a rank and the service.

use std::{num::NonZeroU64, time::Duration};

use super::{
    bytes::{Garbled, Reader, Writer},
    limits::{MOST_GIVEN, MOST_PROCESSES},
    strings::{self, MOST_BYTES},
};
use crate::{
    collective::{CollectiveError, Combination, RankCall, RankState, RankStates},
    processes::ProcessError,
};

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
    Agreed { number: u64, group: Option<(u64, usize, usize)>, given: Option<Vec<Vec<u8>>> },
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
                to.u64(join.board).usize(join.rank).usize(join.ranks).bytes(short(join.backend).as_bytes());
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
            Self::Agreed { number, group, given } => {
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
                Self::Agreed { number, group, given }
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

/// A text of at most [`MOST_BYTES`]. The rest is not compared.
fn short(text: &str) -> &str {
    let mut len = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    &text[..len]
}

fn text(of: &mut Reader<'_>) -> Result<&'static str, Garbled> {
    strings::kept(of.text(MOST_BYTES)?).ok_or(Garbled)
}

fn write_limit(to: &mut Writer, limit: Duration) {
    to.u64(limit.as_secs()).u32(limit.subsec_nanos());
}

fn read_limit(of: &mut Reader<'_>) -> Result<Duration, Garbled> {
    let (seconds, nanos) = (of.u64()?, of.u32()?);
    if nanos < 1_000_000_000 { Ok(Duration::new(seconds, nanos)) } else { Err(Garbled) }
}

const COMBINATIONS: [Combination; 5] =
    [Combination::Sum, Combination::Product, Combination::Minimum, Combination::Maximum, Combination::Mean];

fn write_call(to: &mut Writer, call: &RankCall) {
    let combination = call.combination.and_then(|own| COMBINATIONS.iter().position(|&of| of == own));
    to.bytes(short(call.operation).as_bytes()).option(combination);
    to.bytes(short(call.element_type).as_bytes()).usize(call.count).option(call.peer).u64(call.number);
    match call.place() {
        Some((file, line, column)) => to.u8(1).bytes(short(file).as_bytes()).u32(line).u32(column),
        None => to.u8(0),
    };
}

fn read_call(of: &mut Reader<'_>) -> Result<RankCall, Garbled> {
    let operation = text(of)?;
    let combination = of.option()?.map(|at| COMBINATIONS.get(at).copied().ok_or(Garbled)).transpose()?;
    let (element_type, count, peer, number) = (text(of)?, of.usize()?, of.option()?, of.u64()?);
    let mut call = RankCall::new(operation, number);
    if of.u8()? != 0 {
        call.elsewhere.0 = strings::site(of.text(MOST_BYTES)?, of.u32()?, of.u32()?);
    }
    (call.combination, call.element_type, call.count, call.peer) = (combination, element_type, count, peer);
    Ok(call)
}

fn write_states(to: &mut Writer, states: &RankStates) {
    to.usize(states.iter().count());
    for state in states.iter() {
        match state {
            RankState::Calls(call) => write_call(to.u8(0), call),
            RankState::Away(call) => write_call(to.u8(1), call),
            RankState::Missing => {
                to.u8(2);
            }
            RankState::Dropped => {
                to.u8(3);
            }
            RankState::Panicked => {
                to.u8(4);
            }
            RankState::Lost => {
                to.u8(5);
            }
            RankState::Unknown => {
                to.u8(6);
            }
        }
    }
}

fn read_states(of: &mut Reader<'_>) -> Result<RankStates, Garbled> {
    let count = of.below(MOST_PROCESSES + 1)?;
    let each = (0..count).map(|_| {
        Ok(match of.u8()? {
            0 => RankState::Calls(read_call(of)?),
            1 => RankState::Away(read_call(of)?),
            2 => RankState::Missing,
            3 => RankState::Dropped,
            4 => RankState::Panicked,
            5 => RankState::Lost,
            6 => RankState::Unknown,
            _ => return Err(Garbled),
        })
    });
    each.collect()
}

fn write_error(to: &mut Writer, error: &CollectiveError) {
    match error {
        CollectiveError::NoRank { rank, ranks } => {
            to.u8(0).usize(*rank).usize(*ranks);
        }
        CollectiveError::Taken(rank) => {
            to.u8(1).usize(*rank);
        }
        CollectiveError::Sizes { rank, ranks, others } => {
            to.u8(2).usize(*rank).usize(*ranks).usize(*others);
        }
        CollectiveError::OneContext(one, other) => {
            to.u8(3).usize(*one).usize(*other);
        }
        CollectiveError::Apart(rank) => {
            to.u8(4).usize(*rank);
        }
        CollectiveError::Disagree(states) => write_states(to.u8(5), states),
        CollectiveError::Stuck(states) => write_states(to.u8(6), states),
        CollectiveError::Gone { rank, states } => write_states(to.u8(7).usize(*rank), states),
        CollectiveError::TimeLimit { limit, states } => {
            write_limit(to.u8(8), *limit);
            write_states(to, states);
        }
        CollectiveError::Processes(error) if **error == ProcessError::NoService => {
            to.u8(9);
        }
        // All that the board does not find.
        _ => drop(to.u8(10)),
    }
}

fn read_error(of: &mut Reader<'_>) -> Result<CollectiveError, Garbled> {
    Ok(match of.u8()? {
        0 => CollectiveError::NoRank { rank: of.usize()?, ranks: of.usize()? },
        1 => CollectiveError::Taken(of.usize()?),
        2 => CollectiveError::Sizes { rank: of.usize()?, ranks: of.usize()?, others: of.usize()? },
        3 => CollectiveError::OneContext(of.usize()?, of.usize()?),
        4 => CollectiveError::Apart(of.usize()?),
        5 => CollectiveError::Disagree(read_states(of)?),
        6 => CollectiveError::Stuck(read_states(of)?),
        7 => CollectiveError::Gone { rank: of.usize()?, states: read_states(of)? },
        8 => CollectiveError::TimeLimit { limit: read_limit(of)?, states: read_states(of)? },
        9 => ProcessError::NoService.into(),
        10 => CollectiveError::Aborted,
        _ => return Err(Garbled),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> RankCall {
        let mut call = RankCall::new("all_reduce", 9);
        (call.combination, call.element_type) = (Some(Combination::Mean), "f32");
        (call.count, call.peer) = (usize::MAX, Some(3));
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
        let agreed = Answer::Agreed { number: 4, group: Some((1, 2, 3)), given };
        assert_eq!(Answer::decode(&agreed.encode()), Ok(agreed));
    }
}
