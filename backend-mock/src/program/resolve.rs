//! Replaces names by numbers, and reports every mistake in a file with its field.

use std::collections::{HashMap, HashSet};

use super::{
    Buffer, Host, ParseProgramError, Program,
    ops::{Block, Op, Prepared},
    raw::{MOST, RawOp, RawProgram},
};

type Result<T> = std::result::Result<T, ParseProgramError>;

/// The most entries that the clocks of streams and events may have in total: each costs memory and
/// time at each operation. A chain through 4,096 streams needs this many.
const MOST_KNOWN: usize = 1 << 25;

impl Program {
    /// Reads a program from one line of JSON.
    ///
    /// # Errors
    ///
    /// The text is no JSON, or no program: the error names the field and the mistake in it.
    pub fn parse(line: &[u8]) -> Result<Self> {
        if line.trim_ascii_start().first() == Some(&b'[') {
            return Err(ParseProgramError::new("", "a program is an object, not a list"));
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        let raw: RawProgram = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let field = error.path().to_string();
            ParseProgramError::new(field, cause(error.inner()))
        })?;
        json.end().map_err(|error| ParseProgramError::new("", cause(&error)))?;
        Self::resolve(raw)
    }

    fn resolve(raw: RawProgram) -> Result<Self> {
        for (field, count) in [("streams", raw.streams), ("events", raw.events)] {
            if count > MOST {
                return Err(ParseProgramError::new(
                    field,
                    format!("{count}, but at most {MOST} are simulated"),
                ));
            }
        }
        let mut names = Names { streams: raw.streams, events: raw.events, ..Names::default() };
        for (index, buffer) in raw.buffers.iter().enumerate() {
            let place = Place::of("buffers", index);
            names.add_buffer(
                &place,
                "id",
                &buffer.id,
                positive(&place, "bytes", buffer.bytes)?,
                Some(buffer.init),
            )?;
        }
        for (index, host) in raw.hosts.into_iter().enumerate() {
            let place = Place::of("hosts", index);
            names.add_host(&place, host.id, positive(&place, "bytes", host.bytes)?)?;
        }
        let mut ops = Vec::with_capacity(raw.ops.len());
        for (index, op) in raw.ops.into_iter().enumerate() {
            ops.push(Prepared::new(names.resolve(&Place::of("ops", index), &op)?, op));
        }
        check_knowledge(&ops)?;
        let Names { streams, events, buffers, hosts, .. } = names;
        Ok(Self { id: raw.id, buffers, hosts, streams, events, ops, expect: raw.expect })
    }
}

/// Refuses a program in which many streams and events would each get a clock with many streams.
fn check_knowledge(ops: &[Prepared]) -> Result<()> {
    let streams = |ops: &[Prepared]| ops.iter().filter_map(|op| op.op.stream()).collect::<HashSet<_>>().len();
    let orders = |op: &Prepared| {
        matches!(op.op, Op::Wait { .. } | Op::SyncStream { .. } | Op::SyncEvent { .. } | Op::SyncDevice)
    };
    let first = ops.iter().position(orders).unwrap_or(ops.len());
    let records = ops[first..].iter().filter(|op| matches!(op.op, Op::Record { .. })).count();
    let (known, knowing) = (streams(ops), streams(&ops[first..]) + records);
    if known * knowing <= MOST_KNOWN {
        return Ok(());
    }
    let cause = format!(
        "{known} streams, and after the first wait {knowing} streams and records: the product is more than {MOST_KNOWN}"
    );
    Err(ParseProgramError::new("ops", cause))
}

