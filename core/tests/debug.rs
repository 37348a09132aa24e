//! `{:?}` of every public type says in one short line what a value is, and never prints the device
//! behind it.
#![allow(unsafe_code, clippy::unwrap_used)] // helpers of tests; names operations that are never submitted

#[path = "debug/computing.rs"]
mod computing;
#[path = "debug/counted.rs"]
mod counted;
#[path = "debug/shown.rs"]
mod shown;

use std::{num::NonZeroUsize, slice, time::Duration};

use devarray::{
    Array, Bool, CallSite, Context, Crossing, ErasedArray, Error, Hazard, HostArray, Layout, LayoutError,
    ManagedArray, MappedArray, Order, PinnedArray, Result, Statistics, StreamHandle,
    array::{AsArrayView, Field, FieldItems},
    backend::{
        Advice, Capabilities, Capability, CopyOp, Device, DeviceUuid, DownloadOp, Exchange, FetchOp,
        FetchSource, Fetching, FillOp, ForeignStream, FreeOp, HostFlags, IpcMemory, IpcToken, Location,
        Participant, PciAddress, Quiesced, Rendezvous, Stream, Timing, UploadOp,
    },
    collective::{Combination, Communicator, CommunicatorId, Group, RankState},
    copy::Plan,
    field,
    ipc::{ParseRemoteError, RemoteArray},
    ix,
    layout::nest::{Nest, Strided},
    memory::{MemoryKind, MemoryLimit, ReleaseLimits},
    timeline::{Arrow, ArrowKind, Mark, Profiled, Span, SpanId, Timeline, TraceWriter, Track, TrackKind},
};
use devarray_mock::{MockDevice, Site};
use shown::Shown;

type Setting = (Context<MockDevice>, StreamHandle<MockDevice>);

fn open() -> Result<Setting> {
    let context = Context::new(MockDevice::new())?;
    let stream = context.stream()?;
    Ok((context, stream))
}

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    mass: f32,
}

#[test]
fn arrays_say_element_shape_order_and_device() -> Result<()> {
    let (context, s) = open()?;
    let mut a = Array::<f32, _>::zeros(&s, &[2, 3, 4])?;
    assert_eq!(format!("{a:?}"), "Array<f32>[2, 3, 4] C on mock:0");
    assert_eq!(format!("{:?}", a.transpose()), "ArrayView<f32>[4, 3, 2] F on mock:0");
    let every_other = a.index(&ix![1, .., ..; -2])?;
    assert_eq!(format!("{every_other:?}"), "ArrayView<f32>[3, 2] strides [4, -2] on mock:0");
    assert_eq!(format!("{:?}", a.view_mut()), "ArrayViewMut<f32>[2, 3, 4] C on mock:0");
    assert_eq!(format!("{:?}", a.view().bytes()?), "ByteView(96 bytes on mock:0)");
    assert_eq!(format!("{:?}", a.array_split(0, 2)?), "Parts(2 of ArrayView<f32>[2, 3, 4] C on mock:0)");
    assert_eq!(format!("{:?}", a.into_shared()), "SharedArray<f32>[2, 3, 4] C on mock:0");
    let particles = Array::<Particle, _>::zeros(&s, &[7])?;
    assert_eq!(format!("{particles:?}"), "Array<Particle>[7] C on mock:0");
    assert_eq!(format!("{:?}", particles.into_erased()), "ErasedArray<16 bytes>[7] C on mock:0");
    let long = Array::<u8, _>::zeros(&s, &[1; 20])?;
    assert_eq!(format!("{long:?}"), "Array<u8>[1, 1, 1, 1, 1, 1, 1, 1, … 20] C on mock:0");
    assert_eq!(
        format!("{:?}", PinnedArray::<u8, _>::zeros(&context, &[9, 9])?),
        "PinnedArray<u8>[9, 9] on mock:0"
    );
    Ok(())
}

/// Fills statistics with work of every kind.
fn busy(mut of: Statistics) -> Statistics {
    (of.copies, of.copied_bytes) = (1234, 5 << 30);
    (of.fills, of.filled_bytes) = (1234, 5 << 30);
    (of.uploads, of.uploaded_bytes) = (1234, 5 << 30);
    (of.downloads, of.downloaded_bytes) = (1234, 5 << 30);
    (of.maps, of.mapped_bytes) = (1234, 5 << 30);
    (of.reductions, of.reduced_bytes) = (1234, 5 << 30);
    of
}

