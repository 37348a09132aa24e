//! Timed events: on a device that has them and on one that does not.

use std::{collections::BTreeMap, time::Duration};

use devarray::{
    Array, Context, Error,
    backend::{Capability, Timing},
    timeline::Profiled,
};

use crate::{
    Harness, Outcome, Violation,
    patterns::elements,
    trace_events,
    violation::{ensure, same},
};

/// A context whose device times events; none if it does not, refuses with the right error, and
/// changes nothing.
fn timed<D: Timing>(harness: &Harness<D>) -> Result<Option<Context<D>>, Violation> {
    let context = harness.context()?;
    if context.device().info().capabilities.extras.has(Capability::EventTiming) {
        return Ok(Some(context));
    }
    let stream = context.stream()?;
    let refused = stream.record_timed().err();
    let named = matches!(
        refused,
        Some(Error::Unsupported { operation: "record_timed", capability: Capability::EventTiming, .. })
    );
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    same(&Array::from_slice(&stream, &[2], &[1, 2])?.to_vec(&stream)?, &[1, 2], "a stream after a refusal")?;
    Ok(None)
}

/// A declared capability works, and an undeclared one is refused with the right error.
pub fn elapsed<D: Timing>(harness: &Harness<D>) -> Outcome {
    let Some(context) = timed(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    let mut array = Array::<u32, D>::zeros(&stream, &[1 << 20])?;
    let mut marks = vec![stream.record_timed()?];
    for value in 0..4 {
        array.view_mut().fill(&stream, value)?;
        marks.push(stream.record_timed()?);
    }
    marks[4].event().synchronize()?;
    let between = |from: usize, to: usize| -> Result<Duration, Violation> {
        let time = marks[to].elapsed_since(&marks[from])?;
        time.ok_or_else(|| Violation::new(format!("no time from event {from} to {to}, both finished")))
    };
    ensure(!between(0, 4)?.is_zero(), || "four fills of 4 MiB took no time".into())?;
    for to in 1..=4 {
        let (whole, part) = (between(0, to)?, between(0, to - 1)?);
        ensure(part <= whole, || format!("{part:?} to event {}, {whole:?} to the next", to - 1))?;
        ensure(between(to, to - 1)?.is_zero(), || "a time from a later event to an earlier one".into())?;
        ensure(between(to, to)?.is_zero(), || "a time from an event to itself".into())?;
    }
    Ok(())
}

/// A timed event makes an order like any other event.
pub fn orders<D: Timing>(harness: &Harness<D>) -> Outcome {
    let Some(context) = timed(harness)? else { return Ok(()) };
    let (writer, reader) = (context.strict_stream()?, context.strict_stream()?);
    for salt in 0..8 {
        let data = elements::<u32>(salt, 5000);
        let source = Array::from_slice(&writer, &[5000], &data)?;
        let mut copy = Array::<u32, D>::zeros(&writer, &[5000])?;
        copy.view_mut().copy_from(&writer, &source.view())?;
        reader.wait(writer.record_timed()?.event())?;
        same(&copy.to_vec(&reader)?, &data, "what a stream sees that waited for a timed event")?;
    }
    Ok(())
}

/// Events of two contexts have no time between them.
pub fn contexts_do_not_mix<D: Timing>(harness: &Harness<D>) -> Outcome {
    let Some(context) = timed(harness)? else { return Ok(()) };
    let other = harness.second_context()?;
    if !other.device().info().capabilities.extras.has(Capability::EventTiming) {
        harness.leave_out("the second device does not time events");
        return Ok(());
    }
    let (one, two) = (context.stream()?.record_timed()?, other.stream()?.record_timed()?);
    let refused = one.elapsed_since(&two);
    let due = matches!(refused, Err(Error::DeviceMismatch { operation: "elapsed_since", .. }));
    ensure(due, || format!("the time between events of two contexts: {refused:?}"))
}

/// Calls on a profiled device are done, and its timeline shows them.
pub fn profile<D: Timing>(harness: &Harness<D>) -> Outcome {
    if timed(harness)?.is_none() {
        return Ok(());
    }
    let device = Profiled::new(harness.open()?)?;
    let context = Context::new(device.clone())?;
    let (one, two) = (context.strict_stream()?, context.strict_stream()?);
    device.clear();
    let len = 1 << 20;
    let mut array = Array::<u32, _>::zeros(&one, &[len])?;
    array.view_mut().fill(&one, 7)?;
    two.wait(&one.record()?)?;
    same(&array.to_vec(&two)?, &vec![7; len], "what a profiled device gives")?;
    one.synchronize()?;

    let timeline = device.timeline();
    let mut json = Vec::new();
    timeline.write_json(&mut json).map_err(|error| Violation::new(error.to_string()))?;
    let events = trace_events(&json)?;
    let of_side = |side: &str| {
        let calls = events.iter().filter(|event| event.is_of(side) && !event.name.starts_with("sync_"));
        calls
            .filter_map(|event| event.args.op.map(|op| (op, event.name.as_str())))
            .collect::<BTreeMap<_, _>>()
    };
    let (host, streams) = (of_side("host"), of_side("device"));
    ensure(host == streams, || format!("the host enqueued {host:?}, streams ran {streams:?}"))?;
    let numbers: Vec<u64> = streams.keys().copied().collect();
    same(&numbers, &(0..streams.len() as u64).collect::<Vec<_>>(), "numbers of operations")?;

    let fills: Vec<_> = events.iter().filter(|event| event.is_of("device") && event.name == "fill").collect();
    ensure(fills.len() == 2 && fills.iter().all(|fill| fill.args.bytes == Some(4 * len)), || {
        format!("two fills of 4 MiB are {fills:?}")
    })?;
    ensure(fills.iter().all(|fill| fill.dur > Some(0.0)), || format!("fills that took no time: {fills:?}"))?;
    let edge = timeline.arrows.iter().find_map(|arrow| {
        let (from, to) = (timeline.span(arrow.from)?, timeline.span(arrow.to)?);
        (from.name == "record" && to.name == "wait").then_some((from, to))
    });
    let Some((record, wait)) = edge else {
        return Err(Violation::new("no arrow from the record to the wait"));
    };
    ensure(record.time.start <= wait.time.end, || {
        format!("a wait that ended at {:?}, before the record of {:?}", wait.time.end, record.time)
    })
}
