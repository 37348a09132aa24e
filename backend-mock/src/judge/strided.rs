//! Runs of bytes at regular distances.

mod align;
mod common;
mod difference;
mod join;

#[cfg(test)]
mod tests;

use std::ops::Range;

use smallvec::SmallVec;

pub(super) use difference::Left;
pub(super) use join::{compress, joined};
#[cfg(test)]
pub(super) use tests::every_byte;

/// Runs of one length, repeated along levels. Each level repeats everything below it.
///
/// Runs are in ascending order and do not overlap: each stride is at least the extent of the levels
/// below, and the innermost stride is larger than the run. So the cost of a set depends on its
/// levels, not on its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Strided {
    start: usize,
    /// At least 1.
    run: usize,
    /// The innermost first.
    levels: SmallVec<[Level; 1]>,
}

/// Repetitions at one distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Level {
    stride: usize,
    /// At least 2.
    count: usize,
}

/// Sets that share no byte.
pub(super) type Parts = SmallVec<[Strided; 1]>;

impl Strided {
    /// The bytes of a range that is not empty.
    pub(super) fn of(range: Range<usize>) -> Self {
        Self { start: range.start, run: range.len(), levels: SmallVec::new() }
    }

    /// Runs of `run` bytes (at least 1) from `start` on, along axes of (stride, extent) with
    /// ascending positive strides. None if the runs overlap so that they do not form such a set.
    pub(super) fn along(start: usize, run: usize, axes: &[(usize, usize)]) -> Option<Self> {
        let mut set = Self::of(start..start + run);
        for &(stride, count) in axes {
            let extent = set.extent();
            match set.levels.last_mut() {
                None if stride <= set.run => set.run += stride * (count - 1),
                // Multiples of one stride reach a step of the next, so both axes are one.
                Some(last) if stride.is_multiple_of(last.stride) && stride / last.stride <= last.count => {
                    last.count += stride / last.stride * (count - 1);
                }
                _ if extent <= stride => set.repeat(stride, count),
                _ => return None,
            }
        }
        Some(set)
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The end of the last byte.
    pub(super) fn end(&self) -> usize {
        self.start + self.extent()
    }

    /// From the first byte to the end of the last.
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.end()
    }

    /// Whether it has every byte of its span.
    pub(super) fn is_range(&self) -> bool {
        self.levels.is_empty()
    }

    pub(super) fn first_run(&self) -> Range<usize> {
        self.start..self.start + self.run
    }

    /// Its runs, by first byte.
    pub(super) fn runs(&self) -> Vec<Range<usize>> {
        let mut starts = vec![self.start];
        for level in self.levels.iter().rev() {
            let steps = |start: usize| (0..level.count).map(move |step| start + step * level.stride);
            starts = starts.into_iter().flat_map(steps).collect();
        }
        starts.into_iter().map(|start| start..start + self.run).collect()
    }

    /// The levels, innermost first, as (stride, count).
    pub(super) fn levels(&self) -> impl Iterator<Item = (usize, usize)> {
        self.levels.iter().map(|level| (level.stride, level.count))
    }

    /// The run that contains a byte.
    fn run_at(&self, at: usize) -> Option<Range<usize>> {
        let mut inside = at.checked_sub(self.start)?;
        for level in self.levels.iter().rev() {
            inside -= (inside / level.stride).min(level.count - 1) * level.stride;
        }
        (inside < self.run).then(|| at - inside..at - inside + self.run)
    }

    /// Returns the same runs at another place.
    pub(super) fn moved(mut self, from: usize, to: usize) -> Self {
        self.start = self.start - from + to;
        self
    }

    fn extent(&self) -> usize {
        self.levels.iter().fold(self.run, |extent, level| extent + level.stride * (level.count - 1))
    }

    /// The extent of the levels below the outermost.
    fn inner_extent(&self) -> usize {
        let own = self.levels.last().map_or(0, |level| level.stride * (level.count - 1));
        self.extent() - own
    }