#[test]
fn statistics_say_the_kinds_of_work_that_there_was() -> Result<()> {
    let (context, s) = open()?;
    assert_eq!(format!("{:?}", context.statistics()), "Statistics");
    Array::from_slice(&s, &[3], &[1_u16, 2, 3])?.to_vec(&s)?;
    let due = "Statistics { uploads: 1 (6 B), downloads: 1 (6 B) }";
    assert_eq!(format!("{:?}", context.statistics()), due);
    Ok(())
}

#[test]
fn handles_say_their_number_and_device() -> Result<()> {
    let (context, s) = open()?;
    assert_eq!(format!("{context:?}"), "Context(mock:0)");
    assert_eq!(format!("{s:?}"), "StreamHandle(1 on mock:0)");
    assert_eq!(format!("{:?}", context.strict_stream()?), "StreamHandle(2 on mock:0, strict)");
    assert_eq!(format!("{:?}", s.record()?), "EventHandle(of stream 1 on mock:0)");
    assert_eq!(format!("{:?}", context.device()), "MockDevice(mock:0)");
    Ok(())
}

fn collectives(shown: &mut Shown) -> Result<()> {
    let (context, stream) = open()?;
    let id = CommunicatorId::new();
    shown.add("CommunicatorId", &id);
    let mut ranks = Communicator::join(&context, &id, 0, 1)?;
    assert_eq!(format!("{ranks:?}"), "Communicator(rank 0 of 1 on mock:0, 1 calls)");
    shown.add("Communicator", &ranks);
    shown.add("Transfers", &ranks.transfers());
    shown.add("Group", &Group::join(slice::from_ref(&context), &CommunicatorId::new(), 0, 1)?);
    shown.add("Aborter", &ranks.aborter());
    let again = Communicator::join(&context, &id, 0, 1).err();
    let Some(Error::Collective { error, .. }) = again else { panic!("an id is for one communicator") };
    shown.add("CollectiveError", &error);
    let alone = CommunicatorId::with_time_limit(Duration::ZERO);
    let alone = Communicator::join(&context, &alone, 1, 2).err();
    let Some(Error::Collective { error, .. }) = alone else { panic!("the other rank does not join") };
    shown.add("CollectiveError", &error);
    let states = error.states().expect("it says what each rank did");
    shown.add("RankStates", states);
    for state in states.iter() {
        shown.add("RankState", state);
        let RankState::Calls(call) = state else { continue };
        shown.add("RankCall", call);
        let meetings = Rendezvous::default();
        shown.add("Rendezvous", &meetings);
        let who = Participant { number: 3, place: 0, count: 1, call, turns: None };
        shown.add("Participant", &who);
        shown.add("Met", &meetings.meet(who, 5, Duration::ZERO).expect("it is alone"));
    }
    shown.add("Combination", &Combination::Mean);
    computing::launched(shown);
    shown.add("Exchange", &Exchange::Transfer { from: 0, to: 1 });
    shown.add("Piece", &Exchange::AllGather.pieces(0, 2).next().expect("a part"));
    counted::counted(shown, &stream, ranks)
}

#[test]
fn every_public_type_is_short() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut shown = Shown::default();
    arrays(&mut shown)?;
    handles(&mut shown)?;
    doors(&mut shown)?;
    memory(&mut shown)?;
    raw(&mut shown)?;
    layouts(&mut shown)?;
    timelines(&mut shown)?;
    collectives(&mut shown)?;
    computing::functions(&mut shown)?;
    computing::gathers(&mut shown)?;
    computing::kernels(&mut shown)?;
    computing::walks_and_files(&mut shown)?;
    // Only backends receive these; unit tests show them.
    shown.is_shown_elsewhere(["CollectOp", "Combining", "Joining", "Meeting", "Mesh"]);
    // These belong to a feature of `devarray-function` that is off here.
    shown.is_shown_elsewhere([
        "Given",
        "Number",
        "Ranks",
        "Reads",
        "Stand",
        "Writes",
        "Partial",
        "PlacedMap",
        "Prepared",
    ]);
    let sources = ["/src", "/layout/src", "/function/src"];
    let sources = sources.map(|folder| env!("CARGO_MANIFEST_DIR").to_owned() + folder);
    shown.are_all_of(sources.each_ref().map(String::as_str));
    Ok(())
}

