// Copies whose fastest axis differs between the sides, through a tile in shared memory; one block a tile.
//
// Compiled once for each width of an element. The kernels differ in how they find the byte of an element of a run:
//
//   tile_linear         a constant step                       (runs over rows, or along a strided row)
//   tile_periodic       a constant step for a period, and another from period to period (width 1)
//   tile_table          a table in shared memory that repeats with a step
//   tile_packed         linear, and elements of neighbouring runs are fetched as one word of 4 to 16 bytes
//   tile_packed_8, _4   the same for runs that start at multiples of 8 or 4 bytes only: stores are as narrow (width 1)
//   tile_packed_overlap, _overlap_8, _overlap_4  the same from tiles that overlap, so that runs are stored in whole sectors
//   tile_split_2 .. _4  not at all: a source row interleaves 2 to 4 runs, and registers pick them apart
//   tile_scatter        linear, for runs whose elements are apart in the destination too: stored one by one
//
// Suffixes:
//   _evict_last         whole lines of large sources are loaded with evict-last priority
//   _shifted            runs start at any alignment: vectors are counted from the aligned address before the start
//   _fused              runs go over two axes as one; packed tiles overlap if `overlap` is not 0
//   _wide               the sixteen entries of a vector are read from the table as three words of sixteen bytes (width 1)
#include "load.cuh"

#ifndef ELEMENT_BYTES
#error "compile with -DELEMENT_BYTES=1, 2, 4, 8 or 16"
#endif

constexpr int WIDTH = ELEMENT_BYTES;
typedef Element<WIDTH>::Type Type;
constexpr int V = 16 / WIDTH;

#include "vector.cuh"
#if ELEMENT_BYTES < 16
#include "words.cuh"
#endif

// How runs are found. BY_PARAMETERS decides at run time; short loops are faster if the compiler knows.
enum Runs { ONE_AXIS, TABULATED, BY_PARAMETERS };

extern __shared__ __align__(LINE) char shared[];

// Where run number `run` starts: in the destination, and its first element in the tile.
template <Runs RUNS, typename X>
__device__ __forceinline__ char* find_run(const TileParams& p, const Tile& t, const TableEntry* table, u32 run, X& x) {
    if (RUNS == TABULATED || (RUNS == BY_PARAMETERS && p.store_axes > 1)) {
        const TableEntry entry = table[run];
        x += entry.x;
        return t.dst + entry.offset;
    }
    x += static_cast<X>(run) * p.store[0].x;
    return t.dst + run * p.store[0].dst;
}

// Stores vector `chunk` of run `run`, as far as its elements exist. `x` is where the first run's
// elements are. FUSED: the first of two fused axes ends within the tile.
template <Mode MODE, bool SHIFTED, bool PARTS, bool FUSED, Runs RUNS>
__device__ __forceinline__ void copy_vector(const TileParams& p, const Tile& t, u32 x, const TableEntry* store_table,
                                            const u16* run_table, u32 run, u32 chunk) {
    char* to = find_run<RUNS>(p, t, store_table, run, x);
    if (MODE == PERIODIC) {
        chunk += run * p.share;
    }
    int first = static_cast<int>(chunk) * V, back = 0;
    if (SHIFTED) {
        // With an overlap, the tile's part of a run ends with the last whole sector before the next tile's part.
        const u32 over_bytes = static_cast<u32>(reinterpret_cast<u64>(to)) & p.start_mask;
        if (PARTS && chunk * 16 >= ((over_bytes + t.part * WIDTH) & ~p.start_mask)) {
            return;
        }
        const int over = static_cast<int>(over_bytes) / WIDTH;
        back = static_cast<int>(PARTS ? p.overlap * p.run_inner : p.overlap) - over;
        to += (first - over) * WIDTH;
        first += back;
    } else {
        to += first * WIDTH;
    }
    const bool whole = (!SHIFTED || first >= t.low) && first + V <= t.high;
    if (!whole && ((SHIFTED && first + V <= t.low) || first >= t.high)) {
        return;
    }
    const int before = static_cast<int>(t.axis_end) - first; // elements before the end of the first axis
    uint4 value;
    if constexpr (MODE == PERIODIC) {
        const u32 period = divide(static_cast<u32>(max(first, 0)), p.period);
        const int at = first - static_cast<int>(period * p.period.divisor), left = static_cast<int>(p.period.divisor) - at;
        x += period * p.period_x + at * p.element_x;
#if ELEMENT_BYTES == 1
        if ((p.rotate_by_run | p.rotate_by_vector) != 0) {
            const u32 rotation = run * p.rotate_by_run + (chunk * p.rotate_by_vector >> 2);
            value = p.rotate_bytes != 0 ? gather_rotated<true, true>(p, x, left, rotation, chunk % 4) : gather_rotated<true, false>(p, x, left, rotation, 0);
        } else
#endif
            value = gather_steps<true>(p, x, left);
    } else if constexpr (MODE != LINEAR) {
        value = gather_tabulated<MODE, SHIFTED, FUSED>(p, run_table, x, before, first);
    } else if constexpr (SHIFTED) {
        x += chunk * p.vector_x + back * p.element_x;
#if ELEMENT_BYTES == 1
        if ((p.rotate_by_run | p.rotate_by_vector) != 0) {
            value = gather_rotated<FUSED, false>(p, x, before, run * p.rotate_by_run + chunk * p.rotate_by_vector, 0);
        } else
#endif
            value = gather_steps<FUSED>(p, x, before);
    } else {
        x += chunk * p.vector_x;
        x = p.pad_chunks.divisor != 0 ? x + (chunk >> p.pad_log2) * 16 : x ^ swizzle(p, chunk);
        value = gather_steps<FUSED>(p, x, before);
    }
    if (whole) {
        store16(to, value);
    } else {
        store_ends(to, value, (t.low - first) * WIDTH, (t.high - first) * WIDTH);
    }
}

