//! Computes the verdict by brute force: reachability over all pairs of operations, and a set with an entry for
//! each byte. The oracle and the judge share only the format of programs.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

/// The expected verdict on a program, in the form of its file.
pub(crate) fn expect(program: &Value) -> Value {
    let ops = program["ops"].as_array().expect("a program has operations");
    let before = Before::new(ops, number(program, "streams"));
    let mut world = World::new(program);
    for (index, op) in ops.iter().enumerate() {
        if let Some((kind, with)) = world.judge(op, index, &before) {
            return json!({"verdict": "error", "kind": kind, "op": index, "with": with});
        }
        world.act(op, index);
    }
    let hosts: BTreeMap<_, _> = world.hosts.iter().map(|(name, bytes)| (name.clone(), hex(bytes))).collect();
    json!({"verdict": "ok", "hosts": hosts})
}

/// The order of operations: the operations that happen before each operation.
struct Before {
    reach: Vec<Vec<bool>>,
}

impl Before {
    /// Gives each operation two nodes: node `2 i` is its execution, and node `2 i + 1` is the moment when the
    /// host has gone past it.
    fn new(ops: &[Value], streams: usize) -> Self {
        let count = 2 * ops.len();
        let mut reach = vec![vec![false; count]; count];
        let mut last: Vec<Option<usize>> = vec![None; streams];
        let mut recorded: HashMap<u64, usize> = HashMap::new();
        for (i, op) in ops.iter().enumerate() {
            let (run, past) = (2 * i, 2 * i + 1);
            if i > 0 {
                reach[past - 2][past] = true;
                reach[past - 2][run] = true;
            }
            let event = op["event"].as_u64();
            match kind(op) {
                "host_read" | "host_write" => reach[run][past] = true,
                "sync_stream" => {
                    if let Some(before) = last[number(op, "stream")] {
                        reach[before][past] = true;
                    }
                }
                "sync_event" => {
                    if let Some(&record) = event.and_then(|event| recorded.get(&event)) {
                        reach[record][past] = true;
                    }
                }
                "sync_device" => last.iter().flatten().for_each(|&before| reach[before][past] = true),
                other => {
                    let stream = number(op, "stream");
                    if let Some(before) = last[stream].replace(run) {
                        reach[before][run] = true;
                    }
                    match (other, event) {
                        ("record", Some(event)) => drop(recorded.insert(event, run)),
                        ("wait", Some(event)) => {
                            if let Some(&record) = recorded.get(&event) {
                                reach[record][run] = true;
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        for middle in 0..count {
            for from in 0..count {
                if reach[from][middle] {
                    let further = reach[middle].clone();
                    reach[from].iter_mut().zip(further).for_each(|(known, more)| *known |= more);
                }
            }
        }
        Self { reach }
    }

    fn holds(&self, earlier: usize, later: usize) -> bool {
        self.reach[2 * earlier][2 * later]
    }
}

/// One access to one memory.
struct Touch {
    op: usize,
    memory: String,
    bytes: HashSet<usize>,
    write: bool,
}

/// One side of an operation, before its range is checked.
struct Side {
    memory: String,
    offset: usize,
    pitch: usize,
    width: usize,
    height: usize,
    write: bool,
}

impl Side {
    fn end(&self) -> usize {
        self.offset + (self.height - 1) * self.pitch + self.width
    }

    /// Lists the bytes in the order of the copy.
    fn bytes(&self) -> Vec<usize> {
        let row = |y: usize| (0..self.width).map(move |x| self.offset + y * self.pitch + x);
        (0..self.height).flat_map(row).collect()
    }
}

/// The memories as they would be if every operation ran when it was issued.
struct World {
    sizes: HashMap<String, usize>,
    allocated: HashMap<String, usize>,
    freed: HashMap<String, usize>,
    touches: Vec<Touch>,
    buffers: HashMap<String, Vec<(u8, bool)>>,
    hosts: BTreeMap<String, Vec<u8>>,
}

impl World {
    fn new(program: &Value) -> Self {
        let mut world = Self {
            sizes: HashMap::new(),
            allocated: HashMap::new(),
            freed: HashMap::new(),
            touches: Vec::new(),
            buffers: HashMap::new(),
            hosts: BTreeMap::new(),
        };
        let list = |name: &str| program[name].as_array().expect("a list").clone();
        for buffer in list("buffers") {
            let init = buffer["init"].as_bool().expect("a flag");
            world.sizes.insert(text(&buffer, "id"), number(&buffer, "bytes"));
            world.buffers.insert(text(&buffer, "id"), vec![(0, init); number(&buffer, "bytes")]);
        }
        for host in list("hosts") {
            world.sizes.insert(text(&host, "id"), number(&host, "bytes"));
            world.hosts.insert(text(&host, "id"), vec![0; number(&host, "bytes")]);
        }
        world
    }

    fn judge(&mut self, op: &Value, index: usize, before: &Before) -> Option<(&'static str, Vec<usize>)> {
        let sides = sides(op);
        if sides.iter().any(|side| side.end() > self.sizes[&side.memory]) {
            return Some(("out_of_bounds", vec![]));
        }
        let freeing = (kind(op) == "free").then(|| text(op, "buf"));
        let device = sides.iter().map(|side| &side.memory).chain(&freeing);
        for memory in device.filter(|memory| !self.hosts.contains_key(*memory)) {
            if let Some(&free) = self.freed.get(memory) {
                return Some(("use_after_free", vec![free]));
            }
            if let Some(&alloc) = self.allocated.get(memory)
                && !before.holds(alloc, index)
            {
                return Some(("use_before_alloc", vec![alloc]));
            }
        }
        if let Some(memory) = &freeing {
            let open = |touch: &&Touch| touch.memory == *memory && !before.holds(touch.op, index);
            let mut with: Vec<_> = self.touches.iter().filter(open).map(|touch| touch.op).collect();
            with.dedup();
            if !with.is_empty() {
                return Some(("use_after_free", with));
            }
        }
        let mut with = Vec::new();
        for side in &sides {
            let bytes: HashSet<usize> = side.bytes().into_iter().collect();
            for touch in &self.touches {
                let same = touch.memory == side.memory && !touch.bytes.is_disjoint(&bytes);
                if same && (touch.write || side.write) && !before.holds(touch.op, index) {
                    with.push(touch.op);
                }
            }
        }
        with.sort_unstable();
        with.dedup();
        if !with.is_empty() {
            return Some(("race", with));
        }
        if let [one, two] = &sides[..]
            && one.memory == two.memory
            && one.bytes().iter().any(|at| two.bytes().contains(at))
        {
            return Some(("overlap", vec![]));
        }
        if kind(op) == "download"
            && sides[0].bytes().into_iter().any(|at| !self.buffers[&sides[0].memory][at].1)
        {
            return Some(("uninit", vec![]));
        }
        for side in sides {
            let bytes = side.bytes().into_iter().collect();
            self.touches.push(Touch { op: index, memory: side.memory, bytes, write: side.write });
        }
        None
    }

    fn act(&mut self, op: &Value, index: usize) {
        let sides = sides(op);
        let value = || (u8::try_from(number(op, "value")).expect("a byte"), true);
        match kind(op) {
            "alloc" => {
                let (name, bytes) = (text(op, "buf"), number(op, "bytes"));
                self.allocated.insert(name.clone(), index);
                self.buffers.insert(name.clone(), vec![(0, false); bytes]);
                self.sizes.insert(name, bytes);
            }
            "free" => drop(self.freed.insert(text(op, "buf"), index)),
            "fill" => self.write(&sides[0], |_| value()),
            "host_write" => self.write(&sides[0], |_| value()),
            "copy" | "copy2d" | "upload" | "download" => {
                let held: Vec<(u8, bool)> =
                    sides[0].bytes().into_iter().map(|at| self.read(&sides[0].memory, at)).collect();
                self.write(&sides[1], |position| held[position]);
            }
            _ => {}
        }
    }

    fn read(&self, memory: &str, at: usize) -> (u8, bool) {
        self.hosts.get(memory).map_or_else(|| self.buffers[memory][at], |bytes| (bytes[at], true))
    }

    fn write(&mut self, side: &Side, value: impl Fn(usize) -> (u8, bool)) {
        for (position, at) in side.bytes().into_iter().enumerate() {
            match self.hosts.get_mut(&side.memory) {
                Some(bytes) => bytes[at] = value(position).0,
                None => self.buffers.get_mut(&side.memory).expect("known")[at] = value(position),
            }
        }
    }
}

/// Lists the accesses of an operation, reads first.
fn sides(op: &Value) -> Vec<Side> {
    let side = |memory: &str, offset: &str, write: bool| {
        let len = number(op, "len");
        let (memory, offset) = (text(op, memory), number(op, offset));
        Side { memory, offset, pitch: len, width: len, height: 1, write }
    };
    let block = |memory: &str, offset: &str, pitch: &str, write: bool| Side {
        memory: text(op, memory),
        offset: number(op, offset),
        pitch: number(op, pitch),
        width: number(op, "width"),
        height: number(op, "height"),
        write,
    };
    match kind(op) {
        "fill" => vec![side("buf", "off", true)],
        "copy" => vec![side("src", "src_off", false), side("dst", "dst_off", true)],
        "copy2d" => {
            vec![block("src", "src_off", "src_pitch", false), block("dst", "dst_off", "dst_pitch", true)]
        }
        "upload" => vec![side("host", "host_off", false), side("dst", "dst_off", true)],
        "download" => vec![side("src", "src_off", false), side("host", "host_off", true)],
        "host_read" => vec![side("host", "off", false)],
        "host_write" => vec![side("host", "off", true)],
        _ => vec![],
    }
}

fn kind(op: &Value) -> &str {
    op["do"].as_str().expect("an operation has a kind")
}

fn number(value: &Value, field: &str) -> usize {
    usize::try_from(value[field].as_u64().unwrap_or_else(|| panic!("{field} of {value}"))).expect("small")
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("{field} of {value}")).to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
