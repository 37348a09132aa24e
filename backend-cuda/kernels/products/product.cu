// Matrix products with one value: an element is one chain of fused multiply-adds in rising k, from +0.
//
// A block computes a tile of one matrix of a batch. The operands of a few k at a time come to shared
// memory by registers, while the sums of the k before are computed. Any strides: which axis lies side
// by side in an operand decides only the order in which threads load it.
//
// A chain must not be cut, so tiles go over all k of it; longer products are launched with their chains
// as a batch, whose results are reduced behind it. Elements that a tile reaches beyond k are -0 on the
// left and +0 on the right: their product is -0, which changes no sum, a sum of -0 neither.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

const int MAX_BATCH_AXES = 16;

struct FastDiv {
    u32 divisor, multiplier, shift;
};

// An axis of the batch, and the step of each side along it, in elements.
struct BatchAxis {
    FastDiv by;
    u32 unused;
    i64 a, b, y;
};

struct Params {
    u64 a, b, y;
    // Where chains of a longer product are, one matrix behind the other.
    u64 sums;
    // Steps in elements.
    i64 a_row, a_k, b_k, b_column, y_row, y_column;
    u32 m, n, k;
    // Chains of a product, `chain` k each, are the first axis of the batch; 1 if there is one chain.
    u32 chain, chains;
    u32 batch_axes;
    // Tiles of a matrix, down and across.
    FastDiv tiles, tiles_down;
    BatchAxis at[MAX_BATCH_AXES];
};

__device__ __forceinline__ u32 divide(u32 n, const FastDiv& by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

// ---- numbers ----

__device__ __forceinline__ float fused(float a, float b, float y) { return __fmaf_rn(a, b, y); }
__device__ __forceinline__ double fused(double a, double b, double y) { return __fma_rn(a, b, y); }
__device__ __forceinline__ u32 fused(u32 a, u32 b, u32 y) { return a * b + y; }
__device__ __forceinline__ u64 fused(u64 a, u64 b, u64 y) { return a * b + y; }

__device__ __forceinline__ float canonical(float y) { return y == y ? y : __int_as_float(0x7fc00000); }
__device__ __forceinline__ double canonical(double y) {
    return y == y ? y : __longlong_as_double(0x7ff8000000000000);
}
__device__ __forceinline__ u32 canonical(u32 y) { return y; }
__device__ __forceinline__ u64 canonical(u64 y) { return y; }

template <class N> struct Nothing { static __device__ __forceinline__ N left() { return 0; } };
template <> struct Nothing<float> { static __device__ __forceinline__ float left() { return -0.0f; } };
template <> struct Nothing<double> { static __device__ __forceinline__ double left() { return -0.0; } };

// How an element is stored: the number it is computed as, and both ways.
template <class S, class N> struct Plain {
    typedef S Stored;
    typedef N Number;
    static __device__ __forceinline__ N load(S s) { return s; }
    static __device__ __forceinline__ S store(N n) { return (S)n; }
};

struct Half {
    typedef u16 Stored;
    typedef float Number;
    static __device__ __forceinline__ float load(u16 s) {
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(s));
        return f;
    }
    static __device__ __forceinline__ u16 store(float f) {
        u16 s;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(s) : "f"(f));
        return f == f ? s : 0x7e00;
    }
};

struct Bfloat {
    typedef u16 Stored;
    typedef float Number;
    static __device__ __forceinline__ float load(u16 s) { return __int_as_float((u32)s << 16); }
    // To the nearest, ties to even. NaN is canonical before.
    static __device__ __forceinline__ u16 store(float f) {
        const u32 bits = __float_as_int(f);
        return f == f ? (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16) : 0x7fc0;
    }
};

// ---- tiles ----

// Where an element is found among those that threads load together: `along` is the axis whose elements lie
// side by side.
template <int ALONG, int ACROSS, int THREADS> struct Share {
    static const int COUNT = ALONG * ACROSS / THREADS;
    static __device__ __forceinline__ int along(int i) { return (threadIdx.x + i * THREADS) % ALONG; }
    static __device__ __forceinline__ int across(int i) { return (threadIdx.x + i * THREADS) / ALONG; }
};

