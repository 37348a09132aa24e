// Tiles of bytes by tensor cores: sums of products modulo 2^32, the same in any order.
//
// Tensor cores take four k of a line as one word. Shared memory has the words of a k beside each other, line by
// line. An operand whose lines lie side by side is turned on the way, four lines by four k at a time.
#pragma once

#include "mma.cuh"

// c += a b of 16 x 8 with 32 k. Rows: lane / 4 and 8 further. Words of k: lane % 4 and 4 further. Columns: lane / 4
// of b, and two of c from lane % 4 * 2.
__device__ __forceinline__ void multiply(u32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// An operand of LINES x WORDS words on its way to shared memory. A thread moves blocks of four k by LONG lines.
// WIDE is 4 if four neighbours can be loaded at once, else 1.
template <int LINES, int WORDS, int THREADS, bool BY_K, int WIDE> struct Bytes {
    static const int LONG = BY_K ? 1 : 4, COUNT = LINES / LONG * WORDS / THREADS;
    static_assert(COUNT * THREADS * LONG == LINES * WORDS, "equal shares");
    // Blocks side by side in memory: a sector along k, or all lines.
    static const int NEAR = BY_K ? 8 : LINES / LONG, RUN = BY_K ? LINES * NEAR / THREADS : 1;
    static_assert(WORDS % 8 == 0 && NEAR <= THREADS, "whole rows of blocks");
    // The eight lines and four words that a warp reads at once are in 32 banks.
    static const int PITCH = LINES + 8, STAGE = WORDS * PITCH;
    static_assert(PITCH % 32 == 8, "banks");
    const u8* next;
    i64 by_line, by_k;
    u32 lines;
    // Loaded words: four k of a line, or four lines of each k.
    u32 held[COUNT][LONG];

    static __device__ __forceinline__ int line(int i) {
        return BY_K ? threadIdx.x / NEAR + i % RUN * (THREADS / NEAR) : threadIdx.x % NEAR * LONG;
    }
    static __device__ __forceinline__ int word(int i) {
        return BY_K ? threadIdx.x % NEAR + i / RUN * NEAR : threadIdx.x / NEAR + i * (THREADS / NEAR);
    }

    __device__ __forceinline__ Bytes(const u8* from, i64 line_step, i64 k_step, u32 lines_left)
        : next(from + line(0) * line_step + word(0) * 4 * k_step), by_line(line_step), by_k(k_step), lines(lines_left) {}

    // Loads the next words, `left` of their k exist. `whole`: all of them and all lines do.
    __device__ __forceinline__ void load(u32 left, bool whole) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const u8* from = next + (line(i) - line(0)) * by_line + (word(i) - word(0)) * 4 * by_k;
            if (WIDE == 4 && whole) {
#pragma unroll
                for (int w = 0; w < LONG; w++) {
                    held[i][w] = *(const u32*)(from + w * by_k);
                }
            } else {
#pragma unroll
                for (int w = 0; w < LONG; w++) {
                    u32 word_of = 0;
#pragma unroll
                    for (int b = 0; b < 4; b++) {
                        const u32 l = BY_K ? 0 : b, k = BY_K ? b : w;
                        if (line(i) + l < lines && word(i) * 4 + k < left) {
                            word_of |= (u32)from[l * by_line + k * by_k] << 8 * b;
                        }
                    }
                    held[i][w] = word_of;
                }
            }
        }
        next += WORDS * 4 * by_k;
    }

    // Stores to shared memory what was loaded.
    __device__ __forceinline__ void put(u32* stage) const {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            u32* to = stage + word(i) * PITCH + line(i);
            if constexpr (BY_K) {
                *to = held[i][0];
            } else {
                const u32 low = __byte_perm(held[i][0], held[i][1], 0x5140), low_next = __byte_perm(held[i][2], held[i][3], 0x5140);
                const u32 high = __byte_perm(held[i][0], held[i][1], 0x7362), high_next = __byte_perm(held[i][2], held[i][3], 0x7362);
                Pack<u32, 4> pack;
                pack.at[0] = __byte_perm(low, low_next, 0x5410);
                pack.at[1] = __byte_perm(low, low_next, 0x7632);
                pack.at[2] = __byte_perm(high, high_next, 0x5410);
                pack.at[3] = __byte_perm(high, high_next, 0x7632);
                *(Pack<u32, 4>*)to = pack;
            }
        }
    }
};

template <int DOWN, int ACROSS, int WORDS, int WARP_DOWN, int WARP_ACROSS, bool A_BY_K, bool B_BY_K, int WIDE>
__device__ __forceinline__ void product_bytes(const Params& p) {
    const int WARPS_ACROSS = ACROSS / WARP_ACROSS, THREADS = DOWN / WARP_DOWN * WARPS_ACROSS * 32;
    typedef Bytes<DOWN, WORDS, THREADS, A_BY_K, WIDE> A;
    typedef Bytes<ACROSS, WORDS, THREADS, B_BY_K, WIDE> B;
    __shared__ __align__(16) u32 left[2 * A::STAGE];
    __shared__ __align__(16) u32 right[2 * B::STAGE];

    const Place<Plain<u8, u32>, DOWN, ACROSS> place(p);
    A a(place.a, p.a_row, p.a_k, place.rows);
    B b(place.b, p.b_column, p.b_k, place.columns);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int down = warp / WARPS_ACROSS * WARP_DOWN, across = warp % WARPS_ACROSS * WARP_ACROSS;
    const int ROWS = WARP_DOWN / 16, COLUMNS = WARP_ACROSS / 8;
    u32 at[ROWS][COLUMNS][4];
    begin_fragments(place, at, down, across);

    const u32 k_end = place.k_end;
    // k from which no stage is whole.
    const u32 whole_end = place.rows == DOWN && place.columns == ACROSS ? k_end : 0;
    auto load = [&](u32 k) {
        const bool whole = k + WORDS * 4 <= whole_end;
        a.load(k_end - k, whole);
        b.load(k_end - k, whole);
    };
    auto put = [&](int stage) {
        a.put(left + stage * A::STAGE);
        b.put(right + stage * B::STAGE);
    };
    if (k_end > 0) {
        load(0);
        put(0);
    }
    __syncthreads();
    int stage = 0;
#pragma unroll 1
    for (u32 k = 0; k < k_end; k += WORDS * 4) {
        const bool more = k + WORDS * 4 < k_end;
        if (more) {
            load(k + WORDS * 4);
        }
        const u32* of_left = left + stage * A::STAGE + lane % 4 * A::PITCH + down + lane / 4;
        const u32* of_right = right + stage * B::STAGE + lane % 4 * B::PITCH + across + lane / 4;
#pragma unroll
        for (int word = 0; word < WORDS; word += 8) {
            u32 of_a[ROWS][4], of_b[COLUMNS][2];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    of_a[r][i] = of_left[(word + i / 2 * 4) * A::PITCH + r * 16 + i % 2 * 8];
                }
            }
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    of_b[c][i] = of_right[(word + i * 4) * B::PITCH + c * 8];
                }
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    multiply(at[r][c], of_a[r], of_b[c]);
                }
            }
        }
        stage ^= 1;
        if (more) {
            put(stage);
        }
        __syncthreads();
    }
    put_fragments(p, place, at, down, across);
}
