//! Text that says which kernel executes a copy, and why.

use std::convert::Infallible;

use devarray::copy::{Class, Plan};

use super::{
    Addresses, LaunchCache, MemorySpeed, Params, StridedLaunch,
    kernel::{Entry, Find, TileKernel},
    params::{RowsParams, TileParams},
    rows::NEAR,
    select,
};

/// Explains the copy of `plan` between the allocations at `dst` and `src`, on a device with such
/// memory: its kernels and the reasons for them, line by line.
///
/// Pure: the arguments alone decide which kernels are chosen, so no device is needed.
#[must_use]
pub fn explain_copy(memory: MemorySpeed, plan: &Plan, dst: u64, src: u64) -> Vec<String> {
    match plan.class() {
        Class::Empty => return vec!["nothing to copy".to_owned()],
        Class::Linear => {
            return vec![
                "the driver's device-to-device copy".to_owned(),
                "why: both sides are contiguous".to_owned(),
            ];
        }
        _ => {}
    }
    let (mut lines, mut launches) = (Vec::new(), 0);
    // The launches of a large copy differ only in where they begin; the last one is also shorter.
    let each = |launch: &StridedLaunch| {
        if launches == 0 {
            lines.push(format!("kernel {}", launch.explain()));
            lines.push(format!("vectors: {}", vectors(launch)));
            lines.push(format!("why: {}", why(launch.kernel.entry)));
        }
        launches += 1;
        Ok::<(), Infallible>(())
    };
    let Ok(()) = select(memory, plan, Addresses { dst, src }, &mut LaunchCache::default(), each);
    if launches > 1 {
        lines.push(format!("the first of {launches} launches of at most 1 GiB"));
    }
    lines
}

/// The width of memory accesses.
fn vectors(launch: &StridedLaunch) -> String {
    let width = launch.kernel.width;
    let near = 2..=i64::from(NEAR);
    let whole = matches!(&launch.params, Params::Rows(rows) if width == 1 && near.contains(&rows.step));
    match (launch.kernel.entry, launch.kernel.entry.tile()) {
        (Entry::RowsStride, _) if whole => "16 B loaded, 16 B stored".to_owned(),
        (Entry::Gather, _) => format!("{width} B loaded, {width} B stored"),
        (Entry::RowsStride | Entry::RowsRepeat, _) => format!("{width} B loaded, 16 B stored"),
        (_, Some(TileKernel { find: Find::Scatter, .. })) => "16 B loaded, single elements stored".to_owned(),
        (_, tile) => format!("16 B loaded, {} B stored", tile.map_or(16, |tile| tile.store_bytes)),
    }
}

/// The reason for the kernel, from the plan.
fn why(entry: Entry) -> String {
    let transposed = match entry.tile().map(|tile| tile.find) {
        None | Some(Find::Split(_) | Find::Scatter) => "",
        Some(_) => "the sides run along different axes, so tiles are transposed in shared memory; ",
    };
    format!("{transposed}{}", entry.listed().why)
}

impl StridedLaunch {
    /// The kernel and the pieces it works on, in one line.
    #[must_use]
    pub fn explain(&self) -> String {
        let Self { kernel, grid, threads, shared_bytes, params } = self;
        let name = kernel.name().unwrap_or_default().to_string_lossy();
        let pieces = match params {
            Params::Rows(p) => rows(p),
            Params::Tile(p) => tile(p),
            Params::Gather(p) => format!("one element a thread over {} loops", p.axes),
        };
        let module = kernel.module().name();
        format!("{module}:{name} {pieces}; {grid} blocks of {threads} threads, {shared_bytes} B shared")
    }
}

fn rows(p: &RowsParams) -> String {
    let joined = if p.group_bytes > 0 { format!(", joined to {} B", p.group_bytes) } else { String::new() };
    format!("rows of {} B over {} loops{joined}", p.row_bytes, p.axes)
}

fn tile(p: &TileParams) -> String {
    let threads = if p.columns.divisor > 0 { p.columns.divisor } else { 1 << p.lanes_log2 };
    let TileParams { rows, span, stores, run, .. } = p;
    let boxes = if p.c_extent > 0 { p.c_piece } else { 0 };
    let others = [
        (boxes, "boxes a tile"),
        (p.overlap * p.run_inner, "elements of overlap"),
        (p.fused.divisor, "steps to the end of an axis"),
        (p.period.divisor, "elements a period"),
    ];
    let others = others.into_iter().filter(|(number, _)| *number > 0);
    let others: String = others.map(|(number, what)| format!(", {number} {what}")).collect();
    format!(
        "{rows} rows of {span} B to {stores} runs of {run} elements, {threads} threads along a run{others}"
    )
}
