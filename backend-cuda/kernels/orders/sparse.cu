// Rows of a sparse matrix times a vector, or times the columns of a matrix: products are rounded, and summed as
// groups are, without being stored.
//
// A vector, short rows: a thread takes a row, and longer ones go to the lists of groups. Neighbours share their lines
// in the cache. Longer rows: a warp reads the values and columns of neighbouring rows as they lie, and leaves the
// products in shared memory, where each lane sums a row, or all lanes one after the other. Rows of more than fit there
// go to the lists of groups. Several columns: a thread takes a column of a row.
//
// a: values; b: columns; c: x; offsets: as they were given; len: slices of x; line_len: values; lines: rows; inner:
// elements of a slice; outer: 1; first: the complement of the first fault's position, 0 before.

#include "groups.cuh"
#include "report.cuh"

// Bits of `flags`, besides the bits in `order.cuh`.
const u32 OFFSETS_SIGNED = 1 << 16, OFFSETS_WIDE = 1 << 17, COLUMNS_SIGNED = 1 << 18, COLUMNS_WIDE = 1 << 19,
          SHORT_ROWS = 1 << 20;

// ---- what is wrong ----

// Positions of columns, which are told only if no offset is wrong.
const u64 COLUMN = 1ull << 63;

__device__ __forceinline__ void wrong(const Params& p, u64 position) { atomicMax((u64*)p.first, ~position); }

__device__ __forceinline__ i64 offset_at(const Params& p, u64 at) {
    return p.flags & OFFSETS_WIDE     ? ((const i64*)p.offsets)[at]
           : p.flags & OFFSETS_SIGNED ? (i64)((const int*)p.offsets)[at]
                                      : (i64)((const u32*)p.offsets)[at];
}

// ---- products ----

__device__ __forceinline__ u64 times(u64 a, u64 b) { return a * b; }

// Columns of 4 bytes, of 8, and of either, which a kernel tells apart as it runs: as they lie, and as the slice of x
// that one says, which is as large as `len` or larger if there is none.
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

// Reports the first fault to the host.
KERNEL(csr_report, 1) {
    const u64 first = ~*(const u64*)p.first;
    if (first != ~0ull) {
        const u64 position = first & ~COLUMN;
        tell(p, position, first & COLUMN ? Either::load(p, position) : offset_at(p, position), first & COLUMN);
    }
}

// Integers of any width, in less code.
struct Integers : Total {
    static __device__ __noinline__ u64 load(u64 from, u64 at, const Params& p) { return Total::load(from, at, p); }
    static __device__ __forceinline__ u64 stream(u64 from, u64 at, const Params& p) { return load(from, at, p); }
};

