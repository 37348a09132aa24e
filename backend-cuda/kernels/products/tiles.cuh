// Tiles by vector units: an element is a chain of its thread.
//
// A few k of the operands at a time come to shared memory, where a line of an operand (a row of a, a column
// of b) lies beside the others of the same k. They come by registers, where they are turned and converted,
// while the k before are multiplied.
//
// A chain must not be cut, so tiles go over all k of it; longer products are launched with their chains
// as a batch, whose results are reduced behind it. Elements that a tile reaches beyond k are -0 on the
// left and +0 on the right: their product is -0, which changes no sum, a sum of -0 neither.
#pragma once

#include "mapped.cuh"

// DOWN x ACROSS elements a block, WARP_DOWN x WARP_ACROSS a warp, ROWS x COLUMNS a thread;
// DEPTH k a stage, two stages in shared memory. A thread reads AHEAD k before it multiplies them.
template <int DOWN_, int ACROSS_, int DEPTH_, int WARP_DOWN_, int WARP_ACROSS_, int ROWS_, int COLUMNS_, int AHEAD_ = 1>
struct Tile {
    static const int DOWN = DOWN_, ACROSS = ACROSS_, DEPTH = DEPTH_, WARP_DOWN = WARP_DOWN_, WARP_ACROSS = WARP_ACROSS_;
    static const int ROWS = ROWS_, COLUMNS = COLUMNS_, AHEAD = AHEAD_;
    static const int WARPS_ACROSS = ACROSS / WARP_ACROSS;
    static const int THREADS = DOWN / WARP_DOWN * WARPS_ACROSS * 32;
    static const int LANES_DOWN = WARP_DOWN / ROWS, LANES_ACROSS = WARP_ACROSS / COLUMNS;
    static_assert(LANES_DOWN * LANES_ACROSS == 32, "a warp");
    static_assert(DEPTH % (AHEAD + 1) == 0, "registers by turns");
};

// A thread's share of an operand's LINES x DEPTH: COUNT times WIDE neighbours, along k or along lines.
template <int LINES, int DEPTH, int THREADS, bool BY_K, int WIDE> struct Share {
    static const int COUNT = LINES * DEPTH / WIDE / THREADS;
    static_assert(COUNT * THREADS * WIDE == LINES * DEPTH, "equal shares");
    // Packs side by side; single elements along k by 8, whose places in shared memory are in other banks.
    static const int NEAR = !BY_K ? LINES / WIDE : WIDE > 1 ? DEPTH / WIDE : 8;
    // Loads of a thread that differ in their line (k) before its k (line) advances.
    static const int RUN = BY_K ? LINES * NEAR / THREADS : NEAR > THREADS ? NEAR / THREADS : 1;
    static_assert(RUN > 0, "too many threads");
    static const int PITCH = LINES + (BY_K ? 4 : 0);
    static __device__ __forceinline__ int line(int i) {
        return BY_K ? threadIdx.x / NEAR + i % RUN * (THREADS / NEAR) : (threadIdx.x % NEAR + i % RUN * THREADS) * WIDE;
    }
    static __device__ __forceinline__ int k(int i) {
        return BY_K             ? threadIdx.x % NEAR * WIDE + i / RUN * (NEAR * WIDE)
               : NEAR > THREADS ? i / RUN
                                : threadIdx.x / NEAR + i * (THREADS / NEAR);
    }
};

// Stored elements in words: what a load brings is not touched before it is needed.
template <class S, int COUNT> struct Words {
    static const int BYTES = sizeof(S) * COUNT, WORDS = (BYTES + 3) / 4;
    u32 at[WORDS];
    __device__ __forceinline__ void load(const S* from) {
        if constexpr (BYTES % 4 == 0) {
            const Pack<u32, WORDS> pack = *(const Pack<u32, WORDS>*)from;
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
                at[w] = pack.at[w];
            }
        } else {
            at[0] = bits(*from);
        }
    }
    __device__ __forceinline__ void set(int i, S s) {
        if constexpr (sizeof(S) == 8) {
            at[2 * i] = (u32)bits(s);
            at[2 * i + 1] = (u32)(bits(s) >> 32);
        } else {
            const int BIT = i * sizeof(S) % 4 * 8, WORD = i * sizeof(S) / 4;
            at[WORD] = BIT == 0 ? bits(s) : at[WORD] | bits(s) << BIT;
        }
    }
    __device__ __forceinline__ S get(int i) const {
        S s;
        if constexpr (sizeof(S) == 8) {
            unbits(s, at[2 * i] | (u64)at[2 * i + 1] << 32);
        } else {
            unbits(s, at[i * sizeof(S) / 4] >> i * sizeof(S) % 4 * 8);
        }
        return s;
    }
};

