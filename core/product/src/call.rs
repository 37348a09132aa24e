//! Does the work of a call, by threads that share it.
#![allow(unsafe_code)] // hands on what a caller promises of memory

use std::{marker::PhantomData, ops::Range};

use devarray_function::{FloatEnvironment, Workers, each_piece};

use crate::{
    Machine,
    block::{Block, Room, Target},
    chains::{CHAIN, Sums},
    dots::{MOST, dots},
    kind::Kind,
    lanes::{Lanes, Work},
    machine::Compiled,
    number::Number,
    operands::Products,
    pack::Elements,
    plan::Plan,
};

/// The most results of chains that are kept at a time, if threads share the chains of elements.
const MOST_RESULTS: usize = 1 << 22;

/// A call, whose memory meets its conditions.
#[derive(Debug)]
pub(crate) struct Call {
    machine: Machine,
    products: Products,
    /// Whether chains start from the elements of the result.
    onto: bool,
}

/// The work of a call.
struct Run {
    products: Products,
    plan: Plan,
    onto: bool,
}

// SAFETY: the elements behind the pointers are used as the caller promises, and each element of the result
// by one thread
unsafe impl Sync for Run {}

/// Numbers that several threads write, each in other places.
struct Shared<N>(*mut N);

// SAFETY: whoever writes ensures that no two threads have one number
unsafe impl<N> Sync for Shared<N> {}

impl<N> Shared<N> {
    fn at(&self, place: usize) -> *mut N {
        self.0.wrapping_add(place)
    }
}

impl Call {
    /// # Safety
    ///
    /// The conditions of [`execute()`](crate::execute()), and of [`accumulate()`](crate::accumulate()) if it
    /// is `onto`, while this lives. The processor has the instructions of the machine.
    pub(crate) unsafe fn new(machine: Machine, products: Products, onto: bool) -> Self {
        Self { machine, products, onto }
    }

    /// Does the work for elements of the kind. The result has at least one element.
    pub(crate) fn run<K: Kind>(mut self, workers: &dyn Workers) {
        let _standard = FloatEnvironment::standard();
        let plan = Plan::new::<K>(&mut self.products, workers);
        let run = Run { products: self.products, plan, onto: self.onto };
        match self.machine {
            // SAFETY: as the caller of `new` promises
            Machine::Plain => unsafe { run.with::<<K::Number as Compiled>::Plain, K>(workers) },
            // SAFETY: as above
            #[cfg(target_arch = "x86_64")]
            Machine::Avx2 => unsafe { run.with::<<K::Number as Compiled>::Avx2, K>(workers) },
            // SAFETY: as above
            #[cfg(target_arch = "x86_64")]
            Machine::Avx512 => unsafe { run.with::<<K::Number as Compiled>::Avx512, K>(workers) },
        }
    }
}

impl Run {
    /// # Safety
    ///
    /// The processor has the instructions of the lanes; and the conditions of [`Call::new`].
    unsafe fn with<L: Lanes, K: Kind<Number = L::Number>>(&self, workers: &dyn Workers) {
        let ([rows, depth, columns], count) = (self.products.extents, self.products.count());
        let results = depth.div_ceil(CHAIN).saturating_mul(rows * columns);
        let is_one = rows * columns == 1;
        let few = if is_one { count < L::COUNT } else { self.plan.lacks_pieces };
        if depth > CHAIN && few && results <= MOST_RESULTS {
            for product in 0..count {
                // SAFETY: as the caller promises
                unsafe { self.by_chains::<L, K>(product, workers) };
            }
            return;
        }
        each_piece(workers, self.plan.pieces, |piece| {
            let numbers = self.plan.blocks(piece);
            if is_one && count > 1 {
                // SAFETY: as the caller promises; no other piece has these products
                unsafe { self.dots::<L, K>(numbers) };
            } else {
                // SAFETY: as the caller promises; no other piece has these blocks
                unsafe { L::compiled(Blocks::<L, K> { run: self, numbers, kind: PhantomData }) };
            }
        });
    }

    /// A block of a product.
    fn block<B>(&self, product: usize, [rows, columns]: [Range<usize>; 2]) -> Block<B> {
        let products = &self.products;
        let places = products.places(product);
        let start = |operand: usize| products.starts[operand].cast::<B>().wrapping_offset(places[operand]);
        let [[a_rows, a_k], [b_k, b_columns], strides] = products.strides;
        let a = Elements { start: start(0).cast_const(), across: a_rows, along: a_k };
        let b = Elements { start: start(1).cast_const(), across: b_columns, along: b_k };
        let place = rows.start.cast_signed() * strides[0] + columns.start.cast_signed() * strides[1];
        Block {
            extents: [rows.len(), products.extents[1], columns.len()],
            a: a.from(rows.start, 0),
            b: b.from(columns.start, 0),
            result: start(2).wrapping_offset(place),
            strides,
            onto: self.onto,
        }
    }

