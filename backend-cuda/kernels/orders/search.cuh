// Finds positions in ascending lists.
#pragma once

#include "put.cuh"

// For each key, counts how many of `len` ascending elements are below it, or, with RIGHT, not above it. All
// searches take the same steps, so that the waiting of one overlaps with the others.
template <class K, bool RIGHT_SIDE, class I, int COUNT>
__device__ __forceinline__ void places_of(const Params& p, I len, const typename K::Bits (&keys)[COUNT], I (&places)[COUNT]) {
    const typename K::Bits* list = (const typename K::Bits*)p.a;
    const auto goes = [&](I at, int i) {
        const typename K::Bits key = K::key(list[at], p);
        return RIGHT_SIDE ? key <= keys[i] : key < keys[i];
    };
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        places[i] = 0;
    }
    for (I left = len; left > 1;) {
        const I half = left / 2;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            places[i] += goes(places[i] + half - 1, i) ? half : 0;
        }
        left -= half;
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        places[i] += len > 0 && goes(places[i], i);
    }
}

// a: ascending, `extent` of them; b: the keys to look for; y: i64.
template <class K, bool RIGHT_SIDE, class I> __device__ __forceinline__ void search_for_all(const Params& p) {
    typedef typename K::Bits B;
    // Four at a time were 13 % slower on an H200.
    const int COUNT = 1;
    const u64 step = (u64)gridDim.x * THREADS;
    for (u64 first = (u64)blockIdx.x * THREADS + threadIdx.x; first < p.len; first += COUNT * step) {
        B keys[COUNT];
        I places[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            // After the end, the first key is taken again.
            const u64 at = first + i * step;
            keys[i] = K::key(((const B*)p.b)[at < p.len ? at : first], p);
        }
        places_of<K, RIGHT_SIDE, I>(p, (I)p.extent, keys, places);
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const u64 at = first + i * step;
            if (at < p.len) {
                ((i64*)p.y)[at] = (i64)places[i];
            }
        }
    }
}

template <class K> __device__ __forceinline__ void search_sorted(const Params& p) {
    if (p.extent >> 32) {
        p.flags & RIGHT ? search_for_all<K, true, u64>(p) : search_for_all<K, false, u64>(p);
    } else {
        p.flags & RIGHT ? search_for_all<K, true, u32>(p) : search_for_all<K, false, u32>(p);
    }
}
