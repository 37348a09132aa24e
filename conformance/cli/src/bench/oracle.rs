//! For each element of a result, the element of the base that it must equal, index by index.
//!
//! Written only from NumPy's rules: it uses nothing of the layouts, the planner or the kernels that
//! it judges.

use anyhow::{Context as _, Result, bail, ensure};
use devarray::{
    Order,
    layout::{IndexItem, Slice},
};

use crate::steps::Step;

/// Maps an index of the result to the number of an element of the base, counted in C order.
#[derive(Debug, Clone)]
pub struct Oracle {
    /// The stages. The first one numbers elements of the base; each other stage numbers elements of
    /// the previous one.
    stages: Vec<Stage>,
}

/// Elements with the number `offset + Σ index · step`, until a reshape begins another stage.
#[derive(Debug, Clone)]
struct Stage {
    axes: Vec<Axis>,
    offset: isize,
    /// Whether elements of the previous stage are counted in F order.
    fortran: bool,
}

#[derive(Debug, Clone, Copy)]
struct Axis {
    extent: isize,
    step: isize,
}

impl Stage {
    /// The elements of a shape, numbered in C or F order.
    fn numbered(shape: &[isize], fortran: bool) -> Self {
        let mut axes: Vec<Axis> = shape.iter().map(|&extent| Axis { extent, step: 0 }).collect();
        let mut count = 1_isize;
        let mut number = |axis: &mut Axis| {
            axis.step = count;
            count = count.saturating_mul(axis.extent);
        };
        if fortran {
            axes.iter_mut().for_each(&mut number)
        } else {
            axes.iter_mut().rev().for_each(&mut number)
        }
        Self { axes, offset: 0, fortran }
    }

    /// The number of elements, unless it is too large.
    fn len(&self) -> Option<isize> {
        self.axes.iter().try_fold(1_isize, |len, axis| len.checked_mul(axis.extent))
    }

    /// The number of the element at position `rank` in C or F order.
    fn number(&self, mut rank: isize, fortran: bool) -> isize {
        let mut number = self.offset;
        let mut take = |axis: &Axis| {
            number += rank % axis.extent * axis.step;
            rank /= axis.extent;
        };
        if fortran {
            self.axes.iter().for_each(&mut take)
        } else {
            self.axes.iter().rev().for_each(&mut take)
        }
        number
    }
}

impl Oracle {
    /// The oracle for `steps` on an array of `shape`.
    ///
    /// # Errors
    ///
    /// A step that NumPy refuses, or that is not measured.
    pub fn new(shape: &[usize], steps: &[Step]) -> Result<Self> {
        let shape: Vec<isize> =
            shape.iter().map(|&extent| isize::try_from(extent)).collect::<Result<_, _>>()?;
        let mut oracle = Self { stages: vec![Stage::numbered(&shape, false)] };
        for (at, step) in steps.iter().enumerate() {
            oracle.apply(step).with_context(|| format!("step {}", at + 1))?;
        }
        Ok(oracle)
    }

    /// Shape of the result.
    #[must_use]
    pub fn shape(&self) -> Vec<usize> {
        self.last().axes.iter().map(|axis| axis.extent.unsigned_abs()).collect()
    }

    /// Calls `each` with the numbers, in the base, of the result's elements `start..end` in C
    /// order.
    pub fn numbers(&self, start: usize, end: usize, mut each: impl FnMut(isize)) {
        let last = self.last();
        let (inner, step) = last.axes.last().map_or((1, 0), |axis| (axis.extent, axis.step));
        let (mut at, end) = (start.cast_signed(), end.cast_signed());
        while at < end {
            let count = (inner - at % inner).min(end - at);
            let first = last.number(at, false);
            for k in 0..count {
                each(self.in_base(first + k * step));
            }
            at += count;
        }
    }

    /// The number in the base for a number of the last stage.
    fn in_base(&self, mut number: isize) -> isize {
        for pair in self.stages.windows(2).rev() {
            number = pair[0].number(number, pair[1].fortran);
        }
        number
    }

    fn last(&self) -> &Stage {
        self.stages.last().expect("there is always a stage")
    }