    /// Computes products that have one element each, in lanes.
    ///
    /// # Safety
    ///
    /// The conditions of [`with`](Self::with), for these products.
    unsafe fn dots<L: Lanes, K: Kind<Number = L::Number>>(&self, numbers: Range<usize>) {
        let depth = self.products.extents[1];
        let mut sums = Sums::new();
        for first in numbers.clone().step_by(L::COUNT) {
            let count = L::COUNT.min(numbers.end - first);
            let blocks: [_; MOST] =
                std::array::from_fn(|lane| self.block::<K::Bits>(first + lane.min(count - 1), [0..1, 0..1]));
            let blocks = &blocks[..count];
            let strides = [blocks[0].a.along, blocks[0].b.along];
            let y = &mut [L::Number::ZERO; MOST][..count];
            sums.chains(depth, y, |number, y| {
                y.fill(L::Number::ZERO);
                if self.onto && number == 0 {
                    for (y, block) in y.iter_mut().zip(blocks) {
                        // SAFETY: as the caller promises
                        *y = K::load(unsafe { block.result.read_unaligned() });
                    }
                }
                let from = number * CHAIN;
                let mut starts = [[std::ptr::null(); 2]; MOST];
                for (starts, block) in starts.iter_mut().zip(blocks) {
                    *starts = [&block.a, &block.b].map(|operand| operand.from(0, from).start);
                }
                // SAFETY: as the caller promises
                unsafe { dots::<L, K>(&starts[..count], strides, CHAIN.min(depth - from), y) };
            });
            for (&y, block) in y.iter().zip(blocks) {
                // SAFETY: as the caller promises
                unsafe { block.result.write_unaligned(K::store(y)) };
            }
        }
    }

    /// Computes one product, whose chains threads share.
    ///
    /// # Safety
    ///
    /// The conditions of [`with`](Self::with), for this product.
    unsafe fn by_chains<L: Lanes, K: Kind<Number = L::Number>>(&self, product: usize, workers: &dyn Workers) {
        let [rows, depth, columns] = self.products.extents;
        let (len, chains) = (rows * columns, depth.div_ceil(CHAIN));
        let block = || self.block::<K::Bits>(product, [0..rows, 0..columns]);
        let mut results = vec![L::Number::ZERO; len * chains];
        if self.onto {
            // SAFETY: as the caller promises
            unsafe { block().load::<K>(&mut results[..len]) };
        }
        let shared = Shared(results.as_mut_ptr());
        // Each lane has a chain; the last chain may be shorter.
        let each = if len == 1 { L::COUNT } else { 1 };
        let whole = depth / CHAIN;
        each_piece(workers, whole.div_ceil(each) + usize::from(whole < chains), |piece| {
            let first = (piece * each).min(whole);
            let count = if first == whole { 1 } else { each.min(whole - first) };
            // SAFETY: no other piece has these chains
            let own = unsafe { std::slice::from_raw_parts_mut(shared.at(first * len), count * len) };
            let block = block();
            let range = first * CHAIN..depth.min((first + 1) * CHAIN);
            if len == 1 {
                let start = |chain: usize| {
                    [&block.a, &block.b].map(|operand| operand.from(0, (first + chain) * CHAIN).start)
                };
                let starts: Vec<_> = (0..count).map(start).collect();
                // SAFETY: as the caller promises
                unsafe { dots::<L, K>(&starts, [block.a.along, block.b.along], range.len(), own) };
            } else {
                let target = Target {
                    start: own.as_mut_ptr(),
                    row_stride: columns.cast_signed(),
                    fresh: !(self.onto && first == 0),
                    done: false,
                };
                // SAFETY: as the caller promises
                unsafe { L::compiled(Chain::<L, K> { block: &block, range, target }) };
            }
        });
        let mut row = vec![L::Number::ZERO; len];
        Sums::new().chains(depth, &mut row, |chain, row| row.copy_from_slice(&results[chain * len..][..len]));
        // SAFETY: as the caller promises
        unsafe { block().store::<K>(&row) };
    }
}

/// Computes some blocks, one after the other.
struct Blocks<'a, L, K> {
    run: &'a Run,
    numbers: Range<usize>,
    kind: PhantomData<(L, K)>,
}

impl<L: Lanes, K: Kind<Number = L::Number>> Work for Blocks<'_, L, K> {
    #[inline(always)]
    unsafe fn run(self) {
        let mut room = Room::new();
        for number in self.numbers {
            let (product, parts) = self.run.plan.block(number, self.run.products.extents);
            // SAFETY: as the caller promises
            unsafe { self.run.block::<K::Bits>(product, parts).compute::<L, K>(&mut room) };
        }
    }
}

/// Computes one chain of all elements of a block.
struct Chain<'a, L: Lanes, K: Kind<Number = L::Number>> {
    block: &'a Block<K::Bits>,
    range: Range<usize>,
    target: Target<L::Number>,
}

impl<L: Lanes, K: Kind<Number = L::Number>> Work for Chain<'_, L, K> {
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: as the caller promises
        unsafe { self.block.chain::<L, K>(self.range, self.target, &mut Room::new()) }
    }
}
