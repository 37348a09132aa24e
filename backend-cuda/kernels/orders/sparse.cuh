// The products of a sparse matrix's rows and a vector, the position of each, and mistakes in offsets and
// columns.

#pragma once

#include "groups.cuh"
#include "report.cuh"

// Bits of `flags`, besides the bits in `order.cuh`.
const u32 OFFSETS_SIGNED = 1 << 16, OFFSETS_WIDE = 1 << 17, COLUMNS_SIGNED = 1 << 18, COLUMNS_WIDE = 1 << 19,
          SHORT_ROWS = 1 << 20;

// ---- mistakes ----

// Positions of columns. They are reported only if no offset is wrong.
const u64 COLUMN = 1ull << 63;

__device__ __forceinline__ void wrong(const Params& p, u64 position) { atomicMax((u64*)p.first, ~position); }

__device__ __forceinline__ i64 offset_at(const Params& p, u64 at) {
    return p.flags & OFFSETS_WIDE     ? ((const i64*)p.offsets)[at]
           : p.flags & OFFSETS_SIGNED ? (i64)((const int*)p.offsets)[at]
                                      : (i64)((const u32*)p.offsets)[at];
}

// ---- products ----

__device__ __forceinline__ u64 times(u64 a, u64 b) { return a * b; }

// Three types of column numbers: 4 bytes, 8 bytes, or either, chosen at run time. Each type reads the stored number
// and computes the slice of x that it names; the result is `len` or larger if there is no such slice.
struct Near {
    typedef u32 Column;
    static __device__ __forceinline__ Column load(const Params& p, u64 at) { return ((const u32*)p.b)[at]; }
    static __device__ __forceinline__ Column stream(const Params& p, u64 at) { return __ldcs((const u32*)p.b + at); }
    static __device__ __forceinline__ i64 number(const Params& p, Column column) {
        return p.flags & COLUMNS_SIGNED ? (i64)(int)column : (i64)column;
    }
};

struct Far {
    typedef i64 Column;
    static __device__ __forceinline__ Column load(const Params& p, u64 at) { return ((const i64*)p.b)[at]; }
    static __device__ __forceinline__ Column stream(const Params& p, u64 at) { return __ldcs((const i64*)p.b + at); }
    static __device__ __forceinline__ i64 number(const Params&, Column column) { return column; }
};

struct Either {
    typedef i64 Column;
    static __device__ __forceinline__ Column load(const Params& p, u64 at) {
        return p.flags & COLUMNS_WIDE ? Far::load(p, at) : Near::number(p, Near::load(p, at));
    }
    static __device__ __forceinline__ Column stream(const Params& p, u64 at) { return load(p, at); }
    static __device__ __forceinline__ i64 number(const Params&, Column column) { return column; }
};

template <class I> __device__ __forceinline__ u64 place_of(const Params& p, typename I::Column of) {
    const i64 column = I::number(p, of);
    return column < 0 ? (u64)column + p.len : (u64)column;
}

// Integers of any width, in less code.
struct Integers : Total {
    static __device__ __noinline__ u64 load(u64 from, u64 at, const Params& p) { return Total::load(from, at, p); }
    static __device__ __forceinline__ u64 stream(u64 from, u64 at, const Params& p) { return load(from, at, p); }
};

// Products of values and of the elements of x in their columns. S: the type of the sum; I: the type of
// a column.
template <class S, class I> struct Dot : S {
    static const bool IS_ORDERED = false;
    static const int PIECES = 2;
    typedef typename S::Item Item;
    // The product of value `at` and element `c` of its slice.
    static __device__ __forceinline__ Item product(u64 at, u64 c, const Params& p) {
        const u64 place = place_of<I>(p, I::stream(p, at));
        const Item value = S::load(p.a, at, p);
        Item x = Item(0);
        if (place < p.len) {
            x = S::load(p.c, place * p.inner + c, p);
        } else {
            wrong(p, COLUMN | at);
        }
        return times(value, x);
    }
    static __device__ __forceinline__ Item load(u64, u64 at, const Params& p) { return product(at, 0, p); }
};

// The range of a row, if its offsets are right; wrong ones are noted.
struct Row {
    u64 first, count;
    bool is_right;

    __device__ __forceinline__ Row(const Params& p, u64 number, i64 begin, i64 end) {
        const i64 len = (i64)p.line_len;
        if (number == 0 && (begin < 0 || begin > len)) {
            wrong(p, 0);
        }
        if (end < begin || end < 0 || end > len) {
            wrong(p, number + 1);
        }
        is_right = 0 <= begin && begin <= end && end <= len;
        first = is_right ? (u64)begin : 0;
        count = is_right ? (u64)(end - begin) : 0;
    }
};

// The products of a column of a row.
template <class S, class I> struct Column<Dot<S, I>> {
    static constexpr const u32* order = nullptr;
    u64 first, count, c;

    static __device__ __forceinline__ Column of(const Params& p, u64 number) {
        const u64 row = p.inner == 1 ? number : number / p.inner;
        const Row found(p, row, offset_at(p, row), offset_at(p, row + 1));
        return Column{found.first, found.count, number - row * p.inner};
    }

    __device__ __forceinline__ typename S::Item at(u64 row, const Params& p) const {
        return Dot<S, I>::product(first + row, c, p);
    }
};

// Checks the columns of values in no row: before the first row, and after the last.
template <class I> __device__ __forceinline__ void rest(const Params& p) {
    const auto inside = [&](i64 offset) { return offset < 0 ? 0 : least((u64)offset, p.line_len); };
    const u64 head = inside(offset_at(p, 0)), tail = greatest(head, inside(offset_at(p, p.lines)));
    const u64 step = (u64)gridDim.x * THREADS;
    for (u64 at = (u64)blockIdx.x * THREADS + threadIdx.x; at < head + p.line_len - tail; at += step) {
        const u64 k = at < head ? at : at - head + tail;
        if (place_of<I>(p, I::stream(p, k)) >= p.len) {
            wrong(p, COLUMN | k);
        }
    }
}

// Notes columns without a place: checks every `step` of `count` values from `from` on. It is seldom called.
template <class I>
__device__ __forceinline__ void wrong_columns(const Params& p, u64 from, u32 first, u32 count, u32 step) {
#pragma unroll 1
    for (u32 at = first; at < count; at += step) {
        if (place_of<I>(p, I::load(p, from + at)) >= p.len) {
            wrong(p, COLUMN | (from + at));
        }
    }
}
