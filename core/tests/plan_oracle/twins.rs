//! Wrong executors, each wrong in one way: the judge names every fault.

use devarray::copy::Plan;

use super::{
    cases::{Case, Limits, Side},
    executors::{Pitch, by_class, loops},
    oracle::{Fault, Image, Piece, image, judge},
};

fn case(shape: &[usize], dst: &[isize], src: &[isize]) -> Case {
    let side = |strides: &[isize]| Side { strides: strides.to_vec(), offset: 0 };
    Case { shape: shape.to_vec(), dst: side(dst), src: side(src), item_bytes: 2, limits: Limits::NONE }
}

/// Four rows of three elements, from rows of five to rows of four.
fn rows() -> (Image, Plan) {
    let case = case(&[4, 3], &[4, 1], &[5, 1]);
    (image(&case), case.plan())
}

/// Two slices of these rows.
fn slices() -> (Image, Plan) {
    let case = case(&[2, 4, 3], &[20, 4, 1], &[30, 5, 1]);
    (image(&case), case.plan())
}

fn verdict((image, plan): (Image, Plan), wrong: impl FnOnce(&Plan) -> Vec<Piece>) -> Result<(), Fault> {
    judge(&image, wrong(&plan))
}

fn pitched(change: impl FnOnce(&mut Pitch)) -> impl FnOnce(&Plan) -> Vec<Piece> {
    |plan| {
        let mut pitch = Pitch::of(plan.class());
        change(&mut pitch);
        pitch.unchecked(plan)
    }
}

#[test]
fn right_executors_pass() {
    assert_eq!(verdict(rows(), by_class), Ok(()));
    assert_eq!(verdict(slices(), by_class), Ok(()));
    assert_eq!(verdict(slices(), loops), Ok(()));
}

#[test]
fn last_row_dropped() {
    assert_eq!(verdict(rows(), pitched(|pitch| pitch.height -= 1)), Err(Fault::Missing(24)));
}

#[test]
fn last_slice_dropped() {
    assert_eq!(verdict(slices(), pitched(|pitch| pitch.depth -= 1)), Err(Fault::Missing(40)));
}

#[test]
fn gap_written() {
    let whole_pitch = pitched(|pitch| pitch.width_bytes = pitch.dst_pitch_bytes);
    assert_eq!(verdict(rows(), whole_pitch), Err(Fault::Gap(6)));
}

#[test]
fn one_row_too_many() {
    assert_eq!(verdict(rows(), pitched(|pitch| pitch.height += 1)), Err(Fault::Gap(32)));
}

#[test]
fn pitches_of_the_sides_swapped() {
    let swapped = pitched(|pitch| std::mem::swap(&mut pitch.src_pitch_bytes, &mut pitch.dst_pitch_bytes));
    assert_eq!(verdict(rows(), swapped), Err(Fault::WrongSource(10)));
}

#[test]
fn slice_distance_of_the_other_side() {
    let wrong = pitched(|pitch| pitch.src_slice_rows = pitch.dst_slice_rows);
    assert_eq!(verdict(slices(), wrong), Err(Fault::WrongSource(40)));
}

#[test]
fn a_run_twice() {
    let twice = |plan: &Plan| plan.runs().chain(plan.runs().take(1)).collect();
    assert_eq!(verdict(rows(), twice), Err(Fault::Repeated(0)));
}

#[test]
fn a_transpose_not_transposed() {
    let case = case(&[3, 4], &[4, 1], &[1, 3]);
    let straight = |plan: &Plan| vec![(0, 0, plan.len_bytes())];
    assert_eq!(judge(&image(&case), straight(&case.plan())), Err(Fault::WrongSource(2)));
    assert_eq!(judge(&image(&case), by_class(&case.plan())), Ok(()));
}

#[test]
fn a_block_lost_or_given_twice() {
    let (image, plan) = rows();
    let blocks: Vec<Plan> = plan.blocks(12).collect();
    assert_eq!(blocks.len(), 2);
    assert_eq!(judge(&image, blocks[..1].iter().flat_map(Plan::runs)), Err(Fault::Missing(16)));
    assert_eq!(judge(&image, blocks.iter().chain(&blocks).flat_map(Plan::runs)), Err(Fault::Repeated(0)));
}
