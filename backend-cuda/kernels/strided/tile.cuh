// Parameters of the tile kernels, and their first step: find the tile, fill the tables. The second, in load.cuh, is to load it.
//
// A tile is a box of the copy. Its source side is rows: each row is `span` contiguous bytes, one for every combination
// of the axes that the source does not run along. Its destination side is runs: each run is `run` contiguous elements,
// one for every combination of the axes that the destination does not run along. An axis may be in both.
//
// Shared memory holds the rows as they lie in the source. The element with tile coordinates c is at
// byte sum(c[k] * x[k]). Along a row, x[k] is the source's own stride. From row to row it is a
// pitch that equals the source's stride modulo 16, so a row keeps its alignment, and aligned
// 16-byte chunks travel whole. Where possible, the pitch equals the stride modulo 32 or 128 as
// well: a sector that lands in two sectors of shared memory is fetched twice, and a line that lands
// in two lines takes two requests.
//
// Rows may be permuted into V classes, V being the number of elements of a vector. Row r is then at
// (r % V) * class_pitch + (r / V) * row_pitch, which spreads the V rows of a vector, and its
// neighbours, over all banks. Where pitches alone do not, the chunks of a row are swizzled: moved
// within their line by the row's number in its class. Rows in order with 16 free bytes after every
// V rows are V classes as well, which then lie one row apart.
//
// A run may go over two axes as if they were one (a fused axis) if the destination has no gap at
// the end of the first axis. The source continues elsewhere there, so later rows lie up to 31 bytes
// further, to keep their place in a sector.
#pragma once
#include "common.cuh"

#define MAX_OUTER 20
#define MAX_INNER 8
#define NO_AXIS 0xffffffffu
#define FIRST_OUTER 4

struct RowLoop {
    FastDiv extent;
    int x;
    i64 src;
};

struct StoreLoop {
    FastDiv extent;
    int x;
    i64 dst;
};

struct RunLoop {
    FastDiv extent;
    int x;
};

struct TileParams {
    Operands at;
    u32 tiles, outer_axes;
    u32 a_outer, b_outer; // the outer axes that count the pieces of the split source axis, and of the split run axis
    Loop outer[MAX_OUTER]; // the first FIRST_OUTER always count: unused ones have one step
    // An axis along neither rows nor runs: a tile takes several steps of it if no other is split.
    // Extent 0: none.
    u32 c_outer, c_extent, c_piece;
    u32 ahead; // bytes to fetch into the cache with each chunk: a line, or none
    // The axis split along the source row, and the one split along the destination run; extent 0: none.
    u32 a_extent, a_piece;
    u32 b_extent, b_piece;
    i64 a_src;
    u32 a_in_run;  // the axis split along the row is the one split along the run
    u32 b_in_rows; // the axis split along the run counts rows
    u32 overlap;    // steps of that axis that a tile reaches back, so that each run can start on an aligned address
    u32 start_mask; // alignment of a run's start, in bytes, less one; 0: as it is
    // Loading.
    i64 low, high;             // bytes of the source a full tile can reach, relative to its start; unused with a fused axis
    u32 span, span_inner;      // bytes of a full row; of a row with one step of the split axis
    u32 rows, rows_inner;      // rows of a full tile; of a tile with one step of the split axis
    u32 row_step;              // rows the block loads at once, each thread at the same chunk; 0: threads take chunks in order
    u32 swizzle_shift, swizzle_mask; // see swizzle()
    u32 run_in_classes; // table: whether the first loop of a run counts rows that are in classes
    FastDiv chunks;            // 16-byte chunks of a row
    FastDiv pad_chunks;        // a gap of 16 bytes follows this many chunks, which hold 2 ^ pad_log2 vectors; divisor 0: no gaps
    u32 pad_log2;
    u32 row_axes;
    u32 classes_log2;          // rows are permuted into 2 ^ classes_log2 classes; 0: they lie in order
    u32 row_pitch, class_pitch;
    RowLoop row[MAX_INNER];
    // Storing.
    u32 run, run_inner;        // elements of a full run; of a run with one step of the split axis
    u32 stores, stores_inner;  // runs of a full tile; of a tile with one step of the split axis
    FastDiv store_groups;      // number of runs, or of groups of runs, as a divisor
    u32 run_chunks;            // 16-byte chunks of a run
    u32 lanes_log2;            // neighbouring threads along a run
    u32 passes;                // run_chunks / lanes, rounded up
    FastDiv columns;           // packed with overlap: run_chunks; threads take the chunks of a run in order
    u32 store_axes;
    int store_x;               // added to the byte of every element
    i64 run_dst;               // bytes from element to element of a run
    StoreLoop store[MAX_INNER];
    // Fused axis: steps of the first of its two axes, which ends at most once in a tile; divisor 0:
    // none.
    FastDiv fused;
    u32 fused_x;               // rows after that end lie this many bytes further in the tile
    i64 fused_src;             // and this many further in the source
    // From an element of a run to its byte.
    int vector_x, element_x;   // linear: from vector to vector, from element to element
    FastDiv period;            // table: elements after which it repeats; periodic: elements of a period
    int period_x;              // table, periodic: bytes from one period to the next
    u32 run_axes;              // table: loops along a run
    RunLoop run_axis[MAX_INNER];
    int element_at[8];         // linear: number j is j * element_x
    // Bank rotation, for elements of one byte (periodic, and linear where runs start anywhere): the
    // one of its four words with which a vector begins moves on by these steps from run to run and
    // from vector to vector of a run; periodic: from each four vectors to the next four.
    u32 rotate_by_run, rotate_by_vector;
    // Shared memory, in bytes from its start.
    u32 row_table, store_table, run_table, data;
    u32 rotate_bytes; // periodic: whether bytes within a word are rotated as well, by the vector's number
    u32 share; // periodic: four groups of threads, which count as runs, have this many vectors of a run each; 0: one group
};
static_assert(sizeof(TileParams) == 1544, "as the host declares it");

