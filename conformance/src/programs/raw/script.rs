//! The operations that a raw program issues, including those that order the others.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Act, Bytes, Join, Op, Program,
    memory::{Block, Memory},
};

/// The number of events of a program: the next one that is recorded replaces the oldest.
pub(super) const EVENTS: usize = 3;
/// The most device memories that a program has at once.
const MOST_BUFFERS: usize = 6;

/// Operations, by number.
pub(super) type Numbers = BTreeSet<usize>;

/// A program as it is issued, one operation after another, with the bytes of each memory and the
/// operations that each stream and the host are ordered after.
pub(super) struct Script {
    pub(super) memories: Vec<Memory>,
    pub(super) ops: Vec<Value>,
    /// The stream of each operation, if it has one.
    pub(super) stream_of: Vec<Option<usize>>,
    /// For each stream, the operations that its next one comes after.
    pub(super) streams: Vec<Numbers>,
    /// The operations that the host comes after.
    pub(super) host: Numbers,
    pub(super) events: [Option<Numbers>; EVENTS],
    pub(super) recorded: usize,
    /// The number of memories that are device memories from the start.
    buffers: usize,
}

impl Script {
    pub(super) fn of(program: &Program) -> Self {
        let Program { streams, buffers, hosts, .. } = *program;
        let memories = (0..buffers).map(|k| Memory::new(format!("b{k}"), k, false, None));
        let pinned = (0..hosts).map(|k| Memory::new(format!("h{k}"), k, true, None));
        let mut script = Self {
            memories: memories.chain(pinned).collect(),
            ops: Vec::new(),
            stream_of: Vec::new(),
            streams: vec![Numbers::new(); streams.max(1)],
            host: Numbers::new(),
            events: Default::default(),
            recorded: 0,
            buffers,
        };
        program.ops.iter().for_each(|op| script.add(op));
        script.end();
        script
    }

    /// The program as a line of JSON.
    pub(super) fn line(&self) -> Value {
        let named = |memory: &Memory| json!({"id": memory.name, "bytes": memory.bytes.len()});
        let mut buffers: Vec<Value> = self.memories[..self.buffers].iter().map(named).collect();
        buffers.iter_mut().for_each(|buffer| buffer["init"] = json!(true));
        let hosts: Vec<Value> = self.memories.iter().filter(|memory| memory.on_host).map(named).collect();
        let due: serde_json::Map<_, _> = self
            .hosts()
            .map(|(name, bytes)| {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                (name.to_owned(), json!(hex))
            })
            .collect();
        json!({
            "id": "raw", "buffers": buffers, "hosts": hosts, "streams": self.streams.len(), "events": EVENTS,
            "ops": self.ops, "expect": {"verdict": "ok", "hosts": due},
        })
    }

