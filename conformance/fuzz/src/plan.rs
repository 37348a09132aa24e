//! Layouts with any numbers, and plans of copies between them, compared with counting one by one.

use std::collections::HashSet;

use arbitrary::{Result, Unstructured};
use devarray::{
    Layout, NdLayout, Order,
    backend::Capabilities,
    copy::{Plan, copy_bytes},
    layout::{Injectivity, Overlap, Slice},
};

/// The most elements that are counted one by one.
const MOST_ELEMENTS: usize = 1 << 11;
/// The most elements between the first and the last of a layout.
const MOST_REACH: usize = 1 << 13;

/// The bytes choose two layouts of one shape, transforms of one of them, and an element size.
pub fn run(data: &[u8]) {
    // If the bytes run out, nothing more is chosen.
    let _ = cases(&mut Unstructured::new(data));
}

fn cases(bytes: &mut Unstructured<'_>) -> Result<()> {
    let shape: Vec<usize> = (0..bytes.int_in_range(0..=5)?).map(|_| extent(bytes)).collect::<Result<_>>()?;
    let item_bytes = *bytes.choose(&[1, 2, 3, 4, 5, 8, 12, 16, 24])?;
    let Some(dst) = layout(bytes, &shape)? else { return Ok(()) };
    let Some(src) = layout(bytes, &shape)? else { return Ok(()) };
    let (dst, src) = (transformed(bytes, dst)?, transformed(bytes, src)?);
    for layout in [&dst, &src] {
        counted(layout);
    }
    let overlap = dst.overlap(&src);
    assert_eq!(overlap, src.overlap(&dst), "{dst:?} {src:?}");
    if let (Some(a), Some(b)) = (positions(&dst), positions(&src)) {
        let a: HashSet<usize> = a.into_iter().collect();
        let shared = b.iter().any(|at| a.contains(at));
        assert_ne!(overlap, if shared { Overlap::Disjoint } else { Overlap::Overlapping }, "{dst:?} {src:?}");
    }
    if let Ok(plan) = Plan::new(&dst, &src, item_bytes, &Capabilities::default()) {
        copied(&plan, &dst, &src, item_bytes, bytes.int_in_range(1..=300)?);
    }
    Ok(())
}

fn extent(bytes: &mut Unstructured<'_>) -> Result<usize> {
    Ok(match bytes.int_in_range(0..=15)? {
        0 => 0,
        15 => bytes.arbitrary()?,
        14 => bytes.int_in_range(0..=70)?,
        small => usize::from(small as u8) % 8,
    })
}

fn number(bytes: &mut Unstructured<'_>) -> Result<isize> {
    if bytes.ratio(1, 24)? { bytes.arbitrary() } else { bytes.int_in_range(-20..=40) }
}

/// A layout with such numbers, if it exists: in one of the orders, or with any strides.
fn layout(bytes: &mut Unstructured<'_>, shape: &[usize]) -> Result<Option<Layout>> {
    if bytes.ratio(1, 3)? {
        let order = if bytes.arbitrary()? { Order::C } else { Order::F };
        return Ok(Layout::contiguous(shape, order).ok());
    }
    let strides: Vec<isize> = shape.iter().map(|_| number(bytes)).collect::<Result<_>>()?;
    let offset = if bytes.ratio(1, 24)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=600)? };
    Ok(Layout::new(shape, &strides, offset).ok())
}

