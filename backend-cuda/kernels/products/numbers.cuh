// The parameter of products, as in `product/params.rs`, and the numbers they are made of.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

const int MAX_BATCH_AXES = 16;

struct FastDiv {
    u32 divisor, multiplier, shift;
};

// An axis of the batch, and the step of each side along it, in elements.
struct BatchAxis {
    FastDiv by;
    u32 unused;
    i64 a, b, y;
};

struct Params {
    u64 a, b, y;
    // Where chains of a longer product are, one matrix behind the other.
    u64 sums;
    // Steps in elements.
    i64 a_row, a_k, b_k, b_column, y_row, y_column;
    u32 m, n, k;
    // Chains of a product, `chain` k each, are the first axis of the batch; 1 if there is one chain.
    u32 chain, chains;
    u32 batch_axes;
    // Tiles of a matrix, down and across.
    FastDiv tiles, tiles_down;
    BatchAxis at[MAX_BATCH_AXES];
#ifdef MAPPED
    // Whether (first) chains start from what is in the result; what they end in is stored there then.
    u64 onto;
    // Words of the function's own parameter.
    u64 words[256];
#endif
};

__device__ __forceinline__ u32 divide(u32 n, const FastDiv& by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

// ---- numbers ----

__device__ __forceinline__ float fused(float a, float b, float y) { return __fmaf_rn(a, b, y); }
__device__ __forceinline__ double fused(double a, double b, double y) { return __fma_rn(a, b, y); }
__device__ __forceinline__ u32 fused(u32 a, u32 b, u32 y) { return a * b + y; }
__device__ __forceinline__ u64 fused(u64 a, u64 b, u64 y) { return a * b + y; }

__device__ __forceinline__ float canonical(float y) { return y == y ? y : __int_as_float(0x7fc00000); }
__device__ __forceinline__ double canonical(double y) {
    return y == y ? y : __longlong_as_double(0x7ff8000000000000);
}
__device__ __forceinline__ u32 canonical(u32 y) { return y; }
__device__ __forceinline__ u64 canonical(u64 y) { return y; }

// Elements as bits.
__device__ __forceinline__ u32 bits(u8 s) { return s; }
__device__ __forceinline__ u32 bits(u16 s) { return s; }
__device__ __forceinline__ u32 bits(u32 s) { return s; }
__device__ __forceinline__ u64 bits(u64 s) { return s; }
__device__ __forceinline__ u32 bits(float s) { return __float_as_int(s); }
__device__ __forceinline__ u64 bits(double s) { return __double_as_longlong(s); }
template <class S> __device__ __forceinline__ void unbits(S& s, u32 bits) { s = (S)bits; }
__device__ __forceinline__ void unbits(u64& s, u64 bits) { s = bits; }
__device__ __forceinline__ void unbits(float& s, u32 bits) { s = __int_as_float(bits); }
__device__ __forceinline__ void unbits(double& s, u64 bits) { s = __longlong_as_double(bits); }

template <class N> struct Nothing { static __device__ __forceinline__ N left() { return 0; } };
template <> struct Nothing<float> { static __device__ __forceinline__ float left() { return -0.0f; } };
template <> struct Nothing<double> { static __device__ __forceinline__ double left() { return -0.0; } };

// How an element is stored: the number it is computed as, and both ways.
template <class S, class N> struct Plain {
    typedef S Stored;
    typedef N Number;
    static __device__ __forceinline__ N load(S s) { return s; }
    static __device__ __forceinline__ S store(N n) { return (S)n; }
};

struct Half {
    typedef u16 Stored;
    typedef float Number;
    static __device__ __forceinline__ float load(u16 s) {
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(s));
        return f;
    }
    static __device__ __forceinline__ u16 store(float f) {
        u16 s;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(s) : "f"(f));
        return f == f ? s : 0x7e00;
    }
};

struct Bfloat {
    typedef u16 Stored;
    typedef float Number;
    static __device__ __forceinline__ float load(u16 s) { return __int_as_float((u32)s << 16); }
    // To the nearest, ties to even. NaN is canonical before.
    static __device__ __forceinline__ u16 store(float f) {
        const u32 bits = __float_as_int(f);
        return f == f ? (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16) : 0x7fc0;
    }
};