    /// The pinned memories, and their bytes at the end.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (&str, &Vec<u8>)> {
        self.memories.iter().filter(|m| m.on_host).map(|memory| (memory.name.as_str(), &memory.bytes))
    }

    /// One of the memories that exist.
    fn one_of(&self, number: usize, on_host: bool) -> Option<usize> {
        let there = |at: &usize| self.memories[*at].on_host == on_host && !self.memories[*at].freed;
        let all: Vec<usize> = (0..self.memories.len()).filter(there).collect();
        Some(all[number.checked_rem(all.len())?])
    }

    fn block(&self, bytes: Bytes, on_host: bool) -> Option<Block> {
        let memory = self.one_of(bytes.memory, on_host)?;
        Some(self.memories[memory].block(memory, bytes))
    }

    /// Two blocks cut to one width and one number of rows; none if they share a byte.
    fn blocks(
        &self,
        to: Option<Block>,
        from: Option<Block>,
        rows: usize,
        gaps: [usize; 2],
    ) -> Option<[Block; 2]> {
        let (to, from) = (to?, from?);
        let width = to.width.min(from.width);
        let mut both = [(to, gaps[0]), (from, gaps[1])]
            .map(|(block, gap)| self.memories[block.memory].rows(block, width, rows, gap));
        let rows = both[0].rows.min(both[1].rows);
        both.iter_mut().for_each(|block| block.rows = rows);
        (!both[0].meets(&both[1])).then_some(both)
    }

    /// Adds an operation, with the waits before it; adds nothing if the operation does nothing.
    fn add(&mut self, &Op { stream, join, act }: &Op) {
        let stream = stream % self.streams.len();
        match act {
            Act::Fill { to, value } => {
                let Some(to) = self.block(to, false) else { return };
                let name = &self.memories[to.memory].name;
                let op = json!({"do": "fill", "stream": stream, "buf": name, "off": to.at, "len": to.width, "value": value});
                self.write_of(Some(stream), join, op, &to, value);
            }
            Act::Copy { to, from, rows, gaps } => {
                let sides = self.blocks(self.block(to, false), self.block(from, false), rows, gaps);
                let Some([to, from]) = sides else { return };
                let [dst, src] = [&to, &from].map(|side| &self.memories[side.memory].name);
                let op = if to.rows == 1 {
                    json!({"do": "copy", "stream": stream, "src": src, "src_off": from.at, "dst": dst, "dst_off": to.at,
                        "len": to.width})
                } else {
                    json!({"do": "copy2d", "stream": stream, "src": src, "src_off": from.at, "src_pitch": from.pitch,
                        "dst": dst, "dst_off": to.at, "dst_pitch": to.pitch, "width": to.width, "height": to.rows})
                };
                self.move_of(stream, join, op, &to, &from);
            }
            Act::Upload { to, from } => {
                let sides = self.blocks(self.block(to, false), self.block(from, true), 1, [0; 2]);
                let Some([to, from]) = sides else { return };
                let [dst, host] = [&to, &from].map(|side| &self.memories[side.memory].name);
                let op = json!({"do": "upload", "stream": stream, "host": host, "host_off": from.at, "dst": dst,
                    "dst_off": to.at, "len": to.width});
                self.move_of(stream, join, op, &to, &from);
            }
            Act::Download { to, from } => {
                let sides = self.blocks(self.block(to, true), self.block(from, false), 1, [0; 2]);
                if let Some([to, from]) = sides
                    && self.memories[from.memory].is_written(&from)
                {
                    self.download(stream, join, &to, &from);
                }
            }
            Act::Alloc { size } => {
                let live = self.memories.iter().filter(|memory| !memory.on_host && !memory.freed);
                if live.count() == MOST_BUFFERS {
                    return;
                }
                let memory = Memory::new(format!("a{}", self.ops.len()), size, false, Some(self.ops.len()));
                let op =
                    json!({"do": "alloc", "stream": stream, "buf": memory.name, "bytes": memory.bytes.len()});
                self.issue(Some(stream), op);
                self.memories.push(memory);
            }
            Act::Free { buffer } => {
                let Some(memory) = self.one_of(buffer, false) else { return };
                let of = &self.memories[memory];
                let all = of.touches.iter().map(|touch| touch.0).chain(of.born).collect();
                let op = json!({"do": "free", "stream": stream, "buf": of.name});
                self.order(Some(stream), join, &all);
                self.issue(Some(stream), op);
                self.memories[memory].freed = true;
            }
            Act::HostRead { from } => {
                let Some(from) = self.block(from, true) else { return };
                let host = &self.memories[from.memory].name;
                let op = json!({"do": "host_read", "host": host, "off": from.at, "len": from.width});
                self.touch(None, join, op, &[(&from, false)]);
            }
            Act::HostWrite { to, value } => {
                let Some(to) = self.block(to, true) else { return };
                let host = &self.memories[to.memory].name;
                let op =
                    json!({"do": "host_write", "host": host, "off": to.at, "len": to.width, "value": value});
                self.write_of(None, join, op, &to, value);
            }
            Act::Record => drop(self.record(stream)),
            Act::Wait { event } => self.wait(stream, event % EVENTS),
            Act::Synchronize => self.synchronize(stream),
        }
    }

    /// Copies every byte that somebody wrote to the host.
    fn end(&mut self) {
        self.synchronize_all();
        for memory in 0..self.memories.len() {
            let of = &self.memories[memory];
            if of.on_host || of.freed {
                continue;
            }
            let (runs, mut result) = (of.runs(memory), of.clone());
            (result.name, result.on_host, result.born) = (format!("end_{}", of.name), true, None);
            (result.touches, result.bytes) = (Vec::new(), vec![0; of.bytes.len()]);
            let host = self.memories.len();
            self.memories.push(result);
            for from in runs {
                self.download(0, Join::Event, &Block { memory: host, ..from.clone() }, &from);
            }
        }
        self.synchronize_all();
    }
}
