//! Beyond 32 bits: offsets, strides, lengths and blocks are checked by arithmetic, without memory.

use devarray::{
    Layout, LayoutError,
    backend::Capabilities,
    copy::{Class, Plan},
};

use super::{
    cases::{Case, Limits, Side},
    oracle::{image, judge},
};

fn dense(len: usize) -> Layout {
    Layout::new(&[len], &[1], 0).unwrap()
}

fn plan(dst: &Layout, src: &Layout, item_bytes: usize) -> Result<Plan, LayoutError> {
    Plan::new(dst, src, item_bytes, &Capabilities::default())
}

/// A few elements, far apart: the map stays small.
fn far_apart() -> Case {
    let far = 1 << 33;
    Case {
        shape: vec![3, 2, 2],
        dst: Side { strides: vec![-3 * far, far, 5], offset: 6 * far.unsigned_abs() + 9 },
        src: Side { strides: vec![1, 0, -(far << 8)], offset: (far << 8).unsigned_abs() },
        item_bytes: 4,
        limits: Limits::NONE,
    }
}

#[test]
fn offsets_are_exact() {
    let case = far_apart();
    let (image, plan) = (image(&case), case.plan());
    assert_eq!(judge(&image, plan.runs()), Ok(()));
    assert_eq!(judge(&image, plan.blocks(4).flat_map(|block| block.runs().collect::<Vec<_>>())), Ok(()));
    let (last, _) = image.last_key_value().unwrap();
    assert_eq!(plan.dst_span().end, last + 1);
    assert!(*last > 1 << 37 && plan.src_span().end > 1 << 43);
}

/// The twin: offsets cut to 32 bits are detected.
#[test]
fn cut_offsets_are_seen() {
    let case = far_apart();
    let cut = case
        .plan()
        .runs()
        .map(|(src, dst, len)| (src & 0xFFFF_FFFF, dst & 0xFFFF_FFFF, len))
        .collect::<Vec<_>>();
    assert!(judge(&image(&case), cut).is_err());
}

#[test]
fn lengths_are_exact() {
    let linear = plan(&dense(1 << 40), &dense(1 << 40), 12).unwrap();
    assert_eq!((linear.class(), linear.run_bytes(), linear.len_bytes()), (Class::Linear, 12 << 40, 12 << 40));
    assert_eq!(linear.runs().collect::<Vec<_>>(), [(0, 0, 12 << 40)]);

    let column = Layout::new(&[1 << 34], &[1 << 8], 3).unwrap();
    let gather = plan(&dense(1 << 34), &column, 2).unwrap();
    assert_eq!(gather.runs().len(), 1 << 34);
    assert_eq!(gather.src_span(), 6..6 + (((1 << 34) - 1) << 9) + 2);
}

#[test]
fn blocks_of_a_long_run() {
    let linear = plan(&dense(5 << 32), &dense(5 << 32), 1).unwrap();
    let blocks: Vec<_> = linear.blocks(1 << 33).flat_map(|block| block.runs().collect::<Vec<_>>()).collect();
    assert_eq!(blocks, [(0, 0, 1 << 33), (1 << 33, 1 << 33, 1 << 33), (1 << 34, 1 << 34, 1 << 32)]);
}

#[test]
fn few_blocks_for_many_elements() {
    const MIB: usize = 1 << 20;
    let transposed = Layout::new(&[1000, 1000], &[1, 1000], 0).unwrap();
    let square = Layout::new(&[1000, 1000], &[1000, 1], 0).unwrap();
    assert_eq!(plan(&square, &transposed, 4).unwrap().blocks(4 * MIB).len(), 1);
    assert_eq!(plan(&square, &transposed, 4).unwrap().blocks(MIB).len(), 4);
    let column = Layout::new(&[MIB], &[7], 0).unwrap();
    assert_eq!(plan(&column, &dense(MIB), 8).unwrap().blocks(4 * MIB).len(), 2);
}

#[test]
fn bytes_that_overflow() {
    let most = isize::MAX.unsigned_abs();
    assert_eq!(plan(&dense(most), &dense(most), 1).unwrap().len_bytes(), most);
    assert_eq!(plan(&dense(most), &dense(most), 2), Err(LayoutError::Overflow));
    assert_eq!(plan(&dense(1), &dense(1), most).unwrap().len_bytes(), most);
    assert_eq!(plan(&dense(1), &dense(1), most + 1), Err(LayoutError::Overflow));
    assert_eq!(plan(&dense(2), &dense(2), most), Err(LayoutError::Overflow));
    let far = Layout::new(&[2], &[1], most / 8).unwrap();
    assert_eq!(plan(&dense(2), &far, 8), Err(LayoutError::Overflow));
    assert_eq!(plan(&far, &dense(2), 8), Err(LayoutError::Overflow));
    assert!(plan(&far, &dense(2), 4).is_ok());
}

/// Strides of axes that no step takes may be anything.
#[test]
fn strides_never_used() {
    let odd = Layout::new(&[1, 3], &[isize::MIN, 1], 0).unwrap();
    assert_eq!(plan(&odd, &odd, 1 << 40).unwrap().class(), Class::Linear);
    let empty = Layout::new(&[0, 3], &[isize::MIN, 1], usize::MAX >> 2).unwrap();
    assert_eq!(plan(&empty, &empty, usize::MAX).unwrap().class(), Class::Empty);
}

/// Two axes stay two if their strides would only combine to one axis when a product wraps around.
#[test]
fn merging_does_not_wrap() {
    let far = 1_isize << 62;
    let dst = Layout::new(&[2, 2], &[2, 1], 0).unwrap();
    let src = Layout::new(&[2, 2], &[0, far], 0).unwrap();
    let plan = plan(&dst, &src, 1).unwrap();
    assert_eq!(plan.runs().collect::<Vec<_>>(), [(0, 0, 1), (1 << 62, 1, 1), (0, 2, 1), (1 << 62, 3, 1)]);
}
