//! Random pairs of layouts: views of dense parents in any axis order, with steps, gaps, reversals
//! and repeats.

use devarray::{Layout, backend::Capabilities, copy::Plan};
use proptest::{collection::vec, prelude::*, sample::select};

/// Two layouts of one shape, the size of an element, and the limits of the device that the copy is
/// planned for.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) shape: Vec<usize>,
    pub(crate) dst: Side,
    pub(crate) src: Side,
    pub(crate) item_bytes: usize,
    pub(crate) limits: Limits,
}

/// Strides and offset, in elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) strides: Vec<isize>,
    pub(crate) offset: usize,
}

/// The limits of [`Capabilities`]: none, or small ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) width_bytes: usize,
    pub(crate) height: usize,
    pub(crate) pitch_bytes: usize,
}

impl Case {
    pub(crate) fn dst_layout(&self) -> Layout {
        Layout::new(&self.shape, &self.dst.strides, self.dst.offset).unwrap()
    }

    pub(crate) fn src_layout(&self) -> Layout {
        Layout::new(&self.shape, &self.src.strides, self.src.offset).unwrap()
    }

    pub(crate) fn plan(&self) -> Plan {
        Plan::new(&self.dst_layout(), &self.src_layout(), self.item_bytes, &self.limits.capabilities())
            .unwrap()
    }
}

impl Limits {
    pub(crate) const NONE: Self =
        Self { width_bytes: usize::MAX, height: usize::MAX, pitch_bytes: usize::MAX };

    pub(crate) fn capabilities(self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_width_bytes = self.width_bytes;
        capabilities.max_height = self.height;
        capabilities.max_pitch_bytes = self.pitch_bytes;
        capabilities
    }
}

/// The placement of one axis in its parent.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Axes with larger keys lie further out; on equal keys, the later axis lies inside.
    key: u8,
    step: usize,
    /// The number of parent elements along this axis that the view leaves out.
    pad: usize,
    /// The number of elements lost after the axis, so that the next stride is no multiple of this
    /// one.
    ragged: usize,
    reversed: bool,
}

/// The view of a parent that `places` describe; it is injective.
fn nested(shape: &[usize], places: &[Place], slack: usize) -> Side {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.sort_by_key(|&axis| (places[axis].key, std::cmp::Reverse(axis)));
    let mut strides = vec![0; shape.len()];
    let (mut offset, mut parent) = (slack, 1);
    for axis in order {
        let place = places[axis];
        let stride = place.step * parent;
        parent *= (shape[axis] * place.step + place.pad).max(1);
        parent += place.ragged;
        strides[axis] = stride.cast_signed();
        if place.reversed {
            strides[axis] = -strides[axis];
            offset += shape[axis].saturating_sub(1) * stride;
        }
    }
    Side { strides, offset }
}

/// A source with strides unrelated to its shape: repeats and overlapping windows.
fn windows(shape: &[usize], strides: Vec<isize>, slack: usize) -> Side {
    let backwards = shape.iter().zip(&strides).filter(|&(_, &stride)| stride < 0);
    let offset =
        backwards.map(|(&extent, stride)| extent.saturating_sub(1) * stride.unsigned_abs()).sum::<usize>();
    Side { strides, offset: offset + slack }
}

/// The kinds of placement to draw from.
#[derive(Debug, Clone, Copy)]
enum Style {
    /// A box cut out of a dense array: in C order, forward, without steps.
    Slab,
    /// C order, with any direction, step and gap along the axes.
    RowMajor,
    /// Any order of axes.
    AnyOrder,
}

fn places(rank: usize, style: Style) -> impl Strategy<Value = Vec<Place>> {
    let pad = prop_oneof![5 => Just(0_usize), 3 => 1..4_usize];
    let step = prop_oneof![6 => Just(1_usize), 1 => 2..4_usize];
    let ragged = prop_oneof![9 => Just(0_usize), 1 => 1..3_usize];
    let place = (0..8_u8, step, pad, ragged, prop::bool::weighted(0.2)).prop_map(
        move |(key, step, pad, ragged, reversed)| match style {
            Style::Slab => Place { key: 0, step: 1, pad, ragged: 0, reversed: false },
            Style::RowMajor => Place { key: 0, step, pad, ragged, reversed },
            Style::AnyOrder => Place { key, step, pad, ragged, reversed },
        },
    );
    vec(place, rank)
}

/// A source that could be a destination, one with repeats added to it, or one of any strides.
fn source(shape: Vec<usize>, style: Style) -> impl Strategy<Value = Side> {
    let rank = shape.len();
    let any_strides = {
        let shape = shape.clone();
        move |(strides, slack)| windows(&shape, strides, slack)
    };
    let repeats = prop_oneof![4 => Just(0.0), 1 => Just(0.4)]
        .prop_flat_map(move |often| vec(prop::bool::weighted(often), rank));
    let placed = (places(rank, style), 0..3_usize, repeats).prop_map(move |(places, slack, repeats)| {
        let mut side = nested(&shape, &places, slack);
        side.strides
            .iter_mut()
            .zip(repeats)
            .filter(|(_, repeats)| *repeats)
            .for_each(|(stride, _)| *stride = 0);
        side
    });
    prop_oneof![11 => placed, 1 => (vec(-4..=4_isize, rank), 0..3_usize).prop_map(any_strides)]
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    let extent = || prop_oneof![3 => Just(1_usize), 12 => 2..5_usize];
    let wide = || prop_oneof![1 => Just(1_usize), 6 => 2..11_usize];
    let some = prop_oneof![
        4 => vec(wide(), 1..=2),
        8 => vec(extent(), 2..=3),
        3 => vec(extent(), 4..=5),
        1 => vec(prop_oneof![2 => Just(1_usize), 3 => 2..=2_usize, 1 => 3..=3_usize], 6..=7),
    ];
    let empty = (vec(0..4_usize, 1..=5), any::<prop::sample::Index>()).prop_map(|(mut shape, at)| {
        let at = at.index(shape.len());
        shape[at] = 0;
        shape
    });
    prop_oneof![1 => Just(Vec::new()), 1 => empty, 12 => some]
}

fn limits() -> impl Strategy<Value = Limits> {
    let small = (1..40_usize, 1..6_usize, 1..200_usize)
        .prop_map(|(width_bytes, height, pitch_bytes)| Limits { width_bytes, height, pitch_bytes });
    prop_oneof![4 => Just(Limits::NONE), 1 => small]
}

/// Cases of every kind; `random.rs` asserts how often each kind occurs.
pub(crate) fn cases() -> impl Strategy<Value = Case> {
    use Style::{AnyOrder, RowMajor, Slab};
    let items = || select(vec![1_usize, 2, 3, 4, 8, 12, 16, 24]);
    let styles = prop_oneof![
        2 => Just((Slab, Slab)),
        3 => Just((RowMajor, RowMajor)),
        3 => Just((RowMajor, AnyOrder)),
        2 => Just((AnyOrder, AnyOrder)),
    ];
    (shapes(), styles).prop_flat_map(move |(shape, (dst_style, src_style))| {
        let dst_places = places(shape.len(), dst_style);
        let src = source(shape.clone(), src_style);
        (Just(shape), dst_places, 0..3_usize, src, items(), limits()).prop_map(
            |(shape, places, slack, src, item_bytes, limits)| {
                let dst = nested(&shape, &places, slack);
                Case { shape, dst, src, item_bytes, limits }
            },
        )
    })
}
