//! Tests the clauses of order, S1 to S8 of `Stream`. Each small program runs under every schedule that
//! exists, and has exactly the outcomes that the clause allows. If an edge is removed, the wrong
//! outcome is seen too.

use std::collections::BTreeSet;

use devarray::backend::Event;
use devarray_mock::{MockBuffer, MockDevice};

use crate::{
    explore::outcomes,
    support::{Host, PLAIN, Queue},
};

/// Three streams, a buffer that holds 0 and that all of them may use, and one byte of pinned
/// memory.
struct Setting {
    streams: [Queue; 3],
    buffer: MockBuffer,
    host: Host,
}

fn setting(device: &MockDevice) -> Setting {
    let streams = [(); 3].map(|()| Queue::open(device));
    let buffer = streams[0].alloc(4);
    streams[0].fill(&buffer, 0, 4, 0).expect(PLAIN);
    streams[0].synchronize();
    Setting { streams, buffer, host: Host::new(device, &[7]) }
}

/// Checks that the last two bytes of the buffer are one of the expected pairs under each schedule,
/// and that each pair occurs.
#[track_caller]
fn assert_ends(expected: &[[u8; 2]], program: impl Fn(&MockDevice, &[Queue; 3], &MockBuffer)) {
    let (seen, count) = outcomes(
        setting,
        |device, Setting { streams, buffer, .. }| {
            program(device, streams, buffer);
            device.finish();
        },
        |device, Setting { streams, buffer, .. }| streams[0].bytes(device, &buffer, 2, 2),
    );
    assert!(count > 1, "the program must leave something to choose");
    assert_eq!(seen, expected.iter().map(|bytes| bytes.to_vec()).collect::<BTreeSet<_>>());
}

#[test]
fn s1_one_stream_is_in_order() {
    assert_ends(&[[1, 0]], |_, [one, two, _], buffer| {
        one.fill(buffer, 0, 1, 1).unwrap();
        one.copy(buffer, 2, buffer, 0, 1).unwrap();
        one.fill(buffer, 0, 1, 2).unwrap();
        two.fill(buffer, 1, 1, 9).unwrap();
    });
}

#[test]
fn s2_two_streams_are_in_no_order() {
    assert_ends(&[[0, 0], [1, 0]], |_, [one, two, _], buffer| {
        one.fill(buffer, 0, 1, 1).unwrap();
        two.copy(buffer, 2, buffer, 0, 1).unwrap();
    });
}

#[test]
fn s3_an_event_captures_what_is_before_it_and_nothing_after() {
    assert_ends(&[[1, 0], [1, 1]], |_, [one, two, _], buffer| {
        one.fill(buffer, 0, 1, 1).unwrap();
        let event = one.record();
        one.fill(buffer, 1, 1, 1).unwrap();
        two.wait(&event);
        two.copy(buffer, 2, buffer, 0, 2).unwrap();
    });
}

#[test]
fn s4_after_a_wait_everything_captured_has_run() {
    assert_ends(&[[1, 0]], |_, [one, two, _], buffer| {
        one.fill(buffer, 0, 1, 1).unwrap();
        two.wait(&one.record());
        two.copy(buffer, 2, buffer, 0, 1).unwrap();
    });
}

#[test]
fn s5_order_is_transitive() {
    let program = |[one, two, three]: &[Queue; 3], buffer: &MockBuffer, linked: bool| {
        one.fill(buffer, 0, 1, 1).unwrap();
        let first = one.record();
        if linked {
            two.wait(&first);
        }
        three.wait(&two.record());
        three.copy(buffer, 2, buffer, 0, 1).unwrap();
    };
    assert_ends(&[[1, 0]], |_, streams, buffer| program(streams, buffer, true));
    assert_ends(&[[0, 0], [1, 0]], |_, streams, buffer| program(streams, buffer, false));
}

/// All values of a downloaded byte that the host sees right after `wait`.
fn host_bytes(wait: fn(&Queue)) -> BTreeSet<u8> {
    let seen = std::cell::Cell::new(0);
    let (seen, count) = outcomes(
        setting,
        |_, Setting { streams: [one, two, _], buffer, host }| {
            one.fill(buffer, 0, 1, 1).expect(PLAIN);
            one.download(buffer, 0, host).expect(PLAIN);
            two.fill(buffer, 1, 1, 9).expect(PLAIN);
            wait(one);
            seen.set(host.bytes()[0]);
        },
        |device, setting| {
            device.finish();
            drop(setting);
            seen.get()
        },
    );
    assert!(count > 1, "the program must leave something to choose");
    seen
}

#[test]
fn s6_after_a_wait_of_the_host_nothing_is_left() {
    assert_eq!(host_bytes(Queue::synchronize), BTreeSet::from([1]));
    let poll = |one: &Queue| {
        let event = one.record();
        while !event.query().unwrap() {}
    };
    assert_eq!(host_bytes(poll), BTreeSet::from([1]));
    let early = host_bytes(|_| ());
    assert_eq!(early.len(), 2, "the download has run or it has not: {early:?}");
    assert!(early.contains(&1) && !early.contains(&7), "an early read sees neither the old byte: {early:?}");
}

#[test]
fn s7_a_free_takes_effect_in_stream_order() {
    let (seen, count) = outcomes(
        setting,
        |device, Setting { streams: [one, two, _], host, .. }| {
            let first = one.alloc(1);
            one.fill(&first, 0, 1, 1).unwrap();
            one.download(&first, 0, host).unwrap();
            one.free(first).unwrap();
            // This buffer may get the memory of the first one, but only after the download
            // has run.
            let second = two.alloc(1);
            two.fill(&second, 0, 1, 2).unwrap();
            two.free(second).unwrap();
            device.finish();
        },
        |device, Setting { streams: [one, ..], buffer, host }| {
            one.free(buffer).unwrap();
            assert!(device.report().findings.is_empty(), "{}", device.report());
            host.bytes()
        },
    );
    assert!(count > 1, "the program must leave something to choose");
    assert_eq!(seen, BTreeSet::from([vec![1]]));
}

#[test]
fn s8_a_dropped_stream_still_runs() {
    assert_ends(&[[1, 0]], |device, [_, two, _], buffer| {
        let dropped = Queue::open(device);
        dropped.fill(buffer, 0, 1, 1).unwrap();
        let event = dropped.record();
        drop(dropped);
        // May take the place of the dropped stream, but not its work.
        Queue::open(device).record();
        two.wait(&event);
        two.copy(buffer, 2, buffer, 0, 1).unwrap();
    });
}

#[test]
fn a_dropped_stream_orders_nothing_for_the_next() {
    assert_ends(&[[0, 0], [1, 0]], |device, _, buffer| {
        let dropped = Queue::open(device);
        dropped.fill(buffer, 0, 1, 1).unwrap();
        drop(dropped);
        Queue::open(device).copy(buffer, 2, buffer, 0, 1).unwrap();
    });
}

#[test]
fn a_copy_is_torn_unless_something_waits_for_it() {
    let program = |[one, two, _]: &[Queue; 3], buffer: &MockBuffer, ordered: bool| {
        one.fill(buffer, 0, 2, 1).unwrap();
        if ordered {
            two.wait(&one.record());
        }
        two.copy(buffer, 2, buffer, 0, 2).unwrap();
    };
    assert_ends(&[[1, 1]], |_, streams, buffer| program(streams, buffer, true));
    assert_ends(&[[0, 0], [0, 1], [1, 0], [1, 1]], |_, streams, buffer| program(streams, buffer, false));
}
