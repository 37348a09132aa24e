// Lists the elements of a line whose keys are near a given rank: a sample gives bounds, and one pass over the
// line lists the elements between them.
#pragma once

#include "order.cuh"

const int THREADS = 256, WARPS = THREADS / WARP, DIGITS = 2048;
// The number of elements of a thread that are read before any is used.
const int AT_ONCE = 8;
// The most elements of a line in a sample.
const int SAMPLE = 16 * THREADS;

// The facts about a line.
struct State {
    // The digits so far; the place among the elements that have these digits; at the end, how many
    // elements have all digits.
    u64 key, rank, equal;
    // The least key above.
    u64 next;
    // Equal elements up to this position are taken.
    u64 position;
    // The number of elements below the list, and of elements in it, with room or without; the
    // length of the list if it can be used, else 0.
    u64 below, found, listed;
    // The list's bounds: upper halves of keys, both included.
    u32 low, high;
    u32 has_nan, taken;
    // The number of the line's blocks that have finished a pass.
    u32 finished, unused;
};

// The upper 32 bits of a key, for bounds.
template <class B> __device__ __forceinline__ u32 upper(B key) {
    return sizeof(B) == 8 ? (u32)((u64)key >> 32) : (u32)((u64)key << (32 - 8 * sizeof(B)) % 32);
}

// Finds the digit at a place, given counts, EACH per thread. The thread that has the digit passes
// it on.
const int EACH = DIGITS / THREADS;
template <class F> __device__ __forceinline__ void digit_at(const u32 (&counts)[EACH], u64 rank, u32* of_warps, F tell) {
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    u32 own = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        own += counts[i];
    }
    u32 sum = own;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const u32 before = __shfl_up_sync(ALL, sum, step);
        sum += lane >= step ? before : 0;
    }
    if (lane == WARP - 1) {
        of_warps[warp] = sum;
    }
    __syncthreads();
    u64 before = sum - own;
    for (u32 w = 0; w < warp; w++) {
        before += of_warps[w];
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (before <= rank && rank < before + counts[i]) {
            tell(threadIdx.x * EACH + i, rank - before, counts[i]);
        }
        before += counts[i];
    }
}

// The word at a place of the sorted sample, 16 words per thread. Only the first `len` words exist.
__device__ __forceinline__ u32 sample_at(const u32 (&words)[SAMPLE / THREADS], u32 len, u64 rank) {
    __shared__ u32 counts[DIGITS], of_warps[WARPS], found;
    __shared__ u64 left;
    if (threadIdx.x == 0) {
        found = 0, left = rank;
    }
    // Digits of 11, 11 and 10 bits.
    for (int shift = 21; shift >= 0; shift -= shift == 21 ? 11 : 10) {
        const u32 bits = shift ? 11 : 10, above = shift + bits;
        for (int at = threadIdx.x; at < DIGITS; at += THREADS) {
            counts[at] = 0;
        }
        __syncthreads();
        const u32 so_far = found;
        const u64 rest = left;
#pragma unroll
        for (int i = 0; i < SAMPLE / THREADS; i++) {
            const bool is_there = i * THREADS + threadIdx.x < len;
            if (is_there && (above == 32 || words[i] >> above == so_far >> above)) {
                atomicAdd(&counts[words[i] >> shift & ((1u << bits) - 1)], 1);
            }
        }
        __syncthreads();
        u32 own[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            own[i] = counts[threadIdx.x * EACH + i];
        }
        digit_at(own, rest, of_warps, [&](u32 digit, u64 rank_left, u32) { found |= digit << shift, left = rank_left; });
        __syncthreads();
    }
    const u32 word = found;
    // Another call may follow, which writes the shared memory.
    __syncthreads();
    return word;
}

