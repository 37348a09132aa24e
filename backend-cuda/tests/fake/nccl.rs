//! An NCCL in host memory: ranks meet, and bytes move at once. It checks what the real one trusts.
#![allow(unsafe_code)] // stands for the library behind its C interface

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    ffi::{c_int, c_void},
    ptr,
    sync::Arc,
    thread,
    time::Duration,
};

use devarray_cuda::{
    driver::Driver,
    nccl::{Comm, Config, Table, UniqueId},
};

use super::state::{CURRENT, Fake, State};

const INVALID_ARGUMENT: i32 = 4;
const INVALID_USAGE: i32 = 5;
const IN_PROGRESS: i32 = 7;

/// Bytes that a rank sends or receives: address, length, the other rank.
type Part = (u64, usize, c_int);

/// The calls of one group of one rank.
#[derive(Debug, Default, Clone)]
struct Group {
    sends: Vec<Part>,
    receives: Vec<Part>,
}

/// A rank of a communicator, by its handle.
#[derive(Debug)]
struct Rank {
    id: [u8; 128],
    rank: c_int,
    ranks: c_int,
    device: usize,
    /// Whether all ranks have joined. It stays so when others leave.
    joined: bool,
    /// The group that waits for other ranks.
    waiting: Option<Group>,
    aborted: bool,
}