// Products of values and of the elements of x in their columns. S: the type of the sum; I: of a column.
template <class S, class I> struct Dot : S {
    static const bool IS_ORDERED = false;
    static const int PIECES = 2;
    typedef typename S::Item Item;
    // The product of value `at` and of element `c` of its slice.
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

// Where a row lies, if its offsets are right; wrong ones are noted.
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

// Columns of values in no row, which are looked at too: in front of the first row, and behind the last.
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

// Notes columns that have no place: every `step` of `count` values from `from` on, which seldom is called for.
template <class I>
__device__ __forceinline__ void wrong_columns(const Params& p, u64 from, u32 first, u32 count, u32 step) {
#pragma unroll 1
    for (u32 at = first; at < count; at += step) {
        if (place_of<I>(p, I::load(p, from + at)) >= p.len) {
            wrong(p, COLUMN | (from + at));
        }
    }
}

// ---- rows of a vector ----

// Products of a warp that fit into shared memory, and how many of them a lane makes at once.
const u32 ROOM = 512, MADE = 5, EIGHT = 8;

// Products that a thread makes of a short row.
const u32 LANE_MOST = 64;

// A place of its own in each bank for lanes that are 32 apart.
__device__ __forceinline__ u32 padded(u32 at) { return at + at / WARP; }

// Products of the values from `from` on.
template <class S, class I> __device__ __forceinline__ void fill(const Params& p, u64 from, u32 count, typename S::Item* room) {
    bool is_wrong = false;
    for (u32 first = threadIdx.x % WARP; first < count; first += MADE * WARP) {
        u64 places[MADE];
        typename S::Item values[MADE];
#pragma unroll
        for (u32 i = 0; i < MADE; i++) {
            const u32 at = first + i * WARP;
            places[i] = 0;
            if (at < count) {
                places[i] = place_of<I>(p, I::stream(p, from + at));
                values[i] = S::stream(p.a, from + at, p);
            }
        }
#pragma unroll
        for (u32 i = 0; i < MADE; i++) {
            const u32 at = first + i * WARP;
            const bool has_place = places[i] < p.len;
            is_wrong |= !has_place;
            if (at < count) {
                room[padded(at)] = times(values[i], has_place ? S::load(p.c, places[i], p) : 0);
            }
        }
    }
    if (is_wrong) {
        wrong_columns<I>(p, from, threadIdx.x % WARP, count, WARP);
    }
}

// Adds eight items in pairs.
template <class C> __device__ __forceinline__ typename C::Item in_pairs(typename C::Item (&items)[EIGHT]) {
#pragma unroll
    for (u32 len = EIGHT / 2; len > 0; len /= 2) {
#pragma unroll
        for (u32 i = 0; i < len; i++) {
            items[i] = C::add(items[2 * i], items[2 * i + 1]);
        }
    }
    return items[0];
}

// The sum of the products among eight that are before `count`.
template <class C> __device__ __forceinline__ typename C::Item sum_of_eight(const typename C::Item* room, u32 first, u32 from, u32 count) {
    typename C::Item items[EIGHT];
#pragma unroll
    for (u32 i = 0; i < EIGHT; i++) {
        items[i] = from + i < count ? room[padded(first + from + i)] : C::none();
    }
    return in_pairs<C>(items);
}

// The sum of `count` products, by one lane: eights become their sums, in place, until one is left.
template <class C> __device__ __forceinline__ typename C::Item sum_of_lane(typename C::Item* room, u32 first, u32 count) {
#pragma unroll 1
    while (count > EIGHT) {
        const u32 eights = (count + EIGHT - 1) / EIGHT;
#pragma unroll 1
        for (u32 at = 0; at < eights; at++) {
            room[padded(first + at)] = sum_of_eight<C>(room, first, at * EIGHT, count);
        }
        count = eights;
    }
    return sum_of_eight<C>(room, first, 0, count);
}

// The sum of `count` products, by a warp: each lane has eight, and the sums of lanes are added in pairs.
template <class C> __device__ __forceinline__ typename C::Item sum_of_warp(const typename C::Item* room, u32 first, u32 count) {
    typename C::Item halves[2];
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        const u32 from = half * WARP * EIGHT;
        halves[half] = C::none();
        if (from < count) {
            halves[half] = sum_of_eight<C>(room, first, from + threadIdx.x % WARP * EIGHT, count);
#pragma unroll
            for (int step = 1; step < WARP; step *= 2) {
                halves[half] = C::add(halves[half], __shfl_xor_sync(ALL, halves[half], step));
            }
        }
    }
    return C::add(halves[0], halves[1]);
}

template <class S, class I> __device__ __forceinline__ void rows(const Params& p) {
    typedef Dot<S, I> C;
    __shared__ typename S::Item rooms[THREADS / WARP][ROOM + ROOM / WARP];
    const u32 lane = threadIdx.x % WARP, number = threadIdx.x / WARP;
    typename S::Item* room = rooms[number];
    const u64 warps = (u64)gridDim.x * (THREADS / WARP), warp = (u64)blockIdx.x * (THREADS / WARP) + number;
    // Offsets are read a turn before they are used.
    const auto offset_of = [&](u64 first, u32 at) {
        return first + at <= p.lines ? offset_at(p, first + at) : 0;
    };
    i64 begin = offset_of(warp * p.each, lane), last = offset_of(warp * p.each, p.each);
    for (u64 first = warp * p.each; first < p.lines; first += warps * p.each) {
        const u32 groups = (u32)least(p.each, p.lines - first);
        i64 end = __shfl_down_sync(ALL, begin, 1);
        end = lane + 1 == p.each ? last : end;
        const Row own(p, first + lane, lane < groups ? begin : 0, lane < groups ? end : 0);
        begin = offset_of(first + warps * p.each, lane), last = offset_of(first + warps * p.each, p.each);
        typename C::Item mine = C::none();
        bool is_done = lane < groups;
        for (u32 at = 0; at < groups;) {
            // The rows from this one on that follow each other and for which there is room.
            const u64 from = __shfl_sync(ALL, own.first, at), len = own.first + own.count - from;
            const bool fits = len <= ROOM && (lane == at || own.is_right);
            const u32 others = __ballot_sync(ALL, lane >= at && !(lane < groups && fits));
            const u32 behind = others ? __ffs(others) - 1 : WARP;
            if (behind == at) {
                list_group<C>(p, first + at, __shfl_sync(ALL, own.count, at));
                is_done &= lane != at;
                at++;
                continue;
            }
            const bool is_in = lane >= at && lane < behind;
            const u32 count = __shfl_sync(ALL, (u32)len, behind - 1);
            if (count) {
                fill<S, I>(p, from, count, room);
                __syncwarp();
                if (count <= WARP * (behind - at)) {
                    if (is_in) {
                        mine = sum_of_lane<C>(room, (u32)(own.first - from), (u32)own.count);
                    }
                } else {
                    for (u32 row = at; row < behind; row++) {
                        const u32 start = (u32)(__shfl_sync(ALL, own.first, row) - from);
                        const typename C::Item sum = sum_of_warp<C>(room, start, __shfl_sync(ALL, (u32)own.count, row));
                        if (lane == row) {
                            mine = sum;
                        }
                    }
                }
                __syncwarp();
            }
            at = behind;
        }
        if (is_done) {
            C::store(p.y, first + lane, mine, own.count, p);
        }
    }
    rest<I>(p);
}