/// A layout after transforms that keep its shape, or most of it.
fn transformed(bytes: &mut Unstructured<'_>, mut layout: Layout) -> Result<Layout> {
    for _ in 0..bytes.int_in_range(0..=4)? {
        let (a, b, c) = (number(bytes)?, number(bytes)?, number(bytes)?);
        let extents: Vec<usize> = layout.shape().to_vec();
        let made = match bytes.int_in_range(0..=10)? {
            0 => layout.swap_axes(a, b),
            1 => layout.flip(&[a]),
            2 => layout.expand_dims(a),
            3 => NdLayout::squeeze(&layout),
            4 => layout.slice_axis(a, Slice::from(b..).step_by(c)),
            5 => layout.reshape(&[b, c][..], Order::C),
            6 => layout.ravel(Order::K),
            7 => layout.sliding_windows(a, b.unsigned_abs()),
            8 => layout.diagonal(a, b, c),
            9 => layout.restride(&extents, &vec![a; extents.len()], b.unsigned_abs()),
            _ => layout
                .array_split(a, b.unsigned_abs())
                .map(|mut parts| parts.next().unwrap_or(layout.clone())),
        };
        if let Ok(made) = made {
            layout = made;
        }
    }
    Ok(layout)
}

/// The positions of the elements, one by one in C order, if there are few.
fn positions(layout: &Layout) -> Option<Vec<usize>> {
    let span = layout.span();
    if layout.len() > MOST_ELEMENTS || span.len() > MOST_REACH {
        return None;
    }
    let mut all = vec![layout.offset() as i128];
    for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
        let steps = 0..if layout.is_empty() { 0 } else { extent };
        all = all.iter().flat_map(|at| steps.clone().map(move |k| at + k as i128 * stride as i128)).collect();
    }
    Some(all.into_iter().map(|at| usize::try_from(at).expect("no element lies before the memory")).collect())
}

fn counted(layout: &Layout) {
    let injectivity = layout.injectivity();
    let Some(all) = positions(layout) else { return };
    assert_eq!(all.len(), layout.len());
    let span = all.iter().min().zip(all.iter().max()).map(|(first, last)| *first..last + 1);
    if let Some(span) = span {
        assert_eq!(layout.span(), span, "{layout:?}");
    }
    let is_dense = all.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    assert_eq!(layout.is_c_contiguous(), is_dense, "{layout:?}");
    let apart = all.iter().collect::<HashSet<_>>().len() == all.len();
    assert_ne!(injectivity, if apart { Injectivity::Aliased } else { Injectivity::Injective }, "{layout:?}");
}

/// Checks that the plan, its blocks, and its way through a dense buffer move the elements that
/// counting gives.
fn copied(plan: &Plan, dst: &Layout, src: &Layout, item_bytes: usize, block_bytes: usize) {
    let (Some(to), Some(from)) = (positions(dst), positions(src)) else { return };
    let len = |layout: &Layout| layout.span().end.saturating_mul(item_bytes);
    if len(dst).max(len(src)) > MOST_REACH * 24 {
        return;
    }
    let source: Vec<u8> = (0..len(src)).map(|at| (at * 31 + at / 251) as u8).collect();
    let mut due = vec![0xEE; len(dst)];
    for (to, from) in to.iter().zip(&from) {
        due[to * item_bytes..][..item_bytes].copy_from_slice(&source[from * item_bytes..][..item_bytes]);
    }
    let moved = |plans: &mut dyn Iterator<Item = Plan>| {
        let mut memory = vec![0xEE; len(dst)];
        plans.for_each(|plan| copy_bytes(&plan, &source, &mut memory).expect("both sides are there"));
        memory
    };
    assert!(moved(&mut std::iter::once(plan.clone())) == due, "{plan:?}");
    assert!(moved(&mut plan.blocks(block_bytes)) == due, "blocks of {block_bytes} bytes of {plan:?}");
    let (mut dense, mut memory) = (vec![0; plan.len_bytes()], vec![0xEE; len(dst)]);
    copy_bytes(&plan.pack(), &source, &mut dense).expect("both sides are there");
    copy_bytes(&plan.unpack(), &dense, &mut memory).expect("both sides are there");
    assert!(memory == due, "by way of a dense buffer: {plan:?}");
    let runs: usize = plan.runs().map(|(_, _, len)| len).sum();
    assert_eq!(runs, plan.len_bytes());
    assert_eq!(plan.len_bytes(), to.len() * item_bytes);
}
