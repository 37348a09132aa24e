// In texts that are MAPPED, elements are given to a function, whose own text comes in the place of a marker
// when it is known.
#pragma once

#include "place.cuh"

#ifdef MAPPED
// A marker: the row and the column of the first of some elements that are side by side in a row of the
// result, how many columns there are from it on, the number of the matrix, and the elements as they would
// be stored.
#define MARK(TYPE, CONSTRAINT)                                                                               \
    __device__ __forceinline__ void mark(const TYPE(&of)[1], u32 row, u32 column, u32 left, u32 number) {    \
        asm volatile("//@map %0 %1 %2 %3 %4" ::"r"(row), "r"(column), "r"(left), "r"(number),                \
                     CONSTRAINT(of[0]) : "memory");                                                          \
    }                                                                                                        \
    __device__ __forceinline__ void mark(const TYPE(&of)[2], u32 row, u32 column, u32 left, u32 number) {    \
        asm volatile("//@map %0 %1 %2 %3 %4 %5" ::"r"(row), "r"(column), "r"(left), "r"(number),             \
                     CONSTRAINT(of[0]), CONSTRAINT(of[1]) : "memory");                                       \
    }                                                                                                        \
    __device__ __forceinline__ void mark(const TYPE(&of)[4], u32 row, u32 column, u32 left, u32 number) {    \
        asm volatile("//@map %0 %1 %2 %3 %4 %5 %6 %7" ::"r"(row), "r"(column), "r"(left), "r"(number),       \
                     CONSTRAINT(of[0]), CONSTRAINT(of[1]), CONSTRAINT(of[2]), CONSTRAINT(of[3]) : "memory"); \
    }
MARK(u32, "r")
MARK(u64, "l")

// Elements as numbers of a function's input: floats as what they are stored as, integers with zeros above.
template <class K, int COUNT, class N>
__device__ __forceinline__ void map_elements(const N (&from)[COUNT], u32 row, u32 column, u32 left, u32 number) {
    typedef decltype(bits(typename K::Stored())) B;
    B of[COUNT];
#pragma unroll
    for (int c = 0; c < COUNT; c++) {
        of[c] = bits(K::store(canonical(from[c])));
    }
    mark(of, row, column, left, number);
}

template <int NUMBER> struct Int { static const int value = NUMBER; };

// Calls `take` with a number that the compiler knows.
template <int COUNT, class F> __device__ __forceinline__ void pick(int number, const F& take) {
#define PICK(N)                       \
    case N:                           \
        if constexpr (N < COUNT) {    \
            take(Int<N>());           \
        }                             \
        break;
#define PICKS(N) PICK(N) PICK(N + 1) PICK(N + 2) PICK(N + 3) PICK(N + 4) PICK(N + 5) PICK(N + 6) PICK(N + 7)
    static_assert(COUNT <= 32, "as many cases");
    switch (number) {
        PICKS(0)
        PICKS(8)
        PICKS(16)
        PICKS(24)
    }
}

// What a thread has computed: PACKS times COUNT neighbours of a row. `place_of` gives row and column of a
// pack in the tile, `take` its elements.
//
// The function comes once, in a loop: elements are in registers, which have no numbers at run time. The
// place is made again, so that registers hold nothing of it while the tile is multiplied.
template <class P, int PACKS, int COUNT, class W, class T>
__device__ __forceinline__ void finish(const Params& p, const W& place_of, const T& take) {
    u32 block;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    const P place(p, block);
    typename P::N of[COUNT];
#pragma unroll 1
    for (int pack = 0; pack < PACKS; pack++) {
        pick<PACKS>(pack, [&](auto known) { take(decltype(known)::value, of); });
        const uint2 at = place_of(pack);
        if (place.stores) {
            place.template put<COUNT>(at.x, at.y, of);
        } else if (at.x < place.rows && at.y < place.columns) {
            map_elements<typename P::Kind>(of, place.first_row + at.x, place.first_column + at.y, place.columns - at.y,
                                           place.number);
        }
    }
}
#endif
