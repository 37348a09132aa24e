//! Proves on a real device that each kind of host memory keeps its laws, and shows the driver's
//! behaviour where its documentation is silent: ranges that share a page, copies that leave a
//! pinned range.
//!
//! Needs a CUDA device, so each test is ignored by default. Tests run one at a time, since some measure
//! the memory of the whole process:
//! `cargo test -p devarray-cuda --test card -- --ignored hardware_host:: --test-threads=1`. Without
//! a device they fail; none is skipped.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../../core/tests/host_kinds/laws.rs"]
mod laws;
#[path = "../../core/tests/accounting/laws.rs"]
mod ledger_laws;
#[path = "../../core/tests/host_kinds/numba.rs"]
mod numba;
#[path = "../../core/tests/release/laws.rs"]
mod release_laws;

use devarray::{
    Array, Context, ManagedArray, MappedArray,
    backend::{Capability, Device, HostFlags, Location},
};
use devarray_cuda::{CudaDevice, driver::Function};

fn open() -> Context<CudaDevice> {
    Context::new(CudaDevice::open(0).expect("a CUDA device is needed")).unwrap()
}

fn finish(context: &Context<CudaDevice>) {
    assert_eq!(context.take_errors(), []);
    assert_eq!(context.device().take_errors(), []);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn pinned_with_every_flag() {
    let context = open();
    laws::pinned_with_every_flag(&context);
    laws::pinned_pool_keeps_to_its_limits(&context);
    laws::pinned_memory_in_use_leaves_less_room(&context);
    finish(&context);
}

/// These laws run in one test and alone on the device, because the last one takes most of its memory.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn the_ledger_and_what_is_put_off() {
    let laws: [fn(&Context<CudaDevice>); 16] = [
        ledger_laws::the_ledger_names_every_allocation,
        ledger_laws::tags_nest_and_end,
        ledger_laws::statistics_are_exact,
        ledger_laws::peak_scopes_nest_and_overlap,
        ledger_laws::a_limit_is_hard,
        ledger_laws::hooks_are_told_of_each,
        ledger_laws::a_hook_may_panic,
        ledger_laws::a_hook_may_use_the_context,
        ledger_laws::the_pool_can_be_asked_and_trimmed,
        release_laws::limits_are_strict,
        release_laws::every_kind_counts,
        release_laws::deferrals_nest_and_end,
        release_laws::work_in_flight_is_not_disturbed,
        release_laws::the_program_is_asked,
        release_laws::running_out_says_who_holds_what,
        release_laws::shortage_flushes,
    ];
    for law in laws {
        let context = open();
        law(&context);
        assert_eq!(context.live_allocations(), []);
        finish(&context);
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn registered_memory() {
    let context = open();
    assert!(context.device().info().capabilities.extras.has(Capability::RegisteredMemory));
    laws::registered_memory_copies_as_any_other(&context);
    laws::registration_ends_on_unwind(&context);
    finish(&context);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn mapped_memory() {
    let context = open();
    laws::mapped_memory_is_one_memory(&context);
    finish(&context);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn managed_memory() {
    let context = open();
    laws::managed_memory_is_one_memory(&context);
    finish(&context);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn portable_memory() {
    let (one, two) = (open(), open());
    laws::portable_memory_serves_other_contexts(&one, &two);
    finish(&one);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn behaviours_known_from_numba() {
    let context = open();
    for (name, behaviour) in numba::all::<CudaDevice>() {
        println!("{name}");
        behaviour(&context);
        finish(&context);
    }
}

/// Pins parts of one page one by one, in any order, and copies from one part to another: all bytes
/// arrive, whatever the driver says about the pinning.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn ranges_that_share_pages() {
    let context = open();
    let stream = context.stream().unwrap();
    let mut data: Vec<u8> = (0..1 << 20).map(|k: u32| k.to_le_bytes()[0] ^ k.to_le_bytes()[1]).collect();
    let expected = data.clone();
    let mut array = Array::<u8, _>::zeros(&stream, &[1 << 20]).unwrap();
    for (cut, len) in [(5000, 100), (5000, 4096), (4096, 8192), (100, 200_000), (1, 1_000_000)] {
        let (low, high) = data.split_at_mut(cut);
        let (middle, high) = high.split_at_mut(len);
        let before = context.device().driver().calls(Function::MemHostUnregister);
        let mut back = [vec![0_u8; low.len()], vec![0; middle.len()], vec![0; high.len()]];
        let whole = context.with_pinned(middle, |middle| {
            context.with_all_pinned([low, high], |[low, high]| {
                stream.scope(|s| {
                    for (part, range) in
                        [(&low[..], 0..cut), (middle, cut..cut + len), (high, cut + len..1 << 20)]
                    {
                        s.upload(part, &mut array.view_mut().slice_axis(0, range)?)?;
                    }
                    for (part, range) in back.iter_mut().zip([0..cut, cut..cut + len, cut + len..1 << 20]) {
                        s.download(&array.view().slice_axis(0, range)?, part)?;
                    }
                    Ok::<(), devarray::Error>(())
                })?
            })
        });
        whole.unwrap().unwrap().unwrap();
        assert!(back.concat() == expected, "cut {cut}, {len} bytes");
        let pinned = context.device().driver().calls(Function::MemHostUnregister) - before;
        println!("cut {cut}, {len} bytes: the driver pinned {pinned} of 3 ranges that share pages");
    }
    // Only the middle is pinned. Copies of its neighbours begin or end in its pages.
    let (low, high) = data.split_at_mut(5000);
    let (middle, high) = high.split_at_mut(100);
    let mut back = vec![0_u8; 1 << 20];
    context
        .with_pinned(middle, |_| {
            stream.scope(|s| {
                s.upload(low, &mut array.view_mut().slice_axis(0, ..5000)?)?;
                s.upload(high, &mut array.view_mut().slice_axis(0, 5100..)?)?;
                s.download(&array.view(), &mut back)
            })
        })
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(back == expected);
    finish(&context);
}

/// Fills a managed array and copies a permuted mapped array to it; then the host reads the managed array.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn strided_work_on_mapped_and_managed_memory() {
    let context = open();
    let stream = context.stream().unwrap();
    let values: Vec<u32> = (0..60 * 70 * 80).collect();
    let flags = HostFlags::new().write_combined();
    let mut source = MappedArray::zeros_with(&context, &[60, 70, 80], flags).unwrap();
    source.host_mut().unwrap().copy_from_slice(&values);
    let mut target = ManagedArray::<u32, _>::zeros(&context, &[80, 60, 70]).unwrap();
    for to in [Location::Device, Location::Host] {
        target.prefetch(&stream, to).unwrap();
        target.view_mut().fill(&stream, 0).unwrap();
        target.view_mut().copy_from(&stream, &source.view().permute(&[2, 0, 1]).unwrap()).unwrap();
        for (at, &found) in target.host().unwrap().iter().enumerate() {
            let (k, i, j) = (at / 4200, at / 70 % 60, at % 70);
            assert_eq!(found as usize, (i * 70 + j) * 80 + k);
        }
    }
    finish(&context);
}
