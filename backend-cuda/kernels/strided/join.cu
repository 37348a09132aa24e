// Copies from several sources to one destination, for joins and paddings.
//
//   join_pieces_W      each copy with loops of its own: rows that are contiguous on both sides, 16 bytes a thread, or single
//                      elements. The blocks of a launch alternate between the copies, so that neighbouring bytes are written
//                      at about the same time: the cache then merges a sector that two copies write.
//   join_interleave_W  short rows without gaps between them, a few elements from each source: through shared memory
//   join_zip_W         the same for 2, 4, 8 or 16 sources with one element of each row: a thread merges parts of vectors
#include "rows.cuh"

#define MAX_PIECES 16
#define MAX_PIECE_AXES 4

// One copy.
struct Piece {
    Operands at;
    u32 axes;       // loops around its rows, or its elements, innermost first
    u32 total;      // chunks of all rows, or elements
    u32 row_bytes;  // of a row, at most 2^30; 0 for single elements
    u32 share;      // blocks that it has in a round
    FastDiv chunks; // chunks of a row, or 1
    u32 begin;      // its first block in a round
    Loop axis[MAX_PIECE_AXES];
};

struct PiecesParams {
    FastDiv round;       // blocks of a round
    u32 unused;
    u32 end[MAX_PIECES]; // the block of a round at which each piece ends; for the last and unused ones, one never reached
    Piece piece[MAX_PIECES];
};
static_assert(sizeof(PiecesParams) == 3152, "as the host declares it");

template <int WIDTH>
__device__ __forceinline__ void pieces(const PiecesParams& p) {
    typedef typename Element<WIDTH>::Type Type;
    const u32 round = divide(blockIdx.x, p.round);
    const u32 block = blockIdx.x - round * p.round.divisor;
    u32 number = 0;
#pragma unroll
    for (int i = 0; i < MAX_PIECES - 1; i++) {
        number += block >= p.end[i];
    }
    const Piece& piece = p.piece[number];
    const u32 item = (round * piece.share + block - piece.begin) * THREADS + threadIdx.x;
    wait_for_previous();
    if (item >= piece.total) {
        return;
    }
    u32 row = divide(item, piece.chunks);
    const u32 chunk = item - row * piece.chunks.divisor;
    const char* src = piece.at.src;
    char* dst = piece.at.dst;
#pragma unroll 1
    for (u32 k = 0; k < piece.axes; k++) {
        const u32 next = divide(row, piece.axis[k].extent);
        const u32 c = row - next * piece.axis[k].extent.divisor;
        src += c * piece.axis[k].src;
        dst += c * piece.axis[k].dst;
        row = next;
    }
    if (piece.row_bytes == 0) {
        *reinterpret_cast<Type*>(dst) = *reinterpret_cast<const Type*>(src);
        return;
    }
    const int row_bytes = static_cast<int>(piece.row_bytes);
    const int first = static_cast<int>(chunk * 16) - static_cast<int>(reinterpret_cast<u64>(dst) & 15);
    if (first < row_bytes) {
        store_chunk(dst, first, row_bytes, load_unaligned(piece.at, src, first, row_bytes));
    }
}

#define MAX_SOURCES 64
#define MAX_SHORT_ROW 256
#define MAX_BOX_LOOPS 2
// The number of vectors of a thread.
#define VECTORS 4
#define ZIP_VECTORS 2

// Where some elements of each row come from.
struct Source {
    const char* src;    // the first of them in the first row
    i64 row, step;      // bytes from row to row, and from element to element of a row
    u32 first, count;   // number of the first element in the row, and how many
    i64 outer[MAX_BOX_LOOPS]; // bytes from box to box, of each loop around boxes
};