// Assigns the vectors of the tile's runs to threads: as many neighbouring threads as a run has
// lanes take neighbouring vectors of it. A thread divides once, and adds from one vector to its
// next.
template <Mode MODE, bool SHIFTED, bool PARTS, bool FUSED, Runs RUNS>
__device__ __forceinline__ void copy_runs(const TileParams& p, const Tile& t, u32 data, const TableEntry* store_table,
                                          const u16* run_table) {
    const u32 x = data + t.x + tile_start(t) + (MODE >= TABLE ? 0 : p.store_x);
    const u32 lanes = 1u << p.lanes_log2, at = threadIdx.x >> p.lanes_log2, step = blockDim.x >> p.lanes_log2;
    const u32 pass = divide(at, p.store_groups), passes = divide(step, p.store_groups);
    u32 run = at - pass * p.stores, chunk = pass * lanes + (threadIdx.x & (lanes - 1));
#pragma unroll 1
    while (chunk < p.run_chunks) {
        if (run < t.stores) {
            copy_vector<MODE, SHIFTED, PARTS, FUSED, RUNS>(p, t, x, store_table, run_table, run, chunk);
        }
        run += step - passes * p.stores;
        chunk += passes * lanes;
        if (run >= p.stores) {
            run -= p.stores;
            chunk += lanes;
        }
    }
}

template <Mode MODE, bool SHIFTED, bool EVICT_LAST, bool FUSED>
__device__ __forceinline__ void copy_tile(const TileParams& p) {
    const u32 data = shared_address(shared) + p.data;
    const TableEntry* row_table = reinterpret_cast<TableEntry*>(shared + p.row_table);
    const TableEntry* store_table = reinterpret_cast<TableEntry*>(shared + p.store_table);
    u16* run_table = reinterpret_cast<u16*>(shared + p.run_table) + V;
    if (MODE >= TABLE) {
        fill_run_table<WIDTH>(p, run_table);
    }
    constexpr bool PARTS = SHIFTED && !FUSED && MODE != PERIODIC;
    const Tile t = begin_tile<FUSED, PARTS>(p, shared);
    load_tile<EVICT_LAST, FUSED>(p, t, data, row_table);
    if (FUSED && static_cast<int>(t.axis_end) < t.high) {
        copy_runs<MODE, SHIFTED, PARTS, true, BY_PARAMETERS>(p, t, data, store_table, run_table);
    } else if (p.store_axes > 1) {
        copy_runs<MODE, SHIFTED, PARTS, false, TABULATED>(p, t, data, store_table, run_table);
    } else {
        copy_runs<MODE, SHIFTED, PARTS, false, ONE_AXIS>(p, t, data, store_table, run_table);
    }
}

// Four blocks at a time leave a thread 32 registers, three 40: which is faster was measured.
#define KERNEL(NAME, MODE, SHIFTED, EVICT_LAST, FUSED)                                                                       \
    extern "C" __global__ __launch_bounds__(MOST_THREADS, SHIFTED || MODE == PERIODIC || (MODE == TABLE && WIDTH > 1) ? 4 : 3)             \
        void NAME(const __grid_constant__ TileParams p) {                                                              \
        copy_tile<MODE, SHIFTED, EVICT_LAST, FUSED>(p);                                                                      \
    }

