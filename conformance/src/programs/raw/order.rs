//! The order of a raw program's operations: the operations before each stream and before the host,
//! and the waits that are inserted where one is missing.

use serde_json::{Value, json};

use super::{
    Join,
    memory::Block,
    script::{EVENTS, Numbers, Script},
};

impl Script {
    /// Issues an operation of a stream, or of the host. Returns its number.
    pub(super) fn issue(&mut self, stream: Option<usize>, op: Value) -> usize {
        let number = self.ops.len();
        self.ops.push(op);
        self.stream_of.push(stream);
        match stream {
            Some(stream) => {
                self.streams[stream].extend(&self.host);
                self.streams[stream].insert(number);
            }
            None => drop(self.host.insert(number)),
        }
        number
    }

    /// Inserts the waits that order the next operation after these.
    pub(super) fn order(&mut self, stream: Option<usize>, join: Join, earlier: &Numbers) {
        loop {
            let behind = |number: &&usize| {
                self.host.contains(number)
                    || stream.is_some_and(|stream| self.streams[stream].contains(number))
            };
            // The last one first: an operation after it is also after many others.
            let Some(&open) = earlier.iter().rev().find(|number| !behind(number)) else { return };
            let Some(other) = self.stream_of[open] else {
                unreachable!("what the host did is behind all that follows")
            };
            self.join(stream, join, open, other);
        }
    }

    fn join(&mut self, stream: Option<usize>, join: Join, open: usize, other: usize) {
        if join == Join::Stream {
            return self.synchronize(other);
        }
        let has_it = |event: &usize| self.events[*event].as_ref().is_some_and(|event| event.contains(&open));
        let event = match (0..EVENTS).find(has_it).filter(|_| join == Join::Earlier) {
            Some(event) => event,
            None => self.record(other),
        };
        match stream.filter(|_| join != Join::Host) {
            Some(stream) => self.wait(stream, event),
            None => {
                self.issue(None, json!({"do": "sync_event", "event": event}));
                self.host.extend(self.events[event].iter().flatten());
            }
        }
    }

    /// Records an event, which replaces the oldest one. Returns the number of the event.
    pub(super) fn record(&mut self, stream: usize) -> usize {
        let event = self.recorded % EVENTS;
        self.recorded += 1;
        self.issue(Some(stream), json!({"do": "record", "stream": stream, "event": event}));
        self.events[event] = Some(self.streams[stream].clone());
        event
    }

    pub(super) fn wait(&mut self, stream: usize, event: usize) {
        self.issue(Some(stream), json!({"do": "wait", "stream": stream, "event": event}));
        self.streams[stream].extend(self.events[event].iter().flatten());
    }

    pub(super) fn synchronize(&mut self, stream: usize) {
        self.issue(None, json!({"do": "sync_stream", "stream": stream}));
        self.host.extend(&self.streams[stream]);
    }

    pub(super) fn synchronize_all(&mut self) {
        self.issue(None, json!({"do": "sync_device"}));
        self.host.extend(self.streams.iter().flatten());
    }

    /// Issues an operation with these reads and writes, ordered after everything that it conflicts
    /// with.
    pub(super) fn touch(&mut self, stream: Option<usize>, join: Join, op: Value, sides: &[(&Block, bool)]) {
        let mut earlier = Numbers::new();
        for (side, write) in sides {
            let memory = &self.memories[side.memory];
            let conflicts =
                memory.touches.iter().filter(|(_, at, wrote)| (*write || *wrote) && at.meets(side));
            earlier.extend(conflicts.map(|touch| touch.0).chain(memory.born));
        }
        self.order(stream, join, &earlier);
        let number = self.issue(stream, op);
        for (side, write) in sides {
            self.memories[side.memory].touches.push((number, (*side).clone(), *write));
        }
    }

    /// Issues an operation that writes one value.
    pub(super) fn write_of(&mut self, stream: Option<usize>, join: Join, op: Value, to: &Block, value: u8) {
        self.touch(stream, join, op, &[(to, true)]);
        self.memories[to.memory].write(to, &vec![(value, true); to.places().len()]);
    }

    /// Issues an operation that copies.
    pub(super) fn move_of(&mut self, stream: usize, join: Join, op: Value, to: &Block, from: &Block) {
        self.touch(Some(stream), join, op, &[(from, false), (to, true)]);
        let values = self.memories[from.memory].read(from);
        self.memories[to.memory].write(to, &values);
    }

    pub(super) fn download(&mut self, stream: usize, join: Join, to: &Block, from: &Block) {
        let [host, src] = [to, from].map(|side| &self.memories[side.memory].name);
        let op = json!({"do": "download", "stream": stream, "src": src, "src_off": from.at, "host": host,
            "host_off": to.at, "len": to.width});
        self.move_of(stream, join, op, to, from);
    }
}