struct TableEntry {
    i64 offset;
    int x;
    int unused;
};

// More elements than a run has in a tile.
#define MUCH (1u << 27)

// Most threads of a block. The host chooses how many a launch has, so that few are idle.
#define MOST_THREADS 512

// The work of this block.
struct Tile {
    const char* src;
    char* dst;
    u32 row_first, row_end; // rows to load
    u32 span;               // bytes of a row
    u32 stores;             // runs to store
    int low, high;          // elements of a run that exist, in tile coordinates
    int x;                  // added to the byte of every element
    union {
        u32 axis_end;       // FUSED: the first row, and the first element, after the end of the first axis
        u32 part;           // PARTS: elements of a run from its start to where the next tile's part begins; MUCH: none does
    };
    bool inside;            // FUSED: whether all chunks of the tile's rows are inside the source's span
};

__device__ __forceinline__ u32 row_position(const TileParams& p, u32 row) {
    const u32 slot = row >> p.classes_log2;
    return (row - (slot << p.classes_log2)) * p.class_pitch + slot * p.row_pitch;
}

// The swizzle of row `slot` of a class. The address of each byte is combined with it by exclusive
// or.
__device__ __forceinline__ u32 swizzle(const TileParams& p, u32 slot) {
    return (slot << p.swizzle_shift) & p.swizzle_mask;
}

// The position of the tile's first byte in its line. It is the same in shared memory.
__device__ __forceinline__ u32 tile_start(const Tile& t) {
    return static_cast<u32>(reinterpret_cast<u64>(t.src)) & (LINE - 1);
}

// Fills the tables of rows and runs, for those that no single stride describes.
__device__ __forceinline__ void fill_tables(const TileParams& p, char* shared) {
    if (p.row_axes > 1) {
        TableEntry* table = reinterpret_cast<TableEntry*>(shared + p.row_table);
        for (u32 i = threadIdx.x; i < p.rows; i += blockDim.x) {
            u32 rest = i;
            i64 offset = 0;
            int x = p.classes_log2 > 0 ? static_cast<int>(row_position(p, i)) : 0;
#pragma unroll 1
            for (u32 k = 0; k < p.row_axes; k++) {
                const u32 next = divide(rest, p.row[k].extent);
                const u32 c = rest - next * p.row[k].extent.divisor;
                offset += c * p.row[k].src;
                x += p.classes_log2 > 0 ? 0 : static_cast<int>(c) * p.row[k].x;
                rest = next;
            }
            table[i].offset = offset;
            table[i].x = x;
        }
    }
    if (p.store_axes > 1) {
        TableEntry* table = reinterpret_cast<TableEntry*>(shared + p.store_table);
        for (u32 i = threadIdx.x; i < p.stores; i += blockDim.x) {
            u32 rest = i;
            i64 offset = 0;
            int x = 0;
#pragma unroll 1
            for (u32 k = 0; k < p.store_axes; k++) {
                const u32 next = divide(rest, p.store[k].extent);
                const u32 c = rest - next * p.store[k].extent.divisor;
                offset += c * p.store[k].dst;
                x += static_cast<int>(c) * p.store[k].x;
                rest = next;
            }
            table[i].offset = offset;
            table[i].x = x;
        }
    }
}

// Fills the table with the byte of every element of one period of a run. One more vector of entries
// on each side serves vectors that reach over the ends.
template <int WIDTH>
__device__ __forceinline__ void fill_run_table(const TileParams& p, u16* table) {
    constexpr int ROOM = 16 / WIDTH;
    const int end = static_cast<int>(p.period.divisor) + ROOM;
    for (int i = static_cast<int>(threadIdx.x) - ROOM; i < end; i += blockDim.x) {
        u32 rest = static_cast<u32>(min(max(i, 0), static_cast<int>(p.run) - 1));
        int x = 0;
#pragma unroll 1
        for (u32 k = 0; k < p.run_axes; k++) {
            const u32 next = divide(rest, p.run_axis[k].extent);
            const u32 c = rest - next * p.run_axis[k].extent.divisor;
            const bool in_classes = k == 0 && p.run_in_classes;
            x += in_classes ? static_cast<int>(row_position(p, c)) : static_cast<int>(c) * p.run_axis[k].x;
            rest = next;
        }
        table[i] = static_cast<u16>(x + p.store_x);
    }
}

