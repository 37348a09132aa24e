// Puts the elements that a mask selects one after the other, in one pass.
//
// Blocks take tiles in order. A tile counts what the mask selects of it and publishes that number.
// What all tiles before it select is the sum of what they published, back to the nearest one that
// published the sum of all up to itself; each thread of the block looks at another tile. Then the
// tile publishes such a sum too. A tile waits for tiles of blocks that run or are done, so none
// waits for ever. The sum of the last tile is how many are selected, and the next launch of a
// selection that takes several begins with it.
#pragma once

#define WARPS (THREADS / 32)
#define WARP_ALL 0xffffffffu
// What a tile publishes: a number, and in the two lowest bits which one.
#define OF_TILE 1
#define OF_ALL_SO_FAR 2

__device__ __forceinline__ u64 published(const u64* at) {
    return *reinterpret_cast<const volatile u64*>(at);
}

__device__ __forceinline__ void publish(u64* at, u64 number, u64 which) {
    *reinterpret_cast<volatile u64*>(at) = number << 2 | which;
}

// What all tiles before this one select. `sums` and `last` are shared, one for each warp.
__device__ __forceinline__ u64 selected_before(const u64* tiles, u32 tile, u64* sums, bool* last) {
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u64 before = 0;
    for (u32 end = tile;; end -= THREADS) {
        // Each thread looks at another tile: the first at the nearest.
        u64 found = OF_TILE;
        if (threadIdx.x < end) {
            const u64* at = tiles + (end - 1 - threadIdx.x);
            do {
                found = published(at);
            } while (found == 0);
        }
        const u32 sums_to = __ballot_sync(WARP_ALL, (found & OF_ALL_SO_FAR) != 0);
        const u32 nearest = sums_to == 0 ? 31 : __ffs(sums_to) - 1;
        u64 sum = lane <= nearest ? found >> 2 : 0;
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_xor_sync(WARP_ALL, sum, step);
        }
        __syncthreads();
        if (lane == 0) {
            sums[warp] = sum;
            last[warp] = sums_to != 0;
        }
        __syncthreads();
        for (u32 k = 0; k < WARPS; k++) {
            before += sums[k];
            if (last[k]) {
                return before;
            }
        }
    }
}

// How far an element is along a side, by its number in row-major order.
#define SELECT_FAR(NAME)                                                              \
    template <bool LINE>                                                              \
    __device__ __forceinline__ i64 far_##NAME(const Params& p, u32 item) {            \
        if (LINE) {                                                                   \
            return static_cast<i64>(item) * p.at[0].NAME;                             \
        }                                                                             \
        i64 far = 0;                                                                  \
        _Pragma("unroll 1") for (u32 k = 0; k < p.axes; k++) {                        \
            const u32 next = divide(item, p.at[k]);                                   \
            far += static_cast<i64>(item - next * p.at[k].divisor) * p.at[k].NAME;    \
            item = next;                                                              \
        }                                                                             \
        return far;                                                                   \
    }
SELECT_FAR(mask)
SELECT_FAR(elements)

// A tile. LINE: one axis, and elements of one piece; they are on their way while the tiles before are
// looked at. ELEMENTS: of a thread.
template <int WIDTH, int ELEMENTS, bool LINE>
__device__ __forceinline__ void select(const Params& p) {
    typedef typename Element<WIDTH>::Type Type;
    __shared__ u32 taken, of_warp[WARPS];
    __shared__ u64 sums[WARPS];
    __shared__ bool last[WARPS];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        taken = atomicAdd(reinterpret_cast<u32*>(p.winners), 1u);
    }
    __syncthreads();
    const u32 tile = taken, first = (tile * WARPS + warp) * (32 * ELEMENTS) + lane;
    u64* const tiles = p.winners + 1;

    // Which lanes select, by element.
    u32 lanes[ELEMENTS];
    u8 mask[ELEMENTS];
