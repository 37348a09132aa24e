// Sorts lines stably by digits of 8 bits. Each pass is one launch: it gets the counts of earlier tiles by
// look-back.
//
// Elements keep their bits. A digit belongs to the key of an element, which is computed again in each
// pass. If all elements share the digit of a pass, the pass is left out: the kernel of offsets notes
// which passes vary, and the others end at once. So the device itself counts which memory a pass reads
// and writes.
//
// In a tile, each warp counts its digits, and the block adds the counts and publishes them for later tiles.
// Each warp finds the places of its elements by ballots and writes the elements to shared memory in order.
// Then one thread per digit looks back, at counts that were published long ago, and the block writes runs to
// memory. Several short lines are sorted in the shared memory of one block.

#include "ranks.cuh"

// Whether each pass of a call varies. It is stored after the offsets of all lines and passes.
__device__ __forceinline__ u32* varies_of(const Params& p, int passes) {
    return (u32*)(p.offsets + p.lines * passes * DIGITS * 8);
}

// The passes of a type: one for each byte.
template <class K> struct Passes { static const int COUNT = sizeof(typename K::Bits); };

// Writes a position in its final form.
__device__ __forceinline__ void put_position(const Params& p, u64 at, u64 position) {
    if (p.flags & NARROW) {
        ((u32*)p.z)[at] = (u32)position;
    } else {
        ((u64*)p.z)[at] = position;
    }
}

// The word that moves with an element: its position in the line, or a word that belongs to it.
__device__ __forceinline__ u32 moved_at_first(const Params& p, u64 start, u64 at) {
    return p.list ? ((const u32*)p.list)[start + at] : (u32)at;
}

// ---- counts of all passes at once ----

// a: elements; offsets: counts, 0 at first. A line has `pass` blocks.
template <class K> __device__ __forceinline__ void count(const Params& p) {
    typedef typename K::Bits B;
    const int PASSES = Passes<K>::COUNT;
    __shared__ u32 counts[PASSES][DIGITS];
    for (int at = threadIdx.x; at < PASSES * DIGITS; at += THREADS) {
        (&counts[0][0])[at] = 0;
    }
    __syncthreads();
    const u64 line = blockIdx.x / p.pass;
    const u32 piece = blockIdx.x - (u32)line * p.pass;
    const B* a = (const B*)p.a + line * p.line_len;
    for (u64 at = (u64)piece * THREADS + threadIdx.x; at < p.line_len; at += (u64)p.pass * THREADS) {
        const B key = K::key(a[at], p);
#pragma unroll
        for (int pass = 0; pass < PASSES; pass++) {
            atomicAdd(&counts[pass][key >> 8 * pass & 255], 1);
        }
    }
    __syncthreads();
    u64* offsets = (u64*)p.offsets + line * PASSES * DIGITS;
    for (int at = threadIdx.x; at < PASSES * DIGITS; at += THREADS) {
        const u32 found = (&counts[0][0])[at];
        if (found) {
            atomicAdd(&offsets[at], (u64)found);
        }
    }
}

// Turns counts into offsets, with one block per line and pass; there are `pass` passes.
KERNEL(offsets, DIGITS) {
    __shared__ u64 sums[DIGITS];
    u64* counts = (u64*)p.offsets + (u64)blockIdx.x * DIGITS;
    const u64 own = counts[threadIdx.x];
    if (own != 0 && own != p.line_len) {
        varies_of(p, p.pass)[blockIdx.x % p.pass] = 1;
    }
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int step = 1; step < DIGITS; step *= 2) {
        const u64 before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    counts[threadIdx.x] = sums[threadIdx.x] - own;
}

// ---- a pass ----

