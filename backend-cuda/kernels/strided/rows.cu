// Copies to a destination that is contiguous along its innermost axis, one aligned 16-byte chunk of the
// destination per thread.
//
// A row of `row_bytes` covers `chunks` chunks, counted from the last multiple of 16 at or before its start; the first
// and last may be partial. What differs is where the 16 bytes come from:
//
//   rows_aligned    source and destination agree modulo 16, all chunks whole
//   rows_again      the same for a source that repeats rows: only writes count, so a thread has several chunks
//   rows_realign    the source row is contiguous at any alignment: two aligned loads and a shift
//   rows_join       the same for rows that follow each other without a gap: a chunk takes the end of one and the start
//                   of the next, so that none is partial but at the two ends of a group of rows
//   rows_table_W    the same where many rows of W-byte elements follow each other: a block has a piece of the destination, and a
//                   table in shared memory of where its rows come from
//   rows_reverse_W  the source row runs backwards, one W-byte element after the other
//   rows_stride_W   the elements of the source row lie `step` bytes apart
//   rows_repeat_W   the source row is one element, repeated; several chunks a thread as well
#include "rows.cuh"

#define MAX_ROW_AXES 24
// The number of chunks of a thread, if the source repeats.
#define REPEATS 4
// Bytes that are at most this far apart are picked from vectors.
#define NEAR 4

struct RowsParams {
    Operands at;
    u32 axes;        // loops around the rows, innermost first
    u32 total;       // chunks of all rows (rows_join: of all groups; rows_table: rows of a group)
    FastDiv chunks;  // chunks of a row (rows_join: of a group; rows_table: blocks of a group)
    u32 row_bytes;   // at most 2^30
    FastDiv row;     // rows_join and rows_table only: row_bytes as a divisor
    u32 group_bytes; // rows_join and rows_table only: rows of a group times row_bytes
    i64 step;        // rows_stride: bytes between elements; rows_join: bytes from row to row in the source
    Loop axis[MAX_ROW_AXES];
};
static_assert(sizeof(RowsParams) == 848, "as the host declares it");

// Where a thread's chunk is: the start of its row on both sides, and the first byte of the chunk, counted
// from that start.
struct Chunk {
    const char* src;
    char* dst;
    int first;
};

// Finds where a row starts on both sides.
__device__ __forceinline__ void find_row(const RowsParams& p, u32 row, Chunk& found) {
    const char* src = p.at.src;
    char* dst = p.at.dst;
#pragma unroll 1
    for (u32 k = 0; k < p.axes; k++) {
        const u32 next = divide(row, p.axis[k].extent);
        const u32 c = row - next * p.axis[k].extent.divisor;
        src += c * p.axis[k].src;
        dst += c * p.axis[k].dst;
        row = next;
    }
    found.src = src;
    found.dst = dst;
}

__device__ __forceinline__ bool find_chunk(const RowsParams& p, u32 item, Chunk& found) {
    if (item >= p.total) {
        return false;
    }
    const u32 row = divide(item, p.chunks), chunk = item - row * p.chunks.divisor;
    find_row(p, row, found);
    found.first = static_cast<int>(chunk * 16) - static_cast<int>(reinterpret_cast<u64>(found.dst) & 15);
    return true;
}

// Finds the one chunk of this thread.
__device__ __forceinline__ bool find_chunk(const RowsParams& p, Chunk& found) {
    return find_chunk(p, blockIdx.x * THREADS + threadIdx.x, found);
}

// Copies EACH chunks in a thread.
template <u32 EACH>
__device__ __forceinline__ void copy_aligned(const RowsParams& p) {
    const u32 first = blockIdx.x * THREADS * EACH + threadIdx.x;
    Chunk c[EACH];
    uint4 value[EACH];
    bool found[EACH];
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        found[k] = find_chunk(p, first + k * THREADS, c[k]);
        if (found[k]) {
            value[k] = load16(c[k].src + c[k].first);
        }
    }
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        if (found[k]) {
            store16(c[k].dst + c[k].first, value[k]);
        }
    }
}

extern "C" __global__ __launch_bounds__(THREADS) void rows_aligned(const __grid_constant__ RowsParams p) {
    wait_for_previous();
    copy_aligned<1>(p);
}

