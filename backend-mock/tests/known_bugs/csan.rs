//! Runs the tests of PyTorch's CUDA sanitizer, which also judges streams and events, with this judge. A
//! kernel that reads becomes a copy to bytes of its own, and a kernel that writes becomes a fill.

use devarray::{Array, Context};
use devarray_mock::{Code, MockDevice, program::Program};
use serde_json::{Value, json};

use crate::safe::unchecked_stream;

const TENSORS: usize = 12;
const TENSOR_BYTES: usize = 8;
const STREAMS: usize = 12;
const EVENTS: usize = 12;

/// Kernels on streams, and events between them.
#[derive(Default)]
struct Launches {
    ops: Vec<Value>,
    reads: usize,
}

impl Launches {
    fn launch(mut self, stream: usize, read: &[usize], written: &[usize]) -> Self {
        for &tensor in read {
            self.ops.push(
                json!({"do": "copy", "stream": stream, "src": name(tensor), "src_off": 0, "dst": "read",
                "dst_off": self.reads * TENSOR_BYTES, "len": TENSOR_BYTES}),
            );
            self.reads += 1;
        }
        for &tensor in written {
            self.ops.push(
                json!({"do": "fill", "stream": stream, "buf": name(tensor), "off": 0, "len": TENSOR_BYTES,
                "value": 1}),
            );
        }
        self
    }

    fn record(mut self, event: usize, stream: usize) -> Self {
        self.ops.push(json!({"do": "record", "stream": stream, "event": event}));
        self
    }

    fn wait(mut self, event: usize, stream: usize) -> Self {
        self.ops.push(json!({"do": "wait", "stream": stream, "event": event}));
        self
    }

    /// Checks that the program is right up to the last operation, and returns the finding for the last one.
    fn last(mut self) -> Result<(), Code> {
        let last = self.ops.len().checked_sub(1);
        self.ops.push(json!({"do": "sync_device"}));
        let mut buffers: Vec<Value> =
            (0..TENSORS).map(|k| json!({"id": name(k), "bytes": TENSOR_BYTES, "init": true})).collect();
        buffers.push(json!({"id": "read", "bytes": 256, "init": true}));
        let program = json!({"id": "launches", "buffers": buffers, "hosts": [], "streams": STREAMS, "events": EVENTS,
            "ops": self.ops});
        let program = Program::parse(program.to_string().as_bytes()).unwrap();
        program.play_on_mock(&MockDevice::new()).unwrap().map(drop).map_err(|finding| {
            assert_eq!(usize::try_from(finding.operation.number).ok(), last, "{finding}");
            finding.code
        })
    }

    #[track_caller]
    fn passes(self) {
        assert_eq!(self.last(), Ok(()));
    }

    #[track_caller]
    fn ends_in_a_race(self) {
        assert_eq!(self.last(), Err(Code::Race));
    }
}

fn name(tensor: usize) -> String {
    format!("t{tensor}")
}

fn launches() -> Launches {
    Launches::default()
}

#[test]
fn empty_kernel_launch() {
    launches().launch(0, &[], &[]).passes();
}

#[test]
fn simple_passing() {
    launches().launch(1, &[1], &[]).launch(2, &[1], &[]).passes();
}

#[test]
fn simple_error() {
    launches().launch(1, &[1], &[]).launch(2, &[], &[1]).ends_in_a_race();
}

#[test]
fn simple_sync() {
    launches().launch(1, &[1], &[]).record(0, 1).wait(0, 2).launch(2, &[], &[1]).passes();
}

#[test]
fn reads_check_last_write() {
    let read_in_order = || launches().launch(1, &[], &[1]).record(0, 1).wait(0, 2).launch(2, &[1], &[]);
    read_in_order().passes();
    read_in_order().launch(3, &[1], &[]).ends_in_a_race();
}

#[test]
fn branch_sync() {
    let branches = || launches().launch(1, &[], &[1]).record(0, 1).wait(0, 2).wait(0, 3);
    let both_read = || branches().launch(2, &[1], &[]).launch(3, &[1], &[]);
    both_read().passes();
    both_read().launch(2, &[], &[1]).ends_in_a_race();
}

#[test]
fn chain_sync() {
    let links = 10;
    let chain = |without: usize| {
        let link = |launches: Launches, k| {
            let recorded = launches.record(k, k);
            if k == without { recorded } else { recorded.wait(k, k + 1) }
        };
        (0..links).fold(launches().launch(0, &[1], &[]), link).launch(links, &[], &[1])
    };
    chain(links).passes();
    (0..links).for_each(|missing| chain(missing).ends_in_a_race());
}

#[test]
fn expired_record() {
    let reads = launches().launch(1, &[1], &[]).record(0, 1).launch(1, &[1], &[]);
    reads.wait(0, 2).launch(2, &[], &[1]).ends_in_a_race();
}

/// Waiting for an event that was dropped does not compile. An event made in its place was never
/// recorded.
#[test]
fn deleted_record() {
    let other_event = 1;
    launches().launch(1, &[1], &[]).record(0, 1).wait(other_event, 2).launch(2, &[], &[1]).ends_in_a_race();
}

/// Ten readers, and a writer that waits for the first `waited` of them.
fn readers(waited: usize) -> Launches {
    let read = |launches: Launches, k| launches.launch(k, &[1], &[]).record(k, k);
    let launches = (1..=10).fold(launches(), read);
    (1..=waited).fold(launches, |launches, k| launches.wait(k, 0)).launch(0, &[], &[1])
}

#[test]
fn all_reads_checked_failing() {
    readers(9).ends_in_a_race();
}

#[test]
fn all_reads_checked_passing() {
    readers(10).passes();
}

#[test]
fn multiple_errors() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let streams = [(); 2].map(|()| unchecked_stream(&context));
    let mut tensors = [(); 10].map(|()| Array::<u8, _>::zeros(&streams[0], &[TENSOR_BYTES]).unwrap());
    streams[0].synchronize().unwrap();
    for stream in &streams {
        for tensor in &mut tensors {
            tensor.view_mut().fill(stream, 1).unwrap();
        }
    }
    let findings = device.report().findings;
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [Code::Race; 10]);
    streams.iter().for_each(|stream| stream.synchronize().unwrap());
}

#[test]
fn correct_state_merging() {
    let twice_written = || {
        let once = launches().launch(1, &[], &[1]).launch(2, &[], &[2]).record(1, 1).record(2, 2);
        once.launch(1, &[], &[1]).launch(2, &[], &[2]).wait(1, 2).wait(2, 1)
    };
    twice_written().record(3, 2).wait(3, 1).launch(1, &[], &[1, 2]).passes();
    twice_written().launch(1, &[], &[1, 2]).ends_in_a_race();
}

#[test]
fn record_override() {
    let reads = launches().launch(1, &[1], &[]).launch(2, &[2], &[]).record(1, 1).record(1, 2);
    reads.wait(1, 3).launch(3, &[], &[1]).ends_in_a_race();
}

#[test]
fn multiple_wait() {
    let waits = launches().launch(1, &[], &[1]).record(1, 1).wait(1, 2).wait(1, 3);
    waits.launch(2, &[1], &[]).launch(3, &[1], &[]).passes();
}
