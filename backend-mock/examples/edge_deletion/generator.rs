//! Generates random programs: arbitrary ones, correct ones, and correct ones from which one edge is removed.

pub(crate) use devarray_conformance::Rng;
use serde_json::{Value, json};

use crate::oracle;

/// The outline of a program: its memories, streams and events, and no operations.
struct Outline {
    buffers: Vec<(String, usize)>,
    hosts: Vec<(String, usize)>,
    streams: usize,
    events: usize,
    allocated: usize,
    program: Value,
}

const SIZES: [usize; 4] = [16, 64, 100, 256];

impl Outline {
    fn new(rng: &mut Rng, id: &str) -> Self {
        let named = |rng: &mut Rng, letter: &str, count: usize| -> Vec<(String, usize)> {
            (0..count).map(|k| (format!("{letter}{k}"), *rng.pick(&SIZES))).collect()
        };
        let count = 1 + rng.below(3);
        let buffers = named(rng, "b", count);
        let count = 1 + rng.below(2);
        let hosts = named(rng, "h", count);
        let (streams, events) = (1 + rng.below(4), 1 + rng.below(3));
        let listed: Vec<_> = buffers
            .iter()
            .map(|(id, bytes)| json!({"id": id, "bytes": bytes, "init": rng.below(5) > 0}))
            .collect();
        let pinned: Vec<_> = hosts.iter().map(|(id, bytes)| json!({"id": id, "bytes": bytes})).collect();
        let program = json!({"id": id, "buffers": listed, "hosts": pinned, "streams": streams, "events": events, "ops": []});
        Self { buffers, hosts, streams, events, allocated: 0, program }
    }

    fn ops(&mut self) -> &mut Vec<Value> {
        self.program["ops"].as_array_mut().expect("a list")
    }

    /// An operation that moves bytes, or allocates or frees.
    fn work(&mut self, rng: &mut Rng) -> Value {
        let stream = rng.below(self.streams);
        let (one, two) = (rng.pick(&self.buffers).clone(), rng.pick(&self.buffers).clone());
        let host = rng.pick(&self.hosts).clone();
        // One range in thirty may reach outside its memory.
        let reach = |rng: &mut Rng, bytes: usize| bytes + if rng.below(30) == 0 { 8 } else { 0 };
        let place = |rng: &mut Rng, bytes: usize, len: usize| {
            let room = reach(rng, bytes).saturating_sub(len);
            rng.below(room + 1)
        };
        let len = 1 + rng.below(one.1.min(two.1).min(host.1).min(24));
        let (at, to) = (place(rng, one.1, len), place(rng, two.1, len));
        let on_host = place(rng, host.1, len);
        let value = rng.below(256);
        match rng.below(20) {
            0..3 => {
                json!({"do": "fill", "stream": stream, "buf": one.0, "off": at, "len": len, "value": value})
            }
            3..6 => {
                json!({"do": "copy", "stream": stream, "src": one.0, "src_off": at, "dst": two.0, "dst_off": to, "len": len})
            }
            6..9 => {
                let (width, height) = (1 + rng.below(4), 1 + rng.below(4));
                let pitches = [width + rng.below(5), width + rng.below(5)];
                let fits = |bytes: usize, pitch: usize| bytes.checked_sub((height - 1) * pitch + width);
                let (Some(at), Some(to)) = (fits(one.1, pitches[0]), fits(two.1, pitches[1])) else {
                    return self.work(rng);
                };
                json!({"do": "copy2d", "stream": stream, "src": one.0, "src_off": rng.below(at + 1), "src_pitch": pitches[0],
                    "dst": two.0, "dst_off": rng.below(to + 1), "dst_pitch": pitches[1], "width": width, "height": height})
            }
            9..12 => {
                json!({"do": "upload", "stream": stream, "host": host.0, "host_off": on_host, "dst": one.0, "dst_off": at, "len": len})
            }
            12..15 => {
                json!({"do": "download", "stream": stream, "src": one.0, "src_off": at, "host": host.0, "host_off": on_host, "len": len})
            }
            15 => json!({"do": "host_read", "host": host.0, "off": on_host, "len": len}),
            16 => json!({"do": "host_write", "host": host.0, "off": on_host, "len": len, "value": value}),
            17 | 18 => {
                let (name, bytes) = (format!("a{}", self.allocated), *rng.pick(&SIZES));
                self.allocated += 1;
                self.buffers.push((name.clone(), bytes));
                json!({"do": "alloc", "stream": stream, "buf": name, "bytes": bytes})
            }
            _ => json!({"do": "free", "stream": stream, "buf": one.0}),
        }
    }

