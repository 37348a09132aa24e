// Tiles of doubles by tensor cores, which add products to a sum one by one in rising k, each rounded once:
// the chain that a thread would make.
#pragma once

#include "tiles.cuh"

// c += a b of 16 x 8 with 8 k: the rows lane / 4 and 8 further, the k lane % 4 and 4 further; columns lane / 4
// of b, and of c two from lane % 4 * 2.
__device__ __forceinline__ void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                : "+d"(c[2 * r]), "+d"(c[2 * r + 1])
                : "d"(a[2 * k + r]), "d"(b[k]));
        }
    }
#endif
}

// A lane holds four elements of each 16 x 8 of its warp, which begins at `down`, `across` in the tile: rows lane / 4
// and lane / 4 + 8, and two columns from lane % 4 * 2. This sets what their chains start from.
template <class P, int ROWS, int COLUMNS>
__device__ __forceinline__ void begin_fragments(const P& place, typename P::N (&at)[ROWS][COLUMNS][4], int down, int across) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                at[r][c][i] = place.begin(down + r * 16 + lane / 4 + i / 2 * 8, across + c * 8 + lane % 4 * 2 + i % 2);
            }
        }
    }
}

// Stores them, or gives them to the function behind the product.
template <class P, int ROWS, int COLUMNS>
__device__ __forceinline__ void put_fragments(
    const Params& p, const P& place, const typename P::N (&at)[ROWS][COLUMNS][4], int down, int across) {
    typedef typename P::N N;
    const int lane = threadIdx.x % 32;
#ifdef MAPPED
    finish<P, ROWS * COLUMNS * 2, 2>(
        p,
        [&](int pack) {
            const int r = pack / (2 * COLUMNS), c = pack / 2 % COLUMNS, i = pack % 2;
            return make_uint2(down + r * 16 + lane / 4 + i * 8, across + c * 8 + lane % 4 * 2);
        },
        [&](int pack, N(&to)[2]) {
            to[0] = at[pack / (2 * COLUMNS)][pack / 2 % COLUMNS][pack % 2 * 2];
            to[1] = at[pack / (2 * COLUMNS)][pack / 2 % COLUMNS][pack % 2 * 2 + 1];
        });
#else
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                const N pack[2] = {at[r][c][i], at[r][c][i + 1]};
                place.template put<2>(down + r * 16 + lane / 4 + i * 4, across + c * 8 + lane % 4 * 2, pack);
            }
        }
    }
#endif
}

// LINES x DEPTH doubles of an operand in shared memory, along k or line beside line, so placed that half a
// warp, which reads four lines of four k, finds them in different banks.
template <int LINES, int DEPTH, int THREADS, bool BY_K, int WIDE, bool LEFT> struct Doubles {
    static const int COUNT = LINES * DEPTH / WIDE / THREADS;
    static_assert(COUNT * THREADS * WIDE == LINES * DEPTH, "equal shares");
    static const int NEAR = (BY_K ? DEPTH : LINES) / WIDE;
    static_assert(NEAR <= THREADS, "whole rows of packs");
    static const int STAGE = LINES * DEPTH;
    const double* next;
    i64 by_line, by_k;
    u32 lines;
    // Where a lane finds its elements: along k by fours of k, else by even and odd eights of lines.
    int found[BY_K ? DEPTH / 4 : 2];

    static __device__ __forceinline__ int line(int i) {
        return BY_K ? threadIdx.x / NEAR + i * (THREADS / NEAR) : threadIdx.x % NEAR * WIDE;
    }
    static __device__ __forceinline__ int k(int i) {
        return BY_K ? threadIdx.x % NEAR * WIDE : threadIdx.x / NEAR + i * (THREADS / NEAR);
    }
    static __device__ __forceinline__ int at(int line, int k) {
        return BY_K ? line * DEPTH + (k ^ (DEPTH == 8 ? line / 2 % 2 : line % 4) * 4) : k * LINES + (line ^ k % 4 * 4);
    }

    // `of_warp`: the first line that the warp multiplies.
    __device__ __forceinline__ Doubles(const double* from, i64 line_step, i64 k_step, u32 lines_left, int of_warp)
        : next(from + line(0) * line_step + k(0) * k_step), by_line(line_step), by_k(k_step), lines(lines_left) {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < (BY_K ? DEPTH / 4 : 2); i++) {
            found[i] = BY_K ? at(of_warp + lane / 4, lane % 4 + i * 4) : of_warp + at(i * 8 + lane / 4, lane % 4);
        }
    }

    __device__ __forceinline__ const double* place(int i) const {
        return next + (line(i) - line(0)) * by_line + (k(i) - k(0)) * by_k;
    }

    // An element of the warp's lines from `eight` * 8 and the k from `four` * 4.
    __device__ __forceinline__ double read(const double* stage, int eight, int four) const {
        return BY_K ? stage[found[four % (DEPTH / 4)] + eight * 8 * DEPTH] : stage[found[eight % 2] + eight / 2 * 16 + four * 4 * LINES];
    }

    // Fetches the next DEPTH k, `left` of them exist. `whole`: they and all lines do.
    __device__ __forceinline__ void begin(double* stage, u32 left, bool whole) {
        if (whole) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                copy_async<WIDE * 8>(stage + at(line(i), k(i)), place(i), WIDE * 8);
            }
        } else if (left >= DEPTH) {
            // Lines beyond the last reach no element, whatever is in their place.
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const u32 l = line(i);
                if (l < lines) {
                    copy_neighbours<WIDE>(stage + at(l, k(i)), place(i), BY_K ? WIDE : lines - l);
                }
            }
        } else {
#pragma unroll 1
            for (int i = 0; i < COUNT; i++) {
#pragma unroll
                for (int w = 0; w < WIDE; w++) {
                    const u32 l = line(i) + (BY_K ? 0 : w), d = k(i) + (BY_K ? w : 0);
                    double* to = stage + at(l, d);
                    if (l < lines && d < left) {
                        copy_async<8>(to, place(i) + w, 8);
                    } else {
                        *to = LEFT ? -0.0 : 0.0;
                    }
                }
            }
        }
        next += DEPTH * by_k;
    }
};

