// The operations that combine groups, the positions of a group's elements, and the addition of
// results in pairs.
#pragma once

#include "order.cuh"

const int LANES = 1024, SEGMENT = 16384;

// ---- operations ----

template <class F> struct Sum {
    // Whether rows may be named by positions.
    static const bool IS_ORDERED = true;
    // The number of pieces of groups that a warp loads at once.
    static const int PIECES = 4;
    typedef typename F::Bits Bits;
    typedef typename F::Sum Item;
    static __device__ __forceinline__ Item none() {
        Item item;
        nothing(item);
        return item;
    }
    static __device__ __forceinline__ Item load(u64 from, u64 at, const Params& p) {
        return F::load(((const Bits*)from)[at], p);
    }
    // Loads data that is read only once.
    static __device__ __forceinline__ Item stream(u64 from, u64 at, const Params& p) {
        return F::load(__ldcs((const Bits*)from + at), p);
    }
    static __device__ __forceinline__ Item add(Item a, Item b) { return plus(a, b); }
    // With ADDS, the sum is added to the existing element, if there is one.
    static __device__ __forceinline__ void store(u64 to, u64 at, Item item, u64 count, const Params& p) {
        Bits* place = (Bits*)to + at;
        const Item sum = count ? plus(Item(0), item) : Item(0);
        if (!(p.flags & ADDS)) {
            *place = F::store(sum, p);
        } else if (count) {
            *place = F::store(plus(F::load(*place, p), sum), p);
        }
    }
};

// Elements of `pass` bytes, for kernels that serve all types and decide at run time.
__device__ __forceinline__ u64 load_bytes(const void* from, u64 at, u32 len_bytes) {
    return len_bytes == 1   ? ((const u8*)from)[at]
           : len_bytes == 2 ? ((const u16*)from)[at]
           : len_bytes == 4 ? ((const u32*)from)[at]
                            : ((const u64*)from)[at];
}

struct Total {
    static const bool IS_ORDERED = false;
    static const int PIECES = 4;
    typedef u64 Item;
    static __device__ __forceinline__ u64 none() { return 0; }
    static __device__ __forceinline__ u64 load(u64 from, u64 at, const Params& p) {
        const u64 bits = load_bytes((const void*)from, at, p.pass);
        return p.pass == 1   ? value((u8)bits, p)
               : p.pass == 2 ? value((u16)bits, p)
               : p.pass == 4 ? value((u32)bits, p)
                             : bits;
    }
    static __device__ __forceinline__ u64 stream(u64 from, u64 at, const Params& p) { return load(from, at, p); }
    static __device__ __forceinline__ u64 add(u64 a, u64 b) { return a + b; }
    static __device__ __forceinline__ void store(u64 to, u64 at, u64 item, u64, const Params&) { ((u64*)to)[at] = item; }
};

struct Extreme {
    static const bool IS_ORDERED = false;
    static const int PIECES = 4;
    typedef u64 Item;
    static __device__ __forceinline__ u64 none() { return 0; }
    static __device__ __forceinline__ u64 load(u64 from, u64 at, const Params& p) {
        const u64 bits = load_bytes((const void*)from, at, p.pass);
        return p.pass == 1   ? Byte::rank((u8)bits, p)
               : p.pass == 2 ? Short::rank((u16)bits, p)
               : p.pass == 4 ? (p.infinity ? Float<u32>::rank((u32)bits, p) : Whole<u32>::rank((u32)bits, p))
                             : (p.infinity ? Float<u64>::rank(bits, p) : Whole<u64>::rank(bits, p));
    }
    static __device__ __forceinline__ u64 add(u64 a, u64 b) { return greatest(a, b); }
    static __device__ __forceinline__ void store(u64 to, u64 at, u64 item, u64 count, const Params& p) {
        if (p.pass == 1) {
            ((u8*)to)[at] = count ? Byte::of_rank((u8)item, p) : 0;
        } else if (p.pass == 2) {
            ((u16*)to)[at] = count ? Short::of_rank((u16)item, p) : 0;
        } else if (p.pass == 4) {
            const u32 rank = (u32)item;
            ((u32*)to)[at] = !count ? 0 : p.infinity ? Float<u32>::of_rank(rank, p) : Whole<u32>::of_rank(rank, p);
        } else {
            ((u64*)to)[at] = !count ? 0 : p.infinity ? Float<u64>::of_rank(item, p) : Whole<u64>::of_rank(item, p);
        }
    }
};

// ---- positions ----

// The elements of a column of a group.
template <class C> struct Column {
    u64 memory, first, inner, count;
    // The rows; or null, and then they are the rows from `first` on.
    const u32* order;

    // Makes item `number` of outer × lines × inner. a: outer × line_len × inner elements; b: order or 0;
    // offsets: lines + 1 of i64.
    static __device__ __forceinline__ Column of(const Params& p, u64 number) {
        const u64 slice = p.inner == 1 ? number : number / p.inner, c = number - slice * p.inner;
        const u64 outer = p.outer == 1 ? 0 : slice / p.lines, group = slice - outer * p.lines;
        const i64 first = ((const i64*)p.offsets)[group], end = ((const i64*)p.offsets)[group + 1];
        // If offsets fall or leave the elements, the group is empty.
        const bool is_right = first >= 0 && first <= end && end <= (i64)p.line_len;
        const u64 row = is_right ? (u64)first : 0;
        Column found;
        found.memory = p.a;
        found.inner = p.inner;
        found.count = is_right ? (u64)(end - first) : 0;
        found.order = p.b ? (const u32*)p.b + row : nullptr;
        found.first = (outer * p.line_len + (p.b ? 0 : row)) * p.inner + c;
        return found;
    }

    __device__ __forceinline__ typename C::Item at(u64 row, const Params& p) const {
        return C::load(memory, first + (order ? order[row] : row) * inner, p);
    }
};

// Row `row` of a column, if slices have one element. ORDERED: rows are named by positions.
template <class C, bool ORDERED> __device__ __forceinline__ typename C::Item row_of(const Column<C>& x, u64 row, const Params& p) {
    return C::load(p.a, x.first + (ORDERED ? x.order[row] : row), p);
}

// Adds results in pairs, as they come: each full level is combined with the new result.
template <class C, int LEVELS> struct Pairs {
    typename C::Item level[LEVELS];
    u32 count = 0;

    __device__ __forceinline__ void push(typename C::Item item) {
#pragma unroll
        for (int at = 0; at < LEVELS; at++) {
            if (count >> at & 1) {
                item = C::add(level[at], item);
            } else {
                level[at] = item;
                break;
            }
        }
        count++;
    }

    __device__ __forceinline__ typename C::Item end() const {
        typename C::Item sum = C::none();
        bool any = false;
#pragma unroll
        for (int at = 0; at < LEVELS; at++) {
            if (count >> at & 1) {
                sum = any ? C::add(level[at], sum) : level[at];
                any = true;
            }
        }
        return sum;
    }
};
