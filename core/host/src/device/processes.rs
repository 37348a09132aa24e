//! Exchanges with ranks that are other processes: their elements come over connections.
//!
//! Elements are combined in the order of ranks by the code that does it for threads, so the bits are the same. A
//! vector that is combined for all is cut into a share for each rank: each gets its share of all vectors, combines it, and
//! gives all what came out.
#![allow(unsafe_code)] // reads and writes memory of the exchange

use std::{ops::Range, slice};

use devarray::{
    backend::{CollectOp, Exchange, Mesh, Piece},
    collective::CollectiveError,
};

use crate::{execute, memory::DeviceMemory, stream::copy_bytes, threads::Threads};

/// The elements that one participant combines for all.
pub(super) fn share(count: usize, ranks: usize, place: usize) -> Range<usize> {
    let start = |place: usize| count / ranks * place + count % ranks * place / ranks;
    start(place)..start(place + 1)
}

/// One exchange of this rank.
struct Exchanging<'e> {
    threads: &'e Threads,
    mesh: &'e Mesh,
    op: &'e CollectOp<'e, DeviceMemory>,
    /// The first bytes; null where the rank has none.
    source: *const u8,
    result: *mut u8,
}

/// Does the part of this rank.
///
/// # Safety
///
/// It is the operation's turn: nobody else touches its source and its result meanwhile, and these share no byte or are one.
pub(super) unsafe fn exchange(
    threads: &Threads,
    mesh: &Mesh,
    op: &CollectOp<'_, DeviceMemory>,
) -> Result<(), CollectiveError> {
    let source = op.source().map_or(std::ptr::null(), |(memory, at)| memory.at(at).cast_const());
    let result = op.result().map_or(std::ptr::null_mut(), |(memory, at)| memory.at(at));
    let exchanging = Exchanging { threads, mesh, op, source, result };
    if op.exchange() == Exchange::AllReduce {
        // SAFETY: passed on.
        unsafe { exchanging.all_reduce() }
    } else {
        // SAFETY: passed on.
        unsafe { exchanging.pieces() }
    }
}

