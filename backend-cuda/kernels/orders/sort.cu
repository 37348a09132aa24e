// Stable sorts of lines by digits of 8 bits, each pass in one launch: the counts of earlier tiles come by
// look-back.
//
// Elements keep their bits: a digit is of the key of an element, which is computed anew in each pass. A
// pass whose digit all elements share is left out: the kernel of offsets notes which passes vary, and the
// others end at once. So the memory that a pass reads and writes is counted on the device.
//
// A tile: each warp ranks its elements among the others with their digit by ballots, the block sums the counts of
// its warps, one thread a digit looks back; then elements go to shared memory in their order, and from
// there to memory in runs. Short lines are sorted in shared memory, several in a block.

#include "ranks.cuh"

// Whether each pass of a call varies, behind the offsets of all lines and passes.
__device__ __forceinline__ u32* varies_of(const Params& p, int passes) {
    return (u32*)(p.offsets + p.lines * passes * DIGITS * 8);
}

// Passes of a type: a byte each.
template <class K> struct Passes { static const int COUNT = sizeof(typename K::Bits); };

// Writes a position at last.
__device__ __forceinline__ void put_position(const Params& p, u64 at, u64 position) {
    if (p.flags & NARROW) {
        ((u32*)p.z)[at] = (u32)position;
    } else {
        ((u64*)p.z)[at] = position;
    }
}

// What moves with an element: its position in the line, or a word of its own.
__device__ __forceinline__ u32 moved_at_first(const Params& p, u64 start, u64 at) {
    return p.list ? ((const u32*)p.list)[start + at] : (u32)at;
}

// ---- counts of all passes at once ----

// a: elements; offsets: counts, 0 before. A line has `pass` blocks.
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

// Counts become offsets: a block each line and pass, of `pass` passes.
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

// The counts of the tiles of the line before this one, of the thread's digit. A word has above its count
// what the count is of: a tile, or it and all before. Several words are read at a time: a word takes longer
// to come than tiles to follow each other.
template <class W> __device__ __forceinline__ u64 look_back(const Params& p, u64 tile, u32 in_line, u32 own) {
    const W of_tile = W(1) << (8 * sizeof(W) - 2), of_all = of_tile << 1, mask = of_tile - 1;
    const int AT_ONCE = 4;
    volatile W* words = (volatile W*)p.words + threadIdx.x;
    words[tile * DIGITS] = own | (in_line == 0 ? of_all : of_tile);
    u64 before = 0;
    for (u32 left = in_line; left > 0;) {
        const volatile W* next = words + (tile - in_line + left) * DIGITS;
        W read[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            // Before the line: as if all were told there.
            read[i] = i < left ? next[-(i64)(i + 1) * DIGITS] : of_all;
        }
        bool waits = false;
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            waits |= read[i] < of_tile;
            if (!waits && left > 0) {
                before += read[i] & mask;
                left = read[i] >= of_all ? 0 : left - 1;
            }
        }
    }
    if (in_line > 0) {
        words[tile * DIGITS] = (W)(before + own) | of_all;
    }
    return before;
}

