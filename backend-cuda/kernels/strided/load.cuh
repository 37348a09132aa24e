// Loads the rows of a tile into shared memory.
#pragma once
#include "tile.cuh"

// The address of shared memory in the form that copying instructions take.
__device__ __forceinline__ u32 shared_address(const char* data) {
    return static_cast<u32>(__cvta_generic_to_shared(data));
}

// What is prefetched with each chunk. BY_PARAMETER reads `ahead`; short loops are faster if the compiler knows.
enum Ahead { NOTHING, ONE_LINE, BY_PARAMETER };

// Starts copying 16 aligned bytes to shared memory; `ahead` as in the parameters, for BY_PARAMETER.
template <bool EVICT_LAST, Ahead AHEAD>
__device__ __forceinline__ void load_chunk(u32 to, const char* from, u32 ahead) {
#if __CUDA_ARCH__ >= 900
    if (EVICT_LAST) {
        asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "l"(evict_last())
                     : "memory");
        return;
    }
#endif
#if __CUDA_ARCH__ >= 800
    if (AHEAD == NOTHING || (AHEAD == BY_PARAMETER && ahead == 0)) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
    } else {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
    }
#else
    const uint4 value = load16(from);
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
#endif
}

__device__ __forceinline__ void wait_for_chunks() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncthreads();
}

// Calls `work(byte in shared memory, source)` for each chunk of this thread, in rows that one
// stride describes. Steps are `row_step` rows long, so that a thread divides once. The tile begins
// at `data`, a multiple of a line: swizzles move chunks within their line and do not change it.
template <bool FUSED, typename Work>
__device__ __forceinline__ void for_even_chunks(const TileParams& p, const Tile& t, u32 data, const Work& work) {
    const u32 first = divide(threadIdx.x, p.chunks), chunk = (threadIdx.x - first * p.chunks.divisor) * 16;
    const u32 position = row_position(p, t.row_first + first);
    const u32 x_step = (p.row_step >> p.classes_log2) * p.row_pitch;
    const i64 src_step = p.row_step * p.row[0].src;
    const char* from = t.src + (t.row_first + first) * p.row[0].src;
    u32 x = data + tile_start(t) + position + chunk;
#pragma unroll 2
    for (u32 row = t.row_first + first; row < t.row_end; row += p.row_step) {
        const bool is_second = FUSED && row >= t.axis_end;
        const char* begin = is_second ? from + p.fused_src : from;
        const u32 shift = static_cast<u32>(reinterpret_cast<u64>(begin) & 15);
        if (chunk < t.span + shift) {
            const u32 to = (is_second ? x + p.fused_x : x) - shift;
            work(to ^ swizzle(p, row >> p.classes_log2), begin + chunk - shift);
        }
        from += src_step;
        x += x_step;
    }
}

// Loads the tile's rows. With CHECKED, nothing outside the source's span is read. Without it, the caller
// knows that no row reaches outside.
template <bool CHECKED, bool FUSED, Ahead AHEAD>
__device__ __forceinline__ void load_rows(const TileParams& p, const Tile& t, u32 data, const TableEntry* table) {
    constexpr int UNROLL = CHECKED ? 1 : 4;
    const u32 chunks = p.chunks.divisor, end = t.row_end * chunks;
    const u32 start = data + tile_start(t);
#pragma unroll UNROLL
    for (u32 item = threadIdx.x + t.row_first * chunks; item < end; item += blockDim.x) {
        const u32 row = divide(item, p.chunks);
        const u32 chunk = item - row * chunks;
        const char* from = t.src;
        u32 x = start;
        if (p.row_axes > 1) {
            const TableEntry entry = table[row];
            from += entry.offset;
            x += entry.x;
        } else {
            from += row * p.row[0].src;
            x += row_position(p, row);
        }
        if (FUSED && row >= t.axis_end) {
            from += p.fused_src;
            x += p.fused_x;
        }
        const u32 shift = static_cast<u32>(reinterpret_cast<u64>(from) & 15);
        if (chunk * 16 >= t.span + shift) {
            continue;
        }
        x += chunk * 16 - shift;
        from += static_cast<int>(chunk * 16 - shift);
        if (p.pad_chunks.divisor != 0) {
            x += divide(chunk, p.pad_chunks) * 16;
        }
        x ^= swizzle(p, row >> p.classes_log2);
        if (CHECKED) {
            *static_cast<uint4*>(__cvta_shared_to_generic(x)) = load16_inside(from, p.at.src_begin, p.at.src_end);
        } else {
            load_chunk<false, AHEAD>(x, from, 0);
        }
    }
}

// Loads the tile, and reads nothing outside the source's span. EVICT_LAST: rows are whole lines,
// `row_step` is not 0, and lines stay in the cache until they were read.
template <bool EVICT_LAST, bool FUSED>
__device__ __forceinline__ void load_tile(const TileParams& p, const Tile& t, u32 data, const TableEntry* table) {
    static_assert(!(EVICT_LAST && FUSED), "with evict-last priority, rows are found by their number alone");
    const bool inside = FUSED ? t.inside : chunks_inside(p, t.src + p.low, t.src + p.high);
    if (!inside) {
        load_rows<true, FUSED, NOTHING>(p, t, data, table);
    } else if (EVICT_LAST || p.row_step > 0) {
        for_even_chunks<FUSED>(p, t, data, [&p](u32 to, const char* from) { load_chunk<EVICT_LAST, BY_PARAMETER>(to, from, p.ahead); });
    } else if (__CUDA_ARCH__ < 800 || p.ahead > 0) { // before 8.0 nothing is fetched ahead
        load_rows<false, FUSED, ONE_LINE>(p, t, data, table);
    } else {
        load_rows<false, FUSED, NOTHING>(p, t, data, table);
    }
    wait_for_chunks();
    if (EVICT_LAST && inside) {
        for_even_chunks<false>(p, t, data, [](u32, const char* from) {
            if (reinterpret_cast<u64>(from) % LINE == 0) {
                evict_normally(from);
            }
        });
    }
}
