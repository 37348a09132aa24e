// Code that the strided copy kernels share: parameters, exact division, and 16-byte access at any
// alignment.
//
// No kernel knows a type: an element is 1, 2, 4, 8 or 16 bytes, aligned to its width on both sides. A kernel reads
// nothing outside [src_begin, src_end), the span of the source view, and writes nothing but the elements of the copy.
// Inside that span it may read gap bytes that are not part of the view, and drops them.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define THREADS 256

// On generation 9, a launch may begin while the launch before it in its stream still runs. Every
// thread calls this before it touches memory that other launches use. Afterwards the launch before
// is done, and its writes are visible. The next launch may begin once all blocks have called this
// and some have made room.
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Large sources are loaded with evict-last priority, so that writes do not push their lines out before the
// whole line was read. Afterwards evict_normally() resets the priority: otherwise later kernels would have
// less of the cache.
__device__ __forceinline__ u64 evict_last() {
    u64 policy = 0;
#if __CUDA_ARCH__ >= 900
    // The policy is made where it is used: NVRTC 12.0 compiles a policy that it keeps in a uniform register
    // to an illegal instruction.
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}

#define LINE 128
#define SECTOR 32

// Resets the priority of the line around `at`.
__device__ __forceinline__ void evict_normally(const char* at) {
#if __CUDA_ARCH__ >= 900
    const u64 line = reinterpret_cast<u64>(at) & ~static_cast<u64>(LINE - 1);
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(line) : "memory");
#endif
}

// Division by a constant that is known at launch: n / d for n and d below 2^31, by multiplication.
struct FastDiv {
    u32 divisor, multiplier, shift;
};

__device__ __forceinline__ u32 divide(u32 n, const FastDiv& by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

// One loop of the copy: its extent, and bytes per step on each side.
struct Loop {
    FastDiv extent;
    u32 unused;
    i64 src, dst;
};

// The operands with which every parameter block starts.
struct Operands {
    const char* src;
    char* dst;
    const char* src_begin;
    const char* src_end;
};

template <int WIDTH>
struct Element;
template <>
struct Element<1> {
    typedef u8 Type;
};
template <>
struct Element<2> {
    typedef u16 Type;
};
template <>
struct Element<4> {
    typedef u32 Type;
};
template <>
struct Element<8> {
    typedef uint2 Type;
};
template <>
struct Element<16> {
    typedef uint4 Type;
};

// Loads the 16 bytes at `at`, a multiple of 16. It does not use the read-only path, because the launch before
// may have written them after this one began.
__device__ __forceinline__ uint4 load16(const char* at) {
    return *reinterpret_cast<const uint4*>(at);
}

// Bytes `from` to `from` + 15 of the 32 bytes low, high; 0 <= from < 16.
__device__ __forceinline__ uint4 funnel(uint4 low, uint4 high, u32 from) {
    u32 w0 = low.x, w1 = low.y, w2 = low.z, w3 = low.w, w4 = high.x, w5 = high.y, w6 = high.z, w7 = high.w;
    if (from & 8) {
        w0 = w2, w1 = w3, w2 = w4, w3 = w5, w4 = w6, w5 = w7;
    }
    if (from & 4) {
        w0 = w1, w1 = w2, w2 = w3, w3 = w4, w4 = w5;
    }
    const u32 bits = (from & 3) * 8;
    return make_uint4(__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits), __funnelshift_r(w2, w3, bits),
                      __funnelshift_r(w3, w4, bits));
}

// Loads the aligned 16 bytes at `at`. Bytes outside [begin, end) are not read, and become 0.
__device__ __forceinline__ uint4 load16_inside(const char* at, const char* begin, const char* end) {
    if (at >= begin && at + 16 <= end) {
        return load16(at);
    }
    u64 low = 0, high = 0;
#pragma unroll 1
    for (int i = 15; i >= 0; i--) {
        high = high << 8 | low >> 56;
        low <<= 8;
        if (at + i >= begin && at + i < end) {
            low |= *reinterpret_cast<const u8*>(at + i);
        }
    }
    return make_uint4(static_cast<u32>(low), static_cast<u32>(low >> 32), static_cast<u32>(high),
                      static_cast<u32>(high >> 32));
}

__device__ __forceinline__ void store16(char* at, uint4 value) {
    *reinterpret_cast<uint4*>(at) = value;
}

// Stores the bytes [low, high) of `value` in the largest words that fit. Its byte 0 belongs at
// `at`, a multiple of 16.
__device__ __forceinline__ void store_part(char* at, uint4 value, int low, int high) {
    const u32 word[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int b = 4 * i;
        if (low <= b && b + 4 <= high) {
            *reinterpret_cast<u32*>(at + b) = word[i];
            continue;
        }
#pragma unroll
        for (int h = b; h < b + 4; h += 2) {
            const u32 half = word[i] >> (h - b) * 8;
            if (low <= h && h + 2 <= high) {
                *reinterpret_cast<u16*>(at + h) = static_cast<u16>(half);
            } else if (low <= h && h < high) {
                at[h] = static_cast<char>(half);
            } else if (low <= h + 1 && h + 1 < high) {
                at[h + 1] = static_cast<char>(half >> 8);
            }
        }
    }
}

// Packs four bytes into one word.
__device__ __forceinline__ u32 pack4(const u8* v) {
    return __byte_perm(__byte_perm(v[0], v[1], 0x0040), __byte_perm(v[2], v[3], 0x0040), 0x5410);
}

// Packs every STEP-th byte of `word`, four from byte `first` on, into one word.
template <int STEP>
__device__ __forceinline__ u32 pick4(const u32* word, int first) {
    const int a = first, b = a + STEP, c = b + STEP, d = c + STEP;
    const u32 low = __byte_perm(word[a / 4], word[b / 4], a % 4 | (4 + b % 4) << 4);
    const u32 high = __byte_perm(word[c / 4], word[d / 4], c % 4 | (4 + d % 4) << 4);
    return __byte_perm(low, high, 0x5410);
}

// 16 / WIDTH elements as one vector.
template <int WIDTH>
__device__ __forceinline__ uint4 pack(const typename Element<WIDTH>::Type* v) {
    if constexpr (WIDTH == 16) {
        return v[0];
    } else if constexpr (WIDTH == 8) {
        return make_uint4(v[0].x, v[0].y, v[1].x, v[1].y);
    } else if constexpr (WIDTH == 4) {
        return make_uint4(v[0], v[1], v[2], v[3]);
    } else {
        u32 word[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if constexpr (WIDTH == 2) {
                word[i] = __byte_perm(v[2 * i], v[2 * i + 1], 0x5410);
            } else {
                word[i] = pack4(v + 4 * i);
            }
        }
        return make_uint4(word[0], word[1], word[2], word[3]);
    }
}