/// The state of the library.
#[derive(Debug, Default)]
pub(crate) struct Library {
    ids: u8,
    comms: BTreeMap<usize, Rank>,
    /// The call that fails, by name, from the first that is made from now on, and how.
    pub(crate) fails: Option<(&'static str, i32)>,
    pub(crate) log: Vec<&'static str>,
}

thread_local! {
    /// The group that the thread has begun, and its communicator.
    static OPEN: RefCell<Option<(usize, Group)>> = const { RefCell::new(None) };
}

/// The driver of a fake with this library.
pub(crate) fn driver() -> Arc<Driver> {
    // SAFETY: the functions do what the driver's and the library's do.
    unsafe { Driver::with_nccl(super::driver::table(), table()) }
}

fn call(name: &'static str, run: impl FnOnce(&mut State) -> i32) -> i32 {
    Fake::installed().state(|state| {
        state.nccl.log.push(name);
        match state.nccl.fails {
            Some((fails, status)) if fails == name => {
                state.nccl.fails = None;
                status
            }
            _ => run(state),
        }
    })
}

unsafe extern "C" fn get_version(to: *mut c_int) -> i32 {
    // SAFETY: the backend passes one variable of its own.
    unsafe { to.write(22800) };
    0
}

unsafe extern "C" fn get_unique_id(to: *mut UniqueId) -> i32 {
    call("get_unique_id", |state| {
        state.nccl.ids += 1;
        // SAFETY: likewise.
        unsafe { to.write(UniqueId([state.nccl.ids; 128])) };
        0
    })
}

unsafe extern "C" fn init(
    to: *mut Comm,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
    config: *mut Config,
) -> i32 {
    call("init", |state| {
        // SAFETY: the backend passes one variable of its own.
        if unsafe { (*config).blocking } != 0 || !(0..ranks).contains(&rank) {
            return INVALID_ARGUMENT;
        }
        let device = CURRENT.get();
        let others = state.nccl.comms.values().filter(|other| other.id == id.0);
        if others.clone().any(|other| other.rank == rank || other.ranks != ranks || other.device == device) {
            return INVALID_USAGE;
        }
        let handle = state.create("communicator");
        let of = Rank { id: id.0, rank, ranks, device, joined: false, waiting: None, aborted: false };
        state.nccl.comms.insert(handle, of);
        let all = || state.nccl.comms.values().filter(|of| of.id == id.0);
        if all().count() == usize::try_from(ranks).unwrap() {
            state.nccl.comms.values_mut().filter(|of| of.id == id.0).for_each(|of| of.joined = true);
        }
        // SAFETY: likewise.
        unsafe { to.write(ptr::with_exposed_provenance_mut(handle)) };
        IN_PROGRESS
    })
}

/// The handles of the ranks of a communicator that have not left; none before all have joined.
fn ranks_of(state: &State, handle: usize) -> Option<BTreeMap<c_int, usize>> {
    let own = state.nccl.comms.get(&handle).filter(|own| own.joined)?;
    let all = state.nccl.comms.iter().filter(|(_, of)| of.id == own.id);
    Some(all.map(|(&at, of)| (of.rank, at)).collect())
}

/// Moves what a rank of a group sends to one that waits for it; both are done when nothing of theirs is left.
fn progress(state: &mut State, handle: usize) {
    let Some(all) = ranks_of(state, handle) else { return };
    let mut moved = Vec::new();
    for (&from, &sender) in &all {
        for (&to, &receiver) in &all {
            let sends = state.nccl.comms[&sender].waiting.as_ref();
            let receives = state.nccl.comms[&receiver].waiting.as_ref();
            let (Some(sends), Some(receives)) = (sends, receives) else { continue };
            let sent = sends.sends.iter().filter(|part| part.2 == to);
            let received = receives.receives.iter().filter(|part| part.2 == from);
            moved.extend(sent.zip(received).map(|(&of, &for_)| (sender, receiver, of, for_)));
        }
    }
    let mut done = BTreeSet::new();
    for (sender, receiver, of, for_) in moved {
        if of.1 != for_.1 {
            state.misuse.push(format!("{} bytes are sent, and {} received", of.1, for_.1));
        }
        // Each rank brings its bytes to buffers of the library's, or takes them from there.
        let own = CURRENT.get();
        let place = |state: &mut State, rank: usize, part: Part| {
            CURRENT.set(state.nccl.comms[&rank].device);
            state.device(part.0, part.1, 1)
        };
        let places = (place(state, sender, of), place(state, receiver, for_));
        CURRENT.set(own);
        if let (Some(from), Some(to)) = places {
            // SAFETY: both are allocated with as many bytes.
            unsafe { ptr::copy(from, to, of.1.min(for_.1)) };
        }
        let sends = state.nccl.comms.get_mut(&sender).unwrap().waiting.as_mut().unwrap();
        sends.sends.retain(|part| *part != of);
        let receives = state.nccl.comms.get_mut(&receiver).unwrap().waiting.as_mut().unwrap();
        receives.receives.retain(|part| *part != for_);
        done.extend([sender, receiver]);
    }
    for of in state.nccl.comms.values_mut() {
        if of.waiting.as_ref().is_some_and(|group| group.sends.is_empty() && group.receives.is_empty()) {
            of.waiting = None;
        }
    }
}

unsafe extern "C" fn async_error(comm: Comm, status: *mut c_int) -> i32 {
    // Others get the lock.
    thread::sleep(Duration::from_micros(20));
    Fake::installed().state(|state| {
        let handle = comm.addr();
        let Some(of) = state.nccl.comms.get(&handle) else {
            state.misuse.push("a communicator that has ended".to_owned());
            return INVALID_ARGUMENT;
        };
        let goes_on = !of.joined || of.waiting.is_some();
        // SAFETY: the backend passes one variable of its own.
        unsafe { status.write(if goes_on { IN_PROGRESS } else { 0 }) };
        0
    })
}

fn end(name: &'static str, comm: Comm) -> i32 {
    call(name, |state| match state.nccl.comms.remove(&comm.addr()) {
        Some(_) => {
            state.destroy(comm.addr(), "communicator");
            0
        }
        None => INVALID_ARGUMENT,
    })
}

unsafe extern "C" fn finalize(comm: Comm) -> i32 {
    call("finalize", |state| {
        let of = state.nccl.comms.get(&comm.addr());
        if of.is_some_and(|of| of.waiting.is_none() && !of.aborted) { 0 } else { IN_PROGRESS }
    })
}

unsafe extern "C" fn destroy(comm: Comm) -> i32 {
    end("destroy", comm)
}

unsafe extern "C" fn abort(comm: Comm) -> i32 {
    end("abort", comm)
}

unsafe extern "C" fn group_start() -> i32 {
    OPEN.set(Some((0, Group::default())));
    call("group_start", |_| 0)
}

unsafe extern "C" fn group_end() -> i32 {
    let Some((handle, group)) = OPEN.take() else { return INVALID_USAGE };
    call("group_end", |state| {
        if group.sends.is_empty() && group.receives.is_empty() {
            return 0;
        }
        let Some(of) = state.nccl.comms.get_mut(&handle) else { return INVALID_ARGUMENT };
        if of.device != CURRENT.get() || of.waiting.is_some() {
            state.misuse.push("a group on another device, or before the last one is over".to_owned());
            return INVALID_USAGE;
        }
        of.waiting = Some(group);
        progress(state, handle);
        IN_PROGRESS
    })
}

fn add(name: &'static str, comm: Comm, put: impl FnOnce(&mut Group)) -> i32 {
    call(name, |state| {
        OPEN.with_borrow_mut(|open| match open {
            Some((handle, group)) => {
                *handle = comm.addr();
                put(group);
                0
            }
            None => {
                state.misuse.push(format!("{name} outside of a group"));
                INVALID_USAGE
            }
        })
    })
}

unsafe extern "C" fn send(
    from: *const c_void,
    count: usize,
    of: c_int,
    peer: c_int,
    comm: Comm,
    _: *mut c_void,
) -> i32 {
    assert_eq!(of, 1, "bytes");
    add("send", comm, |group| group.sends.push((from.addr() as u64, count, peer)))
}

unsafe extern "C" fn receive(
    to: *mut c_void,
    count: usize,
    of: c_int,
    peer: c_int,
    comm: Comm,
    _: *mut c_void,
) -> i32 {
    assert_eq!(of, 1, "bytes");
    add("receive", comm, |group| group.receives.push((to.addr() as u64, count, peer)))
}

/// The ranks of a communicator, and the own one.
fn sizes(comm: Comm) -> (c_int, c_int) {
    Fake::installed()
        .state(|state| state.nccl.comms.get(&comm.addr()).map_or((0, 0), |of| (of.ranks, of.rank)))
}

unsafe extern "C" fn all_gather(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    _: c_int,
    comm: Comm,
    _: *mut c_void,
) -> i32 {
    let (ranks, _) = sizes(comm);
    add("all_gather", comm, |group| {
        for peer in 0..ranks {
            group.sends.push((from.addr() as u64, count, peer));
            let at = to.addr() + usize::try_from(peer).unwrap() * count;
            group.receives.push((at as u64, count, peer));
        }
    })
}

unsafe extern "C" fn broadcast(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    _: c_int,
    root: c_int,
    comm: Comm,
    _: *mut c_void,
) -> i32 {
    let (ranks, rank) = sizes(comm);
    add("broadcast", comm, |group| {
        if rank == root {
            group.sends.extend(
                (0..ranks).filter(|&peer| peer != root).map(|peer| (from.addr() as u64, count, peer)),
            );
        } else {
            group.receives.push((to.addr() as u64, count, root));
        }
    })
}

fn table() -> Table {
    Table {
        get_version,
        get_unique_id,
        init,
        finalize,
        destroy,
        abort,
        async_error,
        group_start,
        group_end,
        send,
        receive,
        all_gather,
        broadcast,
    }
}