// a: elements; y: where they go at last, b: memory for as many; z and c likewise of positions, or 0.
// Positions at last are i64 or u32, before that u32; where list is, its words move in place of positions.
// Whether elements are written at last is a flag.
template <class K, bool MOVES, int ITEMS> __device__ __forceinline__ void pass(const Params& p) {
    typedef typename K::Bits B;
    const int TILE = THREADS * ITEMS, PASSES = Passes<K>::COUNT;
    __shared__ u32 counts[WARPS][DIGITS];
    __shared__ u32 starts[DIGITS];
    __shared__ i64 places[DIGITS];
    __shared__ u32 of_warps[WARPS];
    __shared__ u32 tile_shared;
    __shared__ __align__(16) unsigned char room[TILE * (MOVES && sizeof(B) < 4 ? 4 : sizeof(B))];
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
    const u32 left = all - 1 - number;
    const bool is_first = number == 0, is_last = left == 0;
    if (threadIdx.x == 0) {
        tile_shared = atomicAdd((u32*)p.next + p.pass, 1);
    }
    __syncthreads();
    const u32 tile = tile_shared, tiles = (u32)((p.line_len + TILE - 1) / TILE);
    const u32 line = tile / tiles, in_line = tile - line * tiles;
    const u64 start = line * p.line_len, first = (u64)in_line * TILE;
    const u32 len = (u32)least(TILE, p.line_len - first);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    // With one pass left behind this, it reads what the last but one wrote.
    const B* from = (const B*)(is_first ? p.a : left & 1 ? p.y : p.b) + start + first;
    B* to = (B*)(left & 1 ? p.b : p.y) + start;
    B bits[ITEMS];
    u32 ranks[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = warp * WARP * ITEMS + i * WARP + lane;
        bits[i] = at < len ? from[at] : B(0);
    }
    const u32 shift = 8 * p.pass;
    const u32 own = ranked<ITEMS>(ranks, counts, [&](int i) {
        const u32 at = warp * WARP * ITEMS + i * WARP + lane;
        // Behind the end: the last digit, ranked behind all that are there.
        return at < len ? (u32)(K::key(bits[i], p) >> shift & 255) : 255;
    });
    // What is behind the end is not there.
    const u32 there = own - (threadIdx.x == 255 ? TILE - len : 0);
    const u64 before = p.flags & WIDE ? look_back<u64>(p, tile, in_line, there)
                                      : look_back<u32>(p, tile, in_line, there);
    const u32 begin = before_in_block(own, of_warps);
    starts[threadIdx.x] = begin;
    const u64* offsets = (const u64*)p.offsets + ((u64)line * PASSES + p.pass) * DIGITS;
    places[threadIdx.x] = (i64)(offsets[threadIdx.x] + before) - begin;
    __syncthreads();
    B* sorted = (B*)room;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 digit = ranks[i] >> 16;
        ranks[i] = (ranks[i] & 0xffff) + starts[digit] + counts[warp][digit];
        sorted[ranks[i]] = bits[i];
    }
    __syncthreads();
    const bool keeps = !is_last || !(p.flags & DROPS);
    // Lines with positions have fewer than 2^32 elements.
    u32 target[MOVES ? ITEMS : 1];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = i * THREADS + threadIdx.x;
        if (at < len) {
            const B element = sorted[at];
            const u64 place = (u64)(places[K::key(element, p) >> shift & 255] + at);
            if (keeps) {
                to[place] = element;
            }
            if (MOVES) {
                target[i] = (u32)place;
            }
        }
    }
    if (!MOVES) {
        return;
    }
    __syncthreads();
    u32* moved = (u32*)room;
    const u32* positions = (const u32*)(left & 1 ? p.z : p.c) + start + first;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = warp * WARP * ITEMS + i * WARP + lane;
        moved[ranks[i]] = at >= len ? 0 : is_first ? moved_at_first(p, start, first + at) : positions[at];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = i * THREADS + threadIdx.x;
        if (at < len) {
            if (is_last) {
                put_position(p, start + target[i], moved[at]);
            } else {
                ((u32*)(left & 1 ? p.c : p.z) + start)[target[i]] = moved[at];
            }
        }
    }
}

// If no pass varies, elements and positions are in order as they are.
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

// a: elements; y, z: where they and their positions go, or 0. A block has `pass` lines.
template <class K, int ITEMS> __device__ __forceinline__ void rows(const Params& p) {
    typedef typename K::Bits B;
    const int TILE = THREADS * ITEMS;
    __shared__ u32 counts[WARPS][DIGITS];
    __shared__ u32 starts[DIGITS];
    __shared__ u32 of_warps[WARPS];
    // By parity of passes, so that one is cleared while nobody looks at it.
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
        u32 ranks[ITEMS];
        if (threadIdx.x == 0) {
            is_constant[pass & 1] = 0;
        }
        const u32 own = ranked<ITEMS>(ranks, counts, [&](int i) {
            // What is behind the end stays there: the last digit, in a position behind all.
            return position[i] >= len   ? 255
                   : pass < PASSES ? (u32)(K::key(bits[i], p) >> 8 * pass & 255)
                                   : position[i] / line_len;
        });
        if (own == TILE) {
            is_constant[pass & 1] = 1;
        }
        const u32 begin = before_in_block(own, of_warps);
        starts[threadIdx.x] = begin;
        __syncthreads();
        if (is_constant[pass & 1]) {
            continue;
        }
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            const u32 digit = ranks[i] >> 16, rank = (ranks[i] & 0xffff) + starts[digit] + counts[warp][digit];
            sorted[rank] = bits[i];
            positions[rank] = position[i];
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
        if (at < len) {
            if (p.y) {
                ((B*)p.y)[first + at] = bits[i];
            }
            if (p.z) {
                const u32 line = position[i] / line_len * line_len;
                put_position(p, first + at, moved_at_first(p, first + line, position[i] - line));
            }
        }
    }
}

// Three blocks on a multiprocessor hide what they wait for.
#define PASS_KERNEL(NAME) extern "C" __global__ void __launch_bounds__(THREADS, 3) NAME(const __grid_constant__ Params p)

#define SORTS(NAME, KEY, ITEMS)                                              \
    KERNEL(NAME##_count, THREADS) { count<KEY>(p); }                         \
    PASS_KERNEL(NAME##_pass) { pass<KEY, false, ITEMS>(p); }             \
    PASS_KERNEL(NAME##_pass_moves) { pass<KEY, true, (ITEMS > 16 ? 16 : ITEMS)>(p); } \
    KERNEL(NAME##_settle, THREADS) { settle<KEY>(p); }                       \
    KERNEL(NAME##_rows_1, THREADS) { rows<KEY, 1>(p); }                      \
    KERNEL(NAME##_rows_4, THREADS) { rows<KEY, 4>(p); }                      \
    KERNEL(NAME##_rows_12, THREADS) { rows<KEY, 12>(p); }

SORTS(w8, Byte, 24)
SORTS(w16, Short, 24)
SORTS(w32, Whole<u32>, 20)
SORTS(w64, Whole<u64>, 12)
SORTS(f32, Float<u32>, 20)
SORTS(f64, Float<u64>, 12)
