// How the tile kernels load the rows of a tile into shared memory.
#pragma once
#include "tile.cuh"

// Where shared memory is, as the instructions that copy to it want it.
__device__ __forceinline__ u32 shared_address(const char* data) {
    return static_cast<u32>(__cvta_generic_to_shared(data));
}

// What is fetched into the cache with each chunk, by the parameter `ahead` if not told: loops of few instructions are worth telling.
enum Ahead { NOTHING, ONE_LINE, BY_PARAMETER };

// Starts copying 16 aligned bytes to shared memory; `ahead` as in the parameters, for BY_PARAMETER.
template <bool HELD, Ahead AHEAD>
__device__ __forceinline__ void load_chunk(u32 to, const char* from, u32 ahead) {
#if __CUDA_ARCH__ >= 900
    if (HELD) {
        asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "l"(held())
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

// Calls `work(byte in shared memory, source)` for this thread's chunks of rows that one stride describes, `row_step` rows at a
// time: what a thread has to work out, it works out once. `data` is where the tile is: a multiple of a line, so that swizzles, which
// move chunks within their line, leave it alone.
template <bool WRAPS, typename Work>
__device__ __forceinline__ void for_even_chunks(const TileParams& p, const Tile& t, u32 data, const Work& work) {
    const u32 first = divide(threadIdx.x, p.chunks), chunk = (threadIdx.x - first * p.chunks.divisor) * 16;
    const u32 position = row_position(p, t.row_first + first);
    const u32 x_step = (p.row_step >> p.classes_log2) * p.row_pitch;
    const i64 src_step = p.row_step * p.row[0].src;
    const char* from = t.src + (t.row_first + first) * p.row[0].src;
    u32 x = data + tile_start(t) + position + chunk;
#pragma unroll 2
    for (u32 row = t.row_first + first; row < t.row_end; row += p.row_step) {
        const bool wrapped = WRAPS && row >= t.wrap;
        const char* begin = wrapped ? from + p.fused_src : from;
        const u32 shift = static_cast<u32>(reinterpret_cast<u64>(begin) & 15);
        if (chunk < t.span + shift) {
            const u32 to = (wrapped ? x + p.fused_x : x) - shift;
            work(to ^ swizzle(p, row >> p.classes_log2), begin + chunk - shift);
        }
        from += src_step;
        x += x_step;
    }
}

// Loads the tile's rows. With CHECKED, nothing outside the source's span is read; without, the caller knows that.
template <bool CHECKED, bool WRAPS, Ahead AHEAD>
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
        if (WRAPS && row >= t.wrap) {
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

// Loads the tile, nothing outside the source's span. HELD: rows are whole lines, `row_step` is not 0, and what is read is held
// in the cache until it was.
template <bool HELD, bool WRAPS>
__device__ __forceinline__ void load_tile(const TileParams& p, const Tile& t, u32 data, const TableEntry* table) {
    static_assert(!(HELD && WRAPS), "rows that are held are found by their number alone");
    const bool inside = WRAPS ? t.inside : t.src + p.low - 15 >= p.at.src_begin && t.src + p.high + 15 <= p.at.src_end;
    if (!inside) {
        load_rows<true, WRAPS, NOTHING>(p, t, data, table);
    } else if (HELD || p.row_step > 0) {
        for_even_chunks<WRAPS>(p, t, data, [&p](u32 to, const char* from) { load_chunk<HELD, BY_PARAMETER>(to, from, p.ahead); });
    } else if (__CUDA_ARCH__ < 800 || p.ahead > 0) { // older ones fetch nothing ahead
        load_rows<false, WRAPS, ONE_LINE>(p, t, data, table);
    } else {
        load_rows<false, WRAPS, NOTHING>(p, t, data, table);
    }
    wait_for_chunks();
    if (HELD && inside) {
        for_even_chunks<false>(p, t, data, [](u32, const char* from) {
            if (reinterpret_cast<u64>(from) % LINE == 0) {
                let_go(from);
            }
        });
    }
}
