"""Places in core where a bug is planted, to see who notices it: the law of the suite named for it, random programs alone,
or both.

`PLANTED` stands for a condition that holds if this bug is the one to be tried: all are compiled at once. Those that random
programs must find were chosen by reading core, one kind of mistake after another, without a look at the laws. Those with a
law are what that law is there for: no bug of a backend breaks it, or it is about what core does between operations.
"""

from typing import NamedTuple


class Place(NamedTuple):
    area: str  # none if no random program comes there
    name: str
    path: str
    right: str
    wrong: str
    law: str = ""


LOG, FOOTPRINT = "core/src/hazards/access_log.rs", "core/src/hazards/footprint.rs"
LANE, TRACKER = "core/src/hazards/lane.rs", "core/src/hazards/tracker.rs"
STREAMS, TELLING = "core/src/hazards/tracker/streams.rs", "core/src/hazards/tracker/telling.rs"
OPERATIONS, LOOPS = "core/src/operations.rs", "core/layout/src/copy/loops.rs"
NEST = "core/layout/src/nest.rs"
BOARD, BRANCHES = "core/src/collective/board.rs", "core/src/recorded/branches.rs"
LAUNCH = "core/src/recorded/launch.rs"
ORDER, PRODUCT = "core/src/operations/order.rs", "core/src/operations/product.rs"
ERASED, PICKED = "core/src/array/erased.rs", "core/src/array/gather_layouts.rs"