    fn apply(&mut self, step: &Step) -> Result<()> {
        if let Step::Reshape(shape, order) = step {
            let fortran = *order == Order::F;
            let shape = inferred(shape, self.last().len().context("the size overflows")?)?;
            self.stages.push(Stage::numbered(&shape, fortran));
            return Ok(());
        }
        let stage = self.stages.last_mut().expect("there is always a stage");
        let axes = &mut stage.axes;
        match step {
            Step::Permute(None) => axes.reverse(),
            Step::Permute(Some(order)) => {
                ensure!(order.len() == axes.len(), "{} axes for {}", order.len(), axes.len());
                let order = distinct(order, axes.len())?;
                *axes = order.iter().map(|&axis| axes[axis]).collect();
            }
            Step::Flip(which) => {
                let all = || (0..axes.len()).collect();
                let which = which.as_ref().map_or_else(|| Ok(all()), |which| distinct(which, axes.len()))?;
                for axis in which {
                    stage.offset += (axes[axis].extent - 1).max(0) * axes[axis].step;
                    axes[axis].step = axes[axis].step.saturating_neg();
                }
            }
            Step::Squeeze(None) => axes.retain(|axis| axis.extent != 1),
            Step::Squeeze(Some(which)) => {
                let which = distinct(which, axes.len())?;
                ensure!(which.iter().all(|&axis| axes[axis].extent == 1), "an extent is not 1");
                let kept = (0..axes.len()).filter(|axis| !which.contains(axis));
                *axes = kept.map(|axis| axes[axis]).collect();
            }
            Step::Broadcast(shape) => *axes = broadcast(axes, shape)?,
            Step::Index(items) => {
                let (kept, offset) = index(axes, items)?;
                *axes = kept;
                stage.offset += offset;
            }
            _ => bail!("not measured"),
        }
        Ok(())
    }
}

/// Converts distinct axes, or positions of new axes, among `count` to numbers from 0.
fn distinct(which: &[isize], count: usize) -> Result<Vec<usize>> {
    let mut found = Vec::new();
    for &axis in which {
        let at = if axis < 0 { axis + count.cast_signed() } else { axis };
        let at = usize::try_from(at).ok().filter(|&at| at < count);
        let at = at.with_context(|| format!("axis {axis} of {count}"))?;
        ensure!(!found.contains(&at), "axis {axis} is repeated");
        found.push(at);
    }
    Ok(found)
}

/// A shape with its only -1 replaced.
fn inferred(shape: &[isize], len: isize) -> Result<Vec<isize>> {
    let mut known = shape.iter().filter(|&&extent| extent != -1);
    let known =
        known.try_fold(1_isize, |len, &extent| len.checked_mul(extent)).context("the size overflows")?;
    let unknown = shape.iter().filter(|&&extent| extent == -1).count();
    let rest = match unknown {
        0 => 1,
        1 if known > 0 && len % known == 0 => len / known,
        _ => bail!("no extent can stand for -1"),
    };
    ensure!(
        shape.iter().all(|&extent| extent >= -1) && known.checked_mul(rest) == Some(len),
        "{len} elements do not fit"
    );
    Ok(shape.iter().map(|&extent| if extent == -1 { rest } else { extent }).collect())
}

fn broadcast(axes: &[Axis], shape: &[isize]) -> Result<Vec<Axis>> {
    let added = shape.len().checked_sub(axes.len()).context("axes would be lost")?;
    let of = |(at, &extent): (usize, &isize)| -> Result<Axis> {
        let extent = Some(extent).filter(|&extent| extent >= 0).context("a negative extent")?;
        match at.checked_sub(added).map(|at| axes[at]) {
            Some(axis) if axis.extent == extent => Ok(axis),
            Some(axis) if axis.extent != 1 => bail!("{} does not broadcast to {extent}", axis.extent),
            _ => Ok(Axis { extent, step: 0 }),
        }
    };
    shape.iter().enumerate().map(of).collect()
}

/// The axes that basic indexing leaves, and the distance by which it moves the first element.
fn index(axes: &[Axis], items: &[IndexItem]) -> Result<(Vec<Axis>, isize)> {
    let taken = |item: &&IndexItem| matches!(item, IndexItem::At(_) | IndexItem::Slice(_));
    let rest = axes.len().checked_sub(items.iter().filter(taken).count()).context("too many items")?;
    let ellipses = items.iter().filter(|item| matches!(item, IndexItem::Ellipsis)).count();
    ensure!(ellipses <= 1, "more than one ellipsis");
    let (mut kept, mut offset, mut at) = (Vec::new(), 0, 0);
    for item in items {
        match item {
            IndexItem::NewAxis => kept.push(Axis { extent: 1, step: 0 }),
            IndexItem::Ellipsis => {
                kept.extend(&axes[at..at + rest]);
                at += rest;
            }
            IndexItem::At(position) => {
                let Axis { extent, step } = axes[at];
                let position = *position;
                let position = if position < 0 { position + extent } else { position };
                ensure!((0..extent).contains(&position), "{position} is out of range");
                offset += position * step;
                at += 1;
            }
            IndexItem::Slice(slice) => {
                let (axis, start) = sliced(axes[at], slice)?;
                kept.push(axis);
                offset += start;
                at += 1;
            }
            _ => bail!("not measured"),
        }
    }
    kept.extend(&axes[at..]);
    Ok((kept, offset))
}

