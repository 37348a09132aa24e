// Copies and fills over any strides: one thread an element, threads in the order of the destination.
//
// The kernels know widths, not types. They are as general as a copy can be, and the fallback of everything faster.
// kernels/build.py compiles this file to kernels/gather.ptx, which is what the library embeds.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// One loop of a copy. The divider is used by the 32-bit kernels, the extent by the 64-bit ones.
struct Axis {
    u64 extent;
    i64 dst_stride_bytes;
    i64 src_stride_bytes;
    u32 magic;
    u32 shift;
};

// Mirrors src/kernels/params.rs.
struct Params {
    u64 dst;
    u64 src;
    u64 count;
    u32 rank;
    u32 reserved;
    u32 pattern[4];
    Axis axes[62];  // fastest first; each extent is at least 2
};

static_assert(sizeof(Axis) == 32, "src/kernels/params.rs has 32");
static_assert(sizeof(Params) == 2032, "src/kernels/params.rs has 2032");

// The quotient of n, below 2^31, by an extent of at most 2^31: src/kernels/divide.rs says why this is exact.
__device__ __forceinline__ u32 quotient(u32 n, const Axis& axis) {
    return (__umulhi(n, axis.magic) + n) >> axis.shift;
}

__device__ __forceinline__ u64 quotient(u64 n, const Axis& axis) { return n / axis.extent; }

template <typename T>
__device__ __forceinline__ T pattern_of(const Params& params) {
    return T(params.pattern[0]);
}

template <>
__device__ __forceinline__ uint2 pattern_of<uint2>(const Params& params) {
    return make_uint2(params.pattern[0], params.pattern[1]);
}

template <>
__device__ __forceinline__ uint4 pattern_of<uint4>(const Params& params) {
    return make_uint4(params.pattern[0], params.pattern[1], params.pattern[2], params.pattern[3]);
}

enum Kind { GATHER, FILL };

// Moves element n, counted in the order of the destination.
template <typename T, typename Index, Kind KIND>
__device__ __forceinline__ void element(const Params& params, Index n) {
    u64 dst = params.dst;
    u64 src = params.src;
    // Unrolling makes the module four times as large, and so its load.
#pragma unroll 1
    for (u32 a = 0; a < params.rank; a++) {
        const Axis& axis = params.axes[a];
        // What is left for the last axis is below its extent: no division.
        Index rest = a + 1 < params.rank ? quotient(n, axis) : 0;
        i64 i = i64(n - rest * Index(axis.extent));
        dst += i * axis.dst_stride_bytes;
        if (KIND == GATHER) src += i * axis.src_stride_bytes;
        n = rest;
    }
    *reinterpret_cast<T*>(dst) = KIND == GATHER ? *reinterpret_cast<const T*>(src) : pattern_of<T>(params);
}

// Up to 2^31 elements: the grid has a thread for each.
template <typename T, Kind KIND>
__device__ __forceinline__ void narrow(const Params& params) {
    u32 n = blockIdx.x * 256u + threadIdx.x;
    if (n < params.count) element<T, u32, KIND>(params, n);
}

// Any number of elements: the grid may have to go round.
template <typename T, Kind KIND>
__device__ __forceinline__ void wide(const Params& params) {
    const u64 threads = u64(gridDim.x) * 256u;
    for (u64 n = u64(blockIdx.x) * 256u + threadIdx.x; n < params.count; n += threads) {
        element<T, u64, KIND>(params, n);
    }
}

#define KERNELS(WIDTH, TYPE)                                                                                \
    extern "C" __global__ void __launch_bounds__(256)                                                       \
        gather_w##WIDTH##_n32(const __grid_constant__ Params params) { narrow<TYPE, GATHER>(params); }      \
    extern "C" __global__ void __launch_bounds__(256)                                                       \
        gather_w##WIDTH##_n64(const __grid_constant__ Params params) { wide<TYPE, GATHER>(params); }        \
    extern "C" __global__ void __launch_bounds__(256)                                                       \
        fill_w##WIDTH##_n32(const __grid_constant__ Params params) { narrow<TYPE, FILL>(params); }          \
    extern "C" __global__ void __launch_bounds__(256)                                                       \
        fill_w##WIDTH##_n64(const __grid_constant__ Params params) { wide<TYPE, FILL>(params); }

KERNELS(1, u8)
KERNELS(2, u16)
KERNELS(4, u32)
KERNELS(8, uint2)
KERNELS(16, uint4)
