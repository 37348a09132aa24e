//! `devarray bench transfer`: copies between host and device.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use devarray::{Array, Context, ErasedArray, Layout, Order, PinnedBuffer, StreamHandle, Transfer};

use super::{Measurable, Measurement, heading};
use crate::{
    Status,
    bench::{Line, RawCalls, Reference, Table, Target, interleaved, median},
    output::Output,
};

/// The arguments of `devarray bench transfer`.
#[derive(Debug, Args)]
#[command(after_help = "\
Pinned transfers are compared with the driver's own copy of the same memory, pageable ones with the driver's own copy of
pageable memory. GB/s are bytes transferred a second of the host's clock, from the call until the data is there.
The lines `transposed` are of pageable matrices whose columns are contiguous on the host and whose rows are on the device.
The line `overlap` is of an upload, a strided copy and a download on three streams at once; its reference is one after
the other, so its ratio says how much time the overlap saves.

Examples:
  devarray bench transfer --backend cuda
  devarray bench transfer --backend mock --json --max-bytes 65536")]
#[non_exhaustive]
pub struct Arguments {
    /// Where the arrays are
    #[arg(long, value_enum, default_value_t)]
    pub backend: Measurable,
    /// Print one JSON object a transfer
    #[arg(long)]
    pub json: bool,
    /// Leave out larger transfers
    #[arg(long, value_name = "N", default_value_t = 1 << 30)]
    pub max_bytes: usize,
    /// Threads that help with pageable transfers [default: as many as there are processors, at most
    /// 10]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// The sizes that are measured.
const SIZES: [usize; 7] = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30];
/// The most bytes of each of the three operations that overlap.
const OVERLAP_BYTES: usize = 256 << 20;
/// The fewest bytes that the rounds for one median move in total.
const MEDIAN_BYTES: usize = 256 << 20;
/// The fewest and the most rounds for a median.
const ROUNDS: (usize, usize) = (7, 101);

/// Runs the command.
///
/// # Errors
///
/// The device fails, or memory runs out.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    ensure!(arguments.max_bytes >= SIZES[0], "--max-bytes: the smallest transfer has {} bytes", SIZES[0]);
    arguments.backend.run(Transfers { arguments, output })
}

struct Transfers<'a, 'o> {
    arguments: &'a Arguments,
    output: &'a mut Output<'o>,
}

impl Measurement for Transfers<'_, '_> {
    type Output = Status;

    fn measure<D: Target>(self, device: D) -> Result<Status> {
        let heading = heading(&device);
        let context = Context::new(device)?;
        if let Some(threads) = self.arguments.threads {
            context.set_transfer_threads(threads);
        }
        let (stream, waiter) = (context.stream()?, context.stream()?);
        let raw = D::raw_calls(&stream, &waiter)?;
        let mut table = Table::begin(self.arguments.json, &heading, self.output)?;
        for &len in SIZES.iter().filter(|&&len| len <= self.arguments.max_bytes) {
            let mut transferred = Transferred::new(&stream, len, raw.as_deref())?;
            for line in [transferred.pinned()?, transferred.pageable()?].into_iter().flatten() {
                table.line(&line, self.output)?;
            }
        }
        let len = OVERLAP_BYTES.min(self.arguments.max_bytes);
        for line in transposed(&stream, len, raw.as_deref())? {
            table.line(&line, self.output)?;
        }
        table.line(&overlap(&context, len)?, self.output)?;
        Ok(Status::Success)
    }
}

fn named(kind: &str, direction: &str, len: usize) -> Line {
    let size = match len {
        len if len >= 1 << 30 => format!("{}GiB", len >> 30),
        len if len >= 1 << 20 => format!("{}MiB", len >> 20),
        len => format!("{}KiB", len >> 10),
    };
    Line::new(format!("{kind}-{direction}-{size}"), "u8", &[len], len)
}

fn rounds(len: usize) -> usize {
    (MEDIAN_BYTES / len).clamp(ROUNDS.0, ROUNDS.1)
}

fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Bytes without equal neighbours, different for each `seed`.
fn fill(bytes: &mut [u8], seed: u8) {
    for (k, byte) in bytes.iter_mut().enumerate() {
        // Made of the position in the page, the page, and higher parts of the number, so that
        // swapped pieces show.
        let [place, page, far, farther, ..] = k.to_le_bytes();
        *byte = place.wrapping_mul(31) ^ page.rotate_left(3) ^ far ^ farther.rotate_left(5) ^ seed;
    }
}

