//! A [`Timeline`] of streams, events and the host, for programs that look for lost time: written as
//! a trace that Perfetto (`ui.perfetto.dev`) and Chrome (`about:tracing`) show. Needs the feature
//! `timeline`.
//!
//! Simulated and real runs look alike. The simulator keeps a timeline by itself
//! (`MockDevice::timeline`, with its findings marked). Any device that times events can be wrapped
//! in [`Profiled`], which puts a timed event before and after every operation:
//!
//! ```
//! use devarray::{Array, Context, Order, timeline::Profiled};
//! use devarray_mock::MockDevice;
//!
//! let device = Profiled::new(MockDevice::new())?; // or a device of CUDA
//! let context = Context::new(device.clone())?;
//! let (one, two) = (context.stream()?, context.stream()?);
//! let a = Array::<f32, _>::zeros(&one, &[100, 100])?;
//! let b = a.view().transpose().to_contiguous(&two, Order::C)?;
//! b.to_vec(&two)?;
//!
//! let timeline = device.timeline();
//! let copies = timeline.tracks.iter().flat_map(|track| &track.spans).filter(|span| span.name == "copy");
//! assert_eq!(copies.count(), 2); // as the host enqueued it, and as the device ran it
//!
//! let mut json = Vec::new();
//! timeline.write_json(&mut json)?;
//! # assert!(json.starts_with(b"{\"displayTimeUnit\""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The file
//!
//! The file is one JSON object of the trace event format, with its events in `traceEvents`, one per
//! line. Times (`ts`) and lengths (`dur`) are microseconds with three decimals. Each timeline is a
//! process (`pid`), and each [`Track`] a thread (`tid`) of it; the host's tracks come first.
//!
//! | `ph` | `cat` | is | `name` | further fields |
//! |---|---|---|---|---|
//! | `M` | | the name of a process or thread, the place of a thread | `process_name`, `thread_name`, `thread_sort_index` | `args.name`, `args.sort_index` |
//! | `X` | `host`, `device` | a [`Span`]: a call of the host, an operation of a stream | of the operation: `copy`, `record` … | `dur`; `args`: `op`, the number; `bytes`; `location` in the source; `note` |
//! | `i` | `finding` | a [`Mark`]: something to look at; what it is about has `finding` in its `cat` too, and a colour | the code, such as `DA01` | `args.text`, `s`: `t` |
//! | `s`, `f` | `enqueue`, `event`, `finding` | the two ends of an [`Arrow`] | as `cat`, or the code | `id`; `bp`: `e` |
//!
//! The spans of one track never overlap, its events are in the order of their times, and each end
//! of an arrow lies in a span. Arrows that would point back in time, because two clocks differ, are
//! left out.

mod json;
mod model;
mod profiled;

pub use json::TraceWriter;
pub use model::{Arrow, ArrowKind, Mark, Span, SpanId, Timeline, Track, TrackKind};
pub use profiled::{Profiled, ProfiledEvent, ProfiledStream};
