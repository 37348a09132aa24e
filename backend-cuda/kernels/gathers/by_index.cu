// Picks elements by index, and puts them by index. A thread moves one element per turn; every side
// may have any layout.
//
// A launch goes through a few axes, innermost first. Along each, every side has a step in bytes, so
// the same code picks rows, one index for each element, and positions of a flattened array. An
// element is the widest piece that the elements of one index allow: neighbouring threads move rows
// of 1 KiB 16 bytes at a time.
//
// The time goes into waiting, first for an index and then for the element that it names. So each
// thread has several of both on their way. The kernels that nearly all calls need (`near`) take few
// registers, so that a multiprocessor holds many threads: they serve at most two axes, steps and
// indices that fit 32 bits, and indices along one axis. For rows of 1 KiB they reach 0.98 of a copy
// on an H200; `any` reaches 0.71.

#include "params.cuh"
#include "told.cuh"

// The position of an element on every side.
struct Place {
    i64 indexed, elements, indices, mask;
};

__device__ __forceinline__ u32 divide(u32 n, const Axis& by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

// The positions of a thread's elements. Each axis is read once for all of them. Positions beyond
// the last element are never used.
template <bool MASKED>
__device__ __forceinline__ void places(const Params& p, u32 first, Place (&at)[TURNS]) {
    u32 left[TURNS];
#pragma unroll
    for (int t = 0; t < TURNS; t++) {
        left[t] = first + t * THREADS;
        at[t] = {0, 0, 0, 0};
    }
#pragma unroll 1
    for (u32 k = 0; k < p.axes; k++) {
        const Axis& axis = p.at[k];
        const u32 divisor = axis.divisor, multiplier = axis.multiplier, shift = axis.shift;
        const i64 indexed = axis.indexed, elements = axis.elements, indices = axis.indices, mask = MASKED ? axis.mask : 0;
#pragma unroll
        for (int t = 0; t < TURNS; t++) {
            const u32 next = (__umulhi(left[t], multiplier) + left[t]) >> shift;
            const i64 c = left[t] - next * divisor;
            at[t].indexed += c * indexed;
            at[t].elements += c * elements;
            at[t].indices += c * indices;
            if (MASKED) {
                at[t].mask += c * mask;
            }
            left[t] = next;
        }
    }
}

// Rarely needed functions are not inlined, so that they are compiled once and not in every turn of
// every kernel: the driver compiles this text when it is first used.

// The position of an element's index, and where its index, counted from 0, notes its winner.
struct Noted {
    u64 position, winner;
};

__device__ __noinline__ Noted noted(const Params& p, u32 item) {
    Noted at = {p.position, 0};
#pragma unroll 1
    for (u32 k = 0; k < p.axes; k++) {
        const Axis& axis = p.at[k];
        const u32 next = divide(item, axis);
        const u32 c = item - next * axis.divisor;
        at.position += c * axis.position;
        at.winner += c * axis.winner;
        item = next;
    }
    return at;
}

__device__ __noinline__ i64 wrapped(i64 index, i64 bound) {
    const i64 rest = index % bound;
    return rest < 0 ? rest + bound : rest;
}

// The distance from the element of index 0 to the element of an index over several axes.
__device__ __noinline__ i64 distance_over_axes(const Params& p, u64 left) {
    i64 distance = 0;
#pragma unroll 1
    for (u32 k = 0; k < p.indexed_axes; k++) {
        const u64 next = left / p.indexed_axis[k].extent;
        distance += static_cast<i64>(left - next * p.indexed_axis[k].extent) * p.indexed_axis[k].stride;
        left = next;
    }
    return distance;
}

__device__ __noinline__ void tell_of(const Params& p, u32 item, i64 index) {
    tell(p, noted(p, item).position, index);
}

__device__ __forceinline__ i64 load_index(const Params& p, i64 at) {
    const char* index = p.indices + at;
    if (p.index_type == 2) {
        return *reinterpret_cast<const i64*>(index);
    }
    const u32 bits = *reinterpret_cast<const u32*>(index);
    return p.index_type == 1 ? static_cast<i64>(bits) : static_cast<i64>(static_cast<int>(bits));
}

// The index that is meant; -1 if it is out of range and that is an error.
__device__ __forceinline__ i64 resolve(const Params& p, i64 index) {
    const i64 bound = p.bound;
    if (static_cast<u64>(index) < static_cast<u64>(bound)) {
        return index;
    }
    if (p.mode == 0) {
        const i64 found = index < 0 ? index + bound : -1;
        return found < 0 ? -1 : found;
    }
    if (p.mode == 1) {
        return wrapped(index, bound);
    }
    return index < 0 ? 0 : bound - 1;
}

// The distance from the element of index 0 to the element of an index.
__device__ __forceinline__ i64 distance(const Params& p, i64 index) {
    if (p.indexed_axes == 1) {
        return index * p.indexed_axis[0].stride;
    }
    return distance_over_axes(p, static_cast<u64>(index));
}

template <int WIDTH>
struct Element;
template <>
struct Element<1> {
    typedef u8 Type;
    static __device__ __forceinline__ Type zero() { return 0; }
};
template <>
struct Element<2> {
    typedef u16 Type;
    static __device__ __forceinline__ Type zero() { return 0; }
};
template <>
struct Element<4> {
    typedef u32 Type;
    static __device__ __forceinline__ Type zero() { return 0; }
};
template <>
struct Element<8> {
    typedef uint2 Type;
    static __device__ __forceinline__ Type zero() { return make_uint2(0, 0); }
};
template <>
struct Element<16> {
    typedef uint4 Type;
    static __device__ __forceinline__ Type zero() { return make_uint4(0, 0, 0, 0); }
};

// Moves the elements of a thread of `take`, along any axes.
template <int WIDTH>
__device__ __noinline__ void take_any(const Params& p, u32 first) {
    typedef typename Element<WIDTH>::Type Type;
    Place at[TURNS];
    places<false>(p, first, at);
    i64 index[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        index[k] = first + k * THREADS < p.total ? load_index(p, at[k].indices) : 0;
    }
    Type element[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        element[k] = Element<WIDTH>::zero();
        if (first + k * THREADS < p.total) {
            const i64 meant = resolve(p, index[k]);
            if (meant >= 0) {
                element[k] = *reinterpret_cast<const Type*>(p.indexed + at[k].indexed + distance(p, meant));
            } else {
                tell_of(p, first + k * THREADS, index[k]);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        if (first + k * THREADS < p.total) {
            __stcs(reinterpret_cast<Type*>(p.elements + at[k].elements), element[k]);
        }
    }
}

// Moves the elements of a thread of `put`, along any axes.
template <int WIDTH>
__device__ __noinline__ void put_any(const Params& p, u32 first) {
    typedef typename Element<WIDTH>::Type Type;
    Place at[TURNS];
    places<true>(p, first, at);
    i64 index[TURNS];
    bool chosen[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        chosen[k] = first + k * THREADS < p.total && (p.mask == nullptr || p.mask[at[k].mask] != 0);
    }
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        index[k] = chosen[k] ? load_index(p, at[k].indices) : 0;
    }
    Type element[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        if (!chosen[k]) {
            continue;
        }
        const u32 item = first + k * THREADS;
        const i64 meant = resolve(p, index[k]);
        if (meant < 0) {
            tell_of(p, item, index[k]);
            chosen[k] = false;
            continue;
        }
        if (p.winners != nullptr) {
            const Noted of = noted(p, item);
            if (p.winners[of.winner + meant] != of.position + 1) {
                chosen[k] = false;
                continue;
            }
        }
        at[k].indexed += distance(p, meant);
        element[k] = *reinterpret_cast<const Type*>(p.elements + at[k].elements);
    }
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        if (chosen[k]) {
            *reinterpret_cast<Type*>(p.indexed + at[k].indexed) = element[k];
        }
    }
}

// The elements of a thread along at most two axes: two numbers each.
struct Near {
    int outer[TURNS], inner[TURNS];

    __device__ __forceinline__ Near(const Params& p, u32 first) {
#pragma unroll
        for (int t = 0; t < TURNS; t++) {
            const u32 item = first + t * THREADS, next = divide(item, p.at[0]);
            outer[t] = static_cast<int>(next);
            inner[t] = static_cast<int>(item - next * p.at[0].divisor);
        }
    }

    // The distance of element `t` along a side, given the steps along the inner and the outer axis.
    __device__ __forceinline__ i64 far(int t, i64 of_inner, i64 of_outer) const {
        return static_cast<i64>(inner[t]) * static_cast<int>(of_inner) +
               static_cast<i64>(outer[t]) * static_cast<int>(of_outer);
    }
};

#define FAR(at, t, side) (at).far(t, p.at[0].side, p.at[1].side)

// The index that is meant, if finding it takes no division. The caller checks that it is in range.
__device__ __forceinline__ i64 nearly(const Params& p, i64 index) {
    const i64 bound = p.bound;
    if (static_cast<u64>(index) < static_cast<u64>(bound)) {
        return index;
    }
    if (p.mode == 2) {
        return index < 0 ? 0 : bound - 1;
    }
    return index < 0 ? index + bound : p.mode == 1 ? index - bound : index;
}

template <int WIDTH>
__device__ __forceinline__ void take_near(const Params& p, u32 first) {
    typedef typename Element<WIDTH>::Type Type;
    const Near at(p, first);
    i64 index[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        index[k] = first + k * THREADS < p.total ? load_index(p, FAR(at, k, indices)) : 0;
    }
    int meant[TURNS];
    bool all = true;
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        const i64 near = nearly(p, index[k]);
        all &= static_cast<u64>(near) < static_cast<u64>(p.bound);
        meant[k] = static_cast<int>(near);
    }
    if (!all) {
        take_any<WIDTH>(p, first);
        return;
    }
    Type element[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        if (first + k * THREADS < p.total) {
            const i64 distance = static_cast<i64>(meant[k]) * static_cast<int>(p.indexed_axis[0].stride);
            element[k] = *reinterpret_cast<const Type*>(p.indexed + distance + FAR(at, k, indexed));
        }
    }
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        if (first + k * THREADS < p.total) {
            __stcs(reinterpret_cast<Type*>(p.elements + FAR(at, k, elements)), element[k]);
        }
    }
}