extern __shared__ __align__(16) double stages_of_doubles[];

template <int DOWN, int ACROSS, int DEPTH, int WARP_DOWN, int WARP_ACROSS, int STAGES, bool A_BY_K, bool B_BY_K, int WIDE>
__device__ __forceinline__ void product_mma(const Params& p) {
    const int WARPS_ACROSS = ACROSS / WARP_ACROSS, THREADS = DOWN / WARP_DOWN * WARPS_ACROSS * 32;
    typedef Doubles<DOWN, DEPTH, THREADS, A_BY_K, WIDE, true> A;
    typedef Doubles<ACROSS, DEPTH, THREADS, B_BY_K, WIDE, false> B;
    double* left = stages_of_doubles;
    double* right = left + STAGES * A::STAGE;

    const Place<Plain<double, double>, DOWN, ACROSS> place(p);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int down = warp / WARPS_ACROSS * WARP_DOWN, across = warp % WARPS_ACROSS * WARP_ACROSS;
    A a(place.a, p.a_row, p.a_k, place.rows, down);
    B b(place.b, p.b_column, p.b_k, place.columns, across);

    static_assert(WARP_DOWN % 32 == 0, "rows by turns");
    const int ROWS = WARP_DOWN / 16, COLUMNS = WARP_ACROSS / 8;
    double at[ROWS][COLUMNS][4];
    begin_fragments(place, at, down, across);
    const u32 k_end = place.k_end;
    // k from which no stage is whole.
    const u32 whole_end = place.rows == DOWN && place.columns == ACROSS ? k_end : 0;
    u32 fetched = 0;
    int to = 0, from = 0;
    auto begin = [&] {
        if (fetched < k_end) {
            const bool whole = fetched + DEPTH <= whole_end;
            a.begin(left + to * A::STAGE, k_end - fetched, whole);
            b.begin(right + to * B::STAGE, k_end - fetched, whole);
        }
        commit_copies();
        fetched += DEPTH;
        to = to + 1 == STAGES ? 0 : to + 1;
    };
#pragma unroll 1
    for (int stage = 0; stage < STAGES - 1; stage++) {
        begin();
    }
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    // 16 rows and all columns of eight k in registers, by turns with the next.
    double of_a[2][4], of_b[2][COLUMNS][2];
    auto read_a = [&](int turn, int r, int eight_k) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            of_a[turn][i] = a.read(left + from * A::STAGE, r * 2 + i % 2, eight_k * 2 + i / 2);
        }
    };
    auto read_b = [&](int turn, int eight_k) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
#pragma unroll
            for (int i = 0; i < 2; i++) {
                of_b[turn][c][i] = b.read(right + from * B::STAGE, c, eight_k * 2 + i);
            }
        }
    };
    read_a(0, 0, 0);
    read_b(0, 0);
#pragma unroll 1
    for (u32 k = 0; k < k_end;) {
        // Sixteen k, so that turns are known.
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (DEPTH == 8 && half == 1 && k >= k_end) {
                break;
            }
            const int eight_k = DEPTH == 8 ? 0 : half;
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                if (r + 1 < ROWS) {
                    read_a((r + 1) % 2, r + 1, eight_k);
                } else if (DEPTH == 16 && half == 0) {
                    read_a(0, 0, 1);
                    read_b(1, 1);
                } else {
                    // The next stage is there, and everybody is done with this one.
                    wait_for_copies<STAGES - 2>();
                    __syncthreads();
                    from = from + 1 == STAGES ? 0 : from + 1;
                    read_a(0, 0, 0);
                    read_b(half ^ 1, 0);
                }
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    multiply(at[r][c], of_a[r % 2], of_b[half][c]);
                }
                if (r == 0 && (DEPTH == 8 || half == 0)) {
                    begin();
                }
            }
            k += 8;
        }
    }
    put_fragments(p, place, at, down, across);
}
