//! Handles of arrays and events of other processes: a handle that is read is written as the same
//! bytes, and is opened or refused.
#![allow(unsafe_code)] // opens handles that the simulator checks

use devarray::{
    Array, Context, Device,
    ipc::{RemoteArray, RemoteEvent},
};
use devarray_mock::MockDevice;

/// The first byte chooses what follows: the bytes of a handle, or changes to a right one, with
/// three bytes each for the place and the value.
pub fn run(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 4 {
        0 => drop(array(rest)),
        1 => drop(event(rest)),
        2 => changed(rest, true),
        _ => changed(rest, false),
    }
}

fn array(bytes: &[u8]) -> Option<RemoteArray> {
    let remote = RemoteArray::from_bytes(bytes).ok()?;
    assert_eq!(remote.to_bytes(), bytes);
    let end = remote.layout().span().end.checked_mul(remote.item_bytes());
    assert!(end.is_some(), "{remote:?}");
    Some(remote)
}

fn event(bytes: &[u8]) -> Option<RemoteEvent> {
    let remote = RemoteEvent::from_bytes(bytes).ok()?;
    assert_eq!(remote.to_bytes(), bytes);
    Some(remote)
}

fn edited(mut name: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    let (changes, _) = changes.as_chunks::<3>();
    for &[low, high, value] in changes.iter().take(8) {
        let at = usize::from(u16::from_le_bytes([low, high]));
        if let Some(byte) = name.get_mut(at) {
            *byte = value;
        } else if at % 2 == 0 {
            name.truncate(at % 256);
        } else {
            name.push(value);
        }
    }
    name
}

fn changed(changes: &[u8], is_array: bool) {
    let device = MockDevice::new();
    let here = Context::new(device.clone()).and_then(|context| context.stream()).expect("a simulator opens");
    let there =
        Context::new(device.other_process()).and_then(|context| context.stream()).expect("it opens twice");
    let mine = Array::<u32, _>::zeros_exportable(&here, &[4, 3]).expect("the simulator shares memory");
    if is_array {
        let exported = mine.export(&here).expect("it can be exported");
        if let Some(remote) = array(&edited(exported.array().to_bytes(), changes)) {
            // SAFETY: the opened array is not used; the simulator checks whether the memory exists.
            let opened = unsafe { Array::<u32, _>::open(&there, &remote) };
            drop(opened);
        }
    } else {
        let exported = here.record_exported().expect("it can be exported");
        if let Some(remote) = event(&edited(exported.event().to_bytes(), changes)) {
            // SAFETY: the event is kept until the end; the simulator checks whether events exist.
            let _ = unsafe { there.wait_exported(&remote) };
        }
    }
    let _ = there.synchronize();
    let _ = device.info();
}
