// Transposes and stores words that hold one element from each of several neighbouring runs.
// Elements have WIDTH bytes.
#pragma once
#include "common.cuh"

// The number of elements of neighbouring runs in one word of a row.
constexpr u32 GROUP = WIDTH == 1 ? 4 : 2;
typedef Element<WIDTH * GROUP>::Type Word;

// Transposes words: out[k] holds the elements of run k, in the order of `word`.
template <int STORE, typename T>
__device__ __forceinline__ void transpose_words(const T* word, u32 (&out)[GROUP][STORE / 4]) {
#pragma unroll
    for (int i = 0; i < STORE / 4; i++) {
        if constexpr (sizeof(T) == 4 && WIDTH == 1) {
            const u32 a = word[4 * i], b = word[4 * i + 1], c = word[4 * i + 2], d = word[4 * i + 3];
            const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
            const u32 ab2 = __byte_perm(a, b, 0x7362), cd2 = __byte_perm(c, d, 0x7362);
            out[0][i] = __byte_perm(ab, cd, 0x5410);
            out[1][i] = __byte_perm(ab, cd, 0x7632);
            out[GROUP - 2][i] = __byte_perm(ab2, cd2, 0x5410);
            out[GROUP - 1][i] = __byte_perm(ab2, cd2, 0x7632);
        } else if constexpr (sizeof(T) == 4) {
            out[0][i] = __byte_perm(word[2 * i], word[2 * i + 1], 0x5410);
            out[1][i] = __byte_perm(word[2 * i], word[2 * i + 1], 0x7632);
        } else if constexpr (sizeof(T) == 8) {
            out[0][i] = word[i].x;
            out[1][i] = word[i].y;
        } else {
            out[0][i] = i % 2 == 0 ? word[i / 2].x : word[i / 2].y;
            out[1][i] = i % 2 == 0 ? word[i / 2].z : word[i / 2].w;
        }
    }
}

// Stores STORE bytes of a run, or only its first `elements` elements if they are fewer.
template <int STORE>
__device__ __forceinline__ void store_words(char* to, const u32 (&out)[STORE / 4], int elements) {
    if constexpr (STORE == 16) {
        const uint4 value = make_uint4(out[0], out[1], out[2], out[3]);
        if (elements >= STORE / WIDTH) {
            store16(to, value);
        } else {
            store_part(to, value, 0, elements * WIDTH);
        }
    } else if (elements >= STORE / WIDTH) {
        if constexpr (STORE == 8) {
            *reinterpret_cast<uint2*>(to) = make_uint2(out[0], out[1]);
        } else {
            *reinterpret_cast<u32*>(to) = out[0];
        }
    } else {
#pragma unroll
        for (int i = 0; i < STORE - 1; i++) {
            if (i < elements * WIDTH) {
                to[i] = static_cast<char>(out[i / 4] >> i % 4 * 8);
            }
        }
    }
}