// DOWN x ACROSS elements a block, ROWS x COLUMNS a thread in pieces of 4 x 4 (or less), DEPTH k at a time.
template <class K, int DOWN, int ACROSS, int DEPTH, int ROWS, int COLUMNS, bool A_BY_K, bool B_BY_K>
__device__ __forceinline__ void product(const Params& p) {
    typedef typename K::Number N;
    typedef typename K::Stored S;
    const int WIDE = ACROSS / COLUMNS, HIGH = DOWN / ROWS, THREADS = WIDE * HIGH;
    // A row longer, so that columns of rows that were loaded along k are in other banks.
    const int A_PITCH = DOWN + (A_BY_K ? 4 : 0), B_PITCH = ACROSS + (B_BY_K ? 4 : 0);
    __shared__ N left[2][DEPTH][A_PITCH];
    __shared__ N right[2][DEPTH][B_PITCH];
    typedef Share<A_BY_K ? DEPTH : DOWN, A_BY_K ? DOWN : DEPTH, THREADS> A;
    typedef Share<B_BY_K ? DEPTH : ACROSS, B_BY_K ? ACROSS : DEPTH, THREADS> B;

    // The matrix of the batch, and the tile.
    u32 matrix = divide(blockIdx.x, p.tiles);
    u32 tile = blockIdx.x - matrix * p.tiles.divisor;
    const u32 tile_across = divide(tile, p.tiles_down), tile_down = tile - tile_across * p.tiles_down.divisor;
    const u32 row = tile_down * DOWN, column = tile_across * ACROSS;
    const S* a = (const S*)p.a + row * p.a_row;
    const S* b = (const S*)p.b + column * p.b_column;
    S* y = (S*)p.y + row * p.y_row + column * p.y_column;
    N* sums = (N*)p.sums + (u64)row * p.n + column;
    u64 number = matrix;
    u32 k_end = p.k;
#pragma unroll 1
    for (u32 axis = 0; axis < p.batch_axes; axis++) {
        const BatchAxis& at = p.at[axis];
        const u32 next = divide(matrix, at.by);
        const i64 c = matrix - next * at.by.divisor;
        if (axis == 0 && p.chains > 1) {
            // The last chain is shorter.
            k_end = min(p.chain, p.k - (u32)c * p.chain);
        }
        a += c * at.a;
        b += c * at.b;
        y += c * at.y;
        matrix = next;
    }
    sums += number * ((u64)p.m * p.n);
    const u32 rows = min((u32)DOWN, p.m - row), columns = min((u32)ACROSS, p.n - column);

    N from_a[A::COUNT], from_b[B::COUNT];
    auto load = [&](u32 k) {
#pragma unroll
        for (int i = 0; i < A::COUNT; i++) {
            const u32 r = A_BY_K ? A::across(i) : A::along(i), d = A_BY_K ? A::along(i) : A::across(i);
            from_a[i] = r < rows && k + d < k_end ? K::load(a[r * p.a_row + (k + d) * p.a_k]) : Nothing<N>::left();
        }
#pragma unroll
        for (int i = 0; i < B::COUNT; i++) {
            const u32 c = B_BY_K ? B::across(i) : B::along(i), d = B_BY_K ? B::along(i) : B::across(i);
            from_b[i] = c < columns && k + d < k_end ? K::load(b[(k + d) * p.b_k + c * p.b_column]) : N(0);
        }
    };
    auto share = [&](int side) {
#pragma unroll
        for (int i = 0; i < A::COUNT; i++) {
            const int r = A_BY_K ? A::across(i) : A::along(i), d = A_BY_K ? A::along(i) : A::across(i);
            left[side][d][r] = from_a[i];
        }
#pragma unroll
        for (int i = 0; i < B::COUNT; i++) {
            const int c = B_BY_K ? B::across(i) : B::along(i), d = B_BY_K ? B::along(i) : B::across(i);
            right[side][d][c] = from_b[i];
        }
    };

    // Rows and columns of a thread: pieces of `PIECE`, as far apart as there are threads, so that a warp
    // reads neighbouring banks.
    const int PIECE = 16 / sizeof(N);
    const int down = threadIdx.x / WIDE * PIECE, across = threadIdx.x % WIDE * PIECE;
    N at[ROWS][COLUMNS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            at[r][c] = N(0);
        }
    }
    load(0);
    share(0);
    __syncthreads();
    int side = 0;
