// Moves the elements that a mask selects to neighbouring places, in one pass.
//
// Blocks take tiles in order. A tile counts how many of its elements the mask selects, and
// publishes that number. The count of all tiles before it is the sum of the published numbers, back
// to the nearest tile that published the sum of everything up to itself; each thread of the block
// looks at another tile. Then the tile publishes such a sum too. A tile waits only for tiles of
// blocks that run or are done, so none waits for ever. The sum of the last tile is the number of
// selected elements. If a selection takes several launches, the next one begins with it.
#pragma once

#define WARPS (THREADS / 32)
// The number of elements of a thread that are on their way at one time.
#define BATCH 4
#define WARP_ALL 0xffffffffu
// A published number of a tile. Its two lowest bits say which number it is.
#define OF_TILE 1
#define OF_ALL_SO_FAR 2

__device__ __forceinline__ u64 published(const u64* at) {
    return *reinterpret_cast<const volatile u64*>(at);
}

__device__ __forceinline__ void publish(u64* at, u64 number, u64 which) {
    *reinterpret_cast<volatile u64*>(at) = number << 2 | which;
}

// The number of elements that all tiles before this one select. `sums` and `last` are shared, one
// for each warp.
__device__ __forceinline__ u64 selected_before(const u64* tiles, u32 tile, u64* sums, bool* last) {
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u64 before = 0;
    for (u32 end = tile;; end -= THREADS) {
        // Each thread looks at another tile, the first thread at the nearest.
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

// The distance of an element along a side, by the element's number in row-major order.
#define SELECT_FAR(NAME)                                                           \
    __device__ __forceinline__ i64 far_##NAME(const Params& p, u32 item) {         \
        i64 far = 0;                                                               \
        _Pragma("unroll 1") for (u32 k = 0; k < p.axes; k++) {                     \
            const u32 next = divide(item, p.at[k]);                                \
            far += static_cast<i64>(item - next * p.at[k].divisor) * p.at[k].NAME; \
            item = next;                                                           \
        }                                                                          \
        return far;                                                                \
    }
SELECT_FAR(mask)
SELECT_FAR(elements)

// One bit for each byte of a word that is not 0.
__device__ __forceinline__ u32 bits_of(u32 word) {
    const u32 high = (word | ((word & 0x7f7f7f7f) + 0x7f7f7f7f)) & 0x80808080;
    return high * 0x204081 >> 28;
}

// For each of a warp's ELEMENTS, which are 32 apart, notes which lanes select. The notes are in
// shared memory: with fewer registers, more blocks look at other tiles and wait for memory at one
// time.
template <int ELEMENTS, bool LINE>
__device__ __forceinline__ void note_lanes(const Params& p, u32 first, bool is_full, u32* lanes) {
    const u32 lane = threadIdx.x % 32;
    if (LINE && ELEMENTS >= 8 && is_full && p.at[0].mask == 1 && reinterpret_cast<u64>(p.mask) % ELEMENTS == 0) {
        // The bytes are dense: each lane reads as many as it has elements.
        typedef typename Element<ELEMENTS>::Type Bytes;
        const Bytes bytes = __ldcs(reinterpret_cast<const Bytes*>(p.mask + (first - lane) + lane * ELEMENTS));
        u32 bits = 0;
#pragma unroll
        for (int k = 0; k < ELEMENTS / 4; k++) {
            bits |= bits_of(reinterpret_cast<const u32*>(&bytes)[k]) << (4 * k);
        }
        if (ELEMENTS == 16) {
            reinterpret_cast<u16*>(lanes)[lane] = static_cast<u16>(bits);
        } else {
            reinterpret_cast<u8*>(lanes)[lane] = static_cast<u8>(bits);
        }
    } else {
        bool selected[ELEMENTS];
#pragma unroll
        for (int k = 0; k < ELEMENTS; k++) {
            const u32 item = first + k * 32;
            const i64 far = LINE ? static_cast<i64>(item) * p.at[0].mask : far_mask(p, item);
            selected[k] = item < p.total && p.mask[far] != 0;
        }
#pragma unroll
        for (int k = 0; k < ELEMENTS; k++) {
            const u32 all = __ballot_sync(WARP_ALL, selected[k]);
            if (lane == 0) {
                lanes[k] = all;
            }
        }
    }
    __syncwarp();
}

// Moves a tile. LINE: there is one axis, and elements have one piece. ELEMENTS: the number of
// elements of a thread.
template <int WIDTH, int ELEMENTS, bool LINE>
__device__ __forceinline__ void select(const Params& p) {
    typedef typename Element<WIDTH>::Type Type;
    __shared__ u32 taken, of_warp[WARPS], of_lanes[WARPS][ELEMENTS];
    __shared__ u64 sums[WARPS];
    __shared__ bool last[WARPS];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        taken = atomicAdd(reinterpret_cast<u32*>(p.winners), 1u);
    }
    __syncthreads();
    const u32 tile = taken, first = (tile * WARPS + warp) * (32 * ELEMENTS) + lane;
    const u32 end = (tile + 1) * (THREADS * ELEMENTS);
    u64* const tiles = p.winners + 1;
    u32* const lanes = of_lanes[warp];
    note_lanes<ELEMENTS, LINE>(p, first, end <= p.total, lanes);
    // Each lane counts one of the elements.
    u32 count = lane < ELEMENTS ? __popc(lanes[lane % ELEMENTS]) : 0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        count += __shfl_xor_sync(WARP_ALL, count, step);
    }
    if (lane == 0) {
        of_warp[warp] = count;
    }
    __syncthreads();
    u32 of_tile = 0, of_warps_before = 0;