// The sum of up to eight products from `first` on. All loads of values are under way before one of x begins.
template <class S, class I>
__device__ __forceinline__ typename S::Item eight_of_row(const Params& p, u64 first, u32 count, bool& is_wrong) {
    typename I::Column columns[EIGHT];
    typename S::Item items[EIGHT];
#pragma unroll
    for (u32 i = 0; i < EIGHT; i++) {
        columns[i] = 0;
        items[i] = Dot<S, I>::none();
        if (i < count) {
            columns[i] = I::load(p, first + i);
            items[i] = S::load(p.a, first + i, p);
        }
    }
#pragma unroll
    for (u32 i = 0; i < EIGHT; i++) {
        if (i < count) {
            const u64 place = place_of<I>(p, columns[i]);
            const bool has_place = place < p.len;
            is_wrong |= !has_place;
            items[i] = times(items[i], has_place ? S::load(p.c, place, p) : 0);
        }
    }
    return in_pairs<Dot<S, I>>(items);
}

template <class S, class I> __device__ __forceinline__ void short_rows(const Params& p) {
    typedef Dot<S, I> C;
    const u32 lane = threadIdx.x % WARP;
    const u64 step = (u64)gridDim.x * THREADS;
    for (u64 row = (u64)blockIdx.x * THREADS + threadIdx.x; row - lane < p.lines; row += step) {
        const bool is_row = row < p.lines;
        const Row own(p, row, is_row ? offset_at(p, row) : 0, is_row ? offset_at(p, row + 1) : 0);
        const bool fits = own.count <= LANE_MOST;
        const u32 count = fits ? (u32)own.count : 0;
        bool is_wrong = false;
        typename C::Item sum = eight_of_row<S, I>(p, own.first, count, is_wrong);
        if (__any_sync(ALL, count > EIGHT)) {
            // Lanes with fewer eights add nothing to them.
            Pairs<C, 4> sums;
            sums.push(sum);
#pragma unroll 1
            for (u32 from = EIGHT; __any_sync(ALL, count > from); from += EIGHT) {
                sums.push(eight_of_row<S, I>(p, own.first + from, count > from ? count - from : 0, is_wrong));
            }
            sum = sums.end();
        }
        if (is_wrong) {
            wrong_columns<I>(p, own.first, 0, count, 1);
        }
        for (u32 others = __ballot_sync(ALL, !fits); others; others &= others - 1) {
            const u32 at = __ffs(others) - 1;
            list_group<C>(p, row - lane + at, __shfl_sync(ALL, own.count, at));
        }
        if (is_row && fits) {
            C::store(p.y, row, sum, own.count, p);
        }
    }
    rest<I>(p);
}

// Rows for which the list had no room, and others as long, whose sums are what they were.
template <class C> __device__ __forceinline__ void unlisted(const Params& p) {
    const u64 step = (u64)gridDim.x * THREADS;
    if (((const Lists*)p.next)->segments <= p.extent) {
        return;
    }
    for (u64 row = (u64)blockIdx.x * THREADS + threadIdx.x; row < p.lines; row += step) {
        const Column<C> x = Column<C>::of(p, row);
        if (x.count > (p.flags & SHORT_ROWS ? LANE_MOST : ROOM)) {
            C::store(p.y, row, of_thread<C>(x, p), x.count, p);
        }
    }
}

#define ROWS(NAME, S, I)                                          \
    BLOCKS_KERNEL(NAME##_rows, 5) { rows<S, I>(p); }              \
    BLOCKS_KERNEL(NAME##_short, 4) { short_rows<S, I>(p); }       \
    KERNEL(NAME##_segments, THREADS) { segments<Dot<S, I>>(p); }  \
    KERNEL(NAME##_columns, THREADS) {                             \
        columns<Dot<S, I>>(p);                                    \
        rest<I>(p);                                               \
    }                                                             \
    KERNEL(NAME##_finish, THREADS) {                              \
        finish<Dot<S, I>>(p);                                     \
        unlisted<Dot<S, I>>(p);                                   \
    }

ROWS(csr_f32_near, Sum<SingleSum>, Near)
ROWS(csr_f32_far, Sum<SingleSum>, Far)
ROWS(csr_f64_near, Sum<DoubleSum>, Near)
ROWS(csr_f64_far, Sum<DoubleSum>, Far)
ROWS(csr_f16, Sum<HalfSum>, Either)
ROWS(csr_total, Integers, Either)
