// Combines slices by group: sums of floats in the order that follows from their number, sums of
// integers, and the least or greatest.
//
// The order: there are segments of 16,384 elements, and a segment has 1,024 lanes. Each lane adds every
// 1,024th element. Lanes are added in pairs, and the results in pairs again; a result without a partner
// goes to the next round alone. The results of segments are added in the same way. Integers and
// extremes use the same code, because any order is right for them.
//
// If slices have one element, a warp takes groups of at most 1,024 elements, in pieces of 128. Longer groups
// are entered in a list of segments, one block each; those with several segments are also entered in a second
// list, one block each. If slices are longer, a thread takes a column of a group.

#pragma once

#include "combine.cuh"

const int THREADS = 256;
// A group of at most this many elements is not cut.
const u64 SHORT = 1024;

// ---- by one thread ----

// The sum of `count` items.
template <class C, class G> __device__ __noinline__ typename C::Item segment_of_thread(u32 count, const G& get) {
    const u32 lanes = count < LANES ? count : LANES;
    Pairs<C, 11> pairs;
#pragma unroll 1
    for (u32 lane = 0; lane < lanes; lane++) {
        typename C::Item sum = get(lane);
#pragma unroll 1
        for (u32 k = lane + LANES; k < count; k += LANES) {
            sum = C::add(sum, get(k));
        }
        pairs.push(sum);
    }
    return pairs.end();
}

template <class C> __device__ __forceinline__ typename C::Item of_thread(const Column<C>& x, const Params& p) {
    if (x.count <= LANES) {
        // Four rows at a time, so that their loads overlap.
        Pairs<C, 9> pairs;
        u32 row = 0;
#pragma unroll 1
        for (; row + 4 <= x.count; row += 4) {
            const typename C::Item a = x.at(row, p), b = x.at(row + 1, p), c = x.at(row + 2, p), d = x.at(row + 3, p);
            pairs.push(C::add(C::add(a, b), C::add(c, d)));
        }
        if (row < x.count) {
            typename C::Item a = x.at(row, p);
            if (row + 1 < x.count) {
                a = C::add(a, x.at(row + 1, p));
            }
            if (row + 2 < x.count) {
                a = C::add(a, x.at(row + 2, p));
            }
            pairs.push(a);
        }
        return pairs.end();
    }
    const u32 segments = (u32)((x.count + SEGMENT - 1) / SEGMENT);
    const auto segment = [&](u32 number) {
        const u64 first = (u64)number * SEGMENT;
        return segment_of_thread<C>((u32)least(SEGMENT, x.count - first), [&](u32 k) { return x.at(first + k, p); });
    };
    const auto of_segments = [&](u32 number) {
        const u32 first = number * SEGMENT, left = segments - first;
        return segment_of_thread<C>(left < SEGMENT ? left : SEGMENT, [&](u32 k) { return segment(first + k); });
    };
    // The third level covers 2^42 rows.
    return segments <= SEGMENT ? of_segments(0)
                               : segment_of_thread<C>((segments + SEGMENT - 1) / SEGMENT, of_segments);
}

// ---- lists ----

struct Lists {
    // The number of segments to be summed, and of groups with several segments. The number of segments
    // that are taken, after the first of each block.
    u64 segments, groups, taken;
};

// A segment of an item, or an item whose first segment is `segment` in the list.
struct Entry {
    u64 item;
    u32 segment, unused;
};

// next: Lists; list: room for `extent` entries of segments, then as many of groups; words: a result for each
// entry of segments.

template <class C> __device__ __forceinline__ Entry* groups_of(const Params& p) { return (Entry*)p.list + p.extent; }

// ---- by a warp ----

// The number of items of a lane in a piece of a group.
const int AT_ONCE = 4;
const u32 PIECE = AT_ONCE * WARP;

// The sum of up to 128 items; a lane has every 32nd, and lane 0 gets the sum. Neighbours are added
// while the lanes divide the four blocks of 32 among themselves.
template <class C> __device__ __forceinline__ typename C::Item over_blocks(const typename C::Item (&items)[AT_ONCE]) {
    const u32 lane = threadIdx.x % WARP;
    const bool odd = lane & 1, upper = lane & 2;
    typename C::Item a = odd ? items[1] : items[0], b = odd ? items[3] : items[2];
    a = C::add(a, __shfl_xor_sync(ALL, odd ? items[0] : items[1], 1));
    b = C::add(b, __shfl_xor_sync(ALL, odd ? items[2] : items[3], 1));
    typename C::Item sum = C::add(upper ? b : a, __shfl_xor_sync(ALL, upper ? a : b, 2));
#pragma unroll
    for (int step = 4; step < WARP; step *= 2) {
        sum = C::add(sum, __shfl_xor_sync(ALL, sum, step));
    }
    // The four blocks are added in pairs.
    sum = C::add(sum, __shfl_xor_sync(ALL, sum, 1));
    return C::add(sum, __shfl_xor_sync(ALL, sum, 2));
}

