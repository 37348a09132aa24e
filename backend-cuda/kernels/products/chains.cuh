// Sums of the chains of longer products.
#pragma once

#include "mapped.cuh"

// The sums of chains: neighbours in pairs, pairs of pairs, and so on, a last one without a partner as it is;
// then +0 before them. One thread an element; chains are at most 1,024, one pass of the sum.
template <class K> __device__ __forceinline__ void sum_chains(const Params& p) {
    typedef typename K::Number N;
    const u64 each = (u64)p.m * p.n;
    const u64 item = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 matrix = (u32)(item / each);
    const u64 place = item - matrix * each;
    const u32 i = (u32)(place / p.n), j = (u32)(place - (u64)i * p.n);
    typename K::Stored* y = (typename K::Stored*)p.y + i * p.y_row + j * p.y_column;
    const N* chain = (const N*)p.sums + (u64)matrix * p.chains * each + place;
#pragma unroll 1
    for (u32 axis = 1; axis < p.batch_axes; axis++) {
        const BatchAxis& at = p.at[axis];
        const u32 next = divide(matrix, at.by);
        y += (i64)(matrix - next * at.by.divisor) * at.y;
        matrix = next;
    }
    if (matrix > 0) {
        return;
    }
    // Sums that are not yet in a pair, the longest first.
    N open[11];
    u32 count = 0;
#pragma unroll 1
    for (u32 c = 0; c < p.chains; c++) {
        N sum = chain[c * each];
        for (u32 bit = c; bit & 1; bit >>= 1) {
            sum = open[--count] + sum;
        }
        open[count++] = sum;
    }
    N sum = open[--count];
    while (count > 0) {
        sum = open[--count] + sum;
    }
    sum = N(0) + sum;
#ifdef MAPPED
    if (!p.onto) {
        const N of[1] = {sum};
        map_elements<K>(of, i, j, p.n - j, (u32)(item / each));
        return;
    }
#endif
    *y = K::store(canonical(sum));
}

#define CHAINS(NAME, K) \
    extern "C" __global__ void NAME##_chains(const __grid_constant__ Params p) { sum_chains<K>(p); }