#pragma unroll 1
    for (u32 k = 0; k < k_end; k += DEPTH) {
        const bool more = k + DEPTH < k_end;
        if (more) {
            load(k + DEPTH);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            N of_a[ROWS], of_b[COLUMNS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                of_a[r] = left[side][d][down + r / PIECE * (HIGH * PIECE) + r % PIECE];
            }
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                of_b[c] = right[side][d][across + c / PIECE * (WIDE * PIECE) + c % PIECE];
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    at[r][c] = fused(of_a[r], of_b[c], at[r][c]);
                }
            }
        }
        if (more) {
            share(side ^ 1);
            __syncthreads();
            side ^= 1;
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const u32 i = down + r / PIECE * (HIGH * PIECE) + r % PIECE;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const u32 j = across + c / PIECE * (WIDE * PIECE) + c % PIECE;
            if (i < rows && j < columns) {
                // Chains of a longer product are numbers, which are summed behind this.
                if (p.chains > 1) {
                    sums[(u64)i * p.n + j] = at[r][c];
                } else {
                    y[i * p.y_row + j * p.y_column] = K::store(canonical(at[r][c]));
                }
            }
        }
    }
}

// The sums of chains: neighbours in pairs, pairs of those, and so on, a last one without a partner as it is;
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
    // What is not yet in a pair, of each length, the longest first.
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
    *y = K::store(canonical(N(0) + sum));
}

#define CHAINS(NAME, K) \
    extern "C" __global__ void NAME##_chains(const __grid_constant__ Params p) { sum_chains<K>(p); }

#define TILES(NAME, K, DOWN, ACROSS, DEPTH, ROWS, COLUMNS)                                                    \
    extern "C" __global__ void __launch_bounds__(DOWN / ROWS * ACROSS / COLUMNS)                              \
        NAME##_nn(const __grid_constant__ Params p) { product<K, DOWN, ACROSS, DEPTH, ROWS, COLUMNS, true, false>(p); } \
    extern "C" __global__ void __launch_bounds__(DOWN / ROWS * ACROSS / COLUMNS)                              \
        NAME##_nt(const __grid_constant__ Params p) { product<K, DOWN, ACROSS, DEPTH, ROWS, COLUMNS, true, true>(p); }  \
    extern "C" __global__ void __launch_bounds__(DOWN / ROWS * ACROSS / COLUMNS)                              \
        NAME##_tn(const __grid_constant__ Params p) { product<K, DOWN, ACROSS, DEPTH, ROWS, COLUMNS, false, false>(p); }

typedef Plain<float, float> F32;
typedef Plain<double, double> F64;
typedef Plain<u8, u32> U8;
typedef Plain<u16, u32> U16;
typedef Plain<u32, u32> U32;
typedef Plain<u64, u64> U64;

TILES(f32_large, F32, 128, 128, 8, 8, 8)
TILES(f32_small, F32, 32, 32, 16, 4, 4)
TILES(f64_large, F64, 64, 64, 8, 4, 4)
TILES(f64_small, F64, 32, 32, 8, 2, 2)
TILES(f16_large, Half, 128, 128, 8, 8, 8)
TILES(bf16_large, Bfloat, 128, 128, 8, 8, 8)
TILES(u8_large, U8, 64, 64, 16, 4, 4)
TILES(u16_large, U16, 64, 64, 16, 4, 4)
TILES(u32_large, U32, 64, 64, 16, 4, 4)
TILES(u64_large, U64, 64, 64, 8, 4, 4)

CHAINS(f32, F32)
CHAINS(f64, F64)
CHAINS(f16, Half)
CHAINS(bf16, Bfloat)
