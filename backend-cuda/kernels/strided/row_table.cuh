// Copies rows that follow each other in the destination: a block writes a piece of it, and looks up where its
// rows begin.
#pragma once
#include "rows.cuh"

// The number of chunks that a thread of rows_table copies.
#define JOINED 4
// Each row has one entry of the table. Rows have at least LEAST_ROW bytes if elements have less than 4, otherwise LEAST_WIDE_ROW.
#define LEAST_ROW 64
#define LEAST_WIDE_ROW 16

// 16 bytes of the destination, in words of the source: four, and one more if elements are shorter than words.
template <int WIDTH>
struct Words16 {
    static constexpr int COUNT = WIDTH < 4 ? 5 : 4;
    u32 word[COUNT];

    // Loads from `at` on, a multiple of WIDTH. Elements of 4 and 8 bytes from byte `rest` on belong
    // to the next row, which lies `jump` bytes further.
    __device__ __forceinline__ void load(const char* at, int rest, i64 jump) {
        if constexpr (WIDTH == 8) {
            const uint2 low = *reinterpret_cast<const uint2*>(at);
            const uint2 high = *reinterpret_cast<const uint2*>(at + 8 + (rest <= 8 ? jump : 0));
            word[0] = low.x, word[1] = low.y, word[2] = high.x, word[3] = high.y;
        } else if constexpr (WIDTH == 4) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                word[i] = *reinterpret_cast<const u32*>(at + 4 * i + (rest <= 4 * i ? jump : 0));
            }
        } else {
            const u32* words = reinterpret_cast<const u32*>(at - (reinterpret_cast<u64>(at) & 3));
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                word[i] = words[i];
            }
        }
    }

    // `bits`: where the first byte begins in its word.
    __device__ __forceinline__ uint4 vector(u32 bits) const {
        if constexpr (WIDTH < 4) {
            return make_uint4(__funnelshift_r(word[0], word[1], bits), __funnelshift_r(word[1], word[2], bits),
                              __funnelshift_r(word[2], word[3], bits), __funnelshift_r(word[3], word[4], bits));
        } else {
            return make_uint4(word[0], word[1], word[2], word[3]);
        }
    }
};

// Most chunks need one entry of the table, a few words and a store. The other chunks are the ends
// of groups and, if elements are shorter than words, the ends of rows. They go to a list that all
// threads of the block share afterwards, so that no warp waits for a single chunk.
template <int WIDTH>
__device__ __forceinline__ void copy_by_table(const RowsParams& p) {
    constexpr int STEP = THREADS * 16, PIECE = JOINED * STEP; // bytes from chunk to chunk of a thread, and of a block
    __shared__ const char* table[PIECE / (WIDTH < 4 ? LEAST_ROW : LEAST_WIDE_ROW) + 2];
    __shared__ u32 listed;
    __shared__ u16 list[JOINED * THREADS];
    const int group_bytes = static_cast<int>(p.group_bytes), row_bytes = static_cast<int>(p.row_bytes);
    const u32 group = divide(blockIdx.x, p.chunks), group_row = group * p.total;
    Chunk row_of{p.at.src, p.at.dst, 0};
    if (group > 0) {
        find_row(p, group_row, row_of);
    }
    char* const dst = row_of.dst;
    // The piece, in bytes from the start of the group, and its rows.
    const int begin = static_cast<int>((blockIdx.x - group * p.chunks.divisor) * PIECE) - static_cast<int>(reinterpret_cast<u64>(dst) & 15);
    const int end = min(begin + PIECE, group_bytes);
    const u32 first_row = divide(static_cast<u32>(max(begin, 0)), p.row);
    const u32 rows = begin < end ? divide(static_cast<u32>(end - 1), p.row) - first_row + 1 : 0;
    for (u32 i = threadIdx.x; i < rows; i += THREADS) {
        find_row(p, group_row + first_row + i, row_of);
        table[i] = row_of.src;
    }
    if (threadIdx.x == 0) {
        listed = 0;
    }
    __syncthreads();
    wait_for_previous();
    // Where the first chunk of this thread is in its row, and the step to the next chunk in rows
    // and bytes.
    int chunk = begin + static_cast<int>(threadIdx.x * 16);
    u32 row = divide(static_cast<u32>(max(chunk, 0)), p.row) - first_row;
    int at = chunk - static_cast<int>((first_row + row) * p.row_bytes);
    const u32 more_rows = divide(STEP, p.row);
    const int more = STEP - static_cast<int>(more_rows * p.row_bytes);
    Words16<WIDTH> words[JOINED];
    u32 bits[JOINED];
    bool whole[JOINED];
#pragma unroll
    for (int k = 0; k < JOINED; k++) {
        whole[k] = false;
        if (chunk < end) {
            const char* src = table[row] + at;
            bits[k] = static_cast<u32>(reinterpret_cast<u64>(src) & 3) * 8;
            const int rest = row_bytes - at;
            i64 jump = 0;
            if (WIDTH < 4) { // words around the chunk may reach further than the source
                whole[k] = at >= 0 && rest >= 16 && src >= p.at.src_begin + 3 && src + 20 <= p.at.src_end;
            } else {
                whole[k] = at >= 0 && chunk + 16 <= group_bytes;
                if (whole[k] && rest < 16) {
                    jump = table[row + 1] - table[row] - row_bytes;
                }
            }
            if (whole[k]) {
                words[k].load(src, rest, jump);
            } else {
                list[atomicAdd(&listed, 1)] = static_cast<u16>(threadIdx.x + k * THREADS);
            }
        }
        chunk += STEP;
        row += more_rows;
        at += more;
        if (at >= row_bytes) {
            at -= row_bytes;
            row++;
        }
    }
#pragma unroll
    for (int k = 0; k < JOINED; k++) {
        if (whole[k]) {
            store16(dst + begin + (threadIdx.x + k * THREADS) * 16, words[k].vector(bits[k]));
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < listed; i += THREADS) {
        chunk = begin + list[i] * 16;
        row = divide(static_cast<u32>(max(chunk, 0)), p.row) - first_row;
        at = chunk - static_cast<int>((first_row + row) * p.row_bytes);
        join_two(p, dst, chunk, table[row], at, table[row + 1]);
    }
}
