// Rows that are contiguous on both sides, at any alignment.
#pragma once
#include "common.cuh"

// Stores the 16 bytes of a row from its byte `first` on, at a multiple of 16. Bytes outside the row
// are left out.
__device__ __forceinline__ void store_chunk(char* row, int first, int row_bytes, uint4 value) {
    if (first >= 0 && first + 16 <= row_bytes) {
        store16(row + first, value);
    } else {
        store_part(row + first, value, -first, row_bytes - first);
    }
}

// Bytes first to first + 15 of a contiguous source row. Bytes outside [0, row_bytes) have any value.
__device__ __forceinline__ uint4 load_unaligned(const Operands& source, const char* row, int first, int row_bytes) {
    const char* at = row + first;
    const u32 from = static_cast<u32>(reinterpret_cast<u64>(at) & 15);
    at -= from;
    uint4 low = make_uint4(0, 0, 0, 0), high = low;
    if (first + 16 - static_cast<int>(from) > 0) {
        low = load16_inside(at, source.src_begin, source.src_end);
    }
    if (from != 0 && first + 16 - static_cast<int>(from) < row_bytes) {
        high = load16_inside(at + 16, source.src_begin, source.src_end);
    }
    return funnel(low, high, from);
}
