//! Reports of graphs on the fake: each launch tells what its own operations found.

use std::num::NonZeroI32;

use devarray::{Array, Context, Error, Result, StreamHandle, gather::OutOfRange, ix};
use devarray_cuda::{
    CudaDevice,
    driver::{Fault, Function},
    gather::params::{SendParams, Slot, State as Known},
};

use super::{
    gathers::{read, write},
    state::{Fake, State},
};

/// More operations than a page has reports.
const OPERATIONS: usize = 70;

type Device = CudaDevice;

fn open(fake: &Fake) -> (Context<Device>, StreamHandle<Device>) {
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    (context, stream)
}

fn close(fake: &Fake, context: Context<Device>, stream: StreamHandle<Device>) {
    drop(stream);
    assert_eq!(context.take_errors(), []);
    drop(context);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

/// The kernel that sends the reports of a page.
pub(crate) fn send(state: &mut State, p: &SendParams) -> Option<()> {
    let states = p.page + (p.to.len() * size_of::<Slot>()) as u64;
    for (nth, to) in (0..p.count).zip(&p.to) {
        let slot = p.page + nth * size_of::<Slot>() as u64;
        let mut found = read(state, slot, size_of::<Slot>())?;
        let key: [u8; 8] = found[..8].try_into().ok()?;
        if key == [0; 8] {
            continue;
        }
        let is_second = found[24..] == key;
        found[..8].copy_from_slice(&to.key.to_le_bytes());
        found[24..].copy_from_slice(&if is_second { to.key } else { !to.key }.to_le_bytes());
        write(state, to.slot, &found)?;
        write(state, slot, &[0; 8])?;
        write(state, states + nth * size_of::<Known>() as u64, &[0; 8])?;
    }
    Some(())
}

/// The index and the line of an error.
fn told(waited: Result<()>) -> (i64, Option<u32>) {
    match waited {
        Err(Error::Index { error, call, .. }) => (error.value, call.location().map(|at| at.line())),
        waited => panic!("{waited:?}"),
    }
}

/// Launches before any wait: each writes the indices that the next one finds.
#[test]
fn each_launch_tells_its_own() {
    let fake = Fake::new();
    let (context, s) = open(&fake);
    let x = Array::<i32, _>::arange(&s, 0, 4, 1).unwrap();
    let mut y = Array::<i32, _>::zeros(&s, &[1]).unwrap();
    let mut by = Array::<i32, _>::zeros(&s, &[OPERATIONS, 1]).unwrap();
    let recorded = s
        .record_work((&x, &by, &mut y), |on, (x, by, mut y)| {
            for place in (0..OPERATIONS).map(|row| by.index(&ix![row])) {
                y.update(on, &x.take(on, &place?, 0, OutOfRange::Error)?, |y, x| y + x)?;
            }
            x.take(on, &by.index(&ix![0])?, 0, OutOfRange::Error).map(drop)
        })
        .unwrap();
    let launch =
        |by: &Array<i32, Device>, y: &mut Array<i32, Device>| recorded.launch(&s, (&x, by, y)).unwrap();
    launch(&by, &mut y);
    s.synchronize().unwrap();
    for (place, index) in [(0, 7), (1, 3), (69, 70)] {
        by.view_mut().index(&ix![place]).unwrap().fill(&s, index).unwrap();
    }
    launch(&by, &mut y);
    by.view_mut().fill(&s, 1).unwrap();
    launch(&by, &mut y);
    by.view_mut().index(&ix![64]).unwrap().fill(&s, -5).unwrap();
    launch(&by, &mut y);
    assert!(recorded.is_captured());
    assert_eq!(context.device().driver().calls(Function::GraphLaunch), 4);
    let (mut found, mut lines) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let (index, line) = told(s.synchronize());
        found.push(index);
        lines.push(line);
    }
    assert_eq!(found, [7, 70, 7, -5]);
    assert!(lines[0] == lines[1] && lines[1] != lines[2] && lines[3] == lines[0], "{lines:?}");
    s.synchronize().unwrap();
    drop((recorded, x, y, by));
    close(&fake, context, s);
}

/// The kernel that sends the reports of a launch fails. The launch answers with the error; what its operations found is
/// told by no later launch.
#[test]
fn reports_that_could_not_be_sent_are_not_told_later() {
    let fake = Fake::new();
    let (context, s) = open(&fake);
    let x = Array::<i32, _>::arange(&s, 0, 4, 1).unwrap();
    let mut y = Array::<i32, _>::zeros(&s, &[1]).unwrap();
    let [wrong, right] = [9, 2].map(|index| Array::from_slice(&s, &[1], &[index]).unwrap());
    let mut by = Array::<i32, _>::zeros(&s, &[1]).unwrap();
    let recorded = s
        .record_work((&x, &by, &mut y), |on, (x, by, mut y)| {
            y.copy_from(on, &x.take(on, &by, 0, OutOfRange::Error)?)
        })
        .unwrap();
    let launch = |by: &Array<i32, Device>, y: &mut Array<i32, Device>| recorded.launch(&s, (&x, by, y));
    launch(&by, &mut y).unwrap();
    by.view_mut().copy_from(&s, &wrong).unwrap();
    let driver = context.device().driver();
    // The one kernel outside the graph.
    driver.fail(Fault::new(0, NonZeroI32::new(1).unwrap()).of(Function::LaunchKernel));
    let failed = launch(&by, &mut y);
    assert!(matches!(failed, Err(Error::Driver { .. })), "{failed:?}");
    by.view_mut().copy_from(&s, &right).unwrap();
    launch(&by, &mut y).unwrap();
    assert_eq!(y.to_vec(&s).unwrap(), [2]);
    // The twin: the next launch tells.
    by.view_mut().copy_from(&s, &wrong).unwrap();
    launch(&by, &mut y).unwrap();
    assert_eq!(told(s.synchronize()).0, 9);
    assert_eq!(driver.calls(Function::GraphLaunch), 4);
    drop((recorded, x, y, by, wrong, right));
    close(&fake, context, s);
}

/// More than there are slots for at first.
#[test]
fn each_of_many_operations_is_told_of() {
    let fake = Fake::new();
    let (context, stream) = open(&fake);
    super::gathers_of::tells_of_many(&stream, 3000);
    close(&fake, context, stream);
}

#[test]
fn random_recordings_tell_what_their_calls_tell() {
    let fake = Fake::new();
    let (context, s) = open(&fake);
    let mut told = 0;
    for seed in 0..40 {
        let is_captured = |captured: bool| assert!(captured, "{seed}");
        told += super::reports_of::compare(&s, (seed, false), is_captured).unwrap();
    }
    assert!(told > 40, "{told}");
    close(&fake, context, s);
}