#pragma unroll
    for (u32 k = 0; k < WARPS; k++) {
        of_warps_before += k < warp ? of_warp[k] : 0;
        of_tile += of_warp[k];
    }
    // The first tile waits for no other. Only it reads the count of the launch before this one, and
    // it does so before it publishes, so before the last tile writes.
    if (threadIdx.x == 0) {
        if (tile == 0) {
            sums[0] = p.position == 0 ? 0 : published(reinterpret_cast<const u64*>(p.indices));
            publish(&tiles[0], sums[0] + of_tile, OF_ALL_SO_FAR);
        } else {
            publish(&tiles[tile], of_tile, OF_TILE);
        }
    }
    u64 before;
    if (tile == 0) {
        __syncthreads();
        before = sums[0];
    } else {
        before = selected_before(tiles, tile, sums, last);
        if (threadIdx.x == 0) {
            publish(&tiles[tile], before + of_tile, OF_ALL_SO_FAR);
        }
    }
    if (threadIdx.x == 0 && end >= p.total) {
        *reinterpret_cast<volatile u64*>(const_cast<char*>(p.indices)) = before + of_tile;
    }

    const bool fits = before + of_tile <= static_cast<u64>(p.bound);
    const i64 step = p.indexed_axis[0].stride;
    u64 place = before + of_warps_before;
    // The first element without a place is the one whose place would be the next.
    u32 first_out = p.total;
#pragma unroll
    for (int from = 0; from < ELEMENTS; from += BATCH) {
        const Type* source[BATCH];
        Type element[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const u32 item = first + (from + k) * 32;
            const i64 far = LINE ? static_cast<i64>(item) * p.at[0].elements : far_elements(p, item);
            source[k] = reinterpret_cast<const Type*>(p.elements + far);
            if (LINE && (lanes[from + k] >> lane & 1)) {
                element[k] = __ldcs(source[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const u32 all = lanes[from + k];
            const u64 index = place + __popc(all & ((1u << lane) - 1));
            place += __popc(all);
            if ((all >> lane & 1) == 0) {
                continue;
            }
            if (!fits && index >= static_cast<u64>(p.bound)) {
                first_out = index == static_cast<u64>(p.bound) ? first + (from + k) * 32 : first_out;
                continue;
            }
            Type* const to = reinterpret_cast<Type*>(p.indexed + static_cast<i64>(index) * step);
            if (LINE) {
                *to = element[k];
                continue;
            }
            for (u32 piece = 0; piece < p.pieces; piece++) {
                to[piece] = source[k][piece];
            }
        }
    }
    if (first_out < p.total) {
        tell(p, p.position + first_out, p.bound);
    }
}

// The number of elements of a thread is the one that `select_elements` of `src/gather/kernels.rs`
// gives. Eight blocks at a time select f32 6 % faster than six on an H100.
#define RESIDENT 8
#define SELECTS(WIDTH, ELEMENTS)                                                                             \
    extern "C" __global__ __launch_bounds__(THREADS) void select_##WIDTH(const __grid_constant__ Params p) { \
        select<WIDTH, TURNS, false>(p);                                                                      \
    }                                                                                                        \
    extern "C" __global__ __launch_bounds__(THREADS, RESIDENT)                                               \
        void select_line_##WIDTH(const __grid_constant__ Params p) {                                         \
        select<WIDTH, ELEMENTS, true>(p);                                                                    \
    }

SELECTS(1, 16)
SELECTS(2, 16)
SELECTS(4, 16)
SELECTS(8, 8)
SELECTS(16, 4)