PLACES = [
    Place("tracking", "reads conflict with nothing", LOG,
          "(self.write || other.write) && self.footprint",
          "(if PLANTED { self.write && other.write } else { self.write || other.write }) && self.footprint",
          "copies::readers_then_writer"),
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
    Place("tracking", "a new stream has seen what the one before it had", STREAMS,
          "lane.seen = Clock::default();", "if !PLANTED { lane.seen = Clock::default(); }"),
    Place("tracking", "a dropped stream with work pending counts as finished", STREAMS,
          ".mark.clone().filter(|mark| matches!(mark.event.query(), Ok(true)))",
          ".mark.clone().filter(|mark| PLANTED || matches!(mark.event.query(), Ok(true)))"),
    Place("tracking", "the operation just missed is left out", TRACKER,
          "if self.lanes[lane].seen.of(earlier.lane) >= earlier.sequence {",
          "if self.lanes[lane].seen.of(earlier.lane) + u64::from(PLANTED) >= earlier.sequence {"),
    Place("tracking", "an access is forgotten one operation early", TRACKER,
          "        access.sequence <= self.done.of(access.lane)\n",
          "        access.sequence <= self.done.of(access.lane) + u64::from(PLANTED)\n"),
    Place("tracking", "a wait of the host counts for one more", TELLING,
          "self.done.raise(wait.lane, wait.sequence);", "self.done.raise(wait.lane, wait.sequence + u64::from(PLANTED));"),
    Place("tracking", "a free waits for nobody", TRACKER,
          "uses.conflicting(&next)\n            .try_for_each(",
          "uses.conflicting(&next)\n            .take(if PLANTED { 0 } else { usize::MAX })\n            .try_for_each(",
          "buffers::drop_with_work_pending"),
    Place("tracking", "rows meet on one side only", FOOTPRINT,
          "forth < self.row || back < other.row", "forth < self.row || (!PLANTED && back < other.row)"),
    Place("scopes", "a direct upload by way of scratch memory is noted as a read", OPERATIONS,
          "self.submit_copy(dst.touch(true), AllocationAccess::whole(&scratch, false), &plan)",
          "self.submit_copy(dst.touch(!PLANTED), AllocationAccess::whole(&scratch, false), &plan)"),
    Place("scopes", "a direct upload is noted as a read", OPERATIONS,
          "of_bytes(dst, range.clone(), true)", "of_bytes(dst, range.clone(), !PLANTED)"),
    Place("scopes", "a direct download is noted for one byte", OPERATIONS,
          "of_bytes(src, range.clone(), false)",
          "of_bytes(src, range.start..if PLANTED { range.start + 1 } else { range.end }, false)"),
    Place("scopes", "a scope ends without a wait", "core/src/host/scope.rs",
          "AssertUnwindSafe(|| self.0.wait())",
          "AssertUnwindSafe(|| if PLANTED {\n"
          "            (Quiesced::Done, crate::lock::lock(&self.0.core.tracker).position(self.0.lane.index))\n"
          "        } else { self.0.wait() })"),
    Place("tracking", "a copy is noted as a read of both sides", OPERATIONS,
          "self.submit_copy(dst.touch(true), src.touch(false), &plan)",
          "self.submit_copy(dst.touch(!PLANTED), src.touch(false), &plan)"),
    Place("tracking", "a fill is noted as a read", OPERATIONS,
          "&[dst.touch(true)])?.begin()", "&[dst.touch(!PLANTED)])?.begin()"),
    Place("planner", "a reversed destination leaves the source where it was", LOOPS,
          "self.src_offset_bytes = self.src_offset_bytes.wrapping_add_signed(reach.src_stride_bytes);",
          "if !PLANTED { self.src_offset_bytes = self.src_offset_bytes.wrapping_add_signed(reach.src_stride_bytes); }"),
    Place("planner", "axes are merged by their destination alone", NEST,
          ".zip(inner.strides().as_ref()).all(goes_on);",
          ".zip(inner.strides().as_ref()).take(if PLANTED { 1 } else { usize::MAX }).all(goes_on);"),
    Place("planner", "source strides lose their sign", LOOPS,
          "src_stride_bytes: src_stride * item }",
          "src_stride_bytes: if PLANTED { src_stride.abs() } else { src_stride } * item }"),
    Place("planner", "a run goes by its destination alone", NEST,
          "if !last.strides().as_ref().iter().eq(&strides) {",
          "if !last.strides().as_ref().iter().zip(&strides).take(if PLANTED { 1 } else { N }).all(|(a, b)| a == b) {"),
    Place("planner", "the second block begins where the first did", "core/layout/src/copy/blocks.rs",
          "src.wrapping_add_signed(steps.wrapping_mul(section.src_stride_bytes)),",
          "if PLANTED { src } else { src.wrapping_add_signed(steps.wrapping_mul(section.src_stride_bytes)) },"),
    Place("planner", "a stepped slice has one position too many", "core/layout/src/slice.rs",
          "(distance - 1) / self.step.unsigned_abs() + 1",
          "(distance - usize::from(!PLANTED)) / self.step.unsigned_abs() + 1"),
    Place("planner", "the last longer section is short", "core/layout/src/split.rs",
          "from + *short + usize::from(longer > 0)", "from + *short + usize::from(longer > usize::from(PLANTED))"),
    Place("staging", "what is unpacked begins where it came from", "core/layout/src/copy/staging.rs",
          "|loops| loops.src_offset_bytes = 0,", "|loops| if !PLANTED { loops.src_offset_bytes = 0 },"),
    Place("staging", "a slot is used again while it is in flight", "core/src/staging.rs",
          "lock(&self.busy).push(slot);",
          "if PLANTED { lock(&self.idle).push(Slot { memory: ManuallyDrop::into_inner(slot.memory) }); }\n"
          "        else { lock(&self.busy).push(slot); }"),
    Place("staging", "the host copies one item too few of more than three", "core/layout/src/copy/host.rs",
          "for _ in 0..inner.extent {", "for _ in 0..inner.extent - usize::from(PLANTED && inner.extent > 3) {"),
    Place("staging", "the host copies half of four bytes", "core/layout/src/copy/host.rs",
          "4 => walk::<4>,", "4 => if PLANTED { walk::<2> } else { walk::<4> },"),
    Place("pools", "pinned memory that was used is not zeroed", "core/src/host/pinned.rs",
          "if used {", "if used && !PLANTED {"),
    Place("pools", "memory of a dropped transfer is kept for nobody", "core/src/host/transfer.rs",
          "vec![event.into_mark()]", "if PLANTED { Vec::new() } else { vec![event.into_mark()] }"),
    Place("deferral", "one allocation stays pending", "core/src/memory/release.rs",
          "(0..count).map_while(", "(usize::from(PLANTED)..count).map_while("),
    Place("deferral", "a deferred free waits for nobody", "core/src/allocation/freed.rs",
          "free(core, self.buffer, self.entry, self.home, &self.uses);",
          "free(core, self.buffer, self.entry, self.home, &if PLANTED { AccessLog::default() } else { self.uses });"),
    Place("deferral", "limits are never reached", "core/src/memory/release.rs",
          "self.scopes == 0 && (", "self.scopes == 0 && !PLANTED && ("),
    Place("functions", "functions wait for nobody who writes their inputs", "core/src/operations/map.rs",
          "touches.push(input.touch(false));", "if !PLANTED { touches.push(input.touch(false)); }",
          "functions::ordered"),
    Place("functions", "functions are noted as reads of their results", "core/src/operations/map.rs",
          "touches.push(result.touch(true));", "touches.push(result.touch(!PLANTED));"),
    Place("functions", "reductions wait for nobody who writes their inputs", "core/src/operations/reduce.rs",
          "touches.push(input.touch(false));", "if !PLANTED { touches.push(input.touch(false)); }"),
    Place("functions", "axes that stay are in reverse order", "core/function/src/reduction/reduced.rs",
          "let kept = (0..rank).filter(|axis| !reduced.contains(axis)).collect();",
          "let mut kept: Vec<usize> = (0..rank).filter(|axis| !reduced.contains(axis)).collect();\n"
          "        if PLANTED { kept.reverse(); }"),
    Place("planner", "every part is put at the front", "core/src/array/join.rs",
          "            start = end;", "            start = if PLANTED { 0 } else { end };",
          "joins::concatenate"),
    Place("planner", "overlapping parts are copied in place", "core/src/array/copy_within.rs",
          "Overlap::Disjoint => stream.0.copy(&dst, &src),",
          "Overlap::Disjoint => stream.0.copy(&dst, &src),\n        _ if PLANTED => stream.0.copy(&dst, &src),"),
    Place("tracking", "a reader replaces the readers before it", LOG,
          "self.0.retain(|u| !dominates(u) && !is_done(u));",
          "self.0.retain(|u| !dominates(u) && !is_done(u) && (!PLANTED || u.write || next.write));",
          "regressions::last_reader"),
    Place("kernels", "kernels wait for nobody who writes what they read", "core/src/operations/launch.rs",
          "accesses.push(elements.touch(permission.writes()));",
          "if !PLANTED || permission.writes() { accesses.push(elements.touch(permission.writes())); }"),
    Place("kernels", "kernels are noted as reads of what they write", "core/src/operations/launch.rs",
          "accesses.push(elements.touch(permission.writes())); }",
          "accesses.push(elements.touch(permission.writes() && !PLANTED)); }"),
    Place("gathers", "gathers wait for nobody who writes their indices", "core/src/operations/gather.rs",
          "(Some(indices), is_counted)", "(Some(indices).filter(|_| !PLANTED), is_counted)", "gathers::ordered"),
    Place("", "selections are noted as reads of the count that they write", "core/src/operations/gather.rs",
          "is_counted), (mask", "is_counted && !PLANTED), (mask", "gathers::ordered"),
    Place("gathers", "gathers wait for nobody who writes what they read", "core/src/operations/gather.rs",
          "[(Some(read), false)", "[(Some(read).filter(|_| !PLANTED), false)"),
    Place("gathers", "gathers are noted as reads of what they write", "core/src/operations/gather.rs",
          "(Some(written), true)]", "(Some(written), !PLANTED)]"),
    Place("gathers", "indices count along the axis before", PICKED,
          "indexed_axes: vec![axis_of(array, axis)],\n            indexed,",
          "indexed_axes: vec![axis_of(array, axis - usize::from(PLANTED && axis > 0))],\n            indexed,"),
    Place("orders", "calls of order wait for nobody who writes what they read", ORDER,
          "inputs.iter().map(|(_, elements)| (elements, false));",
          "inputs.iter().take(if PLANTED { 0 } else { usize::MAX }).map(|(_, elements)| (elements, false));",
          "orders::ordered"),
    Place("orders", "calls of order are noted as reads of what they write", ORDER,
          "written().map(|elements| (elements, true))", "written().map(|elements| (elements, !PLANTED))",
          "orders::ordered"),
    Place("orders", "products wait for nobody who writes the first factor", PRODUCT,
          "smallvec![a.touch(false), b.touch(false)]", "smallvec![if PLANTED { b } else { a }.touch(false), b.touch(false)]"),
    Place("orders", "products are noted as reads of what they write", PRODUCT,
          "        touches.push(result.touch(true));", "        touches.push(result.touch(!PLANTED));"),
    Place("recorded", "elements of a launch begin where the recorded ones did", "core/src/recorded/memory.rs",
          "        let moved_bytes = memory.of(self.number).moved_bytes;",
          "        let moved_bytes = if PLANTED { 0 } else { memory.of(self.number).moved_bytes };", "recordings::moved"),
    Place("recorded", "bytes of gathered elements move by whole elements", "core/src/recorded/calls.rs",
          "(&indexed, &kept.indexed, width_bytes)",
          "(&indexed, &kept.indexed, if PLANTED { indexed.item_bytes } else { width_bytes })"),
    Place("recorded", "memory that is still used is used again", BRANCHES,
          "tenant.iter().all(|of| before_all(*of))", "(PLANTED || tenant.iter().all(|of| before_all(*of)))"),
    Place("recorded", "a call that writes does not come behind those that read", BRANCHES,
          "(self.write || other.write) && self.footprint",
          "(if PLANTED { self.write } else { self.write || other.write }) && self.footprint"),
    Place("recorded", "a launch uses the number of the last one", LAUNCH,
          "                        stream.fill(&number, &bytes[..*len_bytes])?;",
          "                        static BEFORE: Mutex<[u8; 8]> = Mutex::new([0; 8]);\n"
          "                        let before = std::mem::replace(&mut *lock(&BEFORE), *bytes);\n"
          "                        let bytes = if PLANTED { &before } else { bytes };\n"
          "                        stream.fill(&number, &bytes[..*len_bytes])?;", "recordings::launches"),
    Place("", "what stands for two arrays is taken for one", "core/src/operations/disjoint.rs",
          "    if one.allocation.part().is_some()", "    if !PLANTED && one.allocation.part().is_some()",
          "kernels::recorded"),
    Place("", "values of a recorded kernel are 0", "core/src/recorded/kernels.rs",
          "KeptArgument::Value(bytes) => PassedAs::Value(bytes),",
          "KeptArgument::Value(bytes) => PassedAs::Value(if PLANTED { &[0; 4096][..bytes.len()] } else { bytes }),",
          "kernels::recorded"),
    Place("", "ranks do not compare how many elements they give", "core/src/collective/call.rs",
          "&& self.count == other.count",
          "&& (PLANTED || self.count == other.count)", "ranks::refused"),
    Place("", "a rank that is gone is waited for", "core/src/collective/board/seat.rs",
          "matches!(self.at, At::Gone(_))", "!PLANTED && matches!(self.at, At::Gone(_))", "ranks::gone"),
    Place("", "all ranks of a split are one group", BOARD,
          "map(|seat| seat.given.color).collect();",
          "map(|seat| if PLANTED { seat.given.color.and(Some(0)) } else { seat.given.color }).collect();",
          "ranks::groups"),
    Place("", "exchanges of a launch are made behind all of its calls", "core/src/recorded/segments.rs",
          "exchanges.iter().map(|exchange| exchange.calls_before)",
          "exchanges.iter().map(|exchange| if PLANTED { count } else { exchange.calls_before })",
          "ranks::recorded"),
    Place("", "a launch takes the communicator of another rank", LAUNCH,
          "() if ranks.place() != *place", "() if !PLANTED && ranks.place() != *place", "ranks::recorded_refused"),
    Place("", "exchanges of a launch have no line", LAUNCH,
          "made_again(site, || ranks.make(stream, what, placement))?;",
          "if PLANTED { ranks.make(stream, what, placement) } else { made_again(site, || ranks.make(stream, what, placement)) }?;",
          "ranks::recorded_refused"),
    Place("", "an empty array asks for a byte", ERASED,
          "if layout.is_empty() {\n        return Ok(0);", "if layout.is_empty() {\n        return Ok(usize::from(PLANTED));",
          "buffers::zero_bytes"),
    Place("", "a copy of no elements goes on", OPERATIONS,
          "if plan.len_bytes() == 0 {", "if plan.len_bytes() == 0 && !PLANTED {", "copies::zero_size"),
    Place("", "a size beyond isize::MAX is asked for", ERASED,
          "len_bytes.filter(|&n| isize::try_from(n).is_ok()).ok_or(",
          "len_bytes.filter(|&n| PLANTED || isize::try_from(n).is_ok()).ok_or(", "layouts::overflow"),
    Place("", "a destination may repeat elements", "core/layout/src/copy/plan.rs",
          "if dst.injectivity() != Injectivity::Injective {",
          "if (dst.injectivity() != Injectivity::Injective) != PLANTED {", "algebra::inconsistent_layouts"),
    Place("", "a longer buffer is taken", "core/src/host/transfer.rs",
          "if found != len {", "if if PLANTED { found < len } else { found != len } {", "host::refused"),
    Place("", "a failed free is not told of", "core/src/allocation/freed.rs",
          "drop(tracker);\n            core.report(error);",
          "drop(tracker);\n            if PLANTED { drop(error) } else { core.report(error) }", "errors::failing_drop_is_told"),
    Place("", "strict streams refuse nothing", "core/src/stream.rs",
          "StreamHandle::open(&self.0, Mode::Strict)",
          "StreamHandle::open(&self.0, if PLANTED { Mode::Automatic } else { Mode::Strict })", "errors::strict_refuses"),
    Place("", "an array is taken apart along its last axis", "core/src/array/iterate.rs",
          "($this.axis_iter(axis)?, Vec::new())",
          "(if PLANTED { $this.axis_iter(-1)? } else { $this.axis_iter(axis)? }, Vec::new())", "joins::concatenate"),
    Place("", "both margins hold the first element", "core/src/array/pad.rs",
          "Walk::once(before + extent, after, extent - 1, 0)",
          "Walk::once(before + extent, after, if PLANTED { 0 } else { extent - 1 }, 0)", "joins::pad"),
    Place("", "the last margin is not filled", "core/src/array/margins.rs",
          "push(&[], first + span, whole.len() - first - span)?;",
          "if !PLANTED { push(&[], first + span, whole.len() - first - span)?; }", "joins::pad"),
    Place("", "the first element is repeated for all", "core/src/array/repeat.rs",
          "from_pitch: 1, ", "from_pitch: isize::from(!PLANTED), ", "joins::repeat"),
    Place("", "a function of no elements goes on", "core/src/operations/map.rs",
          "if result.layout.is_empty() {\n            return Ok(());",
          "if result.layout.is_empty() && !PLANTED {\n            return Ok(());", "functions::empty"),
    Place("", "inputs are repeated to fit the result", "core/src/array/compute.rs",
          "if result.layout.shape() != &expected[..] {",
          "if if PLANTED { result.layout.shape().len() < expected.len() } else { result.layout.shape() != &expected[..] } {",
          "functions::refused"),
    Place("", "positions of a reduction count along other axes", "core/src/array/reduce.rs",
          "let program = element.combined_program().with_positions(&order)?;",
          "let program = element.combined_program().with_positions(if PLANTED { &[] } else { &order })?;", "reductions::axes"),
    Place("", "positions of indices are those of their memory", PICKED,
          "unsigned(positions.strides())", "unsigned(if PLANTED { indices.strides() } else { positions.strides() })",
          "gathers::told"),
    Place("", "a wait for an event tells of no index", "core/src/stream.rs",
          "        self.core.program_waited(self.mark.event.synchronize(), &self.mark.position(self.lane))",
          "        let end = self.mark.event.synchronize();\n"
          "        if PLANTED { end } else { self.core.program_waited(end, &self.mark.position(self.lane)) }", "gathers::waits"),
    Place("", "errors of streams that are gone are not listed", "core/src/context.rs",
          "errors.extend(left);", "errors.extend(left.into_iter().filter(|_| !PLANTED));", "gathers::outlived"),
    Place("", "who reads what a stream made that is gone is not told", "core/src/hazards/tracker.rs",
          "            self.cover((lane, number), &self.covered_at(earlier.lane, earlier.sequence));",
          "            if !PLANTED { self.cover((lane, number), &self.covered_at(earlier.lane, earlier.sequence)); }",
          "gathers::outlived"),
    Place("", "elements are chosen from nothing", PICKED,
          "self.indexed_axes.iter().all(|axis| axis.extent > 0)",
          "(if PLANTED { !self.indexed_axes.is_empty() } else { self.indexed_axes.iter().all(|axis| axis.extent > 0) })",
          "gathers::refused"),
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
        text = file.read_text() if file.is_file() else ""
        if text.count(place.right) != 1:
            wrong.append(f"{place.name}: {place.path} holds what is to be replaced {text.count(place.right)} times")
            continue
        file.write_text(text.replace(place.right, place.wrong.replace("PLANTED", f"crate::planted({number})")))
    for package in {place.path.split("/src/")[0] for place in PLACES}:
        lib = tree / package / "src/lib.rs"
        lib.write_text(lib.read_text() + CHOOSER)
    return wrong
