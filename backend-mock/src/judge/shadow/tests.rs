//! Compares races with the races in a list of all accesses to each byte, and tries sets that are too
//! large to be enumerated.

use std::panic::Location;

use super::*;
use crate::{
    finding::{Access, Operation},
    judge::{lanes::Lanes, strided::every_byte},
    rng::SplitMix64,
};

/// Random accesses on three lanes, of one to three hosts, with waits and sweeps, are compared with a
/// list of all accesses to each byte. Forgetting an access must not hide a race.
#[test]
fn finds_races_where_a_list_for_each_byte_has_some() {
    let (mut rng, mut races, mut sweeps) = (SplitMix64::new(3), 0, 0);
    for round in 0..150 {
        let (mut lanes, mut access_lists, mut shadow) =
            (Lanes::default(), AccessLists::default(), Shadow::default());
        let hosts = 1 + round % 3;
        lanes.start_hosts(hosts);
        let mut all: Vec<(Bytes, ListedAccess)> = Vec::new();
        for number in 0..200 {
            lanes.set_host(rng.below(hosts));
            let lane = rng.below(3);
            let position = lanes.issue(lane);
            let location = Location::caller();
            let operation = Operation { number, kind: "copy", stream: Some(lane), location, argument: None };
            match rng.below(12) {
                0 => lanes.host_waited_for_lane(lane),
                1..5 => {
                    let event = lanes.record(position, operation, None);
                    lanes.wait(rng.below(3).min(lane), &event, operation);
                }
                _ => {
                    let access = if rng.below(2) == 0 { Access::Read } else { Access::Write };
                    let (start, stride) = (rng.below(20), 6 + rng.below(6));
                    let bytes: Bytes =
                        (0..1 + rng.below(4)).map(|k| start + k * stride..start + k * stride + 5).collect();
                    let note = ListedAccess::new(position, operation, access);
                    let clock = lanes.clock(lane);
                    let found = shadow.touch(&bytes, Visitor::new(note, &mut access_lists, &lanes));
                    let races_with = |(other, earlier): &&(Bytes, ListedAccess)| {
                        (note.writes() || earlier.writes())
                            && !clock.knows(earlier.position)
                            && bytes.meets(other)
                    };
                    let expected: Vec<&ListedAccess> =
                        all.iter().filter(races_with).map(|(_, note)| note).collect();
                    assert_eq!(found.is_empty(), expected.is_empty(), "{number}: {found:?}");
                    assert!(found.iter().all(|conflict| expected.contains(&&conflict.with)));
                    races += found.len();
                    all.push((bytes, note));
                    if rng.below(10) == 0 {
                        access_lists.sweep(&lanes, std::iter::once(&mut shadow));
                        sweeps += 1;
                    }
                }
            }
            let mut held: Vec<usize> =
                shadow.0.all().iter().flat_map(|cell| every_byte(&cell.bytes)).collect();
            held.sort_unstable();
            assert!(held.windows(2).all(|pair| pair[0] < pair[1]), "{shadow:?}");
        }
    }
    assert!(races > 1000 && sweeps > 500, "{races} {sweeps}");
}

/// Each set has a thousand million runs, which are never enumerated.
#[test]
fn halves_race_with_themselves_and_not_with_each_other() {
    let half = |offset: usize| Bytes::strided(offset, 4, [(8, 1 << 30)].into_iter());
    let (mut lanes, mut access_lists, mut shadow) =
        (Lanes::default(), AccessLists::default(), Shadow::default());
    let mut write = |number, lane, bytes: &Bytes| {
        let position = lanes.issue(lane);
        let operation = Operation {
            number,
            kind: "fill",
            stream: Some(lane),
            location: Location::caller(),
            argument: None,
        };
        let note = ListedAccess::new(position, operation, Access::Write);
        shadow.touch(bytes, Visitor::new(note, &mut access_lists, &lanes))
    };
    assert_eq!(write(0, 0, &half(0)), []);
    assert_eq!(write(1, 1, &half(4)), []);
    assert_eq!(write(2, 1, &Bytes::range(70..72)).len(), 0, "of the same lane");
    let races = write(3, 0, &Bytes::range(30..1 << 20));
    let found: Vec<_> = races.iter().map(|race| (race.with.operation.number, race.bytes.clone())).collect();
    assert_eq!(found, [(1, 30..32), (2, 70..72)]);
}