// Puts without winners.
template <int WIDTH>
__device__ __forceinline__ void put_near(const Params& p, u32 first) {
    typedef typename Element<WIDTH>::Type Type;
    const Near at(p, first);
    bool chosen[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        chosen[k] = first + k * THREADS < p.total && (p.mask == nullptr || p.mask[FAR(at, k, mask)] != 0);
    }
    i64 index[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        index[k] = chosen[k] ? load_index(p, FAR(at, k, indices)) : 0;
    }
    int meant[TURNS];
    bool all = true;
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        const i64 near = nearly(p, index[k]);
        all &= static_cast<u64>(near) < static_cast<u64>(p.bound);
        meant[k] = static_cast<int>(near);
    }
    if (!all) {
        put_any<WIDTH>(p, first);
        return;
    }
    Type element[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        if (chosen[k]) {
            element[k] = *reinterpret_cast<const Type*>(p.elements + FAR(at, k, elements));
        }
    }
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        if (chosen[k]) {
            const i64 distance = static_cast<i64>(meant[k]) * static_cast<int>(p.indexed_axis[0].stride);
            *reinterpret_cast<Type*>(p.indexed + distance + FAR(at, k, indexed)) = element[k];
        }
    }
}

// For each place, notes the last of the indices that name it.
extern "C" __global__ __launch_bounds__(THREADS) void last_of_each(const __grid_constant__ Params p) {
    const u32 first = blockIdx.x * (THREADS * TURNS) + threadIdx.x;
    Place here[TURNS];
    places<true>(p, first, here);
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        const u32 item = first + k * THREADS;
        if (item >= p.total || (p.mask != nullptr && p.mask[here[k].mask] == 0)) {
            continue;
        }
        // `put` reports indices out of range.
        const i64 meant = resolve(p, load_index(p, here[k].indices));
        if (meant >= 0) {
            const Noted at = noted(p, item);
            atomicMax(&p.winners[at.winner + meant], at.position + 1);
        }
    }
}