    /// The two halves of the outermost level.
    pub(super) fn halves(&self) -> Parts {
        let count = self.levels.last().map_or(1, |level| level.count);
        [0..count / 2, count / 2..count]
            .into_iter()
            .filter(|half| !half.is_empty())
            .map(|half| self.part(half))
            .collect()
    }

    /// Cuts each run into `first` bytes, pieces of `each` bytes, and the rest.
    pub(super) fn cuts(&self, first: usize, each: usize) -> Parts {
        let whole = (self.run - first) / each;
        let (head, middle) = (0..first, first..first + whole * each);
        let mut cuts = Parts::new();
        for (range, run) in
            [(head, first), (middle.clone(), each), (middle.end..self.run, self.run - middle.end)]
        {
            if range.is_empty() {
                continue;
            }
            let mut cut = Self { start: self.start + range.start, run, levels: SmallVec::new() };
            if range.len() > run {
                cut.levels.push(Level { stride: run, count: range.len() / run });
            }
            cut.levels.extend_from_slice(&self.levels);
            cuts.push(cut);
        }
        cuts
    }

    /// The element of the outermost level at an index.
    fn element(&self, index: usize) -> Self {
        self.part(index..index + 1)
    }

    /// The elements of the outermost level at a range of indices, at least one.
    fn part(&self, indices: Range<usize>) -> Self {
        let mut part = self.clone();
        if let Some(last) = part.levels.last_mut() {
            part.start += indices.start * last.stride;
            last.count = indices.len();
            if last.count == 1 {
                part.levels.pop();
            }
        }
        part
    }

    /// Adds a level around all others, with a stride that is at least the extent. If it continues
    /// the level below, both are merged.
    fn repeat(&mut self, stride: usize, count: usize) {
        match self.levels.last_mut() {
            _ if count < 2 => {}
            None if stride == self.run => self.run *= count,
            Some(last) if last.stride * last.count == stride => last.count *= count,
            _ => self.levels.push(Level { stride, count }),
        }
    }

    /// The indices of the outermost level whose elements reach into a span.
    fn reaching(&self, span: &Range<usize>) -> Range<usize> {
        let Some(&Level { stride, count }) = self.levels.last() else { return 0..1 };
        let behind = span.start.checked_sub(self.start + self.inner_extent());
        let first = behind.map_or(0, |bytes| bytes / stride + 1);
        let beyond = span.end.saturating_sub(self.start).div_ceil(stride).min(count);
        first.min(beyond)..beyond
    }

    /// The set without elements that do not reach into a span; none if no element does.
    fn narrowed(&self, span: &Range<usize>) -> Option<Self> {
        let mut narrowed = self.clone();
        loop {
            if narrowed.end() <= span.start || span.end <= narrowed.start {
                return None;
            }
            let Some(level) = narrowed.levels.last() else { return Some(narrowed) };
            let indices = narrowed.reaching(span);
            if indices.is_empty() {
                return None;
            }
            let (is_all, is_one) = (indices.len() == level.count, indices.len() == 1);
            if !is_all {
                narrowed = narrowed.part(indices);
            }
            if !is_one {
                return Some(narrowed);
            }
        }
    }

    /// Groups the outermost level into a level of `steps` steps inside another level, and adds the
    /// rest. The set itself if `steps` is 1.
    fn regrouped(&self, steps: usize) -> Parts {
        let mut parts = Parts::new();
        let Some(&Level { stride, count }) = self.levels.last().filter(|_| steps > 1) else {
            parts.push(self.clone());
            return parts;
        };
        let whole = count - count % steps;
        let mut main = self.part(0..steps);
        if whole > steps {
            main.levels.push(Level { stride: stride * steps, count: count / steps });
        }
        parts.push(main);
        if whole < count {
            parts.push(self.part(whole..count));
        }
        parts
    }
}

/// The first bytes of several sets, as far as they continue without a gap.
pub(super) fn first_range(parts: &[Strided]) -> Option<Range<usize>> {
    let mut range = parts.iter().min_by_key(|part| part.start)?.first_run();
    while let Some(run) = parts.iter().find_map(|part| part.run_at(range.end)) {
        range.end = run.end;
    }
    Some(range)
}
