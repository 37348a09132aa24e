// Stable sort by digits of 8 bits, each pass in one launch: counts of earlier tiles come by look-back.
//
// Elements keep their bits: a digit is of the key of an element, which is computed anew in each pass.
// The key of the one order has -0 and +0 as one and all NaNs as one, above all. A pass whose digit all
// elements share is left out by the host, which reads no count: the kernel of offsets tells it by a flag
// that the pass looks at (it then copies nothing: source and destination are swapped on the device).
//
// A tile: each warp ranks its elements among those of their digit by `match`, the block sums the counts
// of its warps, one thread a digit looks back; then elements go to shared memory in their order, and from
// there to memory in runs.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

const int DIGITS = 256;
const int WARP = 32;

struct Params {
    // Where elements are and go; positions that move with them, or 0.
    u64 from, to, positions_from, positions_to;
    // 256 offsets of the pass; 256 words a tile; the number of the next tile.
    u64 offsets, words, next_tile;
    u64 len;
    u32 shift;
    // All ones to begin with the greatest.
    u64 turn;
    // Whether positions are those of the elements before the pass: the first.
    u32 counts;
    u32 unused;
};

// ---- keys ----

template <class B> struct Unsigned {
    typedef B Bits;
    static __device__ __forceinline__ B key(B bits) { return bits; }
};

template <class B> struct Signed {
    typedef B Bits;
    static __device__ __forceinline__ B key(B bits) { return bits ^ (B)(B(1) << (8 * sizeof(B) - 1)); }
};

// INFINITY: the bits of infinity.
template <class B, u64 INFINITE> struct Float {
    typedef B Bits;
    static __device__ __forceinline__ B key(B bits) {
        const B sign = (B)(B(1) << (8 * sizeof(B) - 1)), magnitude = bits & (B)~sign;
        if (magnitude > (B)INFINITE) {
            return (B)~B(0);
        }
        if (magnitude == 0) {
            return sign;
        }
        return bits & sign ? (B)~bits : (B)(bits | sign);
    }
};

struct Truth {
    typedef u8 Bits;
    static __device__ __forceinline__ u8 key(u8 bits) { return bits & 1; }
};

// ---- counts of all passes at once ----

template <class K> __device__ __forceinline__ void count(const Params& p) {
    typedef typename K::Bits B;
    const int PASSES = sizeof(B);
    __shared__ u32 counts[PASSES][DIGITS];
    for (int at = threadIdx.x; at < PASSES * DIGITS; at += blockDim.x) {
        (&counts[0][0])[at] = 0;
    }
    __syncthreads();
    const B* from = (const B*)p.from;
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < p.len; at += step) {
        const B key = K::key(from[at]) ^ (B)p.turn;
#pragma unroll
        for (int pass = 0; pass < PASSES; pass++) {
            atomicAdd(&counts[pass][key >> 8 * pass & 255], 1);
        }
    }
    __syncthreads();
    u64* offsets = (u64*)p.offsets;
    for (int at = threadIdx.x; at < PASSES * DIGITS; at += blockDim.x) {
        const u32 found = (&counts[0][0])[at];
        if (found) {
            atomicAdd(&offsets[at], (u64)found);
        }
    }
}

// Counts become offsets: one block of 256 threads a pass.
extern "C" __global__ void __launch_bounds__(DIGITS) offsets(const __grid_constant__ Params p) {
    __shared__ u64 sums[DIGITS];
    u64* counts = (u64*)p.offsets + blockIdx.x * DIGITS;
    const u64 own = counts[threadIdx.x];
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int step = 1; step < DIGITS; step *= 2) {
        const u64 before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    counts[threadIdx.x] = sums[threadIdx.x] - own;
}

// ---- a pass ----

// Words of a tile and a digit: what the count is of, and the count.
const u32 OF_TILE = 1u << 30, OF_ALL = 2u << 30, COUNT = OF_TILE - 1;

