#[test] fn smallest_program() { use devarray_conformance::programs::raw::*;
    Program::new(2, 1, 1, &[
        op(0, Join::Event, Act::Fill { to: bytes(0, 0, 8), value: 7 }),
        op(1, Join::Earlier, Act::Copy { to: bytes(0, 20, 3), from: bytes(0, 0, 3), rows: 2, gaps: [1, 0] }),
        op(1, Join::Host, Act::Free { buffer: 0 }),
        op(0, Join::Stream, Act::HostRead { from: bytes(0, 0, 16) }),
        op(1, Join::Event, Act::Record),
    ]).check(&play).unwrap() }
