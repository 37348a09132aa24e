// Finds the places of elements in the order of their 8-bit digits, in a block. First it counts the digits of
// each warp, so that other blocks can get the counts early; then it finds the place of each element.
#pragma once

#include "order.cuh"

const int DIGITS = 256, THREADS = 256, WARPS = THREADS / WARP;

// The lanes of the warp that have this lane's digit. It is written out, because from ballots in C++ the
// compiler makes twice as many instructions.
__device__ __forceinline__ u32 lanes_of_digit(u32 digit) {
    u32 same = ALL;
#pragma unroll
    for (int bit = 0; bit < 8; bit++) {
        u32 with;
        asm volatile("{ .reg .pred is_set;\n"
                     "and.b32 %0, %1, %2;\n"
                     "setp.ne.u32 is_set, %0, 0;\n"
                     "vote.sync.ballot.b32 %0, is_set, 0xffffffff;\n"
                     "@!is_set not.b32 %0, %0; }"
                     : "=r"(with)
                     : "r"(digit), "r"(1u << bit));
        same &= with;
    }
    return same;
}

// Counts the digits of the warp's elements, ITEMS per lane.
template <int ITEMS, class D> __device__ __forceinline__ void count_digits(u32* counts, D digit_of) {
    for (int at = threadIdx.x % WARP; at < DIGITS; at += WARP) {
        counts[at] = 0;
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        atomicAdd(&counts[digit_of(i)], 1);
    }
}

// The block's count of the thread's digit, from the counts of its warps.
__device__ __forceinline__ u32 count_of_block(u32 (*counts)[DIGITS]) {
    u32 own = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        own += counts[w][threadIdx.x];
    }
    return own;
}

// Turns the counts of the thread's digit into the places where each warp's elements with that digit
// begin.
__device__ __forceinline__ void places_of_warps(u32 (*counts)[DIGITS], u32 begin) {
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        const u32 found = counts[w][threadIdx.x];
        counts[w][threadIdx.x] = begin;
        begin += found;
    }
}

// The place of the lane's element, after the earlier elements of its warp. Every lane takes part.
__device__ __forceinline__ u32 take_place(u32* places, u32 digit) {
    const u32 same = lanes_of_digit(digit);
    u32 lanes_before;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes_before));
    const u32 first = places[digit], before = __popc(same & lanes_before);
    __syncwarp();
    if (before == 0) {
        places[digit] = first + __popc(same);
    }
    __syncwarp();
    return first + before;
}

// The sum of a number over all earlier threads.
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