template <class K, class P, int THREADS, int ITEMS> __device__ __forceinline__ void pass(const Params& p) {
    typedef typename K::Bits B;
    const int WARPS = THREADS / WARP, TILE = THREADS * ITEMS;
    const bool MOVES = sizeof(P) > 1;
    __shared__ u32 counts[WARPS][DIGITS];
    __shared__ u32 starts[DIGITS];
    __shared__ i64 places[DIGITS];
    __shared__ u32 tile_shared;
    extern __shared__ u64 room[];
    if (threadIdx.x == 0) {
        tile_shared = atomicAdd((u32*)p.next_tile, 1);
    }
    for (int at = threadIdx.x; at < WARPS * DIGITS; at += THREADS) {
        (&counts[0][0])[at] = 0;
    }
    __syncthreads();
    const u32 tile = tile_shared;
    const u64 first = (u64)tile * TILE;
    const u32 len = (u32)min((u64)TILE, p.len - first);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const B* from = (const B*)p.from + first;
    // Elements of a warp are a piece of the tile, so that ranks keep their order.
    B bits[ITEMS];
    u32 digits[ITEMS], ranks[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = warp * WARP * ITEMS + i * WARP + lane;
        bits[i] = at < len ? from[at] : B(0);
        // Behind the end: the last digit, ranked behind all that are there.
        digits[i] = at < len ? (u32)((K::key(bits[i]) ^ (B)p.turn) >> p.shift & 255) : 255;
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 digit = digits[i];
        u32 same = ~0u;
#pragma unroll
        for (int bit = 0; bit < 8; bit++) {
            const u32 with = __ballot_sync(~0u, digit >> bit & 1);
            same &= digit >> bit & 1 ? with : ~with;
        }
        const int leader = 31 - __clz(same);
        u32 before = 0;
        if (lane == leader) {
            before = atomicAdd(&counts[warp][digit], __popc(same));
        }
        before = __shfl_sync(~0u, before, leader);
        ranks[i] = before + __popc(same & ((1u << lane) - 1));
        __syncwarp();
    }
    __syncthreads();
    // Counts of the tile, and where each warp begins in it.
    u32 own = 0;
    if (threadIdx.x < DIGITS) {
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            const u32 found = counts[w][threadIdx.x];
            counts[w][threadIdx.x] = own;
            own += found;
        }
        // What is behind the end is not there.
        const u32 there = own - (threadIdx.x == 255 ? TILE - len : 0);
        volatile u32* words = (volatile u32*)p.words + threadIdx.x;
        words[(u64)tile * DIGITS] = there | (tile == 0 ? OF_ALL : OF_TILE);
        starts[threadIdx.x] = own;
        u32 before = 0;
        for (i64 earlier = (i64)tile - 1; earlier >= 0;) {
            const u32 word = words[(u64)earlier * DIGITS];
            if (word < OF_TILE) {
                continue;
            }
            before += word & COUNT;
            if (word >= OF_ALL) {
                break;
            }
            earlier--;
        }
        if (tile > 0) {
            words[(u64)tile * DIGITS] = (before + there) | OF_ALL;
        }
        places[threadIdx.x] = (i64)(((const u64*)p.offsets)[threadIdx.x] + before);
    }
    __syncthreads();
    // Where each digit begins in the tile.
    for (int step = 1; step < DIGITS; step *= 2) {
        const u32 before = threadIdx.x < DIGITS && threadIdx.x >= step ? starts[threadIdx.x - step] : 0;
        __syncthreads();
        if (threadIdx.x < DIGITS) {
            starts[threadIdx.x] += before;
        }
        __syncthreads();
    }
    if (threadIdx.x < DIGITS) {
        starts[threadIdx.x] -= own;
        places[threadIdx.x] -= starts[threadIdx.x];
    }
    __syncthreads();
    B* sorted = (B*)room;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        ranks[i] += starts[digits[i]] + counts[warp][digits[i]];
        sorted[ranks[i]] = bits[i];
    }
    __syncthreads();
    B* to = (B*)p.to;
    u64 target[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = i * THREADS + threadIdx.x;
        if (at < len) {
            const B element = sorted[at];
            target[i] = (u64)(places[(K::key(element) ^ (B)p.turn) >> p.shift & 255] + at);
            to[target[i]] = element;
        }
    }
    if (!MOVES) {
        return;
    }
    __syncthreads();
    P* moved = (P*)room;
    const P* positions = (const P*)p.positions_from + first;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = warp * WARP * ITEMS + i * WARP + lane;
        moved[ranks[i]] = p.counts ? (P)(first + at) : at < len ? positions[at] : P(0);
    }
    __syncthreads();
    P* positions_to = (P*)p.positions_to;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = i * THREADS + threadIdx.x;
        if (at < len) {
            positions_to[target[i]] = moved[at];
        }
    }
}

#define SORTS(NAME, KEY, ITEMS)                                                                            \
    extern "C" __global__ void __launch_bounds__(256) NAME##_count(const __grid_constant__ Params p) {    \
        count<KEY>(p);                                                                                     \
    }                                                                                                      \
    extern "C" __global__ void __launch_bounds__(256) NAME##_pass(const __grid_constant__ Params p) {     \
        pass<KEY, u8, 256, ITEMS>(p);                                                                      \
    }                                                                                                      \
    extern "C" __global__ void __launch_bounds__(256) NAME##_pass_4(const __grid_constant__ Params p) {   \
        pass<KEY, u32, 256, (ITEMS > 16 ? 16 : ITEMS)>(p);                                                 \
    }                                                                                                      \
    extern "C" __global__ void __launch_bounds__(256) NAME##_pass_8(const __grid_constant__ Params p) {   \
        pass<KEY, u64, 256, (ITEMS > 12 ? 12 : ITEMS)>(p);                                                 \
    }

SORTS(u8, Unsigned<u8>, 24)
SORTS(i8, Signed<u8>, 24)
SORTS(bool, Truth, 24)
SORTS(u16, Unsigned<u16>, 24)
SORTS(i16, Signed<u16>, 24)
SORTS(u32, Unsigned<u32>, 20)
SORTS(i32, Signed<u32>, 20)
SORTS(u64, Unsigned<u64>, 12)
SORTS(i64, Signed<u64>, 12)
typedef Float<u16, 0x7c00> F16;
typedef Float<u16, 0x7f80> BF16;
typedef Float<u32, 0x7f800000> F32;
typedef Float<u64, 0x7ff0000000000000> F64;
SORTS(f16, F16, 24)
SORTS(bf16, BF16, 24)
SORTS(f32, F32, 20)
SORTS(f64, F64, 12)