fn arrays(shown: &mut Shown) -> Result<()> {
    let (context, s) = open()?;
    let mut a = Array::<f32, _>::zeros(&s, &[200, 300, 4])?;
    shown.add("Array", &a);
    shown.add("ViewRef", &a.as_array_view());
    shown.add("ArrayView", &a.index(&ix![..; -1, 3..; 2])?);
    shown.add("Reshaped", &a.transpose().reshape_or_copy(&s, &[-1], Order::C)?);
    shown.add("Parts", &a.split_at(1, &[1, 2, 3])?);
    shown.add("ByteView", &a.view().bytes()?);
    shown.add("ByteReader", &a.view().bytes()?.reader(&s));
    shown.add("HostArray", &HostArray::new(&[2, 3], vec![1.5; 6])?);
    shown.add("IndexedIter", &HostArray::new(&[2, 3], vec![1.5; 6])?.indexed_iter());
    shown.add("ArrayViewMut", &a.view_mut());
    shown.add("ByteViewMut", &a.view_mut().bytes_mut()?);
    shown.add("ByteWriter", &a.view_mut().bytes_mut()?.writer(&s));
    let recording = s.record_work((&a,), |on, (a,)| a.map(on, |a| a + a).map(drop))?;
    shown.add("Recording", &recording);
    shown.add("RecordingError", &devarray::recorded::RecordingError::Escaped);
    shown.add("SharedArray", &a.into_shared());
    let mut erased = ErasedArray::zeros(&s, &[2, 3], 16)?;
    shown.add("ErasedArray", &erased);
    shown.add("ErasedView", &erased.view());
    shown.add("ErasedViewMut", &erased.view_mut());
    shown.add("Bool", &Bool::TRUE);
    let position: Field<Particle, [f32; 3]> = field!(Particle, position);
    let items: FieldItems<Particle, f32, 3> = position.items();
    shown.add("Field", &position);
    shown.add("FieldItems", &items);
    shown.add("MappedArray", &MappedArray::<u64, _>::zeros(&context, &[1000])?);
    shown.add("ManagedArray", &ManagedArray::<u64, _>::zeros(&context, &[1000])?);
    shown.add("PinnedArray", &PinnedArray::<u64, _>::zeros(&context, &[10, 100])?);
    shown.add("PinnedBuffer", &context.pinned::<u64>(1000)?);
    Ok(())
}

fn handles(shown: &mut Shown) -> Result<()> {
    let (context, s) = open()?;
    let mut a = Array::<u8, _>::zeros(&s, &[1000])?;
    shown.add("Context", &context);
    shown.add("StreamHandle", &s);
    shown.add("EventHandle", &s.record()?);
    shown.add("TimedEvent", &s.record_timed()?);
    let upload = a.view_mut().upload(&s, context.pinned(1000)?)?;
    shown.add("Transfer", &upload);
    drop(upload.wait()?);
    let wrong = a.view_mut().upload(&s, context.pinned(7)?).map(drop).unwrap_err();
    shown.add("TransferError", &wrong);
    s.scope(|scope| {
        shown.add("Scope", scope);
    })?;
    shown.add("ForeignWork", &s.foreign_work().writes(&mut a.view_mut()));
    shown.add("Statistics", &context.statistics());
    shown.add("Statistics", &busy(context.statistics()));
    shown.add("Hazard", &strict(&context)?);
    shown.add("Error", &a.reshape(&[7], Order::C).unwrap_err());
    shown.add("CallSite", &CallSite::here());
    shown.add("CallSite", &CallSite::UNKNOWN);
    shown.add("Error", &Error::DeviceMismatch { backend: "mock", operation: "copy_from_peer" });
    shown.add("LayoutError", &LayoutError::NeedsCopy);
    Ok(())
}

/// The hazard for which a strict stream refuses a call.
fn strict(context: &Context<MockDevice>) -> Result<Hazard> {
    let (one, two) = (context.strict_stream()?, context.strict_stream()?);
    match Array::full(&one, &[7], 1_u8)?.view().to_contiguous(&two, Order::C) {
        Err(Error::Hazard { hazard, .. }) => Ok(hazard),
        other => panic!("{other:?}"),
    }
}