// All rows of a box, one after the other without a gap.
struct InterleaveParams {
    char* dst;
    FastDiv row;                      // elements of a row
    u32 elements, total, sources;     // elements and vectors of a box
    FastDiv blocks;                   // blocks of a box
    u32 unused;
    Loop outer[MAX_BOX_LOOPS];        // loops around boxes, the destination's alone; one step where there is none
    Source source[MAX_SOURCES];
};
static_assert(sizeof(InterleaveParams) == 3184, "as the host declares it");

// The sources of the elements at one place of all rows.
struct Place {
    const char* src;
    i64 row;
};

// Finds the box of this block: its coordinates, its distance in bytes from the first box in the
// destination, and, as the result, the number of this block in it.
__device__ __forceinline__ u32 find_box(const InterleaveParams& p, i64& dst, u32 (&coordinate)[MAX_BOX_LOOPS]) {
    u32 box = divide(blockIdx.x, p.blocks);
    const u32 block = blockIdx.x - box * p.blocks.divisor;
    dst = 0;
#pragma unroll
    for (int k = 0; k < MAX_BOX_LOOPS; k++) {
        const u32 next = divide(box, p.outer[k].extent);
        coordinate[k] = box - next * p.outer[k].extent.divisor;
        dst += coordinate[k] * p.outer[k].dst;
        box = next;
    }
    return block;
}

// The number of elements that a thread fetches at one time.
#define AT_ONCE 8

