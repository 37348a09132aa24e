//! Tests the library when each call that it makes fails once in every way.

use devarray::{
    Array, Context, ManagedArray, MappedArray, Order, Result,
    backend::{ForeignStream, Location},
    ix,
};
use devarray_mock::{Explore, Failure, FaultKind, MockDevice, Site, Swept, Wrong, sweep};

fn data(len: u8) -> Vec<u8> {
    (0..len).collect()
}

/// Makes contiguous and strided copies on two streams that wait for each other.
fn copies(device: MockDevice) -> Result<()> {
    let context = Context::new(device)?;
    let (one, two) = (context.stream()?, context.stream()?);
    let array = Array::from_slice(&one, &[4, 6], &data(24))?;
    let turned = array.view().permute(&[1, 0])?.to_contiguous(&two, Order::C)?;
    let mut target = Array::zeros(&one, &[6, 4])?;
    target.view_mut().copy_from(&one, &turned.view())?;
    target.view_mut().copy_within(&two, &ix![4..], &ix![2..4])?;
    target.view_mut().index(&ix![.., 1])?.fill(&one, 9)?;
    let host = target.to_vec(&two)?;
    assert_eq!(host[..4], [0, 9, 12, 18], "told that all is well");
    Ok(())
}

/// Drops arrays while two streams use them.
fn drops(device: MockDevice) -> Result<()> {
    let context = Context::new(device)?;
    let (one, two) = (context.stream()?, context.stream()?);
    let array = Array::from_slice(&one, &[8], &data(8))?;
    let copy = array.to_contiguous(&two, Order::C)?;
    drop(array);
    let gone = context.stream()?;
    let other = copy.to_contiguous(&gone, Order::C)?;
    drop(gone);
    drop(copy);
    assert_eq!(other.to_vec(&one)?, data(8), "told that all is well");
    Ok(())
}

/// Makes transfers that own their memory: some are waited for, some dropped, some forgotten.
fn transfers(device: MockDevice) -> Result<()> {
    let context = Context::new(device)?;
    let (one, two) = (context.stream()?, context.stream()?);
    let mut array = Array::<u8, _>::zeros(&one, &[16])?;
    let upload = array.view_mut().upload(&one, context.pinned_from(&data(16))?)?;
    let download = array.view().download(&two, context.pinned(16)?)?;
    drop(array.view().download(&one, context.pinned(16)?)?);
    drop(upload.wait()?);
    assert_eq!(*download.wait()?, *data(16), "told that all is well");
    Ok(())
}

/// Makes transfers of borrowed memory, which the scope returns when it ends.
fn scopes(device: MockDevice) -> Result<()> {
    let stream = Context::new(device)?.stream()?;
    let mut array = Array::<u8, _>::zeros(&stream, &[8])?;
    let (new, mut old, mut back) = (data(8), [1; 8], [1; 8]);
    stream.scope(|s| {
        s.download(&array.view(), &mut old)?;
        s.upload(&new, &mut array.view_mut())?;
        s.download(&array.view(), &mut back)
    })??;
    assert_eq!(
        (old.as_slice(), back.as_slice()),
        ([0; 8].as_slice(), new.as_slice()),
        "told that all is well"
    );
    Ok(())
}

/// Uses host memory that the device accesses directly.
fn host_kinds(device: MockDevice) -> Result<()> {
    let context = Context::new(device)?;
    let stream = context.stream()?;
    let mut mapped = MappedArray::from_slice(&context, &[8], &data(8))?;
    let mut managed = ManagedArray::<u8, _>::zeros(&context, &[8])?;
    managed.prefetch(&stream, Location::Device)?;
    managed.view_mut().copy_from(&stream, &mapped.view())?;
    mapped.view_mut().fill(&stream, 5)?;
    assert_eq!(*managed.host()?, *data(8), "told that all is well");
    assert_eq!(*mapped.host()?, [5; 8], "told that all is well");
    let mut own = data(8);
    context.with_pinned(&mut own, |own| Array::from_slice(&stream, &[8], own)?.to_vec(&stream))??;
    Ok(())
}

/// Copies between two devices, where one of them fails.
fn across(device: MockDevice) -> Result<()> {
    let other = MockDevice::builder().ordinal(1).build();
    let (here, there) = (Context::new(device)?, Context::new(other.clone())?);
    let (one, two) = (here.stream()?, there.stream()?);
    let source = Array::from_slice(&one, &[3, 4], &data(12))?;
    let mut target = Array::zeros(&two, &[4, 3])?;
    let copied = target.view_mut().copy_across(&two, &one, &source.view().permute(&[1, 0])?);
    // The other device works, whatever failed on this device.
    let seen = target.to_vec(&two)?;
    assert!(copied.is_err() || seen[..3] == [0, 4, 8], "told that all is well");
    drop((target, two, there));
    assert!(other.report().is_clean(), "{}", other.report());
    copied
}

/// Records events, and measures the time between them.
fn events(device: MockDevice) -> Result<()> {
    let context = Context::new(device)?;
    let (one, two) = (context.stream()?, context.stream()?);
    let before = one.record_timed()?;
    let array = Array::<u32, _>::full(&one, &[100], 7)?;
    let after = one.record_timed()?;
    let event = one.record()?;
    two.wait(&event)?;
    while !event.query()? {}
    event.synchronize()?;
    let _ = after.elapsed_since(&before)?;
    array.to_vec(&two).map(drop)
}