// Publishes how many elements with the thread's digit a tile has. The two bits above the count say whether it
// counts only this tile, or this tile and all before it in the line.
template <class W> struct Told {
    static const W OF_TILE = W(1) << (8 * sizeof(W) - 2), OF_ALL = OF_TILE << 1, MASK = OF_TILE - 1;

    static __device__ __forceinline__ volatile W* words(const Params& p, u64 tile) {
        return (volatile W*)p.words + tile * DIGITS + threadIdx.x;
    }

    static __device__ __forceinline__ void tell(const Params& p, u64 tile, u32 in_line, u32 own) {
        *words(p, tile) = own | (in_line == 0 ? OF_ALL : OF_TILE);
    }

    // Adds the counts of all earlier tiles of the line. Several words are read at a time, because one word takes longer
    // to arrive than the next tile takes to publish.
    static __device__ __forceinline__ u64 before(const Params& p, u64 tile, u32 in_line, u32 own) {
        const int AT_ONCE = 4;
        u64 before = 0;
        for (u32 left = in_line; left > 0;) {
            const volatile W* next = words(p, tile - in_line + left);
            W read[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                // Before the line everything counts as published.
                read[i] = i < left ? next[-(i64)(i + 1) * DIGITS] : OF_ALL;
            }
            bool waits = false;
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                waits |= read[i] < OF_TILE;
                if (!waits && left > 0) {
                    before += read[i] & MASK;
                    left = read[i] >= OF_ALL ? 0 : left - 1;
                }
            }
        }
        if (in_line > 0) {
            *words(p, tile) = (W)(before + own) | OF_ALL;
        }
        return before;
    }
};

// A byte of a key.
template <class B> __device__ __forceinline__ u32 byte_of(B key, u32 at) {
    const u64 wide = key;
    return sizeof(B) == 8 ? __byte_perm((u32)wide, (u32)(wide >> 32), at) & 255 : __byte_perm((u32)key, 0, 0x4440 | at);
}

// The memory that a tile of a pass shares.
template <class B, bool MOVES, int ITEMS> struct Shared {
    u32 counts[WARPS][DIGITS];
    // Where the elements of each digit go: addresses, or places in the line if positions move too. The
    // elements before them in the tile are already subtracted.
    u64 addresses[MOVES ? 1 : DIGITS];
    u32 places[MOVES ? DIGITS : 1];
    u32 of_warps[WARPS];
    u32 tile;
    B elements[THREADS * ITEMS];
    u32 moved[MOVES ? THREADS * ITEMS : 1];
};

