// Finds the first elements of each line, and quantiles, without sorting.
//
// A sample of a long line gives two keys that enclose the place in the order, with a margin. One pass over
// the line lists the elements between them and counts the elements below. Then the key at the place is found
// digit by digit, the highest first: each digit takes a count of the elements that have the digits so far.
// The count goes over the list. It goes over the line if there is no list, because the line is short, the
// place is outside the list, or the list has no room.
//
// Elements before that key are taken. So are elements equal to it, those with the smallest positions. A
// small sort of the taken elements follows. Lines have fewer than 2^32 elements.

#include "listed.cuh"

// Calls `look` with each element of the block's part of its line, and its position. If the line has a list, only the
// elements of the list are looked at. `each` blocks share a line.
template <class B, class F> __device__ __forceinline__ void each_element(const Params& p, F look) {
    const u64 line = blockIdx.x / p.each, piece = blockIdx.x - line * p.each;
    const u64 listed = ((const State*)p.list)[line].listed, len = listed ? listed : p.line_len;
    const B* a = (const B*)p.a + line * p.line_len;
    const u64* list = (const u64*)p.words + line * p.outer;
    const u64 step = p.each * (THREADS * AT_ONCE);
    for (u64 first = piece * (THREADS * AT_ONCE) + threadIdx.x; first < len; first += step) {
        B bits[AT_ONCE];
        u64 position[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const u64 at = first + i * THREADS;
            position[i] = at;
            if (at >= len) {
                bits[i] = B(0);
            } else if (listed) {
                const u64 entry = list[at];
                bits[i] = (B)(sizeof(B) == 8 ? entry : entry >> 32);
                position[i] = (u32)entry;
            } else {
                bits[i] = a[at];
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            if (first + i * THREADS < len) {
                look(bits[i], position[i]);
            }
        }
    }
}

// Counts the digits of elements that have the digits so far. The last block of a line finds the digit at the
// place. a: lines; offsets: 2,048 counts per line, 0 before and after; the digit has `extent` bits, from bit
// `pass` on.
template <class K> __device__ __forceinline__ void count(const Params& p) {
    typedef typename K::Bits B;
    __shared__ u32 counts[DIGITS], of_warps[WARPS];
    for (int at = threadIdx.x; at < DIGITS; at += THREADS) {
        counts[at] = 0;
    }
    __syncthreads();
    const u64 line = blockIdx.x / p.each;
    State* state = (State*)p.list + line;
    const u32 above = p.pass + (u32)p.extent, mask = (1u << p.extent) - 1;
    const bool is_first = above >= 8 * sizeof(B);
    const u64 so_far = is_first ? 0 : state->key >> above;
    bool has_nan = false;
    each_element<B>(p, [&](B bits, u64) {
        const u64 key = K::key(bits, p);
        has_nan |= K::is_nan(bits, p);
        if (is_first || key >> above == so_far) {
            atomicAdd(&counts[key >> p.pass & mask], 1);
        }
    });
    if (is_first && has_nan) {
        state->has_nan = 1;
    }
    __syncthreads();
    u32* offsets = (u32*)p.offsets + line * DIGITS;
    for (int at = threadIdx.x; at < DIGITS; at += THREADS) {
        if (counts[at]) {
            atomicAdd(&offsets[at], counts[at]);
        }
    }
    if (!is_last_of_line(p, state)) {
        return;
    }
    const u64 rank = state->rank;
    offsets += threadIdx.x * EACH;
    u32 own[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        own[i] = __ldcg(&offsets[i]);
        offsets[i] = 0;
    }
    digit_at(own, rank, of_warps, [&](u32 digit, u64 left, u32 equal) {
        state->key |= (u64)digit << p.pass;
        state->rank = left;
        state->equal = equal;
    });
}

// Counts the equal elements in each of `each` parts of a line, if there are more than are needed. a: lines;
// offsets: counts of parts.
template <class K> __device__ __forceinline__ void count_ties(const Params& p) {
    typedef typename K::Bits B;
    __shared__ u32 sum;
    const u64 line = blockIdx.x / p.each, piece = blockIdx.x - line * p.each;
    const State* state = (const State*)p.list + line;
    if (state->rank + 1 == state->equal) {
        return;
    }
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    const u64 key = state->key, part = (p.line_len + p.each - 1) / p.each;
    const u64 end = least(p.line_len, (piece + 1) * part);
    const B* a = (const B*)p.a + line * p.line_len;
    u32 own = 0;
#pragma unroll 4
    for (u64 at = piece * part + threadIdx.x; at < end; at += THREADS) {
        own += K::key(a[at], p) == key;
    }
    if (own) {
        atomicAdd(&sum, own);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ((u32*)p.offsets)[line * DIGITS + piece] = sum;
    }
}

// Decides which equal elements are taken. Each line has a block, which looks for the part that has the last
// of them, and then for its position in that part.
template <class K> __device__ __forceinline__ void ties(const Params& p) {
    typedef typename K::Bits B;
    __shared__ u32 of_warps[WARPS];
    __shared__ u64 found_part, found_needed;
    State* state = (State*)p.list + blockIdx.x;
    const u64 key = state->key;
    if (state->rank + 1 == state->equal) {
        state->position = ~0ull;
        return;
    }
    if (threadIdx.x == 0) {
        const u32* counts = (const u32*)p.offsets + (u64)blockIdx.x * DIGITS;
        u64 needed = state->rank + 1, part = 0;
        while (counts[part] < needed) {
            needed -= counts[part++];
        }
        found_part = part, found_needed = needed;
    }
    __syncthreads();
    u64 needed = found_needed;
    const u64 part = (p.line_len + p.each - 1) / p.each, end = least(p.line_len, (found_part + 1) * part);
    const B* a = (const B*)p.a + (u64)blockIdx.x * p.line_len;
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (u64 first = found_part * part; first < end; first += THREADS) {
        const u64 at = first + threadIdx.x;
        const bool is_equal = at < end && K::key(a[at], p) == key;
        const u32 equals = __ballot_sync(ALL, is_equal);
        if (lane == 0) {
            of_warps[warp] = __popc(equals);
        }
        __syncthreads();
        u32 before = __popc(equals & ((1u << lane) - 1)), all = 0;
        for (u32 w = 0; w < WARPS; w++) {
            before += w < warp ? of_warps[w] : 0;
            all += of_warps[w];
        }
        if (is_equal && before + 1 == needed) {
            state->position = at;
        }
        __syncthreads();
        if (all >= needed) {
            return;
        }
        needed -= all;
    }
}

// Takes the first `extent` elements of each line. y: their keys above their positions, in any
// order.
template <class K> __device__ __forceinline__ void take(const Params& p) {
    typedef typename K::Bits B;
    const u64 line = blockIdx.x / p.each;
    State* state = (State*)p.list + line;
    const u64 last = state->key, position = state->position;
    u64* y = (u64*)p.y + line * p.extent;
    each_element<B>(p, [&](B bits, u64 at) {
        const u64 key = K::key(bits, p);
        if (key < last || (key == last && at <= position)) {
            y[atomicAdd(&state->taken, 1)] = key << 32 | at;
        }
    });
}

// Writes elements and positions of the taken. b: keys above positions, `extent` per line; a: lines; y, z:
// results, or 0.
template <class B> __device__ __forceinline__ void taken(const Params& p) {
    const u64 at = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (at < p.lines * p.extent) {
        const u32 position = (u32)((const u64*)p.b)[at];
        if (p.y) {
            ((B*)p.y)[at] = ((const B*)p.a)[at / p.extent * p.line_len + position];
        }
        if (p.z) {
            ((u64*)p.z)[at] = position;
        }
    }
}

// The least key above the key at the place, if it is asked for.
template <class K> __device__ __forceinline__ void above(const Params& p) {
    typedef typename K::Bits B;
    State* state = (State*)p.list + blockIdx.x / p.each;
    if (state->rank + 1 < state->equal || state->has_nan) {
        return;
    }
    const u64 key = state->key;
    u64 least_above = ~0ull;
    each_element<B>(p, [&](B bits, u64) {
        const u64 other = K::key(bits, p);
        least_above = other > key ? least(least_above, other) : least_above;
    });
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        least_above = least(least_above, __shfl_xor_sync(ALL, least_above, step));
    }
    if (threadIdx.x % WARP == 0 && least_above != ~0ull) {
        atomicMin(&state->next, least_above);
    }
}