fn doors(shown: &mut Shown) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let (context, s) = open()?;
    let array = Array::<u8, _>::zeros_exportable(&s, &[10, 10])?;
    let exported = array.export(&s)?;
    shown.add("RemoteArray", exported.array());
    shown.add("Exported", &exported);
    let event = s.record_exported()?;
    shown.add("RemoteEvent", event.event());
    shown.add("ExportedEvent", &event);
    let wrong: ParseRemoteError = RemoteArray::from_bytes(&[]).unwrap_err();
    shown.add("ParseRemoteError", &wrong);
    shown.add("ReleaseError", &array.release(&s).unwrap_err());
    shown.add("Released", &Array::<u8, _>::zeros(&s, &[7])?.release(&s)?);
    // SAFETY: the image is a list of variables.
    let module = unsafe { context.load_module(b"scale 16\ntable 4096\n") }?;
    shown.add("Module", &module);
    shown.add("Symbol", &module.symbol::<f32>("scale")?);
    shown.add("Crossing", &Crossing::Staged);
    shown.add("ForeignStream", &ForeignStream::LEGACY);
    shown.add("IpcToken", &IpcToken([0xab; 64]));
    shown.add("IpcMemory", &IpcMemory { token: IpcToken([1; 64]), offset_bytes: -256, len_bytes: 1 << 40 });
    Ok(())
}

fn memory(shown: &mut Shown) -> Result<()> {
    let (context, s) = open()?;
    let kept = devarray::memory::tagged("weights", || Array::<u8, _>::zeros(&s, &[1 << 20]))?;
    let pinned = context.pinned::<u8>(1000)?;
    shown.add("HostMemoryStatistics", &context.host_memory_statistics());
    shown.add("MemoryStatistics", &context.memory_statistics());
    shown.add("KindStatistics", &context.memory_statistics().of(MemoryKind::Device));
    let live = context.live_allocations();
    shown.add("AllocationRecord", &live[0]);
    shown.add("AllocationState", &live[0].state);
    shown.add("MemoryKind", &live[0].kind);
    shown.add("PeakScope", &context.peak_scope());
    shown.add("PendingReleases", &context.pending_releases());
    shown.add("ReleaseLimits", &ReleaseLimits::new(10, 1 << 30));
    shown.add("PinnedLimits", &devarray::PinnedLimits::default());
    shown.add("MemoryLimit", &MemoryLimit::Fraction(0.5));
    shown.add("PoolStatistics", &context.pool_statistics()?);
    context.set_memory_limit(MemoryLimit::Bytes(1 << 21))?;
    let refused = Array::<u8, _>::zeros(&s, &[1 << 22]).unwrap_err();
    let Error::OutOfMemory { live, .. } = &refused else { panic!("{refused:?}") };
    shown.add("LiveByTag", &live[0]);
    drop((kept, pinned));
    Ok(())
}

fn raw(shown: &mut Shown) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let device = MockDevice::new();
    let stream = device.open_stream()?;
    let buffer = stream.alloc(NonZeroUsize::MIN.saturating_add(4095))?;
    let layout = Layout::new(&[8, 16, 4], &[512, 8, 1], 0)?;
    let plan = Plan::new(&layout, &layout.swap_axes(0, 1)?.swap_axes(0, 1)?, 1, &device.info().capabilities)?;
    let mut host = [0_u8; 64];
    // SAFETY: named, and never submitted.
    shown.add("CopyOp", &unsafe { CopyOp::new_unchecked(&buffer, &buffer, &plan) });
    // SAFETY: as above.
    shown.add("FillOp", &unsafe { FillOp::new_unchecked(&buffer, &plan, &[7]) });
    // SAFETY: as above.
    shown.add("UploadOp", &unsafe { UploadOp::new_unchecked(&buffer, 0, host.as_ptr(), 64) });
    // SAFETY: as above.
    shown.add("DownloadOp", &unsafe { DownloadOp::new_unchecked(&buffer, 0, host.as_mut_ptr(), 64) });
    // SAFETY: as above.
    shown.add("FetchOp", &unsafe { FetchOp::new_unchecked(FetchSource::Bytes(&buffer, 0), 8) });
    shown.add("Forwarded", &devarray::backend::Forwarded::new(Capability::Functions, "map", 4));
    // SAFETY: it is never taken.
    shown.add("Fetching", &unsafe { Fetching::new(7) });
    shown.add("Plan", &plan);
    shown.add("Class", &plan.class());
    shown.add("Runs", &plan.runs());
    shown.add("Blocks", &plan.blocks(64));
    shown.add("Axis", &plan.axes()[0]);
    // SAFETY: allocated on this stream, and used by nobody.
    let free = unsafe { FreeOp::new_unchecked(buffer) };
    shown.add("FreeOp", &free);
    stream.free(free)?;
    shown.add("DeviceInfo", device.info());
    shown.add("DeviceProperties", &device.info().properties);
    shown.add("DeviceUuid", &DeviceUuid([0xcd; 16]));
    shown.add("PciAddress", &PciAddress::new(1, 2, 3));
    shown.add("Capabilities", &Capabilities::default());
    shown.add("Limits", &devarray::copy::Limits::from(&Capabilities::default()));
    shown.add("Capability", &Capability::WriteCombinedMemory);
    shown.add("CapabilitySet", &device.info().capabilities.extras);
    shown.add("MemoryInfo", &device.memory()?);
    shown.add("HostFlags", &HostFlags::new().portable().mapped());
    shown.add("Location", &Location::Device);
    shown.add("Advice", &Advice::ReadMostly);
    let lost = Error::DeviceLost {
        backend: "cuda",
        operation: "sync_stream",
        code: 719,
        name: "LAUNCH_FAILED".into(),
    };
    shown.add("Quiesced", &Quiesced::Unknown(lost));
    Ok(())
}