impl Exchanging<'_> {
    /// Bytes of the source.
    ///
    /// # Safety
    ///
    /// They lie in it, and are not written while the slice is used.
    unsafe fn sent(&self, bytes: Range<usize>) -> &[u8] {
        if bytes.is_empty() {
            return &[]; // of a rank that may have no memory
        }
        // SAFETY: as the caller promises.
        unsafe { slice::from_raw_parts(self.source.wrapping_add(bytes.start), bytes.len()) }
    }

    /// Bytes of the result.
    ///
    /// # Safety
    ///
    /// They lie in it, and nobody else reads or writes them while the slice is used.
    #[expect(clippy::mut_from_ref, reason = "the caller promises that it has them alone")]
    unsafe fn written(&self, bytes: Range<usize>) -> &mut [u8] {
        if bytes.is_empty() {
            return &mut []; // likewise
        }
        // SAFETY: as the caller promises; memory of a device is initialized, as far as this language is concerned.
        unsafe { slice::from_raw_parts_mut(self.result.wrapping_add(bytes.start), bytes.len()) }
    }

    /// Bytes of the result, to be sent.
    ///
    /// # Safety
    ///
    /// They lie in it, and are not written while the slice is used.
    unsafe fn combined(&self, bytes: Range<usize>) -> &[u8] {
        // SAFETY: as the caller promises.
        unsafe { slice::from_raw_parts(self.result.wrapping_add(bytes.start), bytes.len()) }
    }

    /// The other participants.
    fn others(&self) -> impl Iterator<Item = usize> {
        self.op.participants().iter().copied().filter(|&rank| rank != self.op.rank())
    }

    /// # Safety
    ///
    /// The conditions of [`exchange`].
    unsafe fn all_reduce(&self) -> Result<(), CollectiveError> {
        let (op, item) = (self.op, self.op.item_bytes());
        let (own, ranks) = (op.rank(), op.participants().len());
        let elements = |rank| share(op.count(), ranks, rank);
        let bytes = |rank| elements(rank).start * item..elements(rank).end * item;
        let mut parts = parts(self.others().count(), bytes(own).len());
        // SAFETY: shares lie in the source; nothing is written yet.
        let sends: Vec<_> = self.others().map(|rank| (rank, unsafe { self.sent(bytes(rank)) })).collect();
        self.mesh.exchange(
            op.number(),
            &sends,
            &mut received(self.others(), &mut parts, bytes(own).len()),
        )?;
        // SAFETY: the own share is this rank's to read and write, and so are the parts.
        unsafe { self.combine(0, &parts, elements(own)) };
        // SAFETY: the own share is written no more, and the others' are not touched otherwise.
        let sends: Vec<_> = self.others().map(|rank| (rank, unsafe { self.combined(bytes(own)) })).collect();
        // SAFETY: each share comes from one rank, and nobody else touches it.
        let mut receives: Vec<_> =
            self.others().map(|rank| (rank, unsafe { self.written(bytes(rank)) })).collect();
        self.mesh.exchange(op.number(), &sends, &mut receives)
    }

    /// Sends the parts of the source that others need, and makes the result from the parts that come.
    ///
    /// # Safety
    ///
    /// The conditions of [`exchange`].
    unsafe fn pieces(&self) -> Result<(), CollectiveError> {
        let (op, own, part) = (self.op, self.op.rank(), self.op.part_bytes());
        let ranks = op.participants().len();
        let from_here = |rank| {
            let mut pieces = op.exchange().pieces(rank, ranks);
            pieces.find(|piece| piece.from.is_none_or(|from| from == own)).map(|piece| piece.source_part)
        };
        let sends: Vec<_> = self
            .others()
            .filter_map(|rank| Some((rank, op.source_part(from_here(rank)?))))
            // SAFETY: the parts lie in the source, and only parts of others are written, or combined ones at the end.
            .map(|(rank, bytes)| (rank, unsafe { self.sent(bytes) }))
            .collect();
        let mut pieces: Vec<Piece> = op.exchange().pieces(own, ranks).collect();
        if let [Piece { from: None, source_part, .. }] = pieces[..] {
            let mut parts = parts(self.others().count(), part);
            self.mesh.exchange(op.number(), &sends, &mut received(self.others(), &mut parts, part))?;
            // SAFETY: the source and the result are this rank's to read and write, and so are the parts.
            unsafe { self.combine(source_part, &parts, 0..op.count()) };
            return Ok(());
        }
        if let Some(at_own) = pieces.iter().position(|piece| piece.from == Some(own)) {
            let Piece { result_part, source_part, .. } = pieces.remove(at_own);
            let bytes = op.source_part(source_part);
            let from = self.source.wrapping_add(bytes.start);
            let to = self.result.wrapping_add(op.result_part(result_part).start);
            if from != to.cast_const() && !bytes.is_empty() {
                // SAFETY: both parts lie in their memory, which shares no byte; no other part of the result is this one.
                unsafe { copy_bytes(self.threads, from, to, bytes.len()) }
            }
        }
        let mut receives: Vec<_> = pieces
            .iter()
            .filter_map(|piece| Some((piece.from?, op.result_part(piece.result_part))))
            // SAFETY: each part of the result comes from one rank, and nobody else touches it.
            .map(|(rank, bytes)| (rank, unsafe { self.written(bytes) }))
            .collect();
        self.mesh.exchange(op.number(), &sends, &mut receives)
    }

    /// Combines elements of the own source and those that others sent, in the order of ranks, into the result.
    ///
    /// # Safety
    ///
    /// The elements may be read in the source and in the parts, which begin with the first of them, and written in the
    /// result.
    unsafe fn combine(&self, source_part: usize, parts: &[Vec<u64>], elements: Range<usize>) {
        let Some(combining) = self.op.combining() else { return };
        let (item, own) = (self.op.item_bytes(), self.op.rank());
        let mut parts = parts.iter();
        let sources: Vec<*const u8> = self
            .op
            .participants()
            .iter()
            .filter_map(|&rank| {
                if rank == own {
                    return Some(self.source.wrapping_add(source_part * self.op.part_bytes()));
                }
                // Where the first element of the whole vector would be.
                Some(parts.next()?.as_ptr().cast::<u8>().wrapping_sub(elements.start * item))
            })
            .collect();
        // SAFETY: as the caller promises; the result is the own source, or shares no byte with a source.
        unsafe { execute::combine(self.threads, combining, item, &sources, &[self.result], elements) }
    }
}

/// Room for parts of other ranks: words, so that elements are aligned.
fn parts(count: usize, len_bytes: usize) -> Vec<Vec<u64>> {
    vec![vec![0; len_bytes.div_ceil(size_of::<u64>())]; count]
}

/// The rooms as bytes, each with the rank that fills it.
fn received(
    ranks: impl Iterator<Item = usize>,
    parts: &mut [Vec<u64>],
    len_bytes: usize,
) -> Vec<(usize, &mut [u8])> {
    let bytes = |part: &mut Vec<u64>| {
        // SAFETY: the bytes belong to the words, which are borrowed as long.
        unsafe { slice::from_raw_parts_mut(part.as_mut_ptr().cast::<u8>(), len_bytes) }
    };
    ranks.zip(parts.iter_mut().map(bytes)).collect()
}