// A warp lists the segments of a group. Returns false if there is no room, because wrong offsets can name
// more elements than there are.
template <class C> __device__ __forceinline__ bool list_group(const Params& p, u64 item, u64 count) {
    const u32 lane = threadIdx.x % WARP;
    const u32 segments = (u32)((count + SEGMENT - 1) / SEGMENT);
    Lists* lists = (Lists*)p.next;
    u64 first = 0;
    u32 has_room = 0;
    if (lane == 0) {
        first = atomicAdd(&lists->segments, (u64)segments);
        has_room = first + segments <= p.extent;
        if (has_room && segments > 1) {
            groups_of<C>(p)[atomicAdd(&lists->groups, 1ull)] = Entry{item, (u32)first, 0};
        }
    }
    first = __shfl_sync(ALL, first, 0);
    has_room = __shfl_sync(ALL, has_room, 0);
    const u32 room = has_room || first >= p.extent ? 0 : (u32)(p.extent - first);
    for (u32 s = lane; s < (has_room ? segments : room); s += WARP) {
        ((Entry*)p.list)[first + s] = Entry{has_room ? item : ~0ull, s, 0};
    }
    return has_room;
}

// A group of more than SHORT elements: by the list, or by each thread for itself.
template <class C> __device__ __noinline__ bool long_group(const Params& p, u64 item, typename C::Item& sum) {
    const Column<C> x = Column<C>::of(p, item);
    if (list_group<C>(p, item, x.count)) {
        return false;
    }
    sum = of_thread<C>(x, p);
    return true;
}

// The sums of groups of at most SHORT elements: each lane has a group, and gets its sum. The pieces of all
// groups follow each other, so that the waiting of one overlaps with others, however long groups are.
template <class C, bool ORDERED> __device__ __forceinline__ typename C::Item short_groups(const Column<C>& own, const Params& p) {
    const u32 lane = threadIdx.x % WARP, count = own.count <= SHORT ? (u32)own.count : 0;
    const u32 pieces = (count + PIECE - 1) / PIECE;
    u32 end = pieces;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const u32 before = __shfl_up_sync(ALL, end, step);
        end += lane >= step ? before : 0;
    }
    const u32 all = __shfl_sync(ALL, end, WARP - 1), skipped = (end - pieces) * PIECE;
    // Where piece 0 of all groups would begin if it belonged to the lane's group, and where the
    // group ends.
    const u64 first = (ORDERED ? (u64)own.order : own.first) - (ORDERED ? 4 : 1) * (u64)skipped;
    const u32 limit = skipped + count;
    Pairs<C, 4> sums;
#pragma unroll C::PIECES
    for (u32 piece = 0; piece < all; piece++) {
        const u32 group = __popc(__ballot_sync(ALL, end <= piece)), row = piece * PIECE + lane;
        const u32 row_limit = __shfl_sync(ALL, limit, group);
        const u64 from = __shfl_sync(ALL, first, group), slice = ORDERED ? __shfl_sync(ALL, own.first, group) : 0;
        typename C::Item items[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const u32 at = row + i * WARP;
            items[i] = C::none();
            if (at < row_limit) {
                items[i] = C::load(p.a, ORDERED ? slice + ((const u32*)from)[at] : from + at, p);
            }
        }
        const typename C::Item sum = over_blocks<C>(items);
        if (lane == group) {
            sums.push(sum);
        }
    }
    return sums.end();
}

// Stores the sums of neighbouring groups, one per lane; `own` is the lane's group, if it has one.
template <class C> __device__ __forceinline__ void groups_of_warp(const Params& p, u64 first, u32 groups, const Column<C>& own) {
    const u32 lane = threadIdx.x % WARP;
    typename C::Item mine = C::IS_ORDERED && p.b ? short_groups<C, C::IS_ORDERED>(own, p) : short_groups<C, false>(own, p);
    bool is_done = true;
    for (u32 left = __ballot_sync(ALL, own.count > SHORT); left; left &= left - 1) {
        const u32 group = __ffs(left) - 1;
        typename C::Item sum;
        const bool has_sum = long_group<C>(p, first + group, sum);
        if (lane == group) {
            mine = sum;
            is_done = has_sum;
        }
    }
    if (lane < groups && is_done) {
        C::store(p.y, first + lane, mine, own.count, p);
    }
}

// Combines slices of one element, several groups per warp.
template <class C> __device__ __forceinline__ void lines(const Params& p) {
    const u32 lane = threadIdx.x % WARP;
    const u64 all = p.outer * p.lines, warps = (u64)gridDim.x * (THREADS / WARP);
    const u64 warp = (u64)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    for (u64 first = warp * p.each; first < all; first += warps * p.each) {
        Column<C> own = {};
        const u32 groups = (u32)least(p.each, all - first);
        if (lane < groups) {
            own = Column<C>::of(p, first + lane);
        }
        groups_of_warp<C>(p, first, groups, own);
    }
}

