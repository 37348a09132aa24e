#[test] fn smallest_program() { use devarray_conformance::{Harness, programs::*};
    Program::new(Item::U32, 2, &[
        Op::Create { stream: 0, extents: [4, 3, 1], rank: 2, start: Start::Uploaded, value: 7 },
        Op::Contiguous { stream: 1, from: part(0, [Transform::Whole, Transform::Flip(1)]), fortran: true },
        Op::Map { stream: 1, to: part(1, [Transform::Index(0, 2), Transform::Whole]), from: part(0, [Transform::Cut { axis: 1, start: 0, step: 1, count: 2 }, Transform::NewAxis(0)]), formula: Formula::Fold, value: 9 },
        Op::Kernel { stream: 1, to: part(0, [Transform::Whole, Transform::Whole]), from: part(1, [Transform::Whole, Transform::Whole]), value: 3 },
        Op::Put { stream: 0, to: part(0, [Transform::Whole, Transform::Whole]), axis: 1, value: 5 },
        Op::Sort { stream: 1, from: part(0, [Transform::Whole, Transform::Whole]), axis: 1, by: Ordered::Top, value: 3 },
        Op::Combine { stream: 0, to: part(1, [Transform::Whole, Transform::Whole]), axis: 0, by: Combined::Most, value: 2 },
        Op::Matmul { stream: 0, first: part(0, [Transform::Whole, Transform::Whole]), second: part(2, [Transform::Whole, Transform::Whole]) },
        Op::Recorded { stream: 1, to: part(1, [Transform::Whole, Transform::Whole]), beside: part(0, [Transform::Flip(0), Transform::Whole]), from: part(0, [Transform::Whole, Transform::Whole]), calls: 2, launches: 2, value: 9 },
        Op::Square { stream: 0, to: part(0, [Transform::Whole, Transform::Whole]), from: part(2, [Transform::Whole, Transform::Whole]) },
        Op::Take { stream: 0, from: part(1, [Transform::Whole, Transform::Whole]), axis: 0, value: 4 },
        Op::StartDownload { stream: 0, from: part(1, [Transform::Section(0, 1, 1), Transform::Whole]) },
        Op::EndTransfer { transfer: 0, end: End::Polled },
        Op::Drop { array: 0, away: Away::Elsewhere },
    ]).on_threads(2).check(&Harness::new(|| device())).unwrap() }