    fn edge(&mut self, rng: &mut Rng) -> Value {
        let (stream, event) = (rng.below(self.streams), rng.below(self.events));
        match rng.below(8) {
            0..3 => json!({"do": "record", "stream": stream, "event": event}),
            3..6 => json!({"do": "wait", "stream": stream, "event": event}),
            6 => json!({"do": "sync_stream", "stream": stream}),
            _ => json!({"do": "sync_event", "event": event}),
        }
    }
}

/// Generates an arbitrary program, which may be correct or contain any mistake.
pub(crate) fn any(seed: u64, most_ops: usize) -> Value {
    let mut rng = Rng::new(seed);
    let mut outline = Outline::new(&mut rng, &format!("A{seed}"));
    for _ in 0..2 + rng.below(most_ops - 1) {
        let op = if rng.below(3) == 0 { outline.edge(&mut rng) } else { outline.work(&mut rng) };
        outline.ops().push(op);
    }
    outline.ops().push(json!({"do": "sync_device"}));
    outline.program
}

/// Generates a correct program: it inserts the edges that the operations need, each in a form that is drawn at
/// random, and now and then an edge that no operation needs.
pub(crate) fn right(seed: u64, most_ops: usize) -> Value {
    let mut rng = Rng::new(seed);
    let mut outline = Outline::new(&mut rng, &format!("R{seed}"));
    let ops = 3 + rng.below(most_ops - 2);
    while outline.ops().len() < ops {
        if rng.below(8) == 0 {
            let edge = outline.edge(&mut rng);
            outline.ops().push(edge);
        }
        let before = (outline.ops().len(), outline.buffers.clone());
        let work = outline.work(&mut rng);
        outline.ops().push(work.clone());
        if work["do"] == "free" {
            outline.buffers.retain(|(name, _)| work["buf"] != **name);
        }
        let mut verdict = oracle::expect(&outline.program);
        for _ in 0..4 {
            if verdict["verdict"] == "ok" || verdict["kind"] == "out_of_bounds" {
                break;
            }
            let Some(earlier) = verdict["with"].get(0).and_then(Value::as_u64) else { break };
            let earlier = outline.ops()[usize::try_from(earlier).expect("small")].clone();
            let work = outline.ops().pop().expect("the work is last");
            let edges = joining(&mut rng, &earlier, &work, outline.events);
            outline.ops().extend(edges);
            outline.ops().push(work);
            verdict = oracle::expect(&outline.program);
        }
        if verdict["verdict"] != "ok" || outline.buffers.is_empty() {
            outline.ops().truncate(before.0);
            outline.buffers = before.1.clone();
            outline.buffers.retain(|(name, _)| work["do"] != "alloc" || work["buf"] != **name);
        }
    }
    outline.ops().push(json!({"do": "sync_device"}));
    outline.program
}

/// Operations that order `work` after `earlier`.
fn joining(rng: &mut Rng, earlier: &Value, work: &Value, events: usize) -> Vec<Value> {
    let (from, event) = (&earlier["stream"], rng.below(events));
    let record = json!({"do": "record", "stream": from, "event": event});
    let wait = json!({"do": "wait", "stream": work["stream"], "event": event});
    match (work["stream"].is_null(), rng.below(6)) {
        (false, 0..4) => vec![record, wait],
        (_, 0 | 4) => vec![record, json!({"do": "sync_event", "event": event})],
        (_, 1) => vec![json!({"do": "sync_device"})],
        _ => vec![json!({"do": "sync_stream", "stream": from})],
    }
}

/// Removes one edge from the program. Returns none if the program has no edge.
pub(crate) fn without_an_edge(program: &Value, rng: &mut Rng) -> Option<Value> {
    let ops = program["ops"].as_array().expect("a list");
    let is_edge = |op: &Value| {
        ["record", "wait", "sync_stream", "sync_event", "sync_device"].iter().any(|kind| op["do"] == **kind)
    };
    let edges: Vec<usize> = (0..ops.len() - 1).filter(|&index| is_edge(&ops[index])).collect();
    if edges.is_empty() {
        return None;
    }
    let mut shorter = program.clone();
    shorter["ops"].as_array_mut().expect("a list").remove(*rng.pick(&edges));
    Some(shorter)
}