KERNEL(tile_linear, LINEAR, false, false, false)
KERNEL(tile_linear_evict_last, LINEAR, false, true, false)
KERNEL(tile_table, TABLE, false, false, false)
#if ELEMENT_BYTES < 16
KERNEL(tile_linear_shifted, LINEAR, true, false, false)
KERNEL(tile_table_shifted, TABLE, true, false, false)
#endif
#if ELEMENT_BYTES == 1
KERNEL(tile_periodic, PERIODIC, false, false, false)
KERNEL(tile_periodic_shifted, PERIODIC, true, false, false)
KERNEL(tile_table_shifted_wide, WIDE_TABLE, true, false, false)
KERNEL(tile_table_shifted_wide_fused, WIDE_TABLE, true, false, true)
KERNEL(tile_linear_shifted_fused, LINEAR, true, false, true)
#elif ELEMENT_BYTES < 16
KERNEL(tile_table_shifted_fused, TABLE, true, false, true)
#endif

// Runs whose elements are apart in the destination: neighbouring threads store neighbouring elements.
extern "C" __global__ __launch_bounds__(MOST_THREADS, 3) void tile_scatter(const __grid_constant__ TileParams p) {
    const u32 data = shared_address(shared) + p.data;
    const TableEntry* row_table = reinterpret_cast<TableEntry*>(shared + p.row_table);
    const TableEntry* store_table = reinterpret_cast<TableEntry*>(shared + p.store_table);
    const Tile t = begin_tile<false>(p, shared);
    load_tile<false, false>(p, t, data, row_table);
    const u32 start = data + t.x + tile_start(t) + p.store_x;
    const u32 total = (p.passes * p.stores) << p.lanes_log2;
    for (u32 item = threadIdx.x; item < total; item += blockDim.x) {
        const u32 rest = item >> p.lanes_log2;
        const u32 pass = divide(rest, p.store_groups);
        const u32 run = rest - pass * p.stores;
        const u32 at = (pass << p.lanes_log2) + (item & ((1u << p.lanes_log2) - 1));
        if (run >= t.stores || at >= static_cast<u32>(t.high)) {
            continue;
        }
        u32 x = start;
        char* to = find_run<BY_PARAMETERS>(p, t, store_table, run, x);
        *reinterpret_cast<Type*>(to + at * p.run_dst) = element<Type>(x + at * p.element_x);
    }
}

#if ELEMENT_BYTES < 16
// GROUP neighbouring runs at once, STORE bytes of each. OVERLAPS: tiles may overlap.
template <int STORE, bool EVICT_LAST, bool OVERLAPS, bool FUSED>
__device__ __forceinline__ void copy_packed(const TileParams& p) {
    constexpr int COUNT = STORE / WIDTH;
    char* data = shared + p.data;
    const TableEntry* row_table = reinterpret_cast<TableEntry*>(shared + p.row_table);
    const TableEntry* store_table = reinterpret_cast<TableEntry*>(shared + p.store_table);
    const Tile t = begin_tile<FUSED>(p, shared);
    load_tile<EVICT_LAST, FUSED>(p, t, shared_address(data), row_table);
    const int start = t.x + static_cast<int>(tile_start(t)) + p.store_x;
    const u32 groups = p.store_groups.divisor;
    const u32 total = OVERLAPS ? p.columns.divisor * groups : (p.passes * groups) << p.lanes_log2;
#pragma unroll 1
    for (u32 item = threadIdx.x; item < total; item += blockDim.x) {
        u32 run, chunk;
        if (OVERLAPS) {
            run = divide(item, p.columns);
            chunk = item - run * p.columns.divisor;
            run *= GROUP;
        } else {
            const u32 rest = item >> p.lanes_log2;
            const u32 pass = divide(rest, p.store_groups);
            run = (rest - pass * groups) * GROUP;
            chunk = (pass << p.lanes_log2) + (item & ((1u << p.lanes_log2) - 1));
        }
        const int first = static_cast<int>(chunk) * COUNT;
        if (run >= t.stores || (!OVERLAPS && chunk >= p.run_chunks) || (OVERLAPS && first < t.low) || first >= t.high) {
            continue;
        }
        int x = start;
        char* to = find_run<BY_PARAMETERS>(p, t, store_table, run, x) + (first - (OVERLAPS ? static_cast<int>(p.overlap) : 0)) * WIDTH;
        x += static_cast<int>(chunk) * p.vector_x;
        x ^= static_cast<int>(swizzle(p, chunk));
        const int before = FUSED ? static_cast<int>(t.axis_end) - first : COUNT; // elements before the end of the first axis
        if (FUSED && before <= 0) {
            x += p.fused_x;
        }
        Word word[COUNT];
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            word[j] = *reinterpret_cast<const Word*>(data + x);
            x += p.element_x;
            if (FUSED && j + 1 == before) {
                x += p.fused_x;
            }
        }
        u32 out[GROUP][STORE / 4];
        transpose_words<STORE>(word, out);
#pragma unroll
        for (u32 k = 0; k < GROUP; k++) {
            if (run + k >= t.stores) {
                break;
            }
            // With an overlap, the tile's part of a run goes from the sector in which the run's
            // piece starts to the sector in which the next piece starts. Without, it begins with
            // the piece.
            const u32 offset = (first - static_cast<int>(p.overlap)) * WIDTH;
            const u32 over = (static_cast<u32>(reinterpret_cast<u64>(to)) - offset) & p.start_mask;
            if (!OVERLAPS || offset + over < p.b_piece * WIDTH) {
                store_words<STORE>(to, out[k], t.high - first);
            }
            to += p.store[0].dst;
        }
    }
}