// An operand on its way to shared memory.
template <class K, int LINES, int DEPTH, int THREADS, bool BY_K, int WIDE, bool LEFT> struct Operand {
    typedef typename K::Stored S;
    typedef typename K::Number N;
    typedef Share<LINES, DEPTH, THREADS, BY_K, WIDE> Part;
    static const int PITCH = Part::PITCH;
    const S* next;
    i64 by_line, by_k;
    u32 lines;
    Words<S, WIDE> held[Part::COUNT];

    __device__ __forceinline__ Operand(const S* from, i64 line_step, i64 k_step, u32 lines_left)
        : next(from + Part::line(0) * line_step + Part::k(0) * k_step), by_line(line_step), by_k(k_step), lines(lines_left) {}

    __device__ __forceinline__ const S* place(int i) const {
        return next + (Part::line(i) - Part::line(0)) * by_line + (Part::k(i) - Part::k(0)) * by_k;
    }
    // Loads the next DEPTH k, `left` of them exist. `whole`: they and all lines do.
    __device__ __forceinline__ void load(u32 left, bool whole) {
        if (WIDE > 1 && whole) {
#pragma unroll
            for (int i = 0; i < Part::COUNT; i++) {
                held[i].load(place(i));
            }
        } else {
#pragma unroll
            for (int i = 0; i < Part::COUNT; i++) {
                const u32 line = Part::line(i), k = Part::k(i);
                if (line + (BY_K ? 1 : WIDE) <= lines && k + (BY_K ? WIDE : 1) <= left) {
                    held[i].load(place(i));
                } else {
#pragma unroll
                    for (int w = 0; w < WIDE; w++) {
                        const bool in = line + (BY_K ? 0 : w) < lines && k + (BY_K ? w : 0) < left;
                        held[i].set(w, in ? place(i)[w] : K::store(LEFT ? Nothing<N>::left() : N(0)));
                    }
                }
            }
        }
        next += DEPTH * by_k;
    }

    // Stores to shared memory what was loaded.
    __device__ __forceinline__ void put(N* stage) const {
#pragma unroll
        for (int i = 0; i < Part::COUNT; i++) {
            const int line = Part::line(i), k = Part::k(i), PACK = BY_K ? 1 : WIDE;
            Pack<N, PACK> pack;
#pragma unroll
            for (int w = 0; w < WIDE; w++) {
                pack.at[w % PACK] = K::load(held[i].get(w));
                if (w % PACK == PACK - 1) {
                    *(Pack<N, PACK>*)(stage + (k + (BY_K ? w : 0)) * PITCH + line) = pack;
                }
            }
        }
    }
};

// The elements of one k that a thread multiplies, in packs that are `STEP` apart.
template <int COUNT, int STEP, class N> __device__ __forceinline__ void fragment(N (&to)[COUNT], const N* from) {
    const int PACK = 16 / sizeof(N) < COUNT ? 16 / sizeof(N) : COUNT;
#pragma unroll
    for (int c = 0; c < COUNT; c += PACK) {
        const Pack<N, PACK> pack = *(const Pack<N, PACK>*)(from + c / PACK * STEP);
#pragma unroll
        for (int i = 0; i < PACK; i++) {
            to[c + i] = pack.at[i];
        }
    }
}

