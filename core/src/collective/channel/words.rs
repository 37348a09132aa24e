//! Calls and errors as bytes.

use std::time::Duration;

use super::{
    bytes::{Garbled, Reader, Writer},
    limits::MOST_PROCESSES,
    strings::{self, MOST_BYTES},
};
use crate::{
    collective::{CollectiveError, Combination, RankCall, RankState, RankStates, RowCounts, call::compared},
    processes::ProcessError,
};

pub(super) fn text(of: &mut Reader<'_>) -> Result<&'static str, Garbled> {
    strings::kept(of.text(MOST_BYTES)?).ok_or(Garbled)
}

pub(super) fn write_limit(to: &mut Writer, limit: Duration) {
    to.u64(limit.as_secs()).u32(limit.subsec_nanos());
}

pub(super) fn read_limit(of: &mut Reader<'_>) -> Result<Duration, Garbled> {
    let (seconds, nanos) = (of.u64()?, of.u32()?);
    if nanos < 1_000_000_000 { Ok(Duration::new(seconds, nanos)) } else { Err(Garbled) }
}

const COMBINATIONS: [Combination; 5] =
    [Combination::Sum, Combination::Product, Combination::Minimum, Combination::Maximum, Combination::Mean];

pub(super) fn write_call(to: &mut Writer, call: &RankCall) {
    let combination = call.combination.and_then(|own| COMBINATIONS.iter().position(|&of| of == own));
    to.bytes(compared(call.operation).as_bytes()).option(combination);
    to.bytes(compared(call.element_type).as_bytes()).usize(call.count).option(call.peer).u64(call.number);
    to.usize(call.item_bytes);
    match call.place() {
        Some((file, line, column)) => to.u8(1).bytes(compared(file).as_bytes()).u32(line).u32(column),
        None => to.u8(0),
    };
    match &call.counts {
        Some(counts) => {
            write_counts(to.u8(1), counts.sent());
            match counts.received() {
                Some(received) => write_counts(to.u8(1), received),
                None => drop(to.u8(0)),
            }
        }
        None => drop(to.u8(0)),
    }
}

/// A number for each rank.
pub(super) fn write_counts(to: &mut Writer, counts: &[usize]) {
    to.usize(counts.len());
    for &count in counts {
        to.usize(count);
    }
}

pub(super) fn read_counts(of: &mut Reader<'_>) -> Result<Vec<usize>, Garbled> {
    let len = of.below(MOST_PROCESSES + 1)?;
    (0..len).map(|_| of.usize()).collect()
}

pub(super) fn read_call(of: &mut Reader<'_>) -> Result<RankCall, Garbled> {
    let operation = text(of)?;
    let combination = of.option()?.map(|at| COMBINATIONS.get(at).copied().ok_or(Garbled)).transpose()?;
    let (element_type, count, peer, number) = (text(of)?, of.usize()?, of.option()?, of.u64()?);
    let item_bytes = of.usize()?;
    let mut call = RankCall::new(operation, number);
    if of.u8()? != 0 {
        call.elsewhere.0 = strings::site(of.text(MOST_BYTES)?, of.u32()?, of.u32()?);
    }
    if of.u8()? != 0 {
        let sent = read_counts(of)?;
        let received = if of.u8()? != 0 { Some(read_counts(of)?) } else { None };
        call.counts = Some(RowCounts::new(&sent, received.as_deref()));
    }
    call.item_bytes = item_bytes;
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

pub(super) fn write_error(to: &mut Writer, error: &CollectiveError) {
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
        CollectiveError::Processes(error) if **error == ProcessError::ServiceLeft => {
            to.u8(11);
        }
        // All that the board does not find.
        _ => drop(to.u8(10)),
    }
}

pub(super) fn read_error(of: &mut Reader<'_>) -> Result<CollectiveError, Garbled> {
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
        11 => ProcessError::ServiceLeft.into(),
        _ => return Err(Garbled),
    })
}
