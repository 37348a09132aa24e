//! Tests device memory: poison that names its origin, addresses, and the limit, with the work that runs
//! before the limit is reported. Also tests pinned memory.

use devarray::{
    Error,
    backend::{Buffer, Device, HostBuffer, MemoryInfo, Stream},
};
use devarray_mock::{MockDevice, Poison, PoisonKind, Schedule};

use crate::support::{Host, PLAIN, Queue, builder, device, random, size};

fn decode(bytes: &[u8]) -> Poison {
    let first = bytes.first_chunk().expect("eight bytes were read");
    Poison::decode(*first).unwrap_or_else(|| panic!("{bytes:?} is no poison"))
}

#[test]
fn fresh_memory_names_its_allocation() {
    let device = MockDevice::new();
    let queue = Queue::open(&device);
    let buffers = [0; 3].map(|_| queue.alloc(24));
    for (number, buffer) in (0..).zip(&buffers) {
        let bytes = queue.bytes(&device, buffer, 8, 16);
        let poison = decode(&bytes);
        assert_eq!((poison.kind, poison.number, poison.generation), (PoisonKind::Fresh, number, 0));
        assert_eq!(decode(&bytes[8..]), poison);
    }
}

#[test]
fn reused_memory_is_fresh_again_and_of_the_next_generation() {
    let device = device(Schedule::ReverseLazy, 0);
    let queue = Queue::open(&device);
    let first = queue.alloc(24);
    let address = first.address();
    queue.fill(&first, 0, 24, 1).unwrap();
    queue.free(first).unwrap();
    queue.synchronize();
    let second = queue.alloc(20);
    assert_eq!(second.address(), address);
    assert_eq!(second.id().to_string(), "0.1");
    assert_eq!(decode(&queue.bytes(&device, &second, 0, 20)).generation, 1);
}

#[test]
fn a_destination_on_the_host_is_poison_until_its_download_ran() {
    let device = MockDevice::new();
    let queue = Queue::open(&device);
    let buffer = queue.alloc(13);
    queue.fill(&buffer, 0, 13, 5).unwrap();
    let host = Host::new(&device, &[9; 13]);
    queue.download(&buffer, 0, &host).unwrap();
    let poison = decode(&host.bytes());
    assert_eq!((poison.kind, poison.number), (PoisonKind::Destination, 2));
    assert_ne!(host.bytes()[12], 9);
    queue.synchronize();
    assert_eq!(host.bytes(), [5; 13]);
}

#[test]
fn a_destination_that_an_upload_in_flight_still_reads_is_left_alone() {
    let device = MockDevice::new();
    let queue = Queue::open(&device);
    let buffer = queue.alloc(8);
    let host = Host::new(&device, &[3; 8]);
    queue.upload(&buffer, 0, &host).unwrap();
    queue.download(&buffer, 0, &host).unwrap();
    queue.synchronize();
    assert_eq!(host.bytes(), [3; 8]);
}

#[test]
fn addresses_are_apart_and_aligned_to_no_more_than_256() {
    for seed in 0..20 {
        let device = random(seed);
        let queue = Queue::open(&device);
        let mut live = Vec::new();
        for step in 0..200_usize {
            live.push(queue.alloc(1 + (step * 37) % 2000));
            if step % 3 == 0 {
                queue.free(live.swap_remove(step * 7 % live.len())).unwrap();
            }
            let mut ranges: Vec<_> = live.iter().map(|b| (b.address(), b.len_bytes() as u64)).collect();
            ranges.sort_unstable();
            assert!(ranges.iter().all(|(address, _)| address % 512 == 256));
            assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        }
    }
}

#[test]
fn beyond_the_limit_is_a_typed_error_that_passes() {
    let device = builder().memory_limit_bytes(1000).build();
    let queue = Queue::open(&device);
    let first = queue.alloc(600);
    let error = queue.0.alloc(size(500)).unwrap_err();
    let expected = Error::out_of_memory("mock", "alloc", 500, Some(MemoryInfo::new(400, 1000)));
    assert_eq!(error, expected);
    assert!(error.is_retryable());
    let second = queue.alloc(400);
    assert_eq!(device.memory().unwrap().free_bytes, 0);
    // The free is queued after a wait for another stream, and runs because its memory is needed.
    let other = Queue::open(&device);
    other.fill(&first, 0, 600, 1).unwrap();
    queue.wait(&other.record());
    queue.free(first).unwrap();
    assert_eq!(device.statistics().executed.frees.count, 0);
    let third = queue.alloc(500);
    assert_eq!(device.statistics().executed.frees.count, 1);
    assert_eq!(device.memory().unwrap().free_bytes, 100);
    for buffer in [second, third] {
        queue.free(buffer).unwrap();
    }
    queue.synchronize();
    assert_eq!(device.memory().unwrap().free_bytes, 1000);
}

#[test]
fn what_the_host_cannot_hold_is_out_of_memory_too() {
    let device = builder().memory_limit_bytes(usize::MAX).build();
    let queue = Queue::open(&device);
    for len in [usize::MAX, usize::MAX / 2 + 1] {
        assert!(matches!(queue.0.alloc(size(len)), Err(Error::OutOfMemory { .. })));
        assert!(matches!(
            device.alloc_host(size(len)),
            Err(Error::OutOfMemory { operation: "alloc_host", .. })
        ));
    }
    assert_eq!(queue.bytes(&device, &queue.alloc(4), 0, 4).len(), 4);
}

#[test]
fn pinned_memory_is_zeroed_aligned_and_apart() {
    let device = MockDevice::new();
    let all: Vec<_> =
        [1, 63, 64, 1000].iter().map(|&len| device.alloc_host(size(len)).expect(PLAIN)).collect();
    for (buffer, len) in all.iter().zip([1, 63, 64, 1000]) {
        assert_eq!(buffer.len_bytes(), len);
        assert_eq!(buffer.as_ptr().addr() % 64, 0);
    }
    assert!(Host::wrap(all).iter().all(|host| host.bytes().iter().all(|&byte| byte == 0)));
}

/// The limit counts only live memory, even if memory is pinned and freed often.
#[test]
fn the_limit_of_pinned_memory_counts_what_is_alive() {
    let device = builder().host_limit_bytes(100).build();
    for _ in 0..3 {
        let first = device.alloc_host(size(60)).unwrap();
        let second = device.alloc_host(size(40)).unwrap();
        assert!(matches!(device.alloc_host(size(1)), Err(Error::OutOfMemory { .. })));
        drop(first);
        assert!(matches!(device.alloc_host(size(61)), Err(Error::OutOfMemory { .. })));
        drop((device.alloc_host(size(60)).unwrap(), second));
    }
}
