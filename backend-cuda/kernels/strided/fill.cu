// Fills any strides with a pattern of 1 to 16 bytes: one thread per element, in the order of the destination.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// One loop of a fill. The 32-bit kernels divide by multiplication, like FastDiv in common.cuh; the 64-bit
// ones divide by the extent.
struct FillLoop {
    u64 extent;
    i64 dst, unused;
    u32 multiplier, shift;
};

#define MAX_FILL_AXES 62

struct FillParams {
    u64 dst, unused;
    u64 total; // elements
    u32 axes, unused_after_axes;
    u32 pattern[4];
    FillLoop axis[MAX_FILL_AXES]; // innermost first; each extent is at least 2
};

static_assert(sizeof(FillParams) == 2032, "as the host declares it");

// The quotient of n, below 2^31, by an extent of at most 2^31.
__device__ __forceinline__ u32 quotient(u32 n, const FillLoop& loop) {
    return (__umulhi(n, loop.multiplier) + n) >> loop.shift;
}

__device__ __forceinline__ u64 quotient(u64 n, const FillLoop& loop) { return n / loop.extent; }

template <typename T>
__device__ __forceinline__ T pattern_of(const FillParams& p) {
    return T(p.pattern[0]);
}

template <>
__device__ __forceinline__ uint2 pattern_of<uint2>(const FillParams& p) {
    return make_uint2(p.pattern[0], p.pattern[1]);
}

template <>
__device__ __forceinline__ uint4 pattern_of<uint4>(const FillParams& p) {
    return make_uint4(p.pattern[0], p.pattern[1], p.pattern[2], p.pattern[3]);
}

// Fills element n, counted in the order of the destination.
template <typename T, typename Index>
__device__ __forceinline__ void element(const FillParams& p, Index n) {
    u64 dst = p.dst;
    // Unrolling would make the module four times as large, and its loading four times as slow.
#pragma unroll 1
    for (u32 k = 0; k < p.axes; k++) {
        const FillLoop& loop = p.axis[k];
        // The rest for the last axis is below its extent, so no division is needed.
        Index rest = k + 1 < p.axes ? quotient(n, loop) : 0;
        i64 i = i64(n - rest * Index(loop.extent));
        dst += i * loop.dst;
        n = rest;
    }
    *reinterpret_cast<T*>(dst) = pattern_of<T>(p);
}

// Up to 2^31 elements: the grid has a thread for each.
template <typename T>
__device__ __forceinline__ void narrow(const FillParams& p) {
    u32 n = blockIdx.x * 256u + threadIdx.x;
    if (n < p.total) element<T, u32>(p, n);
}

// For any number of elements: the grid may have to take several rounds.
template <typename T>
__device__ __forceinline__ void wide(const FillParams& p) {
    const u64 threads = u64(gridDim.x) * 256u;
    for (u64 n = u64(blockIdx.x) * 256u + threadIdx.x; n < p.total; n += threads) {
        element<T, u64>(p, n);
    }
}

#define KERNELS(WIDTH, TYPE)                                                                                \
    extern "C" __global__ void __launch_bounds__(256)                                                       \
        fill_w##WIDTH##_n32(const __grid_constant__ FillParams p) { narrow<TYPE>(p); }                      \
    extern "C" __global__ void __launch_bounds__(256)                                                       \
        fill_w##WIDTH##_n64(const __grid_constant__ FillParams p) { wide<TYPE>(p); }

KERNELS(1, u8)
KERNELS(2, u16)
KERNELS(4, u32)
KERNELS(8, uint2)
KERNELS(16, uint4)
