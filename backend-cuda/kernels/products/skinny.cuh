// Products with few columns: a pass over the left operand, whose speed is that of memory.
//
// An element is a chain of its thread, which walks its rows in shared memory, where the left operand comes
// as it lies in memory, many k ahead.
#pragma once

#include "tiles.cuh"

// A block of WARPS warps has LANES_DOWN lanes of ROWS rows a warp, and across them lanes of COLUMNS columns.
template <int ROWS_, int COLUMNS_, int LANES_DOWN_, int WARPS_, int DEPTH_, int STAGES_> struct Strip {
    static const int ROWS = ROWS_, COLUMNS = COLUMNS_, LANES_DOWN = LANES_DOWN_, DEPTH = DEPTH_, STAGES = STAGES_;
    static const int THREADS = WARPS_ * 32;
    static const int DOWN = ROWS * LANES_DOWN * WARPS_, ACROSS = COLUMNS * (32 / LANES_DOWN);
};

template <class N, class T, bool A_BY_K, int WIDE, int B_WIDE> __device__ __forceinline__ void product_strip(const Params& p) {
    // Neighbours along k that are read at once, and what keeps rows in different banks.
    const int PACK = 16 / sizeof(N);
    const int PITCH = A_BY_K ? T::DEPTH + PACK : T::DOWN;
    const int A_STAGE = A_BY_K ? T::DOWN * PITCH : T::DEPTH * PITCH, B_STAGE = T::DEPTH * T::ACROSS;
    __shared__ __align__(16) N left[T::STAGES * A_STAGE];
    __shared__ __align__(16) N right[T::STAGES * B_STAGE];
    const Place<Plain<N, N>, T::DOWN, T::ACROSS> place(p);
    const u32 k_end = place.k_end;

    // Packs of a side by side, and what a thread copies of both operands.
    const int NEAR = (A_BY_K ? T::DEPTH : T::DOWN) / WIDE, FAR = A_BY_K ? T::DOWN : T::DEPTH;
    const int ROUNDS = NEAR * FAR / T::THREADS, FAR_STEP = T::THREADS / NEAR;
    static_assert(ROUNDS * T::THREADS == NEAR * FAR && FAR_STEP * NEAR == T::THREADS, "equal shares of whole rows");
    const int B_NEAR = T::ACROSS / B_WIDE, B_STEP = T::THREADS / B_NEAR, B_ROUNDS = (T::DEPTH + B_STEP - 1) / B_STEP;
    const u32 near = threadIdx.x % NEAR * WIDE, far = threadIdx.x / NEAR;
    const u32 b_column = threadIdx.x % B_NEAR * B_WIDE, b_k = threadIdx.x / B_NEAR;
    const N* a = place.a + (A_BY_K ? far : near) * p.a_row + (A_BY_K ? near : far) * p.a_k;
    const N* b = place.b + b_k * p.b_k + b_column * p.b_column;
    u32 fetched = 0;
    auto begin = [&](int stage) {
        N* to_a = left + stage * A_STAGE + far * PITCH + near;
        N* to_b = right + stage * B_STAGE + b_k * T::ACROSS + b_column;
        const u32 depth = k_end - fetched;
        if (fetched < k_end) {
            // Beyond k nothing is read: the walk ends there. Nearly all stages are whole.
            const u32 near_end = A_BY_K ? depth : place.rows, far_end = A_BY_K ? place.rows : depth;
            if (near_end >= NEAR * WIDE) {
#pragma unroll
                for (int i = 0; i < ROUNDS; i++) {
                    if (far + i * FAR_STEP < far_end) {
                        copy_async<WIDE * sizeof(N)>(to_a + i * FAR_STEP * PITCH, a + i * FAR_STEP * (A_BY_K ? p.a_row : p.a_k),
                                                     WIDE * sizeof(N));
                    }
                }
            } else if (near < near_end) {
#pragma unroll 1
                for (int i = 0; i < ROUNDS; i++) {
                    if (far + i * FAR_STEP < far_end) {
                        copy_neighbours<WIDE>(to_a + i * FAR_STEP * PITCH, a + i * FAR_STEP * (A_BY_K ? p.a_row : p.a_k),
                                              near_end - near);
                    }
                }
            }
            const u32 b_end = min((u32)T::DEPTH, depth);
            if (place.columns == T::ACROSS) {
#pragma unroll
                for (int i = 0; i < B_ROUNDS; i++) {
                    if (b_k + i * B_STEP < b_end) {
                        copy_async<B_WIDE * sizeof(N)>(to_b + i * B_STEP * T::ACROSS, b + i * B_STEP * p.b_k, B_WIDE * sizeof(N));
                    }
                }
            } else if (b_column < place.columns) {
#pragma unroll 1
                for (int i = 0; i < B_ROUNDS; i++) {
                    if (b_k + i * B_STEP < b_end) {
                        copy_neighbours<B_WIDE>(to_b + i * B_STEP * T::ACROSS, b + i * B_STEP * p.b_k, place.columns - b_column);
                    }
                }
            }
        }
        commit_copies();
        fetched += T::DEPTH;
        a += T::DEPTH * p.a_k;
        b += T::DEPTH * p.b_k;
    };

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int LANES_ACROSS = 32 / T::LANES_DOWN;
    const int down = warp * T::LANES_DOWN + lane / LANES_ACROSS, across = lane % LANES_ACROSS * T::COLUMNS;
    const int ROW_STEP = T::DOWN / T::ROWS;
    N at[T::ROWS][T::COLUMNS];
#pragma unroll
    for (int r = 0; r < T::ROWS; r++) {
#pragma unroll
        for (int c = 0; c < T::COLUMNS; c++) {
            at[r][c] = place.begin(down + r * ROW_STEP, across + c);
        }
    }
    int to = 0, from = 0;
#pragma unroll 1
    for (; to < T::STAGES - 1; to++) {
        begin(to);
    }
    // Elements of PACK k, by turns with the next.
    N of_a[2][T::ROWS][PACK], of_b[2][PACK][T::COLUMNS];
#pragma unroll 1
    for (u32 k = 0; k < k_end; k += T::DEPTH) {
        wait_for_copies<T::STAGES - 2>();
        if (T::THREADS == 32) {
            __syncwarp();
        } else {
            __syncthreads();
        }
        begin(to);
        to = to + 1 == T::STAGES ? 0 : to + 1;
        const N* at_a = left + from * A_STAGE;
        const N* at_b = right + from * B_STAGE;
        from = from + 1 == T::STAGES ? 0 : from + 1;
        auto read = [&](int turn, int d) {
#pragma unroll
            for (int r = 0; r < T::ROWS; r++) {
                const int row = down + r * ROW_STEP;
                if constexpr (A_BY_K) {
                    fragment<PACK, PACK>(of_a[turn][r], at_a + row * PITCH + d);
                } else {
#pragma unroll
                    for (int i = 0; i < PACK; i++) {
                        of_a[turn][r][i] = at_a[(d + i) * PITCH + row];
                    }
                }
            }
            if constexpr (T::ACROSS == 1) {
                N pack[PACK];
                fragment<PACK, PACK>(pack, at_b + d);
#pragma unroll
                for (int i = 0; i < PACK; i++) {
                    of_b[turn][i][0] = pack[i];
                }
            } else {
#pragma unroll
                for (int i = 0; i < PACK; i++) {
                    fragment<T::COLUMNS, PACK>(of_b[turn][i], at_b + (d + i) * T::ACROSS + across);
                }
            }
        };
        const u32 depth = k_end - k;
        if (depth >= T::DEPTH) {
            read(0, 0);
#pragma unroll
            for (int d = 0; d < T::DEPTH; d += PACK) {
                const int turn = d / PACK % 2;
                if (d + PACK < T::DEPTH) {
                    read(turn ^ 1, d + PACK);
                }
#pragma unroll
                for (int i = 0; i < PACK; i++) {
#pragma unroll
                    for (int r = 0; r < T::ROWS; r++) {
#pragma unroll
                        for (int c = 0; c < T::COLUMNS; c++) {
                            at[r][c] = fused(of_a[turn][r][i], of_b[turn][i][c], at[r][c]);
                        }
                    }
                }
            }
        } else {
#pragma unroll 1
            for (u32 d = 0; d < depth; d++) {
#pragma unroll
                for (int r = 0; r < T::ROWS; r++) {
                    const int row = down + r * ROW_STEP;
#pragma unroll
                    for (int c = 0; c < T::COLUMNS; c++) {
                        at[r][c] = fused(at_a[A_BY_K ? row * PITCH + d : d * PITCH + row], at_b[d * T::ACROSS + across + c], at[r][c]);
                    }
                }
            }
        }
    }
#ifdef MAPPED
    const int PACK_ACROSS = T::COLUMNS < 4 ? T::COLUMNS : 4, PACKS = T::COLUMNS / PACK_ACROSS;
    finish<Place<Plain<N, N>, T::DOWN, T::ACROSS>, T::ROWS * PACKS, PACK_ACROSS>(
        p,
        [&](int pack) { return make_uint2(down + pack / PACKS * ROW_STEP, across + pack % PACKS * PACK_ACROSS); },
        [&](int pack, N(&to)[PACK_ACROSS]) {
#pragma unroll
            for (int i = 0; i < PACK_ACROSS; i++) {
                to[i] = at[pack / PACKS][pack % PACKS * PACK_ACROSS + i];
            }
        });
#else
#pragma unroll
    for (int r = 0; r < T::ROWS; r++) {
        place.template put<T::COLUMNS>(down + r * ROW_STEP, across, at[r]);
    }
#endif
}
