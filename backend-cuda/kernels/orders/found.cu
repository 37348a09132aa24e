// Finds elements and keeps their order: the first of equal elements, elements that are not zero, and
// elements at given places of sorted lines.
//
// The number of finds before a tile comes from the tiles before it, by look-back, so that one
// launch reads the elements once.

#include "order.cuh"

const int THREADS = 256, WARPS = THREADS / WARP, ITEMS = 8, TILE = THREADS * ITEMS;

#define EACH(AT, LEN)                                                                              \
    const u64 step = (u64)gridDim.x * THREADS;                                                     \
    for (u64 AT = (u64)blockIdx.x * THREADS + threadIdx.x; AT < (LEN); AT += step)

const u64 OF_TILE = 1ull << 62, OF_ALL = 2ull << 62, COUNT = OF_TILE - 1;

// words: one per tile, 0 at first; next: the number of the next tile, 0 at first; c: the count of
// all finds. `is_found` says whether an element is found; `take` gets each found element and its
// number.
template <class F, class T> __device__ __forceinline__ void each_found(const Params& p, F is_found, T take) {
    __shared__ u32 of_warps[WARPS];
    __shared__ u32 tile_shared;
    __shared__ u64 before_shared;
    if (threadIdx.x == 0) {
        tile_shared = atomicAdd((u32*)p.next, 1);
    }
    __syncthreads();
    const u32 tile = tile_shared, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const u64 first = (u64)tile * TILE + warp * (WARP * ITEMS);
    u32 flags[ITEMS], own = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u64 at = first + i * WARP + lane;
        flags[i] = __ballot_sync(ALL, at < p.len && is_found(at));
        own += __popc(flags[i]);
    }
    if (lane == 0) {
        of_warps[warp] = own;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 sum = 0;
        for (int w = 0; w < WARPS; w++) {
            const u32 of_warp = of_warps[w];
            of_warps[w] = (u32)sum;
            sum += of_warp;
        }
        volatile u64* words = (volatile u64*)p.words;
        words[tile] = sum | (tile == 0 ? OF_ALL : OF_TILE);
        u64 before = 0;
        for (u32 earlier = tile; earlier > 0;) {
            const u64 word = words[earlier - 1];
            if (word < OF_TILE) {
                continue;
            }
            before += word & COUNT;
            if (word >= OF_ALL) {
                break;
            }
            earlier--;
        }
        if (tile > 0) {
            words[tile] = (before + sum) | OF_ALL;
        }
        before_shared = before;
        if (tile == gridDim.x - 1) {
            *(u64*)p.c = before + sum;
        }
    }
    __syncthreads();
    u64 number = before_shared + of_warps[warp];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u64 at = first + i * WARP + lane;
        // Elements that are not found also get a number: the number of the last find before them.
        const u32 upto = __popc(flags[i] & (ALL >> (WARP - 1 - lane)));
        if (at < p.len) {
            take(at, flags[i] >> lane & 1, number + upto - 1);
        }
        number += __popc(flags[i]);
    }
}

// The first of each group of equal elements, in sorted elements. a: elements; z: their old positions, i64; b:
// where groups begin, with room for all groups and one more; y: the group of each position, or 0.
template <class K> __device__ __forceinline__ void heads(const Params& p) {
    typedef typename K::Bits B;
    const B* a = (const B*)p.a;
    each_found(
        p, [&](u64 at) { return at == 0 || K::key(a[at], p) != K::key(a[at - 1], p); },
        [&](u64 at, bool is_head, u64 number) {
            if (is_head) {
                ((u64*)p.b)[number] = at;
            }
            if (at == p.len - 1) {
                ((u64*)p.b)[number + 1] = p.len;
            }
            if (p.y) {
                ((u64*)p.y)[((const u64*)p.z)[at]] = number;
            }
        });
}

// Results of the first `extent` groups, or of all groups if there are fewer. b: where they begin; c: their
// count.
template <class B> __device__ __forceinline__ void values_of_groups(const Params& p) {
    EACH(at, least(p.extent, *(const u64*)p.c)) {
        ((B*)p.y)[at] = ((const B*)p.a)[((const u64*)p.b)[at]];
    }
}

KERNEL(counts_of_groups, THREADS) {
    EACH(at, least(p.extent, *(const u64*)p.c)) {
        ((u64*)p.y)[at] = ((const u64*)p.b)[at + 1] - ((const u64*)p.b)[at];
    }
}

// Positions of elements that are not zero. a: elements; y: room for `extent` positions.
template <class K> __device__ __forceinline__ void nonzero(const Params& p) {
    const typename K::Bits* a = (const typename K::Bits*)p.a;
    each_found(p, [&](u64 at) { return !K::is_zero(a[at], p); },
               [&](u64 at, bool is_found, u64 number) {
                   if (is_found && number < p.extent) {
                       ((u64*)p.y)[number] = at;
                   }
               });
}

// The coordinates of positions along one axis. a: positions, `extent` of them or as many as c says; y: rows
// of `lines` coordinates; `inner` elements after the axis of `line_len`.
KERNEL(coordinate, THREADS) {
    EACH(at, least(p.extent, *(const u64*)p.c)) {
        ((u64*)p.y)[at * p.lines + p.pass] = ((const u64*)p.a)[at] / p.inner % p.line_len;
    }
}

// The first `extent` elements of each line. a: lines; y: their destination.
template <class B> __device__ __forceinline__ void first_of_lines(const Params& p) {
    EACH(at, p.lines * p.extent) {
        const u64 line = at / p.extent;
        ((B*)p.y)[at] = ((const B*)p.a)[line * p.line_len + (at - line * p.extent)];
    }
}

// Interpolates between two neighbours of each sorted line. a: lines; y: results; `extent` is the lower
// neighbour, `part` the fraction from it.
template <class K, class F> __device__ __forceinline__ void quantile(const Params& p) {
    typedef typename F::Sum T;
    typedef typename K::Bits B;
    EACH(line, p.lines) {
        const B* a = (const B*)p.a + line * p.line_len;
        // NaN comes after all others.
        const B last = a[p.line_len - 1];
        T y;
        if (K::is_nan(last, p)) {
            y = F::load(last, p);
        } else {
            const u64 above = p.extent + 1 < p.line_len ? p.extent + 1 : p.extent;
            y = between<T>(F::load(a[p.extent], p), F::load(a[above], p), (T)p.part);
        }
        ((B*)p.y)[line] = F::store(y, p);
    }
}

#define KEYS(NAME, KEY)                                  \
    KERNEL(NAME##_heads, THREADS) { heads<KEY>(p); }     \
    KERNEL(NAME##_nonzero, THREADS) { nonzero<KEY>(p); }

KEYS(w8, Byte)
KEYS(w16, Short)
KEYS(w32, Whole<u32>)
KEYS(w64, Whole<u64>)
KEYS(f32, Float<u32>)
KEYS(f64, Float<u64>)

#define WORDS(NAME, B)                                               \
    KERNEL(NAME##_of_groups, THREADS) { values_of_groups<B>(p); }    \
    KERNEL(NAME##_first_of_lines, THREADS) { first_of_lines<B>(p); }

WORDS(w8, u8)
WORDS(w16, u16)
WORDS(w32, u32)
WORDS(w64, u64)

KERNEL(w16_quantile, THREADS) { quantile<Short, HalfSum>(p); }
KERNEL(f32_quantile, THREADS) { quantile<Float<u32>, SingleSum>(p); }
KERNEL(f64_quantile, THREADS) { quantile<Float<u64>, DoubleSum>(p); }
