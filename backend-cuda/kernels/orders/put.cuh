// Combines elements by index, in any order.
#pragma once

#include "order.cuh"

const int THREADS = 256;

#define EACH(AT, LEN)                                                                              \
    const u64 step = (u64)gridDim.x * THREADS;                                                     \
    for (u64 AT = (u64)blockIdx.x * THREADS + threadIdx.x; AT < (LEN); AT += step)

// Combines a byte in place, through the word that contains it. Every word that has one of the bytes
// exists.
template <class F> __device__ __forceinline__ void swap(u8* at, F combine) {
    const size_t below = (size_t)at & 3;
    u32* word = (u32*)((size_t)at - below);
    const u32 shift = 8 * (u32)below, mask = 0xffu << shift;
    u32 old = *(volatile u32*)word;
    while (true) {
        const u8 bits = (u8)(old >> shift), with = combine(bits);
        if (with == bits) {
            return;
        }
        const u32 seen = atomicCAS(word, old, (old & ~mask) | (u32)with << shift);
        if (seen == old) {
            return;
        }
        old = seen;
    }
}

template <class F> __device__ __forceinline__ void swap(u16* at, F combine) {
    u16 old = *(volatile u16*)at;
    while (true) {
        const u16 with = combine(old);
        if (with == old) {
            return;
        }
        const u16 seen = atomicCAS(at, old, with);
        if (seen == old) {
            return;
        }
        old = seen;
    }
}

template <class F> __device__ __forceinline__ void swap(u32* at, F combine) {
    u32 old = *(volatile u32*)at;
    while (true) {
        const u32 with = combine(old);
        if (with == old) {
            return;
        }
        const u32 seen = atomicCAS(at, old, with);
        if (seen == old) {
            return;
        }
        old = seen;
    }
}

template <class F> __device__ __forceinline__ void swap(u64* at, F combine) {
    u64 old = *(volatile u64*)at;
    while (true) {
        const u64 with = combine(old);
        if (with == old) {
            return;
        }
        const u64 seen = atomicCAS(at, old, with);
        if (seen == old) {
            return;
        }
        old = seen;
    }
}

__device__ __forceinline__ void add(u8* at, u8 v) { swap(at, [&](u8 old) { return (u8)(old + v); }); }
__device__ __forceinline__ void add(u16* at, u16 v) { swap(at, [&](u16 old) { return (u16)(old + v); }); }
__device__ __forceinline__ void add(u32* at, u32 v) { atomicAdd(at, v); }
__device__ __forceinline__ void add(u64* at, u64 v) { atomicAdd(at, v); }

// b: u32 places of `len` slices; a: outer × len × inner elements; y: outer × extent × inner.
template <class B, class F> __device__ __forceinline__ void put(const Params& p, F combine) {
    EACH(at, p.outer * p.len * p.inner) {
        const u64 slice = at / p.inner, column = at - slice * p.inner;
        const u64 outer = slice / p.len;
        const u32 place = ((const u32*)p.b)[slice - outer * p.len];
        if (place < p.extent) {
            combine((B*)p.y + (outer * p.extent + place) * p.inner + column, ((const B*)p.a)[at]);
        }
    }
}

template <class K> __device__ __forceinline__ void put_extreme(const Params& p) {
    typedef typename K::Bits B;
    put<B>(p, [&](B* to, B v) {
        const B rank = K::rank(v, p);
        swap(to, [&](B old) {
            const B own = K::rank(old, p);
            return K::of_rank(own > rank ? own : rank, p);
        });
    });
}

// Adds integers as 64 bits. b: u32 places; a: weights; y: `extent` sums, 0 at first.
template <class B> __device__ __forceinline__ void weights(const Params& p) {
    EACH(at, p.len) {
        const u32 place = ((const u32*)p.b)[at];
        if (place < p.extent) {
            atomicAdd((u64*)p.y + place, value(((const B*)p.a)[at], p));
        }
    }
}