/// Starts an upload of a pinned buffer, and returns the buffer when it is done.
fn upload<D: Target>(
    stream: &StreamHandle<D>,
    array: &mut Array<u8, D>,
    pinned: PinnedBuffer<u8, D>,
) -> devarray::Result<PinnedBuffer<u8, D>> {
    Ok(array.view_mut().upload(stream, pinned)?.wait()?)
}

/// Starts a download to a pinned buffer, and returns the buffer when it is done.
fn download<D: Target>(
    stream: &StreamHandle<D>,
    array: &Array<u8, D>,
    pinned: PinnedBuffer<u8, D>,
) -> devarray::Result<PinnedBuffer<u8, D>> {
    Ok(array.view().download(stream, pinned)?.wait()?)
}

/// Transfers of one size.
struct Transferred<'a, D: Target> {
    stream: &'a StreamHandle<D>,
    array: Array<u8, D>,
    address: u64,
    len: usize,
    raw: Option<&'a dyn RawCalls>,
    /// Used if the driver has no calls of its own.
    reference: Reference,
}

impl<'a, D: Target> Transferred<'a, D> {
    fn new(stream: &'a StreamHandle<D>, len: usize, raw: Option<&'a dyn RawCalls>) -> Result<Self> {
        let (array, reference) = (ErasedArray::zeros(stream, &[len], 1)?, D::reference(stream, len, 1)?);
        let address = array.address();
        Ok(Self { stream, array: Array::from_erased(array)?, address, len, raw, reference })
    }

    fn pinned(&mut self) -> Result<[Line; 2]> {
        let Self { stream, array, address, len, raw, reference } = self;
        let (len, address) = (*len, *address);
        let context = stream.context();
        let (mut there, mut back) = (context.pinned::<u8>(len)?, context.pinned::<u8>(len)?);
        fill(&mut there, 1);
        there = upload(stream, array, there)?;
        back = download(stream, array, back)?;
        ensure!(there[..] == back[..], "pinned memory of {len} bytes came back changed");

        let mut buffer = Some(there);
        let mut ours = || {
            let pinned = buffer.take().context("an earlier upload failed")?;
            seconds(|| {
                buffer = Some(upload(stream, array, pinned)?);
                Ok(())
            })
        };
        let mut theirs = || match raw {
            Some(raw) => seconds(|| raw.upload(address, &back)),
            None => seconds(|| reference(0)),
        };
        let [up, raw_up] = interleaved(rounds(len), [&mut ours, &mut theirs])?;

        let mut ours = || {
            let pinned = buffer.take().context("an earlier download failed")?;
            seconds(|| {
                buffer = Some(download(stream, array, pinned)?);
                Ok(())
            })
        };
        let mut theirs = || match raw {
            Some(raw) => seconds(|| raw.download(address, &mut back)),
            None => seconds(|| reference(0)),
        };
        let [down, raw_down] = interleaved(rounds(len), [&mut ours, &mut theirs])?;
        Ok([
            named("pinned", "to-device", len).timed(len, up, raw_up),
            named("pinned", "from-device", len).timed(len, down, raw_down),
        ])
    }

    fn pageable(&mut self) -> Result<[Line; 2]> {
        let Self { stream, array, address, len, raw, reference } = self;
        let (len, address) = (*len, *address);
        let (mut there, mut back) = (vec![0_u8; len], vec![0_u8; len]);
        fill(&mut there, 2);
        array.view_mut().copy_from_slice(stream, &there)?;
        array.view().copy_to_slice(stream, &mut back)?;
        ensure!(there == back, "pageable memory of {len} bytes came back changed");

        let mut ours = || {
            seconds(|| {
                array.view_mut().copy_from_slice(stream, &there)?;
                Ok(stream.synchronize()?)
            })
        };
        let mut theirs = || match raw {
            Some(raw) => seconds(|| raw.upload(address, &there)),
            None => seconds(|| reference(0)),
        };
        let [up, raw_up] = interleaved(rounds(len), [&mut ours, &mut theirs])?;

        let mut other = vec![1_u8; len];
        let mut ours = || seconds(|| Ok(array.view().copy_to_slice(stream, &mut back)?));
        let mut theirs = || match raw {
            Some(raw) => seconds(|| raw.download(address, &mut other)),
            None => seconds(|| reference(0)),
        };
        let [down, raw_down] = interleaved(rounds(len), [&mut ours, &mut theirs])?;
        Ok([
            named("pageable", "to-device", len).timed(len, up, raw_up),
            named("pageable", "from-device", len).timed(len, down, raw_down),
        ])
    }
}

