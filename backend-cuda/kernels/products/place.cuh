// Where a block works, how elements come to shared memory, and how they leave.
#pragma once

#include "numbers.cuh"

// Copies bytes to shared memory, behind the thread's back where the device can. The source is aligned to
// BYTES; of 16, what is not to be read becomes 0.
template <int BYTES> __device__ __forceinline__ void copy_async(void* to, const void* from, u32 bytes) {
#if __CUDA_ARCH__ >= 800
    const u32 shared = (u32)__cvta_generic_to_shared(to);
    if constexpr (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(bytes) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES) : "memory");
    }
#else
#pragma unroll
    for (u32 at = 0; at < BYTES; at += 4) {
        *(u32*)((char*)to + at) = at < bytes ? *(const u32*)((const char*)from + at) : 0;
    }
#endif
}

// Copies COUNT neighbours together, or alone as many as there are: nothing behind them is read.
template <int COUNT, class N> __device__ __forceinline__ void copy_neighbours(N* to, const N* from, u32 left) {
    if (COUNT == 1 || left >= COUNT) {
        copy_async<COUNT * sizeof(N)>(to, from, COUNT * sizeof(N));
    } else {
#pragma unroll
        for (u32 at = 0; at + 1 < COUNT; at++) {
            if (at < left) {
                copy_async<sizeof(N)>(to + at, from + at, sizeof(N));
            }
        }
    }
}

__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until no more than this many groups of the thread's copies are under way.
template <int GROUPS> __device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
#endif
}

// Neighbours that are loaded and stored as one.
template <class T, int COUNT> struct alignas(sizeof(T) * COUNT) Pack {
    T at[COUNT];
};

// The tile of a block: where it begins in each operand, and what is left of the matrix from there.
template <class K, int DOWN, int ACROSS> struct Place {
    typedef K Kind;
    typedef typename K::Stored S;
    typedef typename K::Number N;
    const S *a, *b;
    // The result, or a chain of a longer product, which is numbers, one matrix behind the other.
    void* y;
    i64 by_row, by_column;
    bool is_sum;
    u32 rows, columns, k_end;
#ifdef MAPPED
    // The number of the matrix, and of the tile's first row and column.
    u32 number, first_row, first_column;
    // Where chains start from, if that is not +0.
    const S* start;
    i64 start_row, start_column;
    // Whether elements are stored, not given to the function.
    bool stores;
#endif

    __device__ __forceinline__ Place(const Params& p, u32 block = blockIdx.x) {
        u32 matrix = divide(block, p.tiles);
        const u32 tile = block - matrix * p.tiles.divisor;
        const u32 tile_across = divide(tile, p.tiles_down), tile_down = tile - tile_across * p.tiles_down.divisor;
        const u32 row = tile_down * DOWN, column = tile_across * ACROSS;
        a = (const S*)p.a + row * p.a_row;
        b = (const S*)p.b + column * p.b_column;
        S* at_y = (S*)p.y + row * p.y_row + column * p.y_column;
        is_sum = p.chains > 1;
        by_row = is_sum ? p.n : p.y_row;
        by_column = is_sum ? 1 : p.y_column;
        N* sums = (N*)p.sums + (u64)matrix * ((u64)p.m * p.n) + (u64)row * p.n + column;
        k_end = p.k;
#ifdef MAPPED
        number = matrix;
        first_row = row;
        first_column = column;
        bool starts = p.onto;
#endif
#pragma unroll 1
        for (u32 axis = 0; axis < p.batch_axes; axis++) {
            const BatchAxis& at = p.at[axis];
            const u32 next = divide(matrix, at.by);
            const i64 c = matrix - next * at.by.divisor;
            if (axis == 0 && p.chains > 1) {
                // The last chain is shorter.
                k_end = min(p.chain, p.k - (u32)c * p.chain);
#ifdef MAPPED
                starts = starts && c == 0;
#endif
            }
            a += c * at.a;
            b += c * at.b;
            at_y += c * at.y;
            matrix = next;
        }
        y = is_sum ? (void*)sums : (void*)at_y;
        rows = min((u32)DOWN, p.m - row);
        columns = min((u32)ACROSS, p.n - column);
#ifdef MAPPED
        start = starts ? at_y : nullptr;
        start_row = p.y_row;
        start_column = p.y_column;
        stores = is_sum || p.onto;
#endif
    }

    // What the chain of an element starts from.
    __device__ __forceinline__ N begin(u32 i, u32 j) const {
#ifdef MAPPED
        if (start != nullptr && i < rows && j < columns) {
            return K::load(start[i * start_row + j * start_column]);
        }
#endif
        return N(0);
    }

    // Stores neighbours of a row.
    template <int COUNT> __device__ __forceinline__ void put(u32 i, u32 j, const N (&from)[COUNT]) const {
        if (i >= rows || j >= columns) {
            return;
        }
        const i64 at = i * by_row + j * by_column;
        if (sizeof(S) == sizeof(N) || !is_sum) {
            put_at((S*)y + at, j, from);
        } else {
#pragma unroll
            for (int c = 0; c < COUNT; c++) {
                if (j + c < columns) {
                    ((N*)y)[at + c] = from[c];
                }
            }
        }
    }

    template <int COUNT> __device__ __forceinline__ void put_at(S* to, u32 j, const N (&from)[COUNT]) const {
        typedef Pack<S, COUNT> P;
        P pack;
#pragma unroll
        for (int c = 0; c < COUNT; c++) {
            pack.at[c] = K::store(canonical(from[c]));
        }
        if (by_column == 1 && j + COUNT <= columns && ((u64)to & (sizeof(P) - 1)) == 0) {
            *(P*)to = pack;
        } else {
#pragma unroll
            for (int c = 0; c < COUNT; c++) {
                if (j + c < columns) {
                    to[c * by_column] = pack.at[c];
                }
            }
        }
    }
};