/// Sorts, counts, sums by index and multiplies elements that another stream has just written.
fn orders(device: MockDevice) -> Result<()> {
    let context = Context::new(device)?;
    let (one, two) = (context.stream()?, context.stream()?);
    let x = Array::from_slice(&one, &[2, 3], &[2_u8, 0, 1, 1, 2, 0])?;
    let sorted = x.sort(&two, 1)?;
    let positions = x.argsort(&one, 1)?;
    let mut sums = Array::zeros(&one, &[3])?;
    sums.view_mut().put_add(&two, 0, &sorted.view().index(&ix![0])?, &Array::full(&one, &[], 5_u8)?)?;
    let counts = sorted.bincount(&one, 3)?;
    let products = x.matmul(&two, &sorted.transpose())?;
    let totals = products.segment_sum(&one, &Array::from_slice(&two, &[2], &[0, 2])?)?;
    assert_eq!(positions.to_vec(&two)?, [1, 2, 0, 2, 0, 1], "told that all is well");
    assert_eq!(sums.to_vec(&one)?, [5; 3], "told that all is well");
    assert_eq!(counts.to_vec(&two)?, [2; 3], "told that all is well");
    assert_eq!(totals.to_vec(&two)?, [4, 4], "told that all is well");
    Ok(())
}

/// Waits for default streams of other code, and lets them wait.
fn other_code(device: MockDevice) -> Result<()> {
    let context = Context::new(device)?;
    let (one, two) = (context.stream()?, context.stream()?);
    let array = Array::<u8, _>::full(&one, &[100], 7)?;
    one.foreign_waits(ForeignStream::PER_THREAD)?;
    two.wait_for_foreign(ForeignStream::LEGACY)?;
    assert_eq!(array.to_vec(&two)?, [7; 100], "told that all is well");
    Ok(())
}

fn swept(program: fn(MockDevice) -> Result<()>) -> Swept {
    let swept = Explore::new().sweep(program).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{swept:#?}");
    assert!(swept.told > swept.survived, "{swept:#?}");
    swept
}

#[test]
fn copies_survive_every_failure() {
    let swept = swept(copies);
    for site in [Site::OpenStream, Site::Alloc, Site::Copy, Site::Fill, Site::Upload, Site::Download] {
        for kind in [FaultKind::Cancelled, FaultKind::Lost, FaultKind::Torn] {
            assert!(swept.failed.contains_key(&(site, kind)), "{site} {kind:?}");
        }
    }
}

#[test]
fn drops_survive_every_failure() {
    swept(drops);
}

#[test]
fn transfers_survive_every_failure() {
    swept(transfers);
}

#[test]
fn scopes_survive_every_failure() {
    swept(scopes);
}

#[test]
fn host_kinds_survive_every_failure() {
    swept(host_kinds);
}

#[test]
fn copies_between_devices_survive_every_failure() {
    swept(across);
}

#[test]
fn events_survive_every_failure() {
    swept(events);
}

#[test]
fn orders_survive_every_failure() {
    let swept = swept(orders);
    for site in [Site::Order, Site::Product] {
        for kind in [FaultKind::Cancelled, FaultKind::Lost, FaultKind::Torn] {
            assert!(swept.failed.contains_key(&(site, kind)), "{site} {kind:?}");
        }
    }
    // Without a failure, it is correct under every schedule.
    assert_eq!(Explore::new().schedules(20).run(orders), Ok(23));
}

#[test]
fn waits_for_other_code_survive_every_failure() {
    swept(other_code);
}

/// Has a mistake on one of its error paths only.
fn careless(device: MockDevice) -> Result<()> {
    let context = Context::new(device)?;
    let stream = context.stream()?;
    let array = Array::from_slice(&stream, &[8], &data(8))?;
    array.to_vec(&stream).inspect_err(|_| std::mem::forget(array.view().to_contiguous(&stream, Order::C)))?;
    Ok(())
}

#[test]
fn a_mistake_on_an_error_path_is_found_and_repeated() {
    let failure = Explore::new().sweep(careless).unwrap_err();
    assert!(matches!(failure.wrong, Wrong::Leaked(_)), "{failure}");
    let text = failure.to_string();
    assert!(text.contains("error[DA12]: leaked buffer"), "{text}");
    let failed = failure.failed.first().unwrap();
    let (site, kind, call) = (failed.site, failed.kind.name(), failed.call);
    assert!(text.contains(&format!(": {site} ({kind}, call {call} of the backend")), "{text}");
    let line = text.lines().last().unwrap();
    let run = line.split('\'').nth(1).unwrap();
    let named: Failure = run.parse().unwrap();
    let again = Explore::new().faults(*named.plan).replay(named.trace, careless).unwrap_err();
    assert_eq!(again.wrong, failure.wrong);
    // The twin: without a failure, nothing is wrong.
    assert_eq!(Explore::new().schedules(20).run(careless), Ok(23));
}

#[test]
#[should_panic(expected = "error[DA12]: leaked buffer")]
fn the_short_form_panics_like_a_test() {
    sweep(careless);
}
