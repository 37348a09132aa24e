//! Memory and events of another process, which is this test started once more.
#![allow(unsafe_code)] // opens memory and events that the other process keeps

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

use devarray::{
    Array, Context, Device as _, Error, Result, StreamHandle,
    ipc::{RemoteArray, RemoteEvent},
};
use devarray_host::HostDevice;

use crate::gates::{self, Wait};

/// The variable that says what the other process does.
const PART: &str = "DEVARRAY_TEST_PART";
/// The prefix of lines for the other process; the test harness prints lines without it.
const MARK: &str = "said: ";

fn stream() -> Result<StreamHandle<HostDevice>> {
    Context::new(HostDevice::builder().capacity_bytes(256 << 20).threads(2).build())?.stream()
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn of_hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|k| u8::from_str_radix(&text[2 * k..][..2], 16).unwrap()).collect()
}

/// The other process.
struct Other {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Other {
    fn start(part: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "ipc::the_other_process", "--nocapture"])
            .env(PART, part)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, to, from }
    }

    fn tell(&mut self, text: &str) {
        writeln!(self.to, "{text}").unwrap();
    }

    fn hear(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the other process has ended");
            if let Some((_, text)) = line.split_once(MARK) {
                return text.trim().to_owned();
            }
        }
    }
}

fn say(text: &str) {
    println!("{MARK}{text}");
}

fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// Does nothing unless a test below starts it.
#[test]
fn the_other_process() -> Result<()> {
    match env::var(PART).as_deref() {
        Ok("share") => share(true),
        Ok("hurry") => share(false),
        Ok("die") => die(),
        _ => Ok(()),
    }
}

/// Reads an array, after an event or at once, writes it, and says when that is done.
fn share(waits: bool) -> Result<()> {
    let stream = stream()?;
    let remote = RemoteArray::from_bytes(&of_hex(&listen())).unwrap();
    // SAFETY: the first process keeps it until this one has ended, and events order the two.
    let mut array = unsafe { Array::<u32, _>::open(&stream, &remote) }?;
    let event = RemoteEvent::from_bytes(&of_hex(&listen())).unwrap();
    if waits {
        // SAFETY: the first process keeps it until this one says what it read.
        unsafe { stream.wait_exported(&event) }?;
        say("waits");
    }
    let before = array.to_vec(&stream)?;
    say(&format!("{before:?}"));
    array.view_mut().map_in_place(&stream, |x| x * 10)?;
    let event = stream.record_exported()?;
    say(&in_hex(&event.event().to_bytes()));
    assert_eq!(listen(), "end");
    Ok(())
}

/// Names an event that is never over.
fn die() -> Result<()> {
    let (stream, gate) = (stream()?, gates::new());
    let mut array = Array::<u32, _>::zeros(&stream, &[1])?;
    thread::scope(|scope| {
        scope.spawn(|| Wait::launch(&stream, &mut array, gate));
        gates::await_arrival(gate);
        let event = stream.record_exported().unwrap();
        say(&in_hex(&event.event().to_bytes()));
        listen();
    });
    Ok(())
}

#[test]
fn two_processes_have_one_memory_and_events_order_them() -> Result<()> {
    let (stream, gate, mut other) = (stream()?, gates::new(), Other::start("share"));
    let mut array = Array::<u32, _>::zeros_exportable(&stream, &[5])?;
    array.view_mut().copy_from_slice(&stream, &[1, 2, 3, 4, 5])?;
    let memory = stream.context().device().memory()?;
    assert_eq!(memory.total_bytes - memory.free_bytes, 20, "it counts as memory in use");
    let exported = array.export(&stream)?;
    other.tell(&in_hex(&exported.array().to_bytes()));
    thread::scope(|scope| {
        let long = scope.spawn(|| Wait::launch(&stream, &mut array, gate));
        gates::await_arrival(gate);
        let event = stream.record_exported()?;
        other.tell(&in_hex(&event.event().to_bytes()));
        assert_eq!(other.hear(), "waits", "a wait for an event does not block");
        thread::sleep(Duration::from_millis(30));
        gates::open(gate);
        long.join().unwrap()
    })?;
    assert_eq!(other.hear(), "[2, 3, 4, 5, 6]");
    let event = RemoteEvent::from_bytes(&of_hex(&other.hear())).unwrap();
    // SAFETY: the other process keeps it until it is told to end.
    unsafe { stream.wait_exported(&event) }?;
    assert_eq!(array.to_vec(&stream)?, [20, 30, 40, 50, 60]);
    other.tell("end");
    assert!(other.child.wait().unwrap().success());
    drop((array, exported));
    stream.synchronize()?;
    Ok(())
}

/// The twin: it is the events above that order the two processes.
#[test]
fn without_an_event_the_other_process_reads_what_was_there() -> Result<()> {
    let (stream, gate, mut other) = (stream()?, gates::new(), Other::start("hurry"));
    let mut array = Array::<u32, _>::zeros_exportable(&stream, &[2])?;
    let exported = array.export(&stream)?;
    other.tell(&in_hex(&exported.array().to_bytes()));
    thread::scope(|scope| {
        let long = scope.spawn(|| Wait::launch(&stream, &mut array, gate));
        gates::await_arrival(gate);
        let event = stream.record_exported()?;
        other.tell(&in_hex(&event.event().to_bytes()));
        assert_eq!(other.hear(), "[0, 0]");
        other.hear();
        gates::open(gate);
        long.join().unwrap()
    })?;
    other.tell("end");
    assert!(other.child.wait().unwrap().success());
    Ok(())
}

#[test]
fn who_waits_for_a_process_that_dies_goes_on() -> Result<()> {
    let (stream, mut other) = (stream()?, Other::start("die"));
    let event = RemoteEvent::from_bytes(&of_hex(&other.hear())).unwrap();
    // SAFETY: the other process keeps it.
    unsafe { stream.wait_exported(&event) }?;
    let recorded = stream.record()?;
    assert!(!recorded.query()?);
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        other.child.kill().unwrap();
        other.child.wait().unwrap();
    });
    let array = Array::<u8, _>::zeros(&stream, &[3])?;
    assert_eq!(array.to_vec(&stream)?, [0; 3]);
    assert!(recorded.query()?);
    killer.join().unwrap();
    // SAFETY: nothing is waited for: the event does not exist.
    let gone = unsafe { stream.wait_exported(&event) }.unwrap_err();
    assert!(matches!(gone, Error::Handle { .. }), "{gone}");
    Ok(())
}