// The block sums a segment of `count` items; the first thread gets the sum.
template <class C, class G> __device__ __forceinline__ typename C::Item segment_of_block(u32 count, const G& get) {
    __shared__ typename C::Item of_warps[THREADS / WARP];
    const u32 lanes = count < LANES ? count : LANES, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    // A warp has 128 neighbouring lanes of the segment, four per thread.
    const u32 own = warp * 128 + lane;
    typename C::Item sums[AT_ONCE];
#pragma unroll
    for (int part = 0; part < AT_ONCE; part++) {
        sums[part] = own + part * WARP < lanes ? get(own + part * WARP) : C::none();
    }
    const u32 whole = count / LANES * LANES;
    u32 k = own + LANES;
#pragma unroll C::PIECES
    for (; k < whole; k += LANES) {
#pragma unroll
        for (int part = 0; part < AT_ONCE; part++) {
            sums[part] = C::add(sums[part], get(k + part * WARP));
        }
    }
#pragma unroll
    for (int part = 0; part < AT_ONCE; part++) {
        if (k >= LANES && k + part * WARP < count) {
            sums[part] = C::add(sums[part], get(k + part * WARP));
        }
    }
    const typename C::Item of_warp = over_blocks<C>(sums);
    if (lane == 0) {
        of_warps[warp] = of_warp;
    }
    __syncthreads();
    typename C::Item sum = C::none();
    if (threadIdx.x == 0) {
        Pairs<C, 4> all;
#pragma unroll
        for (int w = 0; w < THREADS / WARP; w++) {
            all.push(of_warps[w]);
        }
        sum = all.end();
    }
    __syncthreads();
    return sum;
}

// Blocks take the segments one by one: their lengths differ.
template <class C> __device__ __forceinline__ void segments(const Params& p) {
    // The numbers alternate, so that one is written while others still read the other.
    __shared__ u32 next[2];
    Lists* lists = (Lists*)p.next;
    const u32 all = (u32)least(lists->segments, p.extent);
    u32 number = 0;
    for (u32 at = blockIdx.x; at < all; at = next[number++ & 1]) {
        if (threadIdx.x == 0) {
            next[number & 1] = gridDim.x + (u32)atomicAdd(&lists->taken, 1ull);
        }
        const Entry entry = ((const Entry*)p.list)[at];
        if (entry.item == ~0ull) {
            __syncthreads();
            continue;
        }
        const Column<C> x = Column<C>::of(p, entry.item);
        const u64 first = (u64)entry.segment * SEGMENT;
        const u32 len = (u32)least(SEGMENT, x.count - first);
        const typename C::Item sum =
            C::IS_ORDERED && x.order ? segment_of_block<C>(len, [&](u32 k) { return row_of<C, C::IS_ORDERED>(x, first + k, p); })
                    : segment_of_block<C>(len, [&](u32 k) { return row_of<C, false>(x, first + k, p); });
        if (threadIdx.x > 0) {
            continue;
        }
        if (x.count <= SEGMENT) {
            C::store(p.y, entry.item, sum, x.count, p);
        } else {
            ((typename C::Item*)p.words)[at] = sum;
        }
    }
}

// Combines groups of several segments. Up to 2^28 elements, one more segment is enough; otherwise
// results go through the list.
template <class C> __device__ __forceinline__ void finish(const Params& p) {
    const Lists* lists = (const Lists*)p.next;
    for (u32 at = blockIdx.x; at < lists->groups; at += gridDim.x) {
        const Entry entry = groups_of<C>(p)[at];
        const Column<C> x = Column<C>::of(p, entry.item);
        volatile typename C::Item* results = (volatile typename C::Item*)p.words + entry.segment;
        u32 count = (u32)((x.count + SEGMENT - 1) / SEGMENT);
        while (count > 1) {
            const u32 parts = (count + SEGMENT - 1) / SEGMENT;
            for (u32 part = 0; part < parts; part++) {
                const u32 first = part * SEGMENT, len = count - first < SEGMENT ? count - first : SEGMENT;
                const typename C::Item sum = segment_of_block<C>(len, [&](u32 k) { return (typename C::Item)results[first + k]; });
                if (threadIdx.x == 0) {
                    results[part] = sum;
                }
                __syncthreads();
            }
            count = parts;
        }
        if (threadIdx.x == 0) {
            C::store(p.y, entry.item, (typename C::Item)results[0], x.count, p);
        }
    }
}

// Combines slices of several elements, one column per thread.
template <class C> __device__ __forceinline__ void columns(const Params& p) {
    const u64 all = p.outer * p.lines * p.inner, step = (u64)gridDim.x * THREADS;
    for (u64 item = (u64)blockIdx.x * THREADS + threadIdx.x; item < all; item += step) {
        const Column<C> x = Column<C>::of(p, item);
        C::store(p.y, item, of_thread<C>(x, p), x.count, p);
    }
}
