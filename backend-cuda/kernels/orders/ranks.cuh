// Ranks of digits of 8 bits in a block.
#pragma once

#include "order.cuh"

const int DIGITS = 256, THREADS = 256, WARPS = THREADS / WARP;

// Ranks the digits of the block's elements, ITEMS a thread, each warp's a piece of the tile; counts of the
// warps before are left in `counts`, the block's own count of the thread's digit is the result. A rank has
// its digit in the upper half.
template <int ITEMS, class D> __device__ __forceinline__ u32 ranked(u32 (&ranks)[ITEMS], u32 (*counts)[DIGITS], D digit_of) {
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int at = threadIdx.x; at < WARPS * DIGITS; at += THREADS) {
        (&counts[0][0])[at] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 digit = digit_of(i);
        u32 same = ALL;
#pragma unroll
        for (int bit = 0; bit < 8; bit++) {
            const u32 with = __ballot_sync(ALL, digit >> bit & 1);
            same &= digit >> bit & 1 ? with : ~with;
        }
        const int leader = 31 - __clz(same);
        u32 before = 0;
        if (lane == leader) {
            before = counts[warp][digit];
            counts[warp][digit] = before + __popc(same);
        }
        before = __shfl_sync(ALL, before, leader);
        ranks[i] = digit << 16 | (before + __popc(same & ((1u << lane) - 1)));
        __syncwarp();
    }
    __syncthreads();
    u32 own = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        const u32 found = counts[w][threadIdx.x];
        counts[w][threadIdx.x] = own;
        own += found;
    }
    return own;
}

// The sum of a number over the threads before.
__device__ __forceinline__ u32 before_in_block(u32 own, u32* of_warps) {
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
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
    u32 before = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        before += w < warp ? of_warps[w] : 0;
    }
    return before + sum - own;
}
