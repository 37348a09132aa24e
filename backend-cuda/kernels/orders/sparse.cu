// Multiplies rows of a sparse matrix with a vector, or with the columns of a matrix. Products are rounded,
// and summed like groups, without being stored.
//
// With a vector and short rows, a thread takes a row, and longer rows go to the lists of groups; neighbouring
// rows share their lines in the cache. With longer rows, a warp reads the values and columns of neighbouring
// rows in their order, and leaves the products in shared memory, where each lane sums a row, or all lanes sum
// one row after the other. Rows with more products than fit there go to the lists of groups. With several
// columns, a thread takes a column of a row.
//
// a: values; b: columns; c: x; offsets: the given ones; len: slices of x; line_len: values; lines: rows;
// inner: elements of a slice; outer: 1; first: the complement of the first mistake's position, 0 at first.

#include "sparse.cuh"

// ---- rows of a vector ----

// The number of a warp's products that fit into shared memory, and the number that a lane makes at
// once.
const u32 ROOM = 512, MADE = 5, EIGHT = 8;

// The most products of a short row, which a thread makes.
const u32 LANE_MOST = 4 * EIGHT;

// Lanes that are 32 apart get places in different banks.
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

// One lane sums `count` products: eights are replaced by their sums, in place, until one is left.
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

// A warp sums `count` products: each lane has eight, and the sums of lanes are added in pairs.
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
    // Offsets are read one turn before they are used.
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
            // Neighbouring rows from this one on, as many as there is room for.
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

// The sum of up to eight products from `first` on. All values are being loaded before the first load from x
// begins.
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
            typename C::Item late = C::none();
#pragma unroll 1
            for (u32 from = EIGHT; __any_sync(ALL, count > from); from += EIGHT) {
                const u32 left = count > from ? count - from : 0;
                const typename C::Item eight = eight_of_row<S, I>(p, own.first + from, left, is_wrong);
                (from == EIGHT ? sum : late) = C::add(from == EIGHT ? sum : late, eight);
            }
            sum = C::add(sum, late);
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

// Does rows for which the list had no room. Other rows of that length get the sum that they had.
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

// Reports the first mistake to the host.
KERNEL(csr_report, 1) {
    const u64 first = ~*(const u64*)p.first;
    if (first != ~0ull) {
        const u64 position = first & ~COLUMN;
        tell(p, position, first & COLUMN ? Either::load(p, position) : offset_at(p, position), first & COLUMN);
    }
}

// BLOCKS: for short rows, the blocks on a multiprocessor, as many as registers allow.
#define ROWS(NAME, S, I, BLOCKS)                                  \
    BLOCKS_KERNEL(NAME##_rows, 5) { rows<S, I>(p); }              \
    BLOCKS_KERNEL(NAME##_short, BLOCKS) { short_rows<S, I>(p); }  \
    KERNEL(NAME##_segments, THREADS) { segments<Dot<S, I>>(p); }  \
    KERNEL(NAME##_columns, THREADS) {                             \
        columns<Dot<S, I>>(p);                                    \
        rest<I>(p);                                               \
    }                                                             \
    KERNEL(NAME##_finish, THREADS) {                              \
        finish<Dot<S, I>>(p);                                     \
        unlisted<Dot<S, I>>(p);                                   \
    }

ROWS(csr_f32_near, Sum<SingleSum>, Near, 6)
ROWS(csr_f32_far, Sum<SingleSum>, Far, 4)
ROWS(csr_f64_near, Sum<DoubleSum>, Near, 4)
ROWS(csr_f64_far, Sum<DoubleSum>, Far, 4)
ROWS(csr_f16, Sum<HalfSum>, Either, 4)
ROWS(csr_total, Integers, Either, 4)