/// The axis that a slice leaves: Python's `range(*slice.indices(extent))`.
fn sliced(Axis { extent, step }: Axis, slice: &Slice) -> Result<(Axis, isize)> {
    let by = slice.step;
    ensure!(by != 0, "a slice's step is 0");
    // The bounds for the start and the end of a walk: going backwards, the position before the
    // first element is a valid end.
    let (low, high) = if by > 0 { (0, extent) } else { (-1, extent - 1) };
    let bound = |given: Option<isize>, missing: isize| match given {
        None => missing,
        Some(at) if at < 0 => (at + extent).max(low),
        Some(at) => (at).min(high),
    };
    let (first, end) = if by > 0 { (low, high) } else { (high, low) };
    let (start, stop) = (bound(slice.start, first), bound(slice.stop, end));
    let distance = if by > 0 { stop - start } else { start - stop };
    let count = if distance > 0 { (distance - 1) / by.saturating_abs() + 1 } else { 0 };
    let offset = if count > 0 { start * step } else { 0 };
    Ok((Axis { extent: count, step: step.saturating_mul(by) }, offset)) // used only where there is a second element
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::parse_steps;

    fn numbers(shape: &[usize], steps: &str) -> (Vec<usize>, Vec<isize>) {
        let oracle = Oracle::new(shape, &parse_steps(steps).unwrap()).unwrap();
        let shape = oracle.shape();
        let mut found = Vec::new();
        oracle.numbers(0, shape.iter().product(), |number| found.push(number));
        (shape, found)
    }

    /// Answers written by hand from NumPy's rules.
    #[test]
    fn small_answers() {
        assert_eq!(numbers(&[2, 3], "permute(1,0)"), (vec![3, 2], vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(numbers(&[2, 3], "flip(-1)"), (vec![2, 3], vec![2, 1, 0, 5, 4, 3]));
        assert_eq!(numbers(&[2, 3], "index(-1,::-2)"), (vec![2], vec![5, 3]));
        assert_eq!(numbers(&[5], "index(10:-10:-2)"), (vec![3], vec![4, 2, 0]));
        assert_eq!(numbers(&[5], "index(3:1)"), (vec![0], vec![]));
        assert_eq!(numbers(&[3, 1], "broadcast(2,3,2)").1, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
        assert_eq!(numbers(&[1, 2, 1], "squeeze(0)/index(...,None)").0, [2, 1, 1]);
        assert_eq!(numbers(&[2, 3], "permute(1,0)/reshape(-1)").1, [0, 3, 1, 4, 2, 5]);
        assert_eq!(numbers(&[2, 3], "reshape(3,2,F)").1, [0, 4, 3, 2, 1, 5]);
        assert_eq!(numbers(&[2, 3], "reshape(3,2)/permute(1,0)/reshape(6)").1, [0, 2, 4, 1, 3, 5]);
        assert_eq!(numbers(&[], "").1, [0]);
    }

    #[test]
    fn a_part_is_what_the_whole_says() {
        let oracle = Oracle::new(&[4, 5, 6], &parse_steps("permute(2,0,1)/index(::2,1:)").unwrap()).unwrap();
        let (_, whole) = numbers(&[4, 5, 6], "permute(2,0,1)/index(::2,1:)");
        for start in 0..whole.len() {
            for end in start..=whole.len() {
                let mut part = Vec::new();
                oracle.numbers(start, end, |number| part.push(number));
                assert_eq!(part, whole[start..end]);
            }
        }
    }

    #[test]
    fn what_numpy_refuses_is_refused() {
        for steps in [
            "permute(0,0)",
            "permute(0)",
            "flip(2)",
            "squeeze(0)",
            "broadcast(3)",
            "broadcast(3,3)",
            "index(2)",
            "index(::0)",
            "index(...,...)",
            "index(0,0,0)",
            "reshape(4,-1)",
            "reshape(-1,-1)",
            "reshape(7)",
        ] {
            assert!(Oracle::new(&[2, 3], &parse_steps(steps).unwrap()).is_err(), "{steps}");
        }
    }
}