/// A program is one line, so the reader of the file tells which line it is.
fn cause(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

/// One entry of a list in the file.
struct Place {
    list: &'static str,
    index: usize,
}

impl Place {
    fn of(list: &'static str, index: usize) -> Self {
        Self { list, index }
    }

    fn error(&self, field: &str, cause: impl Into<String>) -> ParseProgramError {
        let Self { list, index } = self;
        ParseProgramError::new(format!("{list}[{index}].{field}"), cause)
    }
}

fn positive(place: &Place, field: &str, number: usize) -> Result<usize> {
    if number == 0 { Err(place.error(field, "must be at least 1")) } else { Ok(number) }
}

fn required<T: Clone>(place: &Place, field: &str, value: Option<&T>) -> Result<T> {
    value.cloned().ok_or_else(|| place.error(field, "is missing"))
}

/// The names known so far.
#[derive(Default)]
struct Names {
    streams: usize,
    events: usize,
    buffers: Vec<Buffer>,
    hosts: Vec<Host>,
    buffer_numbers: HashMap<String, usize>,
    host_numbers: HashMap<String, usize>,
}

impl Names {
    fn add_buffer(
        &mut self,
        place: &Place,
        field: &str,
        name: &str,
        bytes: usize,
        from_start: Option<bool>,
    ) -> Result<usize> {
        let number = self.buffers.len();
        if self.buffer_numbers.insert(name.to_owned(), number).is_some() {
            return Err(place.error(field, format!("there is a buffer {name:?} already")));
        }
        self.buffers.push(Buffer { bytes, from_start });
        Ok(number)
    }

    fn add_host(&mut self, place: &Place, name: String, bytes: usize) -> Result<()> {
        if self.host_numbers.insert(name.clone(), self.hosts.len()).is_some() {
            return Err(place.error("id", format!("there is a host memory {name:?} already")));
        }
        self.hosts.push(Host { name, bytes });
        Ok(())
    }

    fn resolve(&mut self, place: &Place, raw: &RawOp) -> Result<Op> {
        let number = |field: &str, value: Option<usize>| required(place, field, value.as_ref());
        let size = |field: &str, value: Option<usize>| positive(place, field, number(field, value)?);
        let below = |field: &str, value: Option<usize>, count: usize| {
            let index = number(field, value)?;
            let there_are = || place.error(field, format!("{index}, but there are {count}"));
            if index < count { Ok(index) } else { Err(there_are()) }
        };
        let named = |field: &str, name: &Option<String>, numbers: &HashMap<String, usize>| {
            let name = required(place, field, name.as_ref())?;
            let unknown = || place.error(field, format!("nothing is called {name:?} here"));
            numbers.get(&name).copied().ok_or_else(unknown)
        };
        let stream = || below("stream", raw.stream, self.streams);
        let event = || below("event", raw.event, self.events);
        let buffer = |field: &str, name: &Option<String>| named(field, name, &self.buffer_numbers);
        let host = || named("host", &raw.host, &self.host_numbers);
        let value = || required(place, "value", raw.value.as_ref());
        let len = || size("len", raw.len);
        Ok(match raw.kind.as_str() {
            "fill" => {
                let to = Block::row(number("off", raw.off)?, len()?);
                Op::Fill { stream: stream()?, buffer: buffer("buf", &raw.buf)?, to, value: value()? }
            }
            "copy" => {
                let (src, dst) = (buffer("src", &raw.src)?, buffer("dst", &raw.dst)?);
                let from = Block::row(number("src_off", raw.src_off)?, len()?);
                let to = Block::row(number("dst_off", raw.dst_off)?, len()?);
                Op::Copy { stream: stream()?, src, from, dst, to }
            }
            "copy2d" => {
                let (src, dst) = (buffer("src", &raw.src)?, buffer("dst", &raw.dst)?);
                let (width, height) = (size("width", raw.width)?, size("height", raw.height)?);
                let block = |field: &str, offset: usize, pitch: Option<usize>| {
                    let pitch = number(field, pitch)?;
                    let small = || place.error(field, format!("{pitch} is less than the width, {width}"));
                    if pitch < width { Err(small()) } else { Ok(Block { offset, pitch, width, height }) }
                };
                let from = block("src_pitch", number("src_off", raw.src_off)?, raw.src_pitch)?;
                let to = block("dst_pitch", number("dst_off", raw.dst_off)?, raw.dst_pitch)?;
                Op::Copy { stream: stream()?, src, from, dst, to }
            }
            "upload" => {
                let (host_offset, dst_offset) =
                    (number("host_off", raw.host_off)?, number("dst_off", raw.dst_off)?);
                let (stream, host, dst) = (stream()?, host()?, buffer("dst", &raw.dst)?);
                Op::Upload { stream, host, host_offset, dst, dst_offset, len: len()? }
            }
            "download" => {
                let (src_offset, host_offset) =
                    (number("src_off", raw.src_off)?, number("host_off", raw.host_off)?);
                let (stream, src, host) = (stream()?, buffer("src", &raw.src)?, host()?);
                Op::Download { stream, src, src_offset, host, host_offset, len: len()? }
            }
            "alloc" => {
                let (stream, bytes) = (stream()?, size("bytes", raw.bytes)?);
                let name = required(place, "buf", raw.buf.as_ref())?;
                Op::Alloc { stream, buffer: self.add_buffer(place, "buf", &name, bytes, None)? }
            }
            "free" => Op::Free { stream: stream()?, buffer: buffer("buf", &raw.buf)? },
            "record" => Op::Record { stream: stream()?, event: event()? },
            "wait" => Op::Wait { stream: stream()?, event: event()? },
            "sync_stream" => Op::SyncStream { stream: stream()? },
            "sync_event" => Op::SyncEvent { event: event()? },
            "sync_device" => Op::SyncDevice,
            "host_read" => Op::HostRead { host: host()?, offset: number("off", raw.off)?, len: len()? },
            "host_write" => {
                let (host, offset, len) = (host()?, number("off", raw.off)?, len()?);
                Op::HostWrite { host, offset, len, value: value()? }
            }
            "" => return Err(place.error("do", "is missing")),
            other => return Err(place.error("do", format!("no operation is called {other:?}"))),
        })
    }
}