template <class K, class T, bool A_BY_K, bool B_BY_K, int WIDE>
__device__ __forceinline__ void product_tile(const Params& p) {
    typedef typename K::Number N;
    typedef Operand<K, T::DOWN, T::DEPTH, T::THREADS, A_BY_K, WIDE, true> A;
    typedef Operand<K, T::ACROSS, T::DEPTH, T::THREADS, B_BY_K, WIDE, false> B;
    const int A_STAGE = T::DEPTH * A::PITCH, B_STAGE = T::DEPTH * B::PITCH;
    __shared__ __align__(16) N left[2 * A_STAGE];
    __shared__ __align__(16) N right[2 * B_STAGE];

    const Place<K, T::DOWN, T::ACROSS> place(p);
    A a(place.a, p.a_row, p.a_k, place.rows);
    B b(place.b, p.b_column, p.b_k, place.columns);

    // Lanes two by two down, so that a quarter of a warp reads few packs of both sides.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int PAIR = T::LANES_DOWN > 1 ? 2 : 1;
    const int lane_down = lane / (T::LANES_ACROSS * PAIR) * PAIR + lane % PAIR, lane_across = lane / PAIR % T::LANES_ACROSS;
    const int A_PACK = 16 / sizeof(N) < T::ROWS ? 16 / sizeof(N) : T::ROWS;
    const int B_PACK = 16 / sizeof(N) < T::COLUMNS ? 16 / sizeof(N) : T::COLUMNS;
    const int A_STEP = T::LANES_DOWN * A_PACK, B_STEP = T::LANES_ACROSS * B_PACK;
    const int down = warp / T::WARPS_ACROSS * T::WARP_DOWN + lane_down * A_PACK;
    const int across = warp % T::WARPS_ACROSS * T::WARP_ACROSS + lane_across * B_PACK;

    N at[T::ROWS][T::COLUMNS];
#pragma unroll
    for (int r = 0; r < T::ROWS; r++) {
#pragma unroll
        for (int c = 0; c < T::COLUMNS; c++) {
            at[r][c] = place.begin(down + r / A_PACK * A_STEP + r % A_PACK, across + c / B_PACK * B_STEP + c % B_PACK);
        }
    }

    const u32 k_end = place.k_end;
    // k from which no stage is whole.
    const u32 whole_end = place.rows == T::DOWN && place.columns == T::ACROSS ? k_end : 0;
    auto load = [&](u32 k) {
        const bool whole = k + T::DEPTH <= whole_end;
        a.load(k_end - k, whole);
        b.load(k_end - k, whole);
    };
    auto put = [&](int stage) {
        a.put(left + stage * A_STAGE);
        b.put(right + stage * B_STAGE);
    };
    int stage = 0;
    if (k_end > 0) {
        load(0);
        put(0);
    }
    __syncthreads();

    // Registers of AHEAD + 1 k, by turns.
    const int TURNS = T::AHEAD + 1;
    N of_a[TURNS][T::ROWS], of_b[TURNS][T::COLUMNS];
    const N* at_a = left + down;
    const N* at_b = right + across;
#pragma unroll
    for (int d = 0; d < T::AHEAD; d++) {
        fragment<T::ROWS, A_STEP>(of_a[d], at_a + d * A::PITCH);
        fragment<T::COLUMNS, B_STEP>(of_b[d], at_b + d * B::PITCH);
    }
#pragma unroll 1
    for (u32 k = 0; k < k_end; k += T::DEPTH) {
#pragma unroll
        for (int d = 0; d < T::DEPTH; d++) {
            if (d == T::DEPTH - T::AHEAD) {
                // The next stage, if there is one. Everybody is done with the one before this.
                stage ^= 1;
                if (k + T::DEPTH < k_end) {
                    put(stage);
                }
                __syncthreads();
                at_a = left + stage * A_STAGE + down;
                at_b = right + stage * B_STAGE + across;
            }
            const int next = (d + T::AHEAD) % T::DEPTH, turn = (d + T::AHEAD) % TURNS;
            fragment<T::ROWS, A_STEP>(of_a[turn], at_a + next * A::PITCH);
            fragment<T::COLUMNS, B_STEP>(of_b[turn], at_b + next * B::PITCH);
            if (d == 0 && k + T::DEPTH < k_end) {
                load(k + T::DEPTH);
            }
#pragma unroll
            for (int r = 0; r < T::ROWS; r++) {
#pragma unroll
                for (int i = 0; i < T::COLUMNS; i++) {
                    // To and fro, so that turns read no more registers than the rest.
                    const int c = r % 2 ? T::COLUMNS - 1 - i : i;
                    at[r][c] = fused(of_a[d % TURNS][r], of_b[d % TURNS][c], at[r][c]);
                }
            }
        }
    }
#ifdef MAPPED
    const int PACKS_ACROSS = T::COLUMNS / B_PACK;
    finish<Place<K, T::DOWN, T::ACROSS>, T::ROWS * PACKS_ACROSS, B_PACK>(
        p,
        [&](int pack) {
            const int r = pack / PACKS_ACROSS, c = pack % PACKS_ACROSS;
            return make_uint2(down + r / A_PACK * A_STEP + r % A_PACK, across + c * B_STEP);
        },
        [&](int pack, N(&to)[B_PACK]) {
#pragma unroll
            for (int i = 0; i < B_PACK; i++) {
                to[i] = at[pack / PACKS_ACROSS][pack % PACKS_ACROSS * B_PACK + i];
            }
        });
#else
#pragma unroll
    for (int r = 0; r < T::ROWS; r++) {
#pragma unroll
        for (int c = 0; c < T::COLUMNS; c += B_PACK) {
            N pack[B_PACK];
#pragma unroll
            for (int i = 0; i < B_PACK; i++) {
                pack[i] = at[r][c + i];
            }
            place.template put<B_PACK>(down + r / A_PACK * A_STEP + r % A_PACK, across + c / B_PACK * B_STEP, pack);
        }
    }
#endif
}