// Moves a tile in a pass. Its elements are at `from`, and its line goes to `to`. FULL: the tile does not
// reach beyond the end.
template <class K, bool MOVES, int ITEMS, bool FULL>
__device__ __forceinline__ void pass_tile(const Params& p, Shared<typename K::Bits, MOVES, ITEMS>& shared, u32 left, bool is_first) {
    typedef typename K::Bits B;
    const int TILE = THREADS * ITEMS, PASSES = Passes<K>::COUNT;
    const u32 tile = shared.tile, tiles = (u32)((p.line_len + TILE - 1) / TILE);
    const u32 line = tile / tiles, in_line = tile - line * tiles;
    const u64 start = line * p.line_len, first = (u64)in_line * TILE;
    const u32 len = (u32)least(TILE, p.line_len - first);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const u32 own_first = warp * WARP * ITEMS + lane;
    // If one more pass follows, this one reads what the last but one wrote.
    const B* from = (const B*)(is_first ? p.a : left & 1 ? p.y : p.b) + start + first + own_first;
    B* to = (B*)(left & 1 ? p.b : p.y) + start;
    B bits[ITEMS];
    u32 moved[MOVES ? ITEMS : 1];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        bits[i] = FULL || own_first + i * WARP < len ? from[i * WARP] : B(0);
    }
    if (MOVES) {
        const u32* positions = (const u32*)(left & 1 ? p.z : p.c) + start + first + own_first;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            const u32 at = own_first + i * WARP;
            moved[i] = !FULL && at >= len ? 0 : is_first ? moved_at_first(p, start, first + at) : positions[i * WARP];
        }
    }
    const auto digit_of = [&](int i) {
        // Elements beyond the end have the last digit, and come after all existing ones.
        return FULL || own_first + i * WARP < len ? byte_of(K::key(bits[i], p), p.pass) : 255;
    };
    count_digits<ITEMS>(shared.counts[warp], digit_of);
    __syncthreads();
    const u32 own = count_of_block(shared.counts);
    // Elements beyond the end do not count.
    const u32 there = own - (!FULL && threadIdx.x == 255 ? TILE - len : 0);
    if (p.flags & WIDE) {
        Told<u64>::tell(p, tile, in_line, there);
    } else {
        Told<u32>::tell(p, tile, in_line, there);
    }
    const u32 begin = before_in_block(own, shared.of_warps);
    places_of_warps(shared.counts, begin);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 place = take_place(shared.counts[warp], digit_of(i));
        shared.elements[place] = bits[i];
        if (MOVES) {
            shared.moved[place] = moved[i];
        }
    }
    const u64 before = p.flags & WIDE ? Told<u64>::before(p, tile, in_line, there)
                                      : Told<u32>::before(p, tile, in_line, there);
    const u64* offsets = (const u64*)p.offsets + ((u64)line * PASSES + p.pass) * DIGITS;
    const u64 to_place = offsets[threadIdx.x] + before - begin;
    if (MOVES) {
        shared.places[threadIdx.x] = (u32)to_place;
    } else {
        shared.addresses[threadIdx.x] = (u64)(to + to_place);
    }
    __syncthreads();
    const bool keeps = left > 0 || !(p.flags & DROPS);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = i * THREADS + threadIdx.x;
        if (FULL || at < len) {
            const B element = shared.elements[at];
            const u32 digit = byte_of(K::key(element, p), p.pass);
            if (!MOVES) {
                ((B*)shared.addresses[digit])[at] = element;
                continue;
            }
            // Lines with positions have fewer than 2^32 elements.
            const u32 place = shared.places[digit] + at;
            if (keeps) {
                to[place] = element;
            }
            if (left == 0) {
                put_position(p, start + place, shared.moved[at]);
            } else {
                ((u32*)(left & 1 ? p.c : p.z) + start)[place] = shared.moved[at];
            }
        }
    }
}

// a: elements; y: their final destination, b: memory for as many; z and c are the same for positions, or
// 0. Final positions are i64 or u32, others are u32. If `list` is set, its words move in place of
// positions. A flag says whether elements are written in the end.
template <class K, bool MOVES, int ITEMS> __device__ __forceinline__ void pass(const Params& p) {
    const int TILE = THREADS * ITEMS, PASSES = Passes<K>::COUNT;
    __shared__ Shared<typename K::Bits, MOVES, ITEMS> shared;
    const u32* varies = varies_of(p, PASSES);
    if (!varies[p.pass]) {
        return;
    }
    u32 number = 0, all = 0;
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++) {
        const u32 one = varies[pass];
        number += pass < p.pass ? one : 0;
        all += one;
    }
    if (threadIdx.x == 0) {
        shared.tile = atomicAdd((u32*)p.next + p.pass, 1);
    }
    __syncthreads();
    const u32 tiles = (u32)((p.line_len + TILE - 1) / TILE);
    if ((shared.tile % tiles + 1) * (u64)TILE <= p.line_len) {
        pass_tile<K, MOVES, ITEMS, true>(p, shared, all - 1 - number, number == 0);
    } else {
        pass_tile<K, MOVES, ITEMS, false>(p, shared, all - 1 - number, number == 0);
    }
}

// If no pass varies, elements and positions are in order already.
template <class K> __device__ __forceinline__ void settle(const Params& p) {
    typedef typename K::Bits B;
    const u32* varies = varies_of(p, Passes<K>::COUNT);
    for (int pass = 0; pass < Passes<K>::COUNT; pass++) {
        if (varies[pass]) {
            return;
        }
    }
    const u64 step = (u64)gridDim.x * THREADS;
    for (u64 at = (u64)blockIdx.x * THREADS + threadIdx.x; at < p.len; at += step) {
        if (!(p.flags & DROPS)) {
            ((B*)p.y)[at] = ((const B*)p.a)[at];
        }
        if (p.z) {
            put_position(p, at, moved_at_first(p, at - at % p.line_len, at % p.line_len));
        }
    }
}

