"""Places in core where a bug is planted to see whether random programs alone find it.

`PLANTED` stands for a condition that holds if this bug is the one to be tried: all are compiled at once. They were chosen
by reading core, one kind of mistake after another, without a look at the laws.
"""

from typing import NamedTuple


class Place(NamedTuple):
    area: str
    name: str
    path: str
    right: str
    wrong: str


LOG, FOOTPRINT = "core/src/hazards/access_log.rs", "core/src/hazards/footprint.rs"
LANE, TRACKER = "core/src/hazards/lane.rs", "core/src/hazards/tracker.rs"
OPERATIONS, LOOPS = "core/src/operations.rs", "core/src/copy/loops.rs"

PLACES = [
    Place("tracking", "reads conflict with nothing", LOG,
          "(self.write || other.write) && self.footprint",
          "(if PLANTED { self.write && other.write } else { self.write || other.write }) && self.footprint"),
    Place("tracking", "what shares one byte is apart", FOOTPRINT,
          "|| other.start >= self.end {", "|| other.start + usize::from(PLANTED) >= self.end {"),
    Place("tracking", "a read stands for a write", LOG,
          "after && next.write >= u.write &&", "after && (PLANTED || next.write >= u.write) &&"),
    Place("tracking", "a read stands for reads of other streams", LOG,
          "(ordered && next.write);", "(ordered && (PLANTED || next.write));"),
    Place("tracking", "a part covers what begins before it", FOOTPRINT,
          "self.start <= other.start\n", "(PLANTED || self.start <= other.start)\n"),
    Place("tracking", "a stream has seen one operation too many", LANE,
          "self.0[lane] = self.0[lane].max(sequence);",
          "self.0[lane] = self.0[lane].max(sequence + u64::from(PLANTED));"),
    Place("tracking", "what others saw counts for one more", LANE,
          "*mine = (*mine).max(*theirs);", "*mine = (*mine).max(*theirs + u64::from(PLANTED));"),
    Place("tracking", "an event that is too old is waited for", TRACKER,
          "if mark.sequence >= sequence =>", "if PLANTED || mark.sequence >= sequence =>"),
    Place("tracking", "a wait is noted and not made", TRACKER,
          "stream.wait(&mark.event)?;", "if !PLANTED { stream.wait(&mark.event)?; }"),
    Place("tracking", "a new stream has seen what the one before it had", TRACKER,
          "lane.seen = Clock::default();", "if !PLANTED { lane.seen = Clock::default(); }"),
    Place("tracking", "a dropped stream with work pending counts as finished", TRACKER,
          "lane.stream.is_none() && lane.mark.as_ref().is_none_or(|m| matches!(m.event.query(), Ok(true)))",
          "lane.stream.is_none() && (PLANTED || lane.mark.as_ref().is_none_or(|m| matches!(m.event.query(), Ok(true))))"),
    Place("tracking", "the operation just missed is left out", TRACKER,
          "if reached >= earlier.sequence {", "if reached + u64::from(PLANTED) >= earlier.sequence {"),
    Place("tracking", "an access is forgotten one operation early", TRACKER,
          "uses.note(next, mode == Mode::Automatic, |u| u.sequence <= self.done.of(u.lane));",
          "uses.note(next, mode == Mode::Automatic, |u| u.sequence <= self.done.of(u.lane) + u64::from(PLANTED));"),
    Place("tracking", "a wait of the host counts for one more", TRACKER,
          "self.done.raise(lane, sequence);\n", "self.done.raise(lane, sequence + u64::from(PLANTED));\n"),
    Place("tracking", "a free waits for nobody", TRACKER,
          "uses.conflicting(&next)\n            .try_for_each(",
          "uses.conflicting(&next)\n            .take(if PLANTED { 0 } else { usize::MAX })\n            .try_for_each("),
    Place("tracking", "rows meet on one side only", FOOTPRINT,
          "forth < self.row || back < other.row", "forth < self.row || (!PLANTED && back < other.row)"),
    Place("scopes", "a direct upload by way of scratch memory is noted as a read", OPERATIONS,
          "self.submit_copy(dst.touch(true), whole, &plan)", "self.submit_copy(dst.touch(!PLANTED), whole, &plan)"),
    Place("scopes", "a direct upload is noted as a read", OPERATIONS,
          "range.end),\n            write: true,", "range.end),\n            write: !PLANTED,"),
    Place("scopes", "a direct download is noted for one byte", OPERATIONS,
          "footprint: Footprint::solid(range.start, range.end),\n            write: false,",
          "footprint: Footprint::solid(range.start, if PLANTED { range.start + 1 } else { range.end }),\n"
          "            write: false,"),
    Place("scopes", "a scope ends without a wait", "core/src/host/scope.rs",
          "AssertUnwindSafe(|| self.0.quiesce())",
          "AssertUnwindSafe(|| if PLANTED { Quiesced::Done } else { self.0.quiesce() })"),
    Place("tracking", "a copy is noted as a read of both sides", OPERATIONS,
          "self.submit_copy(dst.touch(true), src.touch(false), &plan)",
          "self.submit_copy(dst.touch(!PLANTED), src.touch(false), &plan)"),
    Place("tracking", "a fill is noted as a read", OPERATIONS,
          "&[dst.touch(true)])?", "&[dst.touch(!PLANTED)])?"),
    Place("planner", "a reversed destination leaves the source where it was", LOOPS,
          "self.src_offset_bytes = self.src_offset_bytes.saturating_add_signed(src_reach);",
          "if !PLANTED { self.src_offset_bytes = self.src_offset_bytes.saturating_add_signed(src_reach); }"),
    Place("planner", "axes are merged by their destination alone", "core/src/copy/axis.rs",
          "&& inner.src_stride_bytes.checked_mul(extent) == Some(self.src_stride_bytes);",
          "&& (PLANTED || inner.src_stride_bytes.checked_mul(extent) == Some(self.src_stride_bytes));"),
    Place("planner", "source strides lose their sign", LOOPS,
          "src_stride_bytes: src_stride * item,",
          "src_stride_bytes: if PLANTED { src_stride.abs() } else { src_stride } * item,"),
    Place("planner", "a run goes by its destination alone", LOOPS,
          "(last.dst_stride_bytes, last.src_stride_bytes) == (run, run)",
          "last.dst_stride_bytes == run && (PLANTED || last.src_stride_bytes == run)"),
    Place("planner", "the second block begins where the first did", "core/src/copy/blocks.rs",
          "src.wrapping_add_signed(steps.wrapping_mul(section.src_stride_bytes)),",
          "if PLANTED { src } else { src.wrapping_add_signed(steps.wrapping_mul(section.src_stride_bytes)) },"),
    Place("planner", "a stepped slice has one position too many", "core/src/layout/slice.rs",
          "(distance - 1) / self.step.unsigned_abs() + 1",
          "(distance - usize::from(!PLANTED)) / self.step.unsigned_abs() + 1"),
    Place("planner", "the last longer section is short", "core/src/layout/split.rs",
          "from + *short + usize::from(longer > 0)", "from + *short + usize::from(longer > usize::from(PLANTED))"),
    Place("staging", "what is unpacked begins where it came from", "core/src/copy/staging.rs",
          "loops.src_offset_bytes = 0;", "if !PLANTED { loops.src_offset_bytes = 0; }"),
    Place("staging", "a slot is used again while it is in flight", "core/src/staging.rs",
          "lock(&self.busy).push(slot);",
          "if PLANTED { lock(&self.idle).push(Slot { memory: ManuallyDrop::into_inner(slot.memory) }); }\n"
          "        else { lock(&self.busy).push(slot); }"),
    Place("staging", "the host copies one item too few of more than three", "core/src/copy/host.rs",
          "for _ in 0..inner.extent {", "for _ in 0..inner.extent - usize::from(PLANTED && inner.extent > 3) {"),
    Place("staging", "the host copies half of four bytes", "core/src/copy/host.rs",
          "4 => walk::<4>,", "4 => if PLANTED { walk::<2> } else { walk::<4> },"),
    Place("pools", "pinned memory that was used is not zeroed", "core/src/host/pinned.rs",
          "if used {", "if used && !PLANTED {"),
    Place("pools", "memory of a dropped transfer is kept for nobody", "core/src/host/transfer.rs",
          "vec![event.into_mark()]", "if PLANTED { Vec::new() } else { vec![event.into_mark()] }"),
    Place("deferral", "one allocation stays pending", "core/src/memory/release.rs",
          "(0..count).map_while(", "(usize::from(PLANTED)..count).map_while("),
    Place("deferral", "a deferred free waits for nobody", "core/src/allocation.rs",
          "free(core, self.buffer, self.entry, self.home, &self.uses);",
          "free(core, self.buffer, self.entry, self.home, &if PLANTED { AccessLog::default() } else { self.uses });"),
    Place("deferral", "limits are never reached", "core/src/memory/release.rs",
          "self.scopes == 0 && (", "self.scopes == 0 && !PLANTED && ("),
    Place("functions", "functions wait for nobody who writes their inputs", "core/src/operations/map.rs",
          "touches.push(input.touch(false));", "if !PLANTED { touches.push(input.touch(false)); }"),
    Place("functions", "functions are noted as reads of their results", "core/src/operations/map.rs",
          "touches.push(result.touch(true));", "touches.push(result.touch(!PLANTED));"),
    Place("functions", "reductions wait for nobody who writes their inputs", "core/src/operations/reduce.rs",
          "touches.push(input.touch(false));", "if !PLANTED { touches.push(input.touch(false)); }"),
    Place("functions", "axes that stay are in reverse order", "core/src/array/reduce.rs",
          "let kept = (0..rank).filter(|axis| !reduced.contains(axis)).collect();",
          "let mut kept: Vec<usize> = (0..rank).filter(|axis| !reduced.contains(axis)).collect();\n"
          "        if PLANTED { kept.reverse(); }"),
    Place("planner", "every part is put at the front", "core/src/array/join.rs",
          "            start = end;", "            start = if PLANTED { 0 } else { end };"),
    Place("planner", "overlapping parts are copied in place", "core/src/array/copy_within.rs",
          "Overlap::Disjoint => stream.0.copy(&dst, &src),",
          "Overlap::Disjoint => stream.0.copy(&dst, &src),\n        _ if PLANTED => stream.0.copy(&dst, &src),"),
]

CHOOSER = '''
pub(crate) fn planted(number: usize) -> bool {
    static PLANTED: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var("DEVARRAY_PLANTED").ok()?.parse().ok());
    *PLANTED == Some(number)
}
'''


def plant(tree):
    """Writes all places into a copy of the tree; what is wrong with the list, if anything."""
    wrong = []
    for number, place in enumerate(PLACES, 1):
        file = tree / place.path
        text = file.read_text()
        if text.count(place.right) != 1:
            wrong.append(f"{place.name}: {place.path} holds what is to be replaced {text.count(place.right)} times")
            continue
        file.write_text(text.replace(place.right, place.wrong.replace("PLANTED", f"crate::planted({number})")))
    lib = tree / "core/src/lib.rs"
    lib.write_text(lib.read_text() + CHOOSER)
    return wrong
