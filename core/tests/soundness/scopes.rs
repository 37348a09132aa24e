//! Scopes: borrowed memory is freed as soon as they end, in whatever way they end.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use devarray::{Array, Error, backend::Quiesced};
use devarray_mock::Site;

use super::{devices, open};

fn refusal() -> Error {
    Error::Driver { backend: "mock", operation: "test", code: 1, name: "ON_PURPOSE".into() }
}

/// Lends memory that ends with this frame to a scope that ends in the way of `end`.
fn lend_and_end(end: &str) {
    for device in devices() {
        let (context, stream) = open(&device);
        let mut array = Array::<u64, _>::zeros(&stream, &[300]).unwrap();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let (src, mut dst) = (vec![4_u64; 300], vec![0_u64; 300]);
            let left = stream.scope(|s| {
                s.upload(&src, &mut array.view_mut())?;
                // A download that goes through scratch memory on the device is forgotten too.
                mem::forget(array.view().flip(&[0]).map(|view| s.download(&view, &mut dst)));
                match end {
                    "panic" => resume_unwind(Box::new("on purpose")),
                    "error" => Err(refusal()),
                    "failed wait" => {
                        device.fail_next(Site::Synchronize, Quiesced::Ended(refusal()));
                        Ok(())
                    }
                    "failed copy" => {
                        device.fail_next(Site::Upload, refusal());
                        s.upload(&src, &mut array.view_mut())
                    }
                    _ => Ok(()),
                }
            });
            let failed = left.is_err() || left.as_ref().is_ok_and(Result::is_err);
            assert_eq!(failed, end != "done", "{end}: {left:?}");
            // Failed work may leave any bytes, but it writes them before the scope ends.
            assert!(end == "failed wait" || dst == [4; 300], "{end}: {dst:?}");
            dst.fill(5);
            stream.synchronize().unwrap();
            assert_eq!(dst, [5; 300], "{end}: written after the scope");
        }));
        assert_eq!(ended.is_err(), end == "panic");
        // The memory is used again at once, and the stream goes on.
        let again = vec![9_u64; 600];
        let kept = array.to_vec(&stream).unwrap();
        assert!(end == "failed wait" || kept == [4; 300], "{end}: {kept:?}");
        stream.synchronize().unwrap();
        assert_eq!(again, [9; 600]);
        drop(context);
    }
}

#[test]
fn borrowed_memory_is_not_touched_after_any_end() {
    for end in ["done", "panic", "error", "failed wait", "failed copy"] {
        lend_and_end(end);
    }
}

#[test]
fn scopes_nest_and_the_inner_one_may_panic() {
    for device in devices() {
        let (context, outer) = open(&device);
        let inner = context.stream().unwrap();
        let (a, b) = (vec![1_u32; 100], vec![2_u32; 100]);
        let (mut x, mut y) = (vec![0; 100], vec![0; 100]);
        let mut array = Array::<u32, _>::zeros(&outer, &[2, 100]).unwrap();
        let (mut first, mut second) = {
            let mut rows = array.view_mut().array_split(0, 2).unwrap();
            (rows.next().unwrap(), rows.next().unwrap())
        };
        outer
            .scope(|s| {
                s.upload(&a, &mut first.reborrow().reshape(&[100], devarray::Order::C)?)?;
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    let short = b.clone();
                    let _ = inner.scope(|t| {
                        let sent = t.upload(&short, &mut second.reborrow());
                        assert_eq!(sent, Ok(()));
                        resume_unwind(Box::new("inside"));
                    });
                }));
                assert!(panicked.is_err());
                inner.scope(|t| t.download(&second.as_view(), &mut y))??;
                s.download(&first.as_view(), &mut x)
            })
            .unwrap()
            .unwrap();
        assert_eq!((x, y), (a, b));
    }
}

#[test]
fn threads_inside_a_scope_end_before_it() {
    for device in devices() {
        let (_context, stream) = open(&device);
        let data: Vec<Vec<u16>> = (0..4).map(|row| vec![row; 64]).collect();
        let mut array = Array::<u16, _>::zeros(&stream, &[4, 64]).unwrap();
        let rows = array.view_mut().array_split(0, 4).unwrap();
        stream
            .scope(|s| {
                thread::scope(|threads| {
                    for (mut row, data) in rows.zip(&data) {
                        threads.spawn(move || s.upload(data, &mut row).unwrap());
                    }
                });
            })
            .unwrap();
        assert_eq!(array.to_vec(&stream).unwrap(), data.concat());
    }
}
