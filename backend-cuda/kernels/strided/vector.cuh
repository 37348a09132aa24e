// Finds the elements of a vector in a tile, puts them together, and stores vectors in part.
#pragma once
#include "tile.cuh"

enum Mode { LINEAR, PERIODIC, TABLE, WIDE_TABLE };

// The element at byte `at` of shared memory. `at` is a number, because the access itself can add a
// constant to a number; with a pointer that would take an instruction.
template <typename T>
__device__ __forceinline__ T element(u32 at) {
    return *static_cast<const T*>(__cvta_shared_to_generic(at));
}

// Adds one half of a word to a number, in one instruction.
__device__ __forceinline__ u32 add_half(u32 number, u32 word, int half) {
    u32 sum;
    asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(word), "r"(half == 0 ? 0x0001 : 0x0100), "r"(number));
    return sum;
}

#if ELEMENT_BYTES == 1
// Elements 0 to 3 of a word, the first at byte x.
__device__ __forceinline__ u32 gather_word(u32 x, const int (&at)[4]) {
    Type byte[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        byte[j] = element<Type>(x + at[j]);
    }
    return pack4(byte);
}

// The elements of a vector, gathered word by word from word `rotation` modulo 4 on. BYTES: within
// each word from byte `rotate_bytes` on. FUSED: elements from `before` on lie `fused_x` further.
template <bool FUSED, bool BYTES>
__device__ __forceinline__ uint4 gather_rotated(const TileParams& p, u32 x, int before, u32 rotation, u32 rotate_bytes) {
    int at[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        at[j] = BYTES ? static_cast<int>((j + rotate_bytes) % 4) * p.element_x : p.element_at[j];
    }
    u32 word[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const u32 number = (i + rotation) % 4;
        const u32 from = FUSED && static_cast<int>(4 * number) >= before ? x + p.fused_x : x;
        word[i] = gather_word(from + number * p.element_at[4], at);
        word[i] = BYTES ? __funnelshift_l(word[i], word[i], 8 * rotate_bytes) : word[i];
    }
    const bool one = rotation & 1, two = rotation & 2;
    const u32 a = one ? word[3] : word[0], b = one ? word[0] : word[1], c = one ? word[1] : word[2], d = one ? word[2] : word[3];
    uint4 value = make_uint4(two ? c : a, two ? d : b, two ? a : c, two ? b : d);
    if (FUSED && 0 < before && before < V && before % 4 != 0) { // the one word within which the first axis ends
        const u32 number = before / 4, mask = ~0u << before % 4 * 8;
        u32 rest = gather_word(x + p.fused_x + number * p.element_at[4], at);
        rest = (BYTES ? __funnelshift_l(rest, rest, 8 * rotate_bytes) : rest) & mask;
        value.x = number == 0 ? (value.x & ~mask) | rest : value.x;
        value.y = number == 1 ? (value.y & ~mask) | rest : value.y;
        value.z = number == 2 ? (value.z & ~mask) | rest : value.z;
        value.w = number == 3 ? (value.w & ~mask) | rest : value.w;
    }
    return value;
}
#endif

// Elements 0 to V - 1 of a vector, one step apart, the first at byte x. FUSED: those from `before`
// on lie `fused_x` further.
template <bool FUSED>
__device__ __forceinline__ uint4 gather_steps(const TileParams& p, u32 x, int before) {
#if ELEMENT_BYTES == 1
    return gather_rotated<FUSED, false>(p, x, before, 0, 0);
#else
    Type value[V];
#pragma unroll
    for (int j = 0; j < V; j++) {
        value[j] = element<Type>((FUSED && j >= before ? x + p.fused_x : x) + p.element_at[j]);
    }
    return pack<WIDTH>(value);
#endif
}

// Gathers by a table, which gives the distance of each from x: V entries, for element `first` of the
// run and on.
template <Mode MODE, bool SHIFTED, bool FUSED>
__device__ __forceinline__ uint4 gather_tabulated(const TileParams& p, const u16* table, u32 x, int before, int first) {
    const u32 period = divide(static_cast<u32>(max(first, 0)), p.period);
    x += period * p.period_x;
    const int entry = first - static_cast<int>(period * p.period.divisor);
    table += MODE == WIDE_TABLE ? 0 : entry;
    constexpr bool HALVES = MODE == WIDE_TABLE || (!SHIFTED && V >= 4);
    u32 at[V]; // HALVES: two in each
    if constexpr (MODE == WIDE_TABLE) {
        // The entries lie anywhere: aligned vectors around them, shifted into place. What follows the table is data.
        const uint4* words = reinterpret_cast<const uint4*>(table + (entry & ~7));
        const u32 shift = static_cast<u32>(entry & 7) * 2;
        uint4 low = words[0];
#pragma unroll
        for (int j = 0; j < V / 2; j += 4) {
            const uint4 high = words[j / 4 + 1], four = funnel(low, high, shift);
            at[j] = four.x, at[j + 1] = four.y, at[j + 2] = four.z, at[j + 3] = four.w;
            low = high;
        }
    } else if constexpr (HALVES && V == 4) {
        const uint2 two = *reinterpret_cast<const uint2*>(table);
        at[0] = two.x, at[1] = two.y;
    } else if constexpr (HALVES) {
#pragma unroll
        for (int j = 0; j < V / 2; j += 4) {
            const uint4 four = reinterpret_cast<const uint4*>(table)[j / 4];
            at[j] = four.x, at[j + 1] = four.y, at[j + 2] = four.z, at[j + 3] = four.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < V; j++) {
            at[j] = table[j];
        }
    }
    Type value[V];
#pragma unroll
    for (int j = 0; j < V; j++) {
        const u32 from = FUSED && j >= before ? x + p.fused_x : x;
        value[j] = element<Type>(HALVES ? add_half(from, at[j / 2], j % 2) : from + at[j]);
    }
    return pack<WIDTH>(value);
}

// Does what store_part() does, but in fewer instructions if the lanes of a warp have different
// parts: stores whole words, then the bytes before and after them. It takes more registers than
// packed kernels have left.
__device__ __forceinline__ void store_ends(char* at, uint4 value, int low, int high) {
    const u32 word[4] = {value.x, value.y, value.z, value.w};
    const auto word_of = [&](int b) { return b < 8 ? (b < 4 ? word[0] : word[1]) : (b < 12 ? word[2] : word[3]); };
    low = max(low, 0), high = min(high, 16);
#pragma unroll
    for (int b = 0; b < 16; b += 4) {
        if (low <= b && b + 4 <= high) {
            *reinterpret_cast<u32*>(at + b) = word[b / 4];
        }
    }
    const int first = (low + 3) & ~3, last = high & ~3; // where whole words begin and end, if there are any
    if (low < min(first, high)) {
        const int end = min(first, high);
        const u32 bytes = word_of(low);
        const int middle = (low + 1) & ~1;
        if (low < middle) {
            at[low] = static_cast<char>(bytes >> (low & 3) * 8);
        }
        if (middle + 2 <= end) {
            *reinterpret_cast<u16*>(at + middle) = static_cast<u16>(bytes >> 16);
        } else if (middle < end) {
            at[middle] = static_cast<char>(bytes >> (middle & 3) * 8);
        }
    }
    if (first <= last && last < high) {
        const u32 bytes = word_of(last);
        const int middle = high & ~1;
        if (last < middle) {
            *reinterpret_cast<u16*>(at + last) = static_cast<u16>(bytes);
        }
        if (middle < high) {
            at[middle] = static_cast<char>(bytes >> (middle & 3) * 8);
        }
    }
}
