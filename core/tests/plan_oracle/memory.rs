//! The host executor moves the bytes of the map and leaves every other byte of the destination
//! alone.

use devarray::{
    LayoutError,
    copy::{Class, Plan, copy_bytes},
};
use proptest::prelude::*;

use super::{
    cases::{Case, Limits, Side, cases},
    oracle::image,
    random::fixed,
};

/// The room before both sides, which is odd so that no run is aligned to its width, and after the
/// destination. The source's memory ends with its last byte, so that a sanitizer detects a read
/// beyond it.
const MARGIN: usize = 3;

/// Source bytes whose neighbours differ, and a destination filled with canary bytes.
struct Memory {
    src: Vec<u8>,
    dst: Vec<u8>,
}

impl Memory {
    fn of(plan: &Plan) -> Self {
        let src = (0..MARGIN + plan.src_span().end).map(|at| u8::try_from(at * 7 % 127).unwrap()).collect();
        let dst =
            (0..plan.dst_span().end + 2 * MARGIN).map(|at| u8::try_from(128 + at % 127).unwrap()).collect();
        Self { src, dst }
    }

    /// The expected bytes of the destination.
    fn expected(&self, case: &Case) -> Vec<u8> {
        let mut dst = self.dst.clone();
        for (to, from) in image(case) {
            dst[MARGIN + to] = self.src[MARGIN + from];
        }
        dst
    }
}

proptest! {
    #![proptest_config(fixed(2_000))]

    #[test]
    fn gaps_keep_their_bytes(case in cases()) {
        let plan = case.plan();
        let mut memory = Memory::of(&plan);
        let expected = memory.expected(&case);
        copy_bytes(&plan, &memory.src[MARGIN..], &mut memory.dst[MARGIN..]).unwrap();
        prop_assert_eq!(memory.dst, expected);
    }

    #[test]
    fn staged_blocks_are_the_copy(case in cases(), max_bytes in 1..100_usize) {
        let plan = case.plan();
        let mut memory = Memory::of(&plan);
        let expected = memory.expected(&case);
        let mut chunk = vec![0; max_bytes.max(plan.width_bytes())];
        for block in plan.blocks(max_bytes) {
            copy_bytes(&block.pack(), &memory.src[MARGIN..], &mut chunk).unwrap();
            copy_bytes(&block.unpack(), &chunk, &mut memory.dst[MARGIN..]).unwrap();
        }
        prop_assert_eq!(memory.dst, expected);
    }

    #[test]
    fn short_slices_are_refused_untouched(case in cases()) {
        let plan = case.plan();
        prop_assume!(plan.len_bytes() > 0);
        let Memory { src, mut dst } = Memory::of(&plan);
        let before = dst.clone();
        let (src_span, dst_span) = (plan.src_span(), plan.dst_span());
        let (src_len, dst_len) = (src_span.end - 1, dst_span.end - 1);
        let refused = LayoutError::OutOfBounds { start: src_span.start, end: src_span.end, len: src_len };
        prop_assert_eq!(copy_bytes(&plan, &src[..src_len], &mut dst), Err(refused));
        let refused = LayoutError::OutOfBounds { start: dst_span.start, end: dst_span.end, len: dst_len };
        prop_assert_eq!(copy_bytes(&plan, &src, &mut dst[..dst_len]), Err(refused));
        prop_assert_eq!(dst, before);
    }

}

proptest! {
    #![proptest_config(fixed(300))]

    /// Transposes of whole tiles, of tiles and a remainder, and of less than a tile.
    #[test]
    fn transposes_of_any_size(
        shape in prop::sample::select(vec![
            [2, 16, 16], [1, 16, 32], [1, 32, 5], [2, 5, 32], [1, 17, 33], [3, 33, 15], [1, 48, 50], [1, 2, 63],
        ]),
        pads in [0..3_usize, 0..3],
        item_bytes in prop::sample::select(vec![1_usize, 2, 4, 8, 16]),
    ) {
        let [slices, rows, columns] = shape;
        let [dst_pitch, src_pitch] = [columns + pads[0], rows + pads[1]].map(usize::cast_signed);
        let slice = 5_000;
        let case = Case {
            shape: shape.to_vec(),
            dst: Side { strides: vec![slice, dst_pitch, 1], offset: 1 },
            src: Side { strides: vec![slice, -1, src_pitch], offset: rows },
            item_bytes,
            limits: Limits::NONE,
        };
        let plan = case.plan();
        let transpose = Class::Transpose { dst_axis: plan.axes().len() - 1, src_axis: plan.axes().len() - 2 };
        prop_assert_eq!((plan.class(), slices * rows * columns * item_bytes), (transpose, plan.len_bytes()));
        let mut memory = Memory::of(&plan);
        let expected = memory.expected(&case);
        copy_bytes(&plan, &memory.src[MARGIN..], &mut memory.dst[MARGIN..]).unwrap();
        prop_assert_eq!(memory.dst, expected);
    }
}

/// The twin of the canaries: an executor that fills the gaps between rows is detected.
#[test]
fn canaries_see_a_gap_written() {
    let side = |pitch| Side { strides: vec![pitch, 1], offset: 0 };
    let (shape, limits) = (vec![3, 2], Limits::NONE);
    let case = Case { shape, dst: side(4), src: side(4), item_bytes: 1, limits };
    let plan = case.plan();
    let mut memory = Memory::of(&plan);
    let expected = memory.expected(&case);
    for (src, dst, _) in plan.runs() {
        let pitch = 4.min(plan.dst_span().end - dst);
        let row = memory.src[MARGIN + src..][..pitch].to_vec();
        memory.dst[MARGIN + dst..][..pitch].copy_from_slice(&row);
    }
    assert_ne!(memory.dst, expected);
}