#define PACKED(NAME, STORE, EVICT_LAST, OVERLAPS, FUSED)                                                                        \
    extern "C" __global__ __launch_bounds__(MOST_THREADS, STORE < 16 || FUSED ? 4 : 3)                                 \
        void NAME(const __grid_constant__ TileParams p) {                                                              \
        copy_packed<STORE, EVICT_LAST, OVERLAPS, FUSED>(p);                                                                     \
    }

PACKED(tile_packed, 16, false, false, false)
PACKED(tile_packed_evict_last, 16, true, false, false)
PACKED(tile_packed_overlap, 16, false, true, false)
PACKED(tile_packed_fused, 16, false, true, true)
#if ELEMENT_BYTES == 1
PACKED(tile_packed_8, 8, false, false, false)
PACKED(tile_packed_4, 4, false, false, false)
PACKED(tile_packed_overlap_8, 8, false, true, false)
PACKED(tile_packed_overlap_4, 4, false, true, false)
PACKED(tile_packed_fused_8, 8, false, true, true)
PACKED(tile_packed_fused_4, 4, false, true, true)
#endif

// Word `at` of run `run`. `word` interleaves the elements of RUNS runs.
template <int RUNS>
__device__ __forceinline__ u32 split_word(const u32* word, int run, int at) {
    if constexpr (WIDTH >= 4) {
        const int element = at * 4 / WIDTH * RUNS + run;
        return word[element * WIDTH / 4 + at % (WIDTH / 4)];
    } else if constexpr (WIDTH == 2) {
        const int a = 2 * at * RUNS + run, b = a + RUNS;
        return __byte_perm(word[a / 2], word[b / 2], (a % 2 ? 0x32 : 0x10) | (b % 2 ? 0x7600 : 0x5400));
    } else {
        return pick4<RUNS>(word, 4 * at * RUNS + run);
    }
}

// Runs that a row interleaves: RUNS times 16 bytes of the row hold one vector of each. A thread
// loads them as they are, and separates them in registers.
template <int RUNS>
__device__ __forceinline__ void copy_split(const TileParams& p) {
    const u32 data = shared_address(shared) + p.data;
    const Tile t = begin_tile<false>(p, shared);
    load_tile<false, false>(p, t, data, nullptr);
    const u32 start = data + t.x + tile_start(t) + p.store_x;
    const u32 total = p.passes << p.lanes_log2;
#pragma unroll 1
    for (u32 chunk = threadIdx.x; chunk < total; chunk += blockDim.x) {
        const int first = static_cast<int>(chunk) * V;
        if (chunk >= p.run_chunks || first >= t.high) {
            break;
        }
        const u32 at = start + chunk * p.vector_x;
        u32 word[RUNS * 4];
#pragma unroll
        for (int k = 0; k < RUNS; k++) {
            const uint4 v = element<uint4>(at + k * 16);
            word[4 * k] = v.x, word[4 * k + 1] = v.y, word[4 * k + 2] = v.z, word[4 * k + 3] = v.w;
        }
        char* to = t.dst + first * WIDTH;
#pragma unroll
        for (int run = 0; run < RUNS; run++) {
            const uint4 vector = make_uint4(split_word<RUNS>(word, run, 0), split_word<RUNS>(word, run, 1),
                                            split_word<RUNS>(word, run, 2), split_word<RUNS>(word, run, 3));
            if (first + V <= t.high) {
                store16(to, vector);
            } else {
                store_part(to, vector, 0, (t.high - first) * WIDTH);
            }
            to += p.store[0].dst;
        }
    }
}

#define SPLIT(RUNS)                                                                                                    \
    extern "C" __global__ __launch_bounds__(MOST_THREADS, 3) void tile_split_##RUNS(const __grid_constant__ TileParams p) { \
        copy_split<RUNS>(p);                                                                                           \
    }

SPLIT(2)
SPLIT(3)
SPLIT(4)
#endif