// Initializes the states, one block per line, and bounds the lists by samples. list: states; extent: the
// place; inner: elements of a sample, 0 if there is no list; flags: whether a list begins with the least.
template <class K> __device__ __forceinline__ void begin(const Params& p) {
    typedef typename K::Bits B;
    State* state = (State*)p.list + blockIdx.x;
    const u32 len = (u32)p.inner;
    u32 low = 0, high = ALL;
    if (len) {
        const B* a = (const B*)p.a + blockIdx.x * p.line_len;
        const u64 step = p.line_len / len;
        u32 words[SAMPLE / THREADS];
#pragma unroll
        for (int i = 0; i < SAMPLE / THREADS; i++) {
            const u32 at = i * THREADS + threadIdx.x;
            // The samples are not evenly spaced, so that a period of the line cannot match them.
            const u64 within = (u64)(at * 2654435761u) * step >> 32;
            words[i] = at < len ? upper(K::key(a[at * step + within], p)) : 0;
        }
        // The margin is four deviations of the number of samples before the place, and a little
        // more.
        const float part = (float)p.extent / (float)p.line_len, middle = part * len;
        const float margin = 4 * sqrtf(middle * (1 - part)) + 4;
        const float first = floorf(middle - margin), last = ceilf(middle + margin);
        if (first >= 0 && !(p.flags & FROM_LEAST)) {
            low = sample_at(words, len, (u64)first);
        }
        if (last < len) {
            high = sample_at(words, len, (u64)last);
        }
    }
    if (threadIdx.x == 0) {
        State begun = {};
        begun.rank = p.extent;
        begun.next = ~0ull;
        begun.low = low, begun.high = high;
        *state = begun;
    }
}

// Whether the block is the last of its line to come here. It then sees what the other blocks did
// before.
__device__ __forceinline__ bool is_last_of_line(const Params& p, State* state) {
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(&state->finished, 1) + 1 == p.each;
        if (is_last) {
            state->finished = 0;
        }
    }
    __syncthreads();
    __threadfence();
    return is_last;
}

// Lists the elements between the bounds, each with its position, and counts the elements below. words:
// `outer` entries per line. Entries first go to a warp's own queue, so that few additions meet at the count.
template <class K> __device__ __forceinline__ void collect(const Params& p) {
    typedef typename K::Bits B;
    const u32 QUEUE = 2 * WARP * AT_ONCE;
    __shared__ u64 queues[WARPS][QUEUE];
    __shared__ u32 below_of_warps[WARPS];
    const u64 line = blockIdx.x / p.each, piece = blockIdx.x - line * p.each;
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    State* state = (State*)p.list + line;
    const u32 low = state->low, high = state->high;
    const B* a = (const B*)p.a + line * p.line_len;
    u64* queue = queues[warp];
    u64* list = (u64*)p.words + line * p.outer;
    u32 queued = 0, below = 0;
    bool has_nan = false;
    const auto flush = [&] {
        __syncwarp();
        u64 to = 0;
        if (lane == 0) {
            to = atomicAdd(&state->found, (u64)queued);
        }
        to = __shfl_sync(ALL, to, 0);
        for (u32 at = lane; at < queued; at += WARP) {
            if (to + at < p.outer) {
                list[to + at] = queue[at];
            }
        }
        queued = 0;
        __syncwarp();
    };
    const u64 step = p.each * (THREADS * AT_ONCE);
    for (u64 first = piece * (THREADS * AT_ONCE) + warp * (WARP * AT_ONCE); first < p.line_len; first += step) {
        B bits[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const u64 at = first + i * WARP + lane;
            bits[i] = at < p.line_len ? a[at] : B(0);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const u64 at = first + i * WARP + lane;
            const bool is_there = at < p.line_len;
            const u32 word = upper(K::key(bits[i], p));
            has_nan |= is_there && K::is_nan(bits[i], p);
            below += is_there && word < low;
            const bool is_between = is_there && word >= low && word <= high;
            const u32 between = __ballot_sync(ALL, is_between);
            if (is_between) {
                const u32 place = queued + __popc(between & ((1u << lane) - 1));
                queue[place] = sizeof(B) == 8 ? (u64)bits[i] : (u64)bits[i] << 32 | at;
            }
            queued += __popc(between);
        }
        if (queued > QUEUE - WARP * AT_ONCE) {
            flush();
        }
    }
    if (queued) {
        flush();
    }
    if (has_nan) {
        state->has_nan = 1;
    }
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        below += __shfl_xor_sync(ALL, below, step);
    }
    if (lane == 0) {
        below_of_warps[warp] = below;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < WARPS; w++) {
            below += below_of_warps[w];
        }
        if (below) {
            atomicAdd(&state->below, (u64)below);
        }
    }
    if (is_last_of_line(p, state) && threadIdx.x == 0) {
        const u64 before = __ldcg(&state->below), found = __ldcg(&state->found);
        // Quantiles also ask for the element after the place.
        if (found <= p.outer && before <= state->rank && state->rank + 1 < before + found) {
            state->rank -= before;
            state->listed = found;
        }
    }
}