// ---- short lines ----

// a: elements; y, z: where the first `extent` elements of each line and their positions go, or 0. A block has
// `pass` lines.
template <class K, int ITEMS> __device__ __forceinline__ void rows(const Params& p) {
    typedef typename K::Bits B;
    const int TILE = THREADS * ITEMS;
    __shared__ u32 counts[WARPS][DIGITS];
    __shared__ u32 of_warps[WARPS];
    // The flags alternate between passes, so that one is cleared while nobody reads it.
    __shared__ u32 is_constant[2];
    __shared__ B sorted[TILE];
    __shared__ u16 positions[TILE];
    const u64 first = (u64)blockIdx.x * p.pass * p.line_len;
    const u32 line_len = (u32)p.line_len;
    const u32 len = (u32)least(p.pass * p.line_len, p.len - first);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    B bits[ITEMS];
    u16 position[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = warp * WARP * ITEMS + i * WARP + lane;
        bits[i] = at < len ? ((const B*)p.a)[first + at] : B(0);
        position[i] = (u16)at;
    }
    const int PASSES = Passes<K>::COUNT;
    const int last = PASSES + (p.pass > 1);
#pragma unroll 1
    for (int pass = 0; pass < last; pass++) {
        if (threadIdx.x == 0) {
            is_constant[pass & 1] = 0;
        }
        const auto digit_of = [&](int i) {
            // Elements beyond the end stay there: they have the last digit, and a position after
            // all others.
            return position[i] >= len   ? 255
                   : pass < PASSES ? byte_of(K::key(bits[i], p), pass)
                                   : position[i] / line_len;
        };
        count_digits<ITEMS>(counts[warp], digit_of);
        __syncthreads();
        const u32 own = count_of_block(counts);
        if (own == TILE) {
            is_constant[pass & 1] = 1;
        }
        const u32 begin = before_in_block(own, of_warps);
        if (is_constant[pass & 1]) {
            continue;
        }
        places_of_warps(counts, begin);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            const u32 place = take_place(counts[warp], digit_of(i));
            sorted[place] = bits[i];
            positions[place] = position[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            const u32 at = warp * WARP * ITEMS + i * WARP + lane;
            bits[i] = sorted[at];
            position[i] = positions[at];
        }
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = warp * WARP * ITEMS + i * WARP + lane;
        const u32 line = at / line_len, in_line = at - line * line_len;
        if (at < len && in_line < p.extent) {
            const u64 to = ((u64)blockIdx.x * p.pass + line) * p.extent + in_line;
            if (p.y) {
                ((B*)p.y)[to] = bits[i];
            }
            if (p.z) {
                const u32 begin = line * line_len;
                put_position(p, to, moved_at_first(p, first + begin, position[i] - begin));
            }
        }
    }
}

// ITEMS per thread, or MOVED_ITEMS if positions move too: the fastest numbers that were measured.
#define SORTS(NAME, KEY, ITEMS, MOVED_ITEMS)                               \
    KERNEL(NAME##_count, THREADS) { count<KEY>(p); }                       \
    BLOCKS_KERNEL(NAME##_pass, 4) { pass<KEY, false, ITEMS>(p); }          \
    BLOCKS_KERNEL(NAME##_pass_moves, 3) { pass<KEY, true, MOVED_ITEMS>(p); } \
    KERNEL(NAME##_settle, THREADS) { settle<KEY>(p); }                     \
    KERNEL(NAME##_rows_1, THREADS) { rows<KEY, 1>(p); }                    \
    KERNEL(NAME##_rows_4, THREADS) { rows<KEY, 4>(p); }                    \
    KERNEL(NAME##_rows_12, THREADS) { rows<KEY, 12>(p); }

SORTS(w8, Byte, 16, 16)
SORTS(w16, Short, 24, 16)
SORTS(w32, Whole<u32>, 23, 16)
SORTS(w64, Whole<u64>, 12, 12)
SORTS(f32, Float<u32>, 23, 16)
SORTS(f64, Float<u64>, 12, 12)