extern "C" __global__ __launch_bounds__(THREADS) void rows_again(const __grid_constant__ RowsParams p) {
    wait_for_previous();
    copy_aligned<REPEATS>(p);
}

extern "C" __global__ __launch_bounds__(THREADS) void rows_realign(const __grid_constant__ RowsParams p) {
    wait_for_previous();
    Chunk c;
    const int row_bytes = static_cast<int>(p.row_bytes);
    if (find_chunk(p, c) && c.first < row_bytes) {
        store_chunk(c.dst, c.first, row_bytes, load_unaligned(p.at, c.src, c.first, row_bytes));
    }
}

// Stores the chunk at byte `at` of a group of rows. It begins at byte `first` of the row at `src`,
// and continues with the row at `next_src`.
__device__ __forceinline__ void join_two(const RowsParams& p, char* dst, int at, const char* src, int first, const char* next_src) {
    const int group_bytes = static_cast<int>(p.group_bytes), row_bytes = static_cast<int>(p.row_bytes);
    uint4 value = load_unaligned(p.at, src, first, row_bytes);
    const int rest = row_bytes - first; // bytes of the chunk that this row has
    if (rest < 16 && at + rest < group_bytes) {
        const uint4 next = load_unaligned(p.at, next_src, -rest, row_bytes);
        const u32 a[4] = {value.x, value.y, value.z, value.w}, b[4] = {next.x, next.y, next.z, next.w};
        u32 word[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int own = min(max(rest - 4 * i, 0), 4); // bytes of this word that belong to the first row
            const u32 mask = own == 4 ? 0xffffffffu : (1u << own * 8) - 1;
            word[i] = (a[i] & mask) | (b[i] & ~mask);
        }
        value = make_uint4(word[0], word[1], word[2], word[3]);
    }
    store_chunk(dst, at, group_bytes, value);
}

extern "C" __global__ __launch_bounds__(THREADS) void rows_join(const __grid_constant__ RowsParams p) {
    wait_for_previous();
    Chunk c;
    if (!find_chunk(p, c) || c.first >= static_cast<int>(p.group_bytes)) {
        return;
    }
    const u32 row = divide(static_cast<u32>(max(c.first, 0)), p.row);
    const char* src = c.src + row * p.step;
    join_two(p, c.dst, c.first, src, c.first - static_cast<int>(row * p.row_bytes), src + p.step);
}

#include "row_table.cuh"

// The elements of `value` in reverse order.
template <int WIDTH>
__device__ __forceinline__ uint4 reversed(uint4 value) {
    if constexpr (WIDTH == 8) {
        return make_uint4(value.z, value.w, value.x, value.y);
    } else {
        constexpr u32 ORDER = WIDTH == 1 ? 0x0123 : WIDTH == 2 ? 0x1032 : 0x3210;
        return make_uint4(__byte_perm(value.w, 0, ORDER), __byte_perm(value.z, 0, ORDER),
                          __byte_perm(value.y, 0, ORDER), __byte_perm(value.x, 0, ORDER));
    }
}

// `at.src` is the lowest address of a row: the first byte of its last element.
template <int WIDTH>
__device__ __forceinline__ void copy_reversed(const RowsParams& p) {
    Chunk c;
    const int row_bytes = static_cast<int>(p.row_bytes);
    if (find_chunk(p, c) && c.first < row_bytes) {
        const int first = row_bytes - c.first - 16;
        store_chunk(c.dst, c.first, row_bytes, reversed<WIDTH>(load_unaligned(p.at, c.src, first, row_bytes)));
    }
}

// Every STEP-th byte from `at` on. All bytes between are read, too, as vectors.
template <int STEP>
__device__ __forceinline__ uint4 every_byte(const Operands& source, const char* at) {
    const u32 from = static_cast<u32>(reinterpret_cast<u64>(at) & 15);
    at -= from;
    uint4 low = load16_inside(at, source.src_begin, source.src_end);
    u32 word[4 * STEP];
#pragma unroll
    for (int k = 0; k < STEP; k++) {
        uint4 high = low;
        // The last byte that is picked may be in the previous vector.
        if (k + 1 < STEP || from >= STEP) {
            high = load16_inside(at + (k + 1) * 16, source.src_begin, source.src_end);
        }
        const uint4 value = funnel(low, high, from);
        word[4 * k] = value.x, word[4 * k + 1] = value.y, word[4 * k + 2] = value.z, word[4 * k + 3] = value.w;
        low = high;
    }
    return make_uint4(pick4<STEP>(word, 0), pick4<STEP>(word, 4 * STEP), pick4<STEP>(word, 8 * STEP), pick4<STEP>(word, 12 * STEP));
}