// Interpolates between two neighbours of the order of each line: `part` is the fraction from the lower
// one.
template <class K, class F> __device__ __forceinline__ void quantile(const Params& p) {
    typedef typename F::Sum T;
    typedef typename K::Bits B;
    const u64 line = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (line >= p.lines) {
        return;
    }
    const State state = ((const State*)p.list)[line];
    const bool has_next = state.rank + 1 >= state.equal && state.next != ~0ull;
    // A key is also a rank: of +0, or of the canonical NaN.
    const T low = F::load(K::of_rank(state.has_nan ? (B)~B(0) : (B)state.key, p), p);
    const T high = has_next ? F::load(K::of_rank((B)state.next, p), p) : low;
    const T y = state.has_nan ? low : between<T>(low, high, (T)p.part);
    ((B*)p.y)[line] = F::store(y, p);
}

#define KEYS(NAME, KEY)                                  \
    KERNEL(NAME##_begin, THREADS) { begin<KEY>(p); }     \
    KERNEL(NAME##_collect, THREADS) { collect<KEY>(p); } \
    KERNEL(NAME##_count, THREADS) { count<KEY>(p); }     \
    KERNEL(NAME##_above, THREADS) { above<KEY>(p); }

KEYS(w16, Short)
KEYS(w32, Whole<u32>)
KEYS(f32, Float<u32>)
KEYS(f64, Float<u64>)

#define TAKES(NAME, KEY)                                 \
    KERNEL(NAME##_count_ties, THREADS) { count_ties<KEY>(p); } \
    KERNEL(NAME##_ties, THREADS) { ties<KEY>(p); }       \
    KERNEL(NAME##_take, THREADS) { take<KEY>(p); }

TAKES(w16, Short)
TAKES(w32, Whole<u32>)
TAKES(f32, Float<u32>)

KERNEL(w16_taken, THREADS) { taken<u16>(p); }
KERNEL(w32_taken, THREADS) { taken<u32>(p); }

KERNEL(w16_quantile, THREADS) { quantile<Short, HalfSum>(p); }
KERNEL(f32_quantile, THREADS) { quantile<Float<u32>, SingleSum>(p); }
KERNEL(f64_quantile, THREADS) { quantile<Float<u64>, DoubleSum>(p); }
