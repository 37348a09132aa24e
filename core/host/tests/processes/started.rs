//! The processes of a test.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use devarray::{Context, StreamHandle, collective::Communicator, processes::Launched};
use devarray_host::HostDevice;

use crate::{hostile, killed, values};

/// The task of a started process.
const TASK: &str = "DEVARRAY_TEST_TASK";
/// For how long ranks wait for each other.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(30);

pub(crate) type Ranks = Communicator<HostDevice>;
pub(crate) type Stream = StreamHandle<HostDevice>;

/// The part of a started process. Alone it does nothing.
#[test]
fn child() {
    let Ok(task) = env::var(TASK) else { return };
    let launched = Launched::from_environment().unwrap();
    let context = context();
    let stream = context.stream().unwrap();
    let id = launched.id(TIME_LIMIT).unwrap();
    let ranks = Communicator::join(&context, &id, launched.rank(), launched.ranks()).unwrap();
    drop(id);
    match task.as_str() {
        "values" => println!("digest {:016x}", values::digest(ranks, &stream)),
        "killed" => killed::rank(ranks, &stream),
        "hostile" => hostile::rank(ranks, &stream),
        other => panic!("no task {other}"),
    }
}

pub(crate) fn context() -> Context<HostDevice> {
    Context::new(HostDevice::builder().capacity_bytes(64 << 20).threads(1).build()).unwrap()
}

/// A command that runs [`child`].
pub(crate) fn command(program: &mut Command, task: &str) {
    program.args(["--exact", "started::child", "--nocapture", "--test-threads=1"]).env(TASK, task);
    program.stdout(Stdio::piped()).stderr(Stdio::inherit()).stdin(Stdio::piped());
}

/// A folder for what the processes of a test leave behind, which is nothing.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("devarray-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, SeqCst));
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn assert_empty(&self) {
        let left: Vec<_> = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Processes, with the variables of torchrun. They are killed when this is dropped.
pub(crate) struct Started {
    pub(crate) children: Vec<Child>,
    outputs: Vec<BufReader<ChildStdout>>,
    pub(crate) port: u16,
    folder: Folder,
}

impl Started {
    pub(crate) fn new(count: usize, task: &str) -> Self {
        let folder = Folder::new();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let start = |rank: usize| {
            let mut program = Command::new(env::current_exe().unwrap());
            command(&mut program, task);
            program.env("TMPDIR", &folder.0).env("DEVARRAY_SECRET", "a secret of this test");
            program.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
            for (name, value) in [("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", count)] {
                program.env(name, value.to_string());
            }
            program.spawn().unwrap()
        };
        let mut children: Vec<_> = (0..count).map(start).collect();
        let output = |child: &mut Child| BufReader::new(child.stdout.take().unwrap());
        let outputs = children.iter_mut().map(output).collect();
        Self { children, outputs, port, folder }
    }

    /// Blocks until the rank has printed a line that begins so. The rest of it.
    pub(crate) fn wait_for(&mut self, rank: usize, begin: &str) -> String {
        let mut line = String::new();
        while self.outputs[rank].read_line(&mut line).unwrap() > 0 {
            // The first line of a test begins with its name.
            if let Some((_, rest)) = line.split_once(begin) {
                return rest.trim().to_owned();
            }
            line.clear();
        }
        panic!("rank {rank} ended without {begin:?}: {:?}", self.children[rank].wait());
    }

    /// Waits until the process of the rank exits. Returns the text that it printed since.
    pub(crate) fn end(&mut self, rank: usize, within: Duration) -> String {
        let ends = Instant::now() + within;
        let status = loop {
            if let Some(status) = self.children[rank].try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < ends, "rank {rank} did not end within {within:?}");
            thread::sleep(Duration::from_millis(2));
        };
        let mut rest = String::new();
        self.outputs[rank].read_to_string(&mut rest).unwrap();
        assert!(status.success(), "rank {rank}: {status}: {rest}");
        rest
    }

    /// Nothing is left behind.
    pub(crate) fn assert_clean(&self) {
        self.folder.assert_empty();
        TcpListener::bind(("127.0.0.1", self.port)).unwrap();
    }

    /// The memory in KiB, the threads and the descriptors of a rank.
    pub(crate) fn measure(&self, rank: usize) -> [usize; 3] {
        let process = Path::new("/proc").join(self.children[rank].id().to_string());
        let status = fs::read_to_string(process.join("status")).unwrap();
        let field = |name: &str| -> usize {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        [field("VmRSS:"), field("Threads:"), fs::read_dir(process.join("fd")).unwrap().count()]
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        for child in &mut self.children {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// A count that a variable may raise.
pub(crate) fn count(name: &str, normally: usize) -> usize {
    env::var(name).map_or(normally, |text| text.parse().unwrap())
}