// Whether the chunks around `begin` to `end` are inside the source's span. A tile that reaches far back may begin below
// the first address, so addresses are compared with their sign.
__device__ __forceinline__ bool chunks_inside(const TileParams& p, const char* begin, const char* end) {
    return reinterpret_cast<i64>(begin) - 15 >= reinterpret_cast<i64>(p.at.src_begin) &&
           reinterpret_cast<i64>(end) + 15 <= reinterpret_cast<i64>(p.at.src_end);
}

// Whether all chunks of rows `first` to `end` - 1 are inside the source's span, if they lie `moved`
// bytes after the place that their number gives.
__device__ __forceinline__ bool rows_inside(const TileParams& p, const Tile& t, u32 first, u32 end, i64 moved) {
    const char *begin = t.src + moved + first * p.row[0].src, *last = t.src + moved + (end - 1) * p.row[0].src;
    return chunks_inside(p, begin, last + p.span);
}

// Finds this block's tile. PARTS: tiles may overlap along runs that start anywhere.
template <bool FUSED, bool PARTS>
__device__ __forceinline__ void find_tile(const TileParams& p, Tile& t) {
    t.src = p.at.src;
    t.dst = p.at.dst;
    u32 a_index = 0, b_index = 0, c_index = 0, rest = blockIdx.x;
    const auto step = [&](u32 k) {
        const u32 next = divide(rest, p.outer[k].extent);
        const u32 c = rest - next * p.outer[k].extent.divisor;
        t.src += c * p.outer[k].src;
        t.dst += c * p.outer[k].dst;
        a_index = k == p.a_outer ? c : a_index;
        b_index = k == p.b_outer ? c : b_index;
        c_index = k == p.c_outer ? c : c_index;
        rest = next;
    };
    // All warps wait for this. Parameters at constant offsets need no load.
#pragma unroll
    for (u32 k = 0; k < FIRST_OUTER; k++) {
        step(k);
    }
#pragma unroll 1
    for (u32 k = FIRST_OUTER; k < p.outer_axes; k++) {
        step(k);
    }
    t.x = 0;
    t.span = p.span;
    t.stores = p.stores;
    t.low = 0;
    t.high = static_cast<int>(p.run);
    if (PARTS) {
        t.part = MUCH;
    }
    t.row_first = 0;
    t.row_end = p.rows;
    if (p.a_extent != 0) {
        const u32 steps = min(p.a_piece, p.a_extent - a_index * p.a_piece);
        const u32 stride = static_cast<u32>(p.a_src < 0 ? -p.a_src : p.a_src);
        t.span = p.span_inner + (steps - 1) * stride;
        if (p.a_src < 0) { // the row starts at its last step: leave out the steps that do not exist
            t.src += static_cast<i64>(p.a_piece - steps) * stride;
            t.x -= static_cast<int>((p.a_piece - steps) * stride);
        }
        if (p.a_in_run) {
            t.high = static_cast<int>(steps * p.run_inner);
        } else {
            t.stores = steps * p.stores_inner;
        }
    }
    if (p.c_extent != 0) {
        const u32 steps = min(p.c_piece, p.c_extent - c_index * p.c_piece);
        t.row_end = steps * p.rows_inner;
        t.stores = steps * p.stores_inner;
    }
    if (p.b_extent != 0 && !p.a_in_run) {
        const int start = static_cast<int>(b_index * p.b_piece), overlap = static_cast<int>(p.overlap);
        const int steps = min(static_cast<int>(p.b_piece) + overlap, static_cast<int>(p.b_extent) - start + overlap);
        t.low = max(0, overlap - start) * static_cast<int>(p.run_inner);
        t.high = steps * static_cast<int>(p.run_inner);
        if (PARTS && overlap > 0 && start + static_cast<int>(p.b_piece) < static_cast<int>(p.b_extent)) {
            t.part = p.b_piece * p.run_inner;
        }
        if (p.b_in_rows) {
            t.row_first = max(0, overlap - start) * p.rows_inner;
            t.row_end = steps * p.rows_inner;
        }
        if (FUSED) {
            const u32 first = static_cast<u32>(max(0, start - overlap)), times = divide(first, p.fused);
            t.src += times * p.fused_src;
            t.axis_end = t.row_first + p.fused.divisor - (first - times * p.fused.divisor);
            t.inside = rows_inside(p, t, t.row_first, min(t.axis_end, t.row_end), 0) &&
                       (t.axis_end >= t.row_end || rows_inside(p, t, t.axis_end, t.row_end, p.fused_src));
        }
    }
}

// Finds the tile and fills the tables. One warp finds the tile for all: the divisions take as long as copying it.
template <bool FUSED, bool PARTS = false>
__device__ __forceinline__ Tile begin_tile(const TileParams& p, char* shared) {
    __shared__ Tile found;
    if (threadIdx.x < 32) {
        Tile t;
        find_tile<FUSED, PARTS>(p, t);
        if (threadIdx.x == 0) {
            found = t;
        }
    }
    fill_tables(p, shared);
    __syncthreads();
    wait_for_previous();
    return found;
}