/// Transfers, both ways, of a matrix that is in F order on the host and in C order on the device,
/// next to the driver's own copies of the same size.
fn transposed<D: Target>(
    stream: &StreamHandle<D>,
    len: usize,
    raw: Option<&dyn RawCalls>,
) -> Result<[Line; 2]> {
    let count = len / size_of::<u32>();
    let rows = 1 << (count.ilog2() / 2);
    let columns = count / rows;
    let len = rows * columns * size_of::<u32>();
    let host = Layout::contiguous(&[rows, columns], Order::F)?;
    let mut reference = D::reference(stream, len, 1)?;
    let spare = ErasedArray::zeros(stream, &[len], 1)?;
    let mut array = Array::<u32, D>::zeros(stream, &[rows, columns])?;
    let there: Vec<u32> = (0..).map(|k: u32| k.wrapping_mul(0x9e37_79b9)).take(rows * columns).collect();
    let mut back = vec![0; there.len()];
    array.view_mut().copy_from_host(stream, &there, &host)?;
    let on_device = array.to_vec(stream)?;
    let turned = |(row, line): (usize, &[u32])| {
        line.iter().enumerate().all(|(column, &found)| found == there[column * rows + row])
    };
    ensure!(
        on_device.chunks(columns).enumerate().all(turned),
        "a matrix of {len} bytes went to the device changed"
    );
    array.view().copy_to_host(stream, &mut back, &host)?;
    ensure!(there == back, "a matrix of {len} bytes came back changed");

    let mut bytes = vec![1_u8; len];
    let mut ours = || {
        seconds(|| {
            array.view_mut().copy_from_host(stream, &there, &host)?;
            Ok(stream.synchronize()?)
        })
    };
    let mut theirs = || match raw {
        Some(raw) => seconds(|| raw.upload(spare.address(), &bytes)),
        None => seconds(|| reference(0)),
    };
    let [up, raw_up] = interleaved(rounds(len), [&mut ours, &mut theirs])?;
    let mut ours = || seconds(|| Ok(array.view().copy_to_host(stream, &mut back, &host)?));
    let mut theirs = || match raw {
        Some(raw) => seconds(|| raw.download(spare.address(), &mut bytes)),
        None => seconds(|| reference(0)),
    };
    let [down, raw_down] = interleaved(rounds(len), [&mut ours, &mut theirs])?;
    let line = |direction| {
        let case = named("transposed", direction, len).case;
        Line::new(case, "u32", &[rows, columns], len)
    };
    Ok([line("to-device").timed(len, up, raw_up), line("from-device").timed(len, down, raw_down)])
}

/// An upload, a strided copy and a download on three streams: at the same time, and one after
/// another.
fn overlap<D: Target>(context: &Context<D>, len: usize) -> Result<Line> {
    const ROWS: usize = 64;
    let streams = [context.stream()?, context.stream()?, context.stream()?];
    let [first, second, third] = &streams;
    let array = |stream| Array::<u8, D>::zeros(stream, &[ROWS, len / ROWS]);
    let (mut to, from) = (array(first)?, array(third)?);
    let (src, mut dst) = (array(second)?, Array::<u8, D>::zeros(second, &[len / ROWS, ROWS])?);
    let mut buffers = Some((context.pinned::<u8>(len)?, context.pinned::<u8>(len)?));
    // The copy is repeated until it takes about as long as a transfer over a link that is fifty
    // times slower than the memory.
    let copies = 24;
    let mut run = |at_once: bool| {
        for stream in &streams {
            stream.synchronize()?;
        }
        let (up, down) = buffers.take().context("an earlier transfer failed")?;
        seconds(|| {
            let up = to.view_mut().upload(first, up).map_err(devarray::Error::from)?;
            if !at_once {
                first.synchronize()?;
            }
            for _ in 0..copies {
                dst.view_mut().copy_from(second, &src.view().transpose())?;
            }
            if !at_once {
                second.synchronize()?;
            }
            let down = from.view().download(third, down).map_err(devarray::Error::from)?;
            second.synchronize()?;
            let wait = |transfer: Transfer<u8, D>| transfer.wait().map_err(devarray::Error::from);
            buffers = Some((wait(up)?, wait(down)?));
            Ok(())
        })
    };
    run(true)?;
    let mut taken = [(true, Vec::new()), (false, Vec::new())];
    for _ in 0..ROUNDS.0 {
        for (at_once, taken) in &mut taken {
            taken.push(run(*at_once)?);
        }
    }
    let [together, sum] = taken.map(|(_, seconds)| median(seconds));
    let moved = 2 * len + 2 * copies * len;
    Ok(Line::new("overlap".to_owned(), "u8", &[len], len).timed(moved, together, sum))
}