fn layouts(shown: &mut Shown) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let layout = Layout::contiguous(&[2, 3, 4, 5, 6, 7, 8, 9, 10], Order::F)?;
    shown.add("Layout", &layout);
    shown.add("Split", &Layout::contiguous(&[100, 200], Order::C)?.array_split(0, 7)?);
    shown.add("IndexItem", &ix![1..; 2][0]);
    shown.add("Slice", &devarray::layout::Slice::FULL.step_by(-3));
    shown.add("Order", &Order::K);
    shown.add("Injectivity", &layout.injectivity());
    shown.add("Overlap", &layout.overlap(&layout));
    let strides = [[60, 12], [12, 4], [4, 1]];
    let nest: Nest<_> = strides.into_iter().map(|strides| Strided { extent: 5, strides }).collect();
    shown.add("Nest", &nest);
    Ok(())
}

fn timelines(shown: &mut Shown) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let profiled = Profiled::new(MockDevice::new())?;
    let stream = profiled.open_stream()?;
    shown.add("ProfiledStream", &stream);
    shown.add("ProfiledEvent", &profiled.record_timed(&stream)?);
    shown.add("Profiled", &profiled);
    let context = Context::new(profiled)?;
    let s = context.stream()?;
    assert_eq!(Array::full(&s, &[100], 1_u8)?.to_vec(&s)?, [1; 100]);
    let timeline: Timeline = context.device().timeline();
    shown.add("Timeline", &timeline);
    let busy: &Track = timeline.tracks.iter().max_by_key(|track| track.spans.len()).ok_or("no track")?;
    shown.add("Track", busy);
    let span: &Span = busy.spans.first().ok_or("no span")?;
    shown.add("Span", span);
    let (from, to) = (SpanId { track: 0, span: 1 }, SpanId { track: 1, span: 2 });
    shown.add("SpanId", &from);
    shown.add("ArrowKind", &ArrowKind::Finding("DA01".to_owned()));
    shown.add("Arrow", &Arrow::new(ArrowKind::Event, from, to));
    shown.add("TrackKind", &TrackKind::Device);
    shown.add("Mark", &Mark::new("DA01", Duration::from_micros(7), "read/write race on buffer 0.0"));
    shown.add("TraceWriter", &TraceWriter::new(Vec::new())?);
    Ok(())
}

/// A refused value prints its own text, however long the text of the device behind it is.
#[test]
fn results_of_calls_can_be_printed() -> Result<()> {
    let (context, s) = open()?;
    context.device().fail_next(Site::Alloc, Error::DeviceMismatch { backend: "mock", operation: "alloc" });
    let refused = Array::<u8, _>::zeros(&s, &[7]);
    assert_eq!(format!("{refused:?}"), r#"Err(DeviceMismatch { backend: "mock", operation: "alloc" })"#);
    let made = Array::<u8, _>::zeros(&s, &[7]);
    assert_eq!(format!("{made:?}"), "Ok(Array<u8>[7] C on mock:0)");
    Ok(())
}