template <int WIDTH>
__device__ __forceinline__ void copy_strided(const RowsParams& p) {
    typedef typename Element<WIDTH>::Type Type;
    constexpr int COUNT = 16 / WIDTH;
    Chunk c;
    const int row_bytes = static_cast<int>(p.row_bytes);
    if (!find_chunk(p, c) || c.first >= row_bytes) {
        return;
    }
    // Elements outside the row are replaced by its first or last one: they are read, and not stored.
    const int first = c.first / WIDTH, last = row_bytes / WIDTH - 1;
    const bool whole = first >= 0 && first + COUNT - 1 <= last;
    const char* at = c.src + first * p.step;
    // One access for each byte would take longer than reading all of them.
    static_assert(NEAR == 4, "as many steps as are told apart here");
    if (WIDTH == 1 && 2 <= p.step && p.step <= NEAR) {
        const uint4 picked = p.step == 2 ? every_byte<2>(p.at, at) : p.step == 3 ? every_byte<3>(p.at, at) : every_byte<4>(p.at, at);
        store_chunk(c.dst, c.first, row_bytes, picked);
        return;
    }
    Type value[COUNT];
    if (whole) {
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            value[j] = *reinterpret_cast<const Type*>(at + j * p.step);
        }
    } else {
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            value[j] = *reinterpret_cast<const Type*>(c.src + min(max(first + j, 0), last) * p.step);
        }
    }
    store_chunk(c.dst, c.first, row_bytes, pack<WIDTH>(value));
}

template <int WIDTH>
__device__ __forceinline__ void copy_repeated(const RowsParams& p) {
    typedef typename Element<WIDTH>::Type Type;
    constexpr int COUNT = 16 / WIDTH;
    const u32 first = blockIdx.x * THREADS * REPEATS + threadIdx.x;
    const int row_bytes = static_cast<int>(p.row_bytes);
    Chunk c[REPEATS];
    Type one[REPEATS];
#pragma unroll
    for (u32 k = 0; k < REPEATS; k++) {
        const bool found = find_chunk(p, first + k * THREADS, c[k]);
        c[k].first = found ? c[k].first : row_bytes;
        one[k] = *reinterpret_cast<const Type*>(found ? c[k].src : p.at.src);
    }
#pragma unroll
    for (u32 k = 0; k < REPEATS; k++) {
        Type value[COUNT];
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            value[j] = one[k];
        }
        if (c[k].first < row_bytes) {
            store_chunk(c[k].dst, c[k].first, row_bytes, pack<WIDTH>(value));
        }
    }
}

#define KERNEL(NAME, BODY)                                                                                            \
    extern "C" __global__ __launch_bounds__(THREADS) void NAME(const __grid_constant__ RowsParams p) {                \
        wait_for_previous();                                                                                          \
        BODY(p);                                                                                                      \
    }
#define OF_WIDTH(WIDTH)                                                                                               \
    KERNEL(rows_stride_##WIDTH, copy_strided<WIDTH>)                                                                  \
    KERNEL(rows_repeat_##WIDTH, copy_repeated<WIDTH>)

OF_WIDTH(1)
OF_WIDTH(2)
OF_WIDTH(4)
OF_WIDTH(8)
OF_WIDTH(16)
KERNEL(rows_reverse_1, copy_reversed<1>)
KERNEL(rows_reverse_2, copy_reversed<2>)
KERNEL(rows_reverse_4, copy_reversed<4>)
KERNEL(rows_reverse_8, copy_reversed<8>)
#define TABLE(WIDTH)                                                                                                  \
    extern "C" __global__ __launch_bounds__(THREADS) void rows_table_##WIDTH(const __grid_constant__ RowsParams p) {  \
        copy_by_table<WIDTH>(p);                                                                                      \
    }

TABLE(2)
TABLE(4)
TABLE(8)