// Neighbouring threads read neighbouring elements and write them to shared memory in the destination's order.
template <int WIDTH>
__device__ __forceinline__ void interleave(const InterleaveParams& p) {
    typedef typename Element<WIDTH>::Type Type;
    constexpr u32 COUNT = 16 / WIDTH, EACH = VECTORS * COUNT;
    __shared__ Place place[MAX_SHORT_ROW];
    __shared__ uint4 vector[VECTORS * THREADS];
    i64 box_dst;
    u32 coordinate[MAX_BOX_LOOPS];
    const u32 block = find_box(p, box_dst, coordinate);
    if (threadIdx.x < p.sources) {
        const Source& source = p.source[threadIdx.x];
        const char* src = source.src;
#pragma unroll
        for (int k = 0; k < MAX_BOX_LOOPS; k++) {
            src += coordinate[k] * source.outer[k];
        }
        for (u32 i = 0; i < source.count; i++) {
            place[source.first + i] = Place{src + i * source.step, source.row};
        }
    }
    __syncthreads();
    wait_for_previous();
    char* dst = p.dst + box_dst;
    const int over = static_cast<int>(reinterpret_cast<u64>(dst) & 15);
    const u32 length = p.row.divisor, rows = divide(THREADS, p.row), rest = THREADS - rows * length;
    // Vectors are counted from the last multiple of 16 bytes: the first up to 15 numbers precede
    // the elements.
    u32 number = block * EACH * THREADS + threadIdx.x - over / WIDTH;
    u32 row = divide(number + 16 * length, p.row);
    u32 at = number + 16 * length - row * length;
    row -= 16;
    Type* element = reinterpret_cast<Type*>(vector) + threadIdx.x;
#pragma unroll 1
    for (u32 k = 0; k < EACH; k += AT_ONCE) {
        Type value[AT_ONCE];
        bool inside[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            inside[i] = k + i < EACH && number < p.elements;
            if (inside[i]) {
                value[i] = *reinterpret_cast<const Type*>(place[at].src + row * place[at].row);
            }
            number += THREADS;
            at += rest;
            row += rows;
            if (at >= length) {
                at -= length;
                row++;
            }
        }
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (inside[i]) {
                element[(k + i) * THREADS] = value[i];
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (u32 v = 0; v < VECTORS; v++) {
        const u32 item = (block * VECTORS + v) * THREADS + threadIdx.x;
        const int first = static_cast<int>(item * 16) - over, bytes = static_cast<int>(p.elements) * WIDTH;
        if (item < p.total && first < bytes) {
            store_chunk(dst, first, bytes, vector[v * THREADS + threadIdx.x]);
        }
    }
}

// BYTES bytes as words; the last may be partial.
template <int BYTES>
struct Words {
    u32 word[(BYTES + 3) / 4];
};

template <int BYTES>
__device__ __forceinline__ Words<BYTES> load_words(const char* at) {
    Words<BYTES> words;
    if constexpr (BYTES == 8) {
        const uint2 both = *reinterpret_cast<const uint2*>(at);
        words.word[0] = both.x;
        words.word[1] = both.y;
    } else {
        words.word[0] = *reinterpret_cast<const typename Element<BYTES>::Type*>(at);
    }
    return words;
}

// One vector that interleaves elements of K sources.
template <int WIDTH, int K>
__device__ __forceinline__ uint4 zipped(const Words<16 / K> (&from)[K]) {
    typename Element<WIDTH>::Type value[16 / WIDTH];
#pragma unroll
    for (int e = 0; e < 16 / WIDTH; e++) {
        const int byte = e / K * WIDTH;
        const Words<16 / K>& words = from[e % K];
        if constexpr (WIDTH == 8) {
            value[e] = make_uint2(words.word[0], words.word[1]);
        } else {
            value[e] = static_cast<typename Element<WIDTH>::Type>(words.word[byte / 4] >> byte % 4 * 8);
        }
    }
    return pack<WIDTH>(value);
}

template <int WIDTH, int K>
__device__ __forceinline__ void zip_of(const InterleaveParams& p) {
    if constexpr (WIDTH * K <= 16) {
        i64 box_dst;
        u32 coordinate[MAX_BOX_LOOPS];
        const u32 block = find_box(p, box_dst, coordinate);
        Words<16 / K> from[ZIP_VECTORS][K];
        const u32 first = block * ZIP_VECTORS * THREADS + threadIdx.x;
#pragma unroll
        for (int j = 0; j < K; j++) {
            const char* src = p.source[j].src;
#pragma unroll
            for (int k = 0; k < MAX_BOX_LOOPS; k++) {
                src += coordinate[k] * p.source[j].outer[k];
            }
#pragma unroll
            for (u32 v = 0; v < ZIP_VECTORS; v++) {
                if (first + v * THREADS < p.total) {
                    from[v][j] = load_words<16 / K>(src + static_cast<u64>(first + v * THREADS) * (16 / K));
                }
            }
        }
#pragma unroll
        for (u32 v = 0; v < ZIP_VECTORS; v++) {
            if (first + v * THREADS < p.total) {
                store16(p.dst + box_dst + static_cast<u64>(first + v * THREADS) * 16, zipped<WIDTH, K>(from[v]));
            }
        }
    }
}

template <int WIDTH>
__device__ __forceinline__ void zip(const InterleaveParams& p) {
    wait_for_previous();
    switch (p.sources) {
    case 2:
        return zip_of<WIDTH, 2>(p);
    case 4:
        return zip_of<WIDTH, 4>(p);
    case 8:
        return zip_of<WIDTH, 8>(p);
    default:
        return zip_of<WIDTH, 16>(p);
    }
}

#define KERNEL(NAME, PARAMS, BODY)                                                                                    \
    extern "C" __global__ __launch_bounds__(THREADS) void NAME(const __grid_constant__ PARAMS p) {                    \
        BODY(p);                                                                                                      \
    }
#define OF_WIDTH(WIDTH)                                                                                               \
    KERNEL(join_pieces_##WIDTH, PiecesParams, pieces<WIDTH>)                                                          \
    KERNEL(join_interleave_##WIDTH, InterleaveParams, interleave<WIDTH>)

OF_WIDTH(1)
OF_WIDTH(2)
OF_WIDTH(4)
OF_WIDTH(8)
OF_WIDTH(16)
KERNEL(join_zip_1, InterleaveParams, zip<1>)
KERNEL(join_zip_2, InterleaveParams, zip<2>)
KERNEL(join_zip_4, InterleaveParams, zip<4>)
KERNEL(join_zip_8, InterleaveParams, zip<8>)