#define KERNEL(NAME, WORK, WIDTH, RESIDENT)                                                                               \
    extern "C" __global__ __launch_bounds__(THREADS, RESIDENT) void NAME##_##WIDTH(const __grid_constant__ Params p) { \
        WORK<WIDTH>(p, blockIdx.x * (THREADS * TURNS) + threadIdx.x);                                                  \
    }
// Blocks at once: as many as have their elements in registers. By the H200's copy, rows of 1 KiB are
// taken at 0.91, 0.96, 0.98 and 0.61 with 4, 5, 6 and 8, and put at 0.98, 0.97, 0.76 and 0.52; single
// f32 are taken at 0.59, 0.68, 0.76 and 0.87, and put at 0.82, 0.91, 0.96 and 0.80.
#define OF_WIDTH(WIDTH, TAKES, PUTS)              \
    KERNEL(take, take_any, WIDTH, 3)              \
    KERNEL(put, put_any, WIDTH, 3)                \
    KERNEL(take_near, take_near, WIDTH, TAKES)    \
    KERNEL(put_near, put_near, WIDTH, PUTS)

OF_WIDTH(1, 8, 6)
OF_WIDTH(2, 8, 6)
OF_WIDTH(4, 8, 6)
OF_WIDTH(8, 8, 6)
OF_WIDTH(16, 6, 5)

#include "select.cuh"
#include "sent.cuh"