/// A sweep forgets accesses that the host has waited for, and nothing else.
#[test]
fn a_sweep_keeps_what_may_still_race() {
    for waits in [false, true] {
        let (mut lanes, mut access_lists, mut shadow) =
            (Lanes::default(), AccessLists::default(), Shadow::default());
        for number in 0..100_usize {
            let position = lanes.issue(0);
            let location = Location::caller();
            let operation =
                Operation { number: number as u64, kind: "fill", stream: Some(0), location, argument: None };
            let note = ListedAccess::new(position, operation, Access::Write);
            let bytes = Bytes::range(8 * number..8 * number + 4);
            shadow.touch(&bytes, Visitor::new(note, &mut access_lists, &lanes));
        }
        assert!(access_lists.are_many());
        if waits {
            lanes.host_waited_for_lane(0);
        }
        access_lists.sweep(&lanes, std::iter::once(&mut shadow));
        assert_eq!(shadow.len(), if waits { 0 } else { 100 });
        assert!(!access_lists.are_many());
    }
}

/// An access that one of two hosts has waited for is kept, until the other has waited for it, too.
#[test]
fn an_access_is_forgotten_when_all_hosts_know_it() {
    let (mut lanes, mut access_lists, mut shadow) =
        (Lanes::default(), AccessLists::default(), Shadow::default());
    lanes.start_hosts(2);
    let location = Location::caller();
    let operation = Operation { number: 0, kind: "fill", stream: Some(0), location, argument: None };
    let note = ListedAccess::new(lanes.issue(0), operation, Access::Write);
    shadow.touch(&Bytes::range(0..8), Visitor::new(note, &mut access_lists, &lanes));
    for (host, due) in [(0, 1), (1, 0)] {
        lanes.set_host(host);
        lanes.host_waited_for_lane(0);
        access_lists.sweep(&lanes, std::iter::once(&mut shadow));
        assert_eq!(shadow.len(), due, "host {host} has waited");
    }
}

/// The bytes of a cell may be visited in any order.
#[test]
fn a_conflict_has_the_first_bytes_of_all() {
    let (mut lanes, mut access_lists, mut conflicts) = (Lanes::default(), AccessLists::default(), Vec::new());
    let location = Location::caller();
    let operation = Operation { number: 7, kind: "fill", stream: Some(0), location, argument: None };
    let list = access_lists.list(ListedAccess::new(lanes.issue(0), operation, Access::Write), None);
    for shared in [10..12, 4..6, 8..9] {
        find_conflicts(&access_lists, list, false, &Clock::default(), shared, &mut conflicts);
    }
    let found: Vec<_> =
        conflicts.iter().map(|found| (found.with.operation.number, found.bytes.clone())).collect();
    assert_eq!(found, [(7, 4..6)]);
}

/// A sweep visits all cells of all memories, so the next sweep comes after a number of operations
/// that grows with the number of cells.
#[test]
fn the_next_sweep_is_put_off_by_the_number_of_cells() {
    let (mut lanes, mut access_lists) = (Lanes::default(), AccessLists::default());
    let mut shadows = [Shadow::default(), Shadow::default()];
    let location = Location::caller();
    let mut touch = |access_lists: &mut AccessLists, shadow: &mut Shadow, number: usize| {
        let operation =
            Operation { number: number as u64, kind: "fill", stream: Some(0), location, argument: None };
        let note = ListedAccess::new(lanes.issue(0), operation, Access::Write);
        let bytes = Bytes::range(8 * number..8 * number + 4);
        shadow.touch(&bytes, Visitor::new(note, access_lists, &lanes));
    };
    for shadow in &mut shadows {
        (0..1000).for_each(|number| touch(&mut access_lists, shadow, number));
    }
    // The host has waited for nothing.
    let none = Lanes::default();
    access_lists.sweep(&none, shadows.iter_mut());
    assert_eq!(access_lists.counts(), (2000, 4000), "twice the links");
    // One list for all cells: few links, and the same number of cells.
    let mut one = AccessLists::default();
    let operation = Operation { number: 0, kind: "fill", stream: Some(0), location, argument: None };
    let list = one.list(ListedAccess::new(lanes.issue(0), operation, Access::Write), None);
    shadows.iter_mut().for_each(|shadow| shadow.replace(|_| Some(list)));
    one.sweep(&none, shadows.iter_mut());
    assert_eq!(one.counts(), (1, 250), "an eighth of the cells");
    one.sweep(&none, shadows[..1].iter_mut());
    assert_eq!(one.counts(), (1, 125));
}

