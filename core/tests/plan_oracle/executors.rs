//! Each class carried out from its own numbers, like on a device.

use devarray::copy::{Axis, Class, Plan};

use super::oracle::Piece;

/// The pieces that a device moves if it trusts the class.
pub(crate) fn by_class(plan: &Plan) -> Vec<Piece> {
    match plan.class() {
        Class::Empty => Vec::new(),
        Class::Linear => vec![(plan.src_offset_bytes(), plan.dst_offset_bytes(), plan.len_bytes())],
        class @ (Class::Pitched { .. } | Class::Pitched3 { .. }) => Pitch::of(class).pieces(plan),
        Class::Transpose { dst_axis, src_axis } => tiles(plan, dst_axis, src_axis),
        Class::Batched | Class::Broadcast | Class::Gather => loops(plan),
        _ => panic!("no executor for {:?}", plan.class()),
    }
}

/// The numbers of a 2-D or 3-D pitched copy; they are public so that a test can falsify them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pitch {
    pub(crate) width_bytes: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) dst_pitch_bytes: usize,
    pub(crate) src_pitch_bytes: usize,
    pub(crate) dst_slice_rows: usize,
    pub(crate) src_slice_rows: usize,
}

impl Pitch {
    pub(crate) fn of(class: Class) -> Self {
        match class {
            Class::Pitched { width_bytes, height, dst_pitch_bytes, src_pitch_bytes } => Self {
                width_bytes,
                height,
                depth: 1,
                dst_pitch_bytes,
                src_pitch_bytes,
                dst_slice_rows: height,
                src_slice_rows: height,
            },
            Class::Pitched3 {
                width_bytes,
                height,
                depth,
                dst_pitch_bytes,
                src_pitch_bytes,
                dst_slice_rows,
                src_slice_rows,
            } => Self {
                width_bytes,
                height,
                depth,
                dst_pitch_bytes,
                src_pitch_bytes,
                dst_slice_rows,
                src_slice_rows,
            },
            _ => panic!("not pitched: {class:?}"),
        }
    }

    /// The rows of slices, after the checks that drivers make.
    pub(crate) fn pieces(self, plan: &Plan) -> Vec<Piece> {
        assert!(self.width_bytes <= self.dst_pitch_bytes.min(self.src_pitch_bytes), "{self:?}");
        assert!(self.height <= self.dst_slice_rows.min(self.src_slice_rows), "{self:?}");
        self.unchecked(plan)
    }

    pub(crate) fn unchecked(self, plan: &Plan) -> Vec<Piece> {
        let rows = (0..self.depth).flat_map(|slice| (0..self.height).map(move |row| (slice, row)));
        rows.map(|(slice, row)| {
            let src = (slice * self.src_slice_rows + row) * self.src_pitch_bytes;
            let dst = (slice * self.dst_slice_rows + row) * self.dst_pitch_bytes;
            (plan.src_offset_bytes() + src, plan.dst_offset_bytes() + dst, self.width_bytes)
        })
        .collect()
    }
}

/// Square tiles over the two fast axes: read along the source's, written along the destination's.
fn tiles(plan: &Plan, dst_axis: usize, src_axis: usize) -> Vec<Piece> {
    const TILE: usize = 3;
    let axes = plan.axes();
    let (fast_dst, fast_src) = (axes[dst_axis], axes[src_axis]);
    let others: Vec<Axis> =
        (0..axes.len()).filter(|&at| at != dst_axis && at != src_axis).map(|at| axes[at]).collect();
    let mut pieces = Vec::new();
    for base in starts(plan, &others) {
        for (row, column) in pairs((0..fast_src.extent).step_by(TILE), (0..fast_dst.extent).step_by(TILE)) {
            let rows = row..(row + TILE).min(fast_src.extent);
            let columns = column..(column + TILE).min(fast_dst.extent);
            let mut tile = [[None; TILE]; TILE];
            for (j, i) in pairs(columns.clone(), rows.clone()) {
                let (src, _) = moved(moved(base, &fast_dst, j), &fast_src, i);
                tile[i - row][j - column] = Some(src);
            }
            for (i, j) in pairs(rows, columns) {
                let (_, dst) = moved(moved(base, &fast_dst, j), &fast_src, i);
                pieces.push((tile[i - row][j - column].unwrap(), dst, plan.width_bytes()));
            }
        }
    }
    pieces
}

/// The runs under all axes, by index arithmetic.
pub(crate) fn loops(plan: &Plan) -> Vec<Piece> {
    starts(plan, plan.axes()).into_iter().map(|(src, dst)| (src, dst, plan.run_bytes())).collect()
}

/// The pair (source, destination) of each step of the axes.
fn starts(plan: &Plan, axes: &[Axis]) -> Vec<(usize, usize)> {
    let first = vec![(plan.src_offset_bytes(), plan.dst_offset_bytes())];
    axes.iter().fold(first, |starts, axis| {
        pairs(starts.into_iter(), 0..axis.extent).map(|(start, step)| moved(start, axis, step)).collect()
    })
}

fn moved((src, dst): (usize, usize), axis: &Axis, steps: usize) -> (usize, usize) {
    let steps = isize::try_from(steps).unwrap();
    let src = src.checked_add_signed(steps * axis.src_stride_bytes).unwrap();
    let dst = dst.checked_add_signed(steps * axis.dst_stride_bytes).unwrap();
    (src, dst)
}

fn pairs<A: Copy, B>(
    outer: impl Iterator<Item = A>,
    inner: impl Iterator<Item = B> + Clone,
) -> impl Iterator<Item = (A, B)> {
    outer.flat_map(move |a| inner.clone().map(move |b| (a, b)))
}
