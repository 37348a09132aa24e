//! Why a copy is carried out as it is, in words for people.

use std::{convert::Infallible, fmt};

use devarray::copy::{Class, Plan};

use super::{
    Addresses, Launch, MemorySpeed, Params,
    kernel::{Entry, Find, TileKernel},
    params::{RowsParams, TileParams},
    select,
};

/// How the copy of `plan` between the allocations at `dst` and `src` is carried out on a device
/// with such memory, and why, line by line.
///
/// Pure: the kernels are chosen from the arguments alone, so no device is needed to ask.
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
    // The launches of a large copy differ only in where they begin, and the last in how far it
    // reaches.
    let each = |launch: &Launch| {
        if launches == 0 {
            lines.push(format!("kernel {}", launch.explain()));
            lines.push(format!("vectors: {}", vectors(launch)));
            lines.push(format!("why: {}", why(launch.kernel.entry)));
        }
        launches += 1;
        Ok::<(), Infallible>(())
    };
    let Ok(()) = select(memory, plan, Addresses { dst, src }, None, each);
    if launches > 1 {
        lines.push(format!("the first of {launches} launches of at most 1 GiB"));
    }
    lines
}

/// How wide memory is accessed.
fn vectors(launch: &Launch) -> String {
    let width = launch.kernel.width;
    match (launch.kernel.entry, launch.kernel.entry.tile()) {
        (Entry::Gather, _) => format!("{width} B loaded, {width} B stored"),
        (Entry::RowsStride | Entry::RowsRepeat, _) => format!("{width} B loaded, 16 B stored"),
        (_, Some(TileKernel { find: Find::Scatter, .. })) => "16 B loaded, single elements stored".to_owned(),
        (_, tile) => format!("16 B loaded, {} B stored", tile.map_or(16, |tile| tile.store_bytes)),
    }
}

/// What about the plan led to the kernel.
fn why(entry: Entry) -> String {
    let transposed = match entry.tile().map(|tile| tile.find) {
        None | Some(Find::Split(_) | Find::Scatter) => "",
        Some(_) => "the sides run along different axes, so tiles are transposed in shared memory; ",
    };
    format!("{transposed}{}", entry.listed().why)
}

impl Launch {
    /// Which kernel, and in what pieces, in one line.
    #[must_use]
    pub fn explain(&self) -> impl fmt::Display + '_ {
        Explanation(self)
    }
}

struct Explanation<'a>(&'a Launch);

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Launch { kernel, grid, threads, shared_bytes, params } = self.0;
        let name = kernel.name().unwrap_or_default().to_string_lossy();
        write!(f, "{}:{name} ", kernel.module().name())?;
        match params {
            Params::Rows(p) => rows(p, f)?,
            Params::Tile(p) => tile(p, f)?,
            Params::Gather(p) => write!(f, "one element a thread over {} loops", p.axes)?,
        }
        write!(f, "; {grid} blocks of {threads} threads, {shared_bytes} B shared")
    }
}

fn rows(p: &RowsParams, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "rows of {} B over {} loops", p.row_bytes, p.axes)?;
    if p.group_bytes > 0 {
        write!(f, ", joined to {} B", p.group_bytes)?;
    }
    if p.evict_last != 0 {
        write!(f, ", kept in the cache until read")?;
    }
    Ok(())
}

fn tile(p: &TileParams, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let threads = if p.columns.divisor > 0 { p.columns.divisor } else { 1 << p.lanes_log2 };
    let TileParams { rows, span, stores, run, .. } = p;
    write!(f, "{rows} rows of {span} B to {stores} runs of {run} elements, {threads} threads along a run")?;
    for (holds, text, number) in [
        (p.c_extent > 0, "boxes a tile", p.c_piece),
        (p.overlap > 0, "elements of overlap", p.overlap),
        (p.fused.divisor > 0, "steps to the end of an axis", p.fused.divisor),
        (p.period.divisor > 0, "elements a period", p.period.divisor),
    ] {
        if holds {
            write!(f, ", {number} {text}")?;
        }
    }
    Ok(())
}
