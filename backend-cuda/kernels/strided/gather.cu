// Copies anything: one element per thread, in destination order, with any stride of any sign on both
// sides.
//
// The fallback for copies that no other kernel takes, and the fastest if elements are isolated on both
// sides.
#include "common.cuh"

#define MAX_GATHER_AXES 32

struct GatherParams {
    Operands at;
    u32 axes;  // innermost first
    u32 total; // elements, below 2^31
    Loop axis[MAX_GATHER_AXES];
};
static_assert(sizeof(GatherParams) == 1064, "as the host declares it");

template <int WIDTH>
__device__ __forceinline__ void gather(const GatherParams& p) {
    typedef typename Element<WIDTH>::Type Type;
    u32 item = blockIdx.x * THREADS + threadIdx.x;
    if (item >= p.total) {
        return;
    }
    const char* src = p.at.src;
    char* dst = p.at.dst;
#pragma unroll 1
    for (u32 k = 0; k < p.axes; k++) {
        const u32 next = divide(item, p.axis[k].extent);
        const u32 c = item - next * p.axis[k].extent.divisor;
        src += c * p.axis[k].src;
        dst += c * p.axis[k].dst;
        item = next;
    }
    *reinterpret_cast<Type*>(dst) = *reinterpret_cast<const Type*>(src);
}

#define OF_WIDTH(WIDTH)                                                                                               \
    extern "C" __global__ __launch_bounds__(THREADS) void gather_##WIDTH(const __grid_constant__ GatherParams p) {    \
        wait_for_previous();                                                                                          \
        gather<WIDTH>(p);                                                                                             \
    }

OF_WIDTH(1)
OF_WIDTH(2)
OF_WIDTH(4)
OF_WIDTH(8)
OF_WIDTH(16)