#pragma unroll
    for (int k = 0; k < ELEMENTS; k++) {
        const u32 item = first + k * 32;
        mask[k] = item < p.total ? p.mask[far_mask<LINE>(p, item)] : 0;
    }
    u32 count = 0;
#pragma unroll
    for (int k = 0; k < ELEMENTS; k++) {
        lanes[k] = __ballot_sync(WARP_ALL, mask[k] != 0);
        count += __popc(lanes[k]);
    }
    if (lane == 0) {
        of_warp[warp] = count;
    }
    __syncthreads();
    u32 of_tile = 0, of_warps_before = 0;
    for (u32 k = 0; k < WARPS; k++) {
        of_warps_before += k < warp ? of_warp[k] : 0;
        of_tile += of_warp[k];
    }
    // The first tile waits for none. It alone reads the count of the launch before this one, and
    // before it publishes, so before the last tile writes.
    u64 before = 0;
    if (threadIdx.x == 0) {
        if (tile == 0) {
            before = p.position == 0 ? 0 : published(reinterpret_cast<const u64*>(p.indices));
            sums[0] = before;
            publish(&tiles[0], before + of_tile, OF_ALL_SO_FAR);
        } else {
            publish(&tiles[tile], of_tile, OF_TILE);
        }
    }
    Type element[ELEMENTS];
    if (LINE) {
#pragma unroll
        for (int k = 0; k < ELEMENTS; k++) {
            if (lanes[k] >> lane & 1) {
                const i64 at = far_elements<LINE>(p, first + k * 32);
                element[k] = __ldcs(reinterpret_cast<const Type*>(p.elements + at));
            }
        }
    }
    if (tile == 0) {
        __syncthreads();
        before = sums[0];
    } else {
        before = selected_before(tiles, tile, sums, last);
        if (threadIdx.x == 0) {
            publish(&tiles[tile], before + of_tile, OF_ALL_SO_FAR);
        }
    }
    if (threadIdx.x == 0 && (tile + 1) * (THREADS * ELEMENTS) >= p.total) {
        *reinterpret_cast<volatile u64*>(const_cast<char*>(p.indices)) = before + of_tile;
    }

    u64 place = before + of_warps_before;
    const u32 lanes_before = (1u << lane) - 1;
#pragma unroll
    for (int k = 0; k < ELEMENTS; k++) {
        const u64 index = place + __popc(lanes[k] & lanes_before);
        place += __popc(lanes[k]);
        if ((lanes[k] >> lane & 1) == 0) {
            continue;
        }
        const u32 item = first + k * 32;
        if (index >= static_cast<u64>(p.bound)) {
            tell(p, p.position + item, static_cast<i64>(index));
            continue;
        }
        char* const to = p.indexed + static_cast<i64>(index) * p.indexed_axis[0].stride;
        if (LINE) {
            *reinterpret_cast<Type*>(to) = element[k];
            continue;
        }
        const char* const from = p.elements + far_elements<LINE>(p, item);
        for (u32 piece = 0; piece < p.pieces; piece++) {
            reinterpret_cast<Type*>(to)[piece] = reinterpret_cast<const Type*>(from)[piece];
        }
    }
}

// As many elements of a thread as `select_elements` of `src/gather/kernels.rs` says.
#define SELECTS(WIDTH, ELEMENTS)                                                                                  \
    extern "C" __global__ __launch_bounds__(THREADS) void select_##WIDTH(const __grid_constant__ Params p) {      \
        select<WIDTH, ELEMENTS, false>(p);                                                                        \
    }                                                                                                             \
    extern "C" __global__ __launch_bounds__(THREADS) void select_line_##WIDTH(const __grid_constant__ Params p) { \
        select<WIDTH, ELEMENTS, true>(p);                                                                         \
    }

SELECTS(1, 16)
SELECTS(2, 16)
SELECTS(4, 16)
SELECTS(8, 8)
SELECTS(16, 4)
