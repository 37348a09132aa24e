//! Graphs on the fake: calls on a stream that captures become nodes, which a launch runs in an order that their edges
//! allow.
#![allow(unsafe_code)] // stands for the driver behind its C interface

use std::{
    collections::HashMap,
    ffi::{c_int, c_uint, c_ulonglong},
    fmt, ptr,
    sync::Arc,
};

use devarray::{
    Array, ArrayView, ArrayViewMut, Compute, Context, Result, StreamHandle, gather::OutOfRange,
    timeline::Profiled,
};
use devarray_cuda::{
    CudaDevice,
    driver::{Function, Table, sys},
};
use sys::{CUgraph, CUgraphExec, CUgraphNode, CUstream};

use super::{
    driver::put,
    state::{Fake, INVALID, State, on, within},
};

/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`.
const NOT_CAPTURED: i32 = 900;

/// A call whose arguments were copied, as the driver copies them.
type Work = Arc<dyn Fn(&mut State) -> i32 + Send + Sync>;

#[derive(Clone)]
struct Node {
    function: Function,
    work: Work,
    /// The nodes that it depends on, by number.
    behind: Vec<usize>,
}

/// The nodes that a stream has captured.
#[derive(Default)]
struct Capture {
    nodes: Vec<Node>,
    /// The nodes that the next one depends on.
    last: Vec<usize>,
    /// Handles on these nodes, where the driver last told them.
    told: Vec<CUgraphNode>,
}

// SAFETY: the handles are numbers.
unsafe impl Send for Capture {}

/// The order in which a launch runs nodes that do not depend on each other.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Turns {
    /// The order in which they were captured.
    #[default]
    Captured,
    /// One of each branch, and then the next of each.
    Across,
    /// The last first.
    Backwards,
    /// By no edge: the first of each group of this many nodes, and then the second of each.
    Loose(usize),
}

/// The graphs of the fake, and what each stream has captured so far.
#[derive(Default)]
pub(crate) struct Graphs {
    captures: HashMap<usize, Capture>,
    graphs: HashMap<usize, Vec<Node>>,
    executables: HashMap<usize, Vec<Node>>,
    pub(crate) turns: Turns,
}

impl fmt::Debug for Graphs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [self.captures.len(), self.graphs.len(), self.executables.len()];
        write!(f, "Graphs({counts:?})")
    }
}

impl Graphs {
    /// The nodes of the one graph: the calls, and the nodes that each depends on.
    pub(crate) fn only(&self) -> Vec<(Function, Vec<usize>)> {
        let nodes = self.executables.values().next().unwrap();
        nodes.iter().map(|node| (node.function, node.behind.clone())).collect()
    }

    pub(crate) fn captures(&self, stream: usize) -> bool {
        self.captures.contains_key(&stream)
    }

    /// A stream that is destroyed captures no more.
    pub(crate) fn forget(&mut self, stream: usize) {
        self.captures.remove(&stream);
    }
}

/// Runs a call on a live stream. A stream that captures adds it to its graph instead.
pub(crate) fn enqueue(
    stream: CUstream,
    function: Function,
    call: impl Fn(&mut State) -> i32 + Send + Sync + 'static,
) -> i32 {
    within(function, |state| {
        if !state.alive(stream.addr(), "stream") {
            return 400;
        }
        enqueue_in(state, stream, function, call)
    })
}

/// Runs or captures a call inside one that has found its stream alive.
pub(crate) fn enqueue_in(
    state: &mut State,
    stream: CUstream,
    function: Function,
    call: impl Fn(&mut State) -> i32 + Send + Sync + 'static,
) -> i32 {
    match state.graphs.captures.get_mut(&stream.addr()) {
        Some(Capture { nodes, last, .. }) => {
            let behind = std::mem::replace(last, vec![nodes.len()]);
            nodes.push(Node { function, work: Arc::new(call), behind });
            0
        }
        None => call(state),
    }
}

/// The answer to a call that the fake does not capture.
pub(crate) fn refuse(state: &mut State, function: Function) -> i32 {
    state.misuse.push(format!("{} on a stream that captures", function.symbol()));
    NOT_CAPTURED
}

unsafe extern "C" fn begin(stream: CUstream, mode: c_int) -> i32 {
    on(stream, Function::StreamBeginCapture, |state| {
        // Relaxed is 2 in cuda.h.
        if mode != 2 {
            return INVALID;
        }
        state.graphs.captures.insert(stream.addr(), Capture::default());
        0
    })
}

unsafe extern "C" fn end(stream: CUstream, at: *mut CUgraph) -> i32 {
    within(Function::StreamEndCapture, |state| {
        // CUDA_ERROR_ILLEGAL_STATE where it captures nothing.
        let Some(Capture { nodes, .. }) = state.graphs.captures.remove(&stream.addr()) else { return 401 };
        let graph = state.create("graph");
        state.graphs.graphs.insert(graph, nodes);
        put(at, ptr::without_provenance_mut(graph))
    })
}

/// A handle on a node of a stream's capture. Nodes have none of their own.
const NODES: usize = 0x100;

unsafe extern "C" fn info(
    stream: CUstream,
    status: *mut c_int,
    id: *mut c_ulonglong,
    graph: *mut CUgraph,
    nodes: *mut *const CUgraphNode,
    count: *mut usize,
) -> i32 {
    within(Function::StreamGetCaptureInfo, |state| {
        let Some(capture) = state.graphs.captures.get_mut(&stream.addr()) else { return put(status, 0) };
        capture.told = capture.last.iter().map(|node| ptr::without_provenance_mut(node + NODES)).collect();
        // CU_STREAM_CAPTURE_STATUS_ACTIVE.
        put(status, 1)
            + put(id, 1)
            + put(graph, ptr::null_mut())
            + put(nodes, capture.told.as_ptr())
            + put(count, capture.told.len())
    })
}

unsafe extern "C" fn update(stream: CUstream, nodes: *mut CUgraphNode, count: usize, flags: c_uint) -> i32 {
    within(Function::StreamUpdateCaptureDependencies, |state| {
        let Some(capture) = state.graphs.captures.get_mut(&stream.addr()) else { return 401 };
        let given: &[CUgraphNode] = match count {
            0 => &[],
            // SAFETY: the caller has as many nodes there.
            count => unsafe { std::slice::from_raw_parts(nodes, count) },
        };
        let given = given.iter().map(|node| node.addr().checked_sub(NODES));
        let Some(given) = given.collect::<Option<Vec<usize>>>() else { return INVALID };
        if flags > 1 || given.iter().any(|&node| node >= capture.nodes.len()) {
            return INVALID;
        }
        // CU_STREAM_SET_CAPTURE_DEPENDENCIES.
        if flags == 1 {
            capture.last.clear();
        }
        capture.last.extend(given);
        capture.last.sort_unstable();
        capture.last.dedup();
        0
    })
}

unsafe extern "C" fn instantiate(at: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) -> i32 {
    within(Function::GraphInstantiate, |state| {
        let Some(nodes) = state.graphs.graphs.get(&graph.addr()).cloned() else { return 400 };
        if flags != 0 {
            return INVALID;
        }
        let executable = state.create("executable graph");
        state.graphs.executables.insert(executable, nodes);
        put(at, ptr::without_provenance_mut(executable))
    })
}

unsafe extern "C" fn launch(executable: CUgraphExec, stream: CUstream) -> i32 {
    on(stream, Function::GraphLaunch, |state| {
        let Some(nodes) = state.graphs.executables.get(&executable.addr()).cloned() else { return 400 };
        let order = order(&nodes, state.graphs.turns);
        order.into_iter().map(|node| (nodes[node].work)(state)).find(|&code| code != 0).unwrap_or(0)
    })
}

fn order(nodes: &[Node], turns: Turns) -> Vec<usize> {
    if let Turns::Loose(of) = turns {
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|node| node % of);
        return order;
    }
    let (mut order, mut done) = (Vec::new(), vec![false; nodes.len()]);
    while order.len() < nodes.len() {
        let mut ready: Vec<usize> = (0..nodes.len())
            .filter(|&node| !done[node] && nodes[node].behind.iter().all(|&earlier| done[earlier]))
            .collect();
        match turns {
            Turns::Captured => ready.truncate(1),
            Turns::Across | Turns::Loose(_) => {}
            Turns::Backwards => ready = vec![*ready.last().unwrap()],
        }
        for node in ready {
            done[node] = true;
            order.push(node);
        }
    }
    order
}

unsafe extern "C" fn destroy_executable(executable: CUgraphExec) -> i32 {
    within(Function::GraphExecDestroy, |state| {
        state.graphs.executables.remove(&executable.addr());
        state.destroy(executable.addr(), "executable graph")
    })
}

unsafe extern "C" fn destroy(graph: CUgraph) -> i32 {
    within(Function::GraphDestroy, |state| {
        state.graphs.graphs.remove(&graph.addr());
        state.destroy(graph.addr(), "graph")
    })
}

pub(crate) fn table(mut table: Table) -> Table {
    table.stream_begin_capture = Some(begin);
    table.stream_end_capture = Some(end);
    table.stream_get_capture_info = Some(info);
    table.stream_update_capture_dependencies = Some(update);
    table.graph_instantiate = Some(instantiate);
    table.graph_launch = Some(launch);
    table.graph_exec_destroy = Some(destroy_executable);
    table.graph_destroy = Some(destroy);
    table
}

/// More than a read back fetches by a kernel of its own.
const LEN: usize = 2000;

/// Two fills, a copy, elements by index and three functions; some may run beside the others.
fn step<D: Compute>(
    on: &StreamHandle<D>,
    from: &ArrayView<'_, u32, D>,
    to: &mut ArrayViewMut<'_, u32, D>,
    k: &ArrayView<'_, u32, D>,
) -> Result<()> {
    let mut sum = Array::<u32, _>::zeros(on, &[LEN])?;
    // Not shipped as machine code, whose failure to load is passed over.
    sum.update(on, from, |sum, x| (sum + x) * 3 + 1)?;
    let mut copy = Array::<u32, _>::uninit(on, &[LEN])?;
    copy.view_mut().copy_from(on, &sum.view())?;
    let beside = from.map(on, |x| x * 5 + 2)?;
    let beside = beside.take(on, &Array::<i32, _>::zeros(on, &[1])?, 0, OutOfRange::Error)?;
    to.update(on, (&copy, &beside, k), |to, (x, beside, k)| to + x + beside + k)
}

/// Records them, and launches them with two pairs of arrays.
pub(crate) fn program<D: Compute>(stream: &StreamHandle<D>) -> Result<()> {
    let from = Array::full(stream, &[LEN], 3_u32)?;
    let mut to = Array::<u32, _>::zeros(stream, &[LEN])?;
    let recorded =
        stream.record_work((&from, &mut to, 0_u32), |on, (from, mut to, k)| step(on, &from, &mut to, &k))?;
    recorded.launch(stream, (&from, &mut to, 1))?;
    recorded.launch(stream, (&from, &mut to, 10))?;
    assert_eq!(to.view().to_vec(stream)?, [2 * (10 + 17) + 11; LEN]);
    let mut other = Array::<u32, _>::zeros(stream, &[LEN])?;
    recorded.launch(stream, (&to, &mut other, 0))?;
    assert_eq!(other.view().to_vec(stream)?, [3 * 65 + 1 + 5 * 65 + 2; LEN]);
    Ok(())
}

#[test]
fn recorded_work_is_one_launch() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    program(&stream).unwrap();
    let driver = context.device().driver();
    assert_eq!(driver.calls(Function::GraphLaunch), 3);
    drop(stream);
    assert_eq!(context.take_errors(), []);
    drop(context);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

/// Functions of one recording are more than a stream remembers, and later ones more than a context keeps.
#[test]
fn kernels_of_a_graph_stay_loaded() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    let mut sum = Array::<u32, _>::zeros(&stream, &[4]).unwrap();
    let add =
        |on: &StreamHandle<_>, sum: &mut ArrayViewMut<'_, u32, _>, n: u32| sum.update(on, (), |x, ()| x + n);
    let recorded = stream
        .record_work((&mut sum,), |on, (mut sum,)| (0..40).try_for_each(|n| add(on, &mut sum, n)))
        .unwrap();
    recorded.launch(&stream, (&mut sum,)).unwrap();
    assert!(recorded.is_captured());
    for n in 0..1_200 {
        add(&stream, &mut sum.view_mut(), 1_000 + n).unwrap();
    }
    let statistics = context.device().function_statistics();
    assert!(statistics.evicted >= 200, "{statistics:?}");
    sum.view_mut().fill(&stream, 0).unwrap();
    recorded.launch(&stream, (&mut sum,)).unwrap();
    assert_eq!(sum.to_vec(&stream).unwrap(), [40 * 39 / 2; 4]);
    // When the graph has gone, its kernels go as others do.
    let modules = || fake.state(|state| state.live.values().filter(|kind| **kind == "module").count());
    let before = modules();
    drop(recorded);
    for n in 0..3 {
        add(&stream, &mut sum.view_mut(), 5_000 + n).unwrap();
    }
    assert!(modules() + 30 < before, "{} of {before}", modules());
    drop((sum, stream));
    assert_eq!(context.take_errors(), []);
    drop(context);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

/// A launch is one operation of a timeline, which counts its parts.
#[test]
fn a_launch_is_told_with_its_parts() {
    let fake = Fake::new();
    let profiled = Profiled::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let context = Context::new(profiled.clone()).unwrap();
    program(&context.stream().unwrap()).unwrap();
    let timeline = profiled.timeline();
    let launches: Vec<_> = timeline
        .tracks
        .iter()
        .flat_map(|track| &track.spans)
        .filter(|span| span.name == "launch")
        .map(|span| span.note.clone().unwrap_or_default())
        .collect();
    // Each is a call of the host and an operation of the stream.
    assert_eq!(launches, ["7 operations: 2 fill, 3 map, 1 copy, 1 take"; 6]);
    assert_eq!(profiled.device().driver().calls(Function::GraphLaunch), 3);
    drop((context, profiled));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}
