//! Strategies for raw programs.

use proptest::{
    collection::vec,
    prelude::*,
    strategy::{BoxedStrategy, Union},
};

use super::{Act, Bytes, Join, Op, Program};

/// Numbers for memories and events, which are taken modulo the number of these.
const NAMES: std::ops::Range<usize> = 0..12;

fn bytes() -> BoxedStrategy<Bytes> {
    let at = prop_oneof![3 => 0_usize..24, 1 => 0_usize..256];
    let len = prop_oneof![4 => 1_usize..24, 1 => Just(1), 1 => Just(256)];
    (NAMES, at, len).prop_map(|(memory, at, len)| Bytes { memory, at, len }).boxed()
}

/// Acts of operations.
pub fn acts() -> BoxedStrategy<Act> {
    let two = || (bytes(), bytes());
    Union::new_weighted(vec![
        (3, (bytes(), any::<u8>()).prop_map(|(to, value)| Act::Fill { to, value }).boxed()),
        (
            6,
            (two(), 1_usize..5, [0_usize..5, 0_usize..5])
                .prop_map(|((to, from), rows, gaps)| Act::Copy { to, from, rows, gaps })
                .boxed(),
        ),
        (3, two().prop_map(|(to, from)| Act::Upload { to, from }).boxed()),
        (3, two().prop_map(|(to, from)| Act::Download { to, from }).boxed()),
        (2, (0_usize..4).prop_map(|size| Act::Alloc { size }).boxed()),
        (1, NAMES.prop_map(|buffer| Act::Free { buffer }).boxed()),
        (1, bytes().prop_map(|from| Act::HostRead { from }).boxed()),
        (1, (bytes(), any::<u8>()).prop_map(|(to, value)| Act::HostWrite { to, value }).boxed()),
        (1, Just(Act::Record).boxed()),
        (1, NAMES.prop_map(|event| Act::Wait { event }).boxed()),
        (1, Just(Act::Synchronize).boxed()),
    ])
    .boxed()
}

/// Raw programs of 1 to 4 streams, 1 to 3 device memories, 1 or 2 pinned ones, and up to `most_ops`
/// operations.
pub fn programs(most_ops: usize) -> BoxedStrategy<Program> {
    let joins = prop_oneof![
        5 => Just(Join::Event),
        3 => Just(Join::Earlier),
        1 => Just(Join::Host),
        1 => Just(Join::Stream),
    ];
    let op = (NAMES, joins, acts()).prop_map(|(stream, join, act)| Op { stream, join, act });
    (1_usize..=4, 1_usize..=3, 1_usize..=2, vec(op, 1..=most_ops.max(1)))
        .prop_map(|(streams, buffers, hosts, ops)| Program { streams, buffers, hosts, ops })
        .boxed()
}