/// An access is forgotten once a later access races with everything that it races with. Each access
/// is to one byte of one memory: lane, read or write, whether to pageable memory, and the lane that
/// was waited for.
#[test]
fn an_access_takes_the_place_of_what_is_ordered_before_it() {
    use Access::{Read, Write};
    type Step = (usize, Access, bool, Option<usize>);
    let cases: [(&[Step], Access, &[u64]); 9] = [
        (&[(0, Write, false, None), (1, Write, false, Some(0))], Write, &[1]),
        (&[(0, Write, false, None), (1, Write, false, Some(0))], Read, &[1]),
        (&[(0, Read, false, None), (1, Read, false, Some(0))], Write, &[1]),
        (&[(0, Read, false, None), (1, Write, false, Some(0))], Write, &[1]),
        (&[(0, Write, false, None), (1, Read, false, Some(0))], Write, &[0, 1]),
        (&[(0, Write, false, None), (1, Read, false, Some(0))], Read, &[0]),
        (&[(0, Read, false, None), (1, Read, false, None)], Write, &[0, 1]),
        // Such a read may be over while earlier accesses are not.
        (&[(0, Read, false, None), (0, Read, true, None)], Write, &[0, 1]),
        (&[(0, Read, true, None), (0, Read, true, None)], Write, &[1]),
    ];
    for (steps, last, due) in cases {
        let (mut lanes, mut access_lists, mut shadow) =
            (Lanes::default(), AccessLists::default(), Shadow::default());
        let last = (2, last, false, None);
        let mut found = Vec::new();
        for (number, &(lane, access, of_pageable, after)) in steps.iter().chain([&last]).enumerate() {
            if let Some(other) = after {
                let known = lanes.clock(other).clone();
                lanes.issue(lane);
                lanes.learn(lane, &known);
            }
            let position = lanes.issue(lane);
            let (number, location) = (number as u64, Location::caller());
            let operation = Operation { number, kind: "copy", stream: Some(lane), location, argument: None };
            let note = ListedAccess { of_pageable, ..ListedAccess::new(position, operation, access) };
            let visitor = Visitor::new(note, &mut access_lists, &lanes);
            let conflicts = shadow.touch(&Bytes::range(8..9), visitor);
            found = conflicts.iter().map(|conflict| conflict.with.operation.number).collect();
        }
        assert_eq!(found, due, "{steps:?}, then {last:?}");
    }
}

/// Memory that is given back and lent again begins without accesses; memory beside it keeps its
/// accesses.
#[test]
fn forgotten_bytes_race_with_nothing() {
    let (mut lanes, mut access_lists, mut shadow) =
        (Lanes::default(), AccessLists::default(), Shadow::default());
    let location = Location::caller();
    let mut write = |shadow: &mut Shadow, number, lane, bytes: Range<usize>| {
        let position = lanes.issue(lane);
        let operation = Operation { number, kind: "fill", stream: Some(lane), location, argument: None };
        let note = ListedAccess::new(position, operation, Access::Write);
        let visitor = Visitor::new(note, &mut access_lists, &lanes);
        let conflicts = shadow.touch(&Bytes::range(bytes), visitor);
        conflicts.iter().map(|conflict| conflict.with.operation.number).collect::<Vec<_>>()
    };
    assert!(write(&mut shadow, 0, 0, 0..8).is_empty());
    assert!(write(&mut shadow, 1, 0, 8..16).is_empty());
    assert!(write(&mut shadow, 2, 0, 16..24).is_empty());
    shadow.forget(&(8..16));
    assert_eq!(shadow.len(), 2);
    assert!(write(&mut shadow, 3, 1, 8..16).is_empty());
    assert_eq!(write(&mut shadow, 4, 1, 4..20), [0, 2]);
    shadow.forget(&(0..24));
    assert_eq!(shadow.len(), 0);
}
