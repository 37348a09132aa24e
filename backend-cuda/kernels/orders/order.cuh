// Code that the kernels of order share: their parameter, and the order of each element type.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

const int WARP = 32;
const u32 ALL = ~0u;

// The parameter of every kernel. Each kernel says which fields it uses, and for what.
struct Params {
    // Memory of the operands, or of another kernel's results.
    u64 a, b, c, y, z;
    // Memory that belongs to the call.
    u64 offsets, words, next, list, first;
    // The number of elements; of elements in a line; of lines or groups; the extent along which
    // indices count.
    u64 len, line_len, lines, extent;
    // The number of elements of a slice after the axis, and of slices of the axes before it.
    u64 inner, outer;
    // The number of groups of a warp, at most 32.
    u64 each;
    // The mask that keys are combined with: the sign bit for signed integers, all ones to begin
    // with the greatest.
    u64 turn;
    // The bits of infinity of a half.
    u64 infinity;
    // Where reports to the host go, and under which key.
    u64 slot, key;
    double part;
    u32 pass, flags;
};

// Bits of `flags`.
const u32 SIGNED = 1, TRUTH = 2, RIGHT = 4, FROM_END = 8, ADDS = 16, WIDE = 64, DROPS = 128, EXTREME = 256, NARROW = 512,
          FROM_LEAST = 1024;

// Unsigned words that compare like the elements. `rank` distinguishes -0 from +0, `key` does not; the
// largest word stands for every NaN. `of_rank` returns an element, the canonical NaN for the largest
// word.

template <class B> struct Whole {
    typedef B Bits;
    static __device__ __forceinline__ B rank(B bits, const Params& p) { return bits ^ (B)p.turn; }
    static __device__ __forceinline__ B key(B bits, const Params& p) { return rank(bits, p); }
    static __device__ __forceinline__ B of_rank(B rank, const Params& p) { return rank ^ (B)p.turn; }
    static __device__ __forceinline__ bool is_zero(B bits, const Params&) { return bits == 0; }
    static __device__ __forceinline__ bool is_nan(B, const Params&) { return false; }
};

// Integers of one byte, or truth values, where every byte except 0 is true.
struct Byte : Whole<u8> {
    static __device__ __forceinline__ u8 rank(u8 bits, const Params& p) {
        return (p.flags & TRUTH ? bits != 0 : bits) ^ (u8)p.turn;
    }
    static __device__ __forceinline__ u8 key(u8 bits, const Params& p) { return rank(bits, p); }
};

template <class B> struct Float {
    typedef B Bits;
    static __device__ __forceinline__ B infinity(const Params& p) {
        return sizeof(B) == 2   ? (B)p.infinity
               : sizeof(B) == 4 ? (B)0x7f800000
                                : (B)0x7ff0000000000000ull;
    }
    static __device__ __forceinline__ B sign() { return (B)(B(1) << (8 * sizeof(B) - 1)); }
    static __device__ __forceinline__ bool is_nan(B bits, const Params& p) {
        return (B)(bits & (B)~sign()) > infinity(p);
    }
    static __device__ __forceinline__ bool is_zero(B bits, const Params&) { return (B)(bits & (B)~sign()) == 0; }
    static __device__ __forceinline__ B canonical(const Params& p) {
        const B infinite = infinity(p);
        return infinite | (B)((infinite & (B)-infinite) >> 1);
    }
    static __device__ __forceinline__ B ordered(B bits) { return bits & sign() ? (B)~bits : (B)(bits | sign()); }
    // Written without branches, which the compiler would make of conditions that follow each other.
    static __device__ __forceinline__ B key(B bits, const Params& p) {
        const B of_sign = (B)-(B)(bits >> (8 * sizeof(B) - 1));
        // -0 is one below +0.
        const B ordered = (B)((bits ^ (of_sign | sign())) + (B)(bits == sign()));
        return (ordered | (B)-(B)is_nan(bits, p)) ^ (B)p.turn;
    }
    // NaN is above all others in either direction.
    static __device__ __forceinline__ B rank(B bits, const Params& p) {
        return is_nan(bits, p) ? (B)~B(0) : (B)(ordered(bits) ^ (B)p.turn);
    }
    static __device__ __forceinline__ B of_rank(B rank, const Params& p) {
        if (rank == (B)~B(0)) {
            return canonical(p);
        }
        const B bits = rank ^ (B)p.turn;
        return bits & sign() ? (B)(bits ^ sign()) : (B)~bits;
    }
};

// Integers of two bytes, or halves, which have an infinity.
struct Short {
    typedef u16 Bits;
    typedef Whole<u16> W;
    typedef Float<u16> F;
    static __device__ __forceinline__ u16 key(u16 bits, const Params& p) {
        return p.infinity ? F::key(bits, p) : W::key(bits, p);
    }
    static __device__ __forceinline__ u16 rank(u16 bits, const Params& p) {
        return p.infinity ? F::rank(bits, p) : W::rank(bits, p);
    }
    static __device__ __forceinline__ u16 of_rank(u16 rank, const Params& p) {
        return p.infinity ? F::of_rank(rank, p) : W::of_rank(rank, p);
    }
    static __device__ __forceinline__ bool is_zero(u16 bits, const Params& p) {
        return p.infinity ? F::is_zero(bits, p) : bits == 0;
    }
    static __device__ __forceinline__ bool is_nan(u16 bits, const Params& p) {
        return p.infinity && F::is_nan(bits, p);
    }
};

// ---- floats in the form in which they are summed ----

struct HalfSum {
    typedef u16 Bits;
    typedef float Sum;
    static __device__ __forceinline__ float load(u16 bits, const Params& p) {
        if (p.infinity == 0x7f80) {
            return __int_as_float((u32)bits << 16);
        }
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
        return f;
    }
    static __device__ __forceinline__ u16 store(float f, const Params& p) {
        if (p.infinity == 0x7f80) {
            const u32 bits = __float_as_int(f);
            return f == f ? (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16) : 0x7fc0;
        }
        u16 bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(f));
        return f == f ? bits : 0x7e00;
    }
};

struct SingleSum {
    typedef u32 Bits;
    typedef float Sum;
    static __device__ __forceinline__ float load(u32 bits, const Params&) { return __int_as_float(bits); }
    static __device__ __forceinline__ u32 store(float f, const Params&) {
        return f == f ? __float_as_int(f) : 0x7fc00000;
    }
};

struct DoubleSum {
    typedef u64 Bits;
    typedef double Sum;
    static __device__ __forceinline__ double load(u64 bits, const Params&) {
        return __longlong_as_double(bits);
    }
    static __device__ __forceinline__ u64 store(double f, const Params&) {
        return f == f ? __double_as_longlong(f) : 0x7ff8000000000000ull;
    }
};

// The number that changes no sum that it is added to.
__device__ __forceinline__ void nothing(float& sum) { sum = -0.0f; }
__device__ __forceinline__ void nothing(double& sum) { sum = -0.0; }

__device__ __forceinline__ float plus(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double plus(double a, double b) { return __dadd_rn(a, b); }

__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ bool is_infinite(double a) { return a == a && a - a != 0; }

// Interpolates between two neighbours of an order; a zero becomes +0.
template <class T> __device__ __forceinline__ T between(T low, T high, T t) {
    // This turns −0 into +0, so that neither of two zeros is lower.
    low = plus(low, T(0)), high = plus(high, T(0));
    const T rest = plus(T(1), -t);
    T y;
    if (t == T(0) || low == high) {
        y = low;
    } else if (is_infinite(low) || is_infinite(high)) {
        y = plus(low, high);
    } else {
        const T difference = plus(high, -low);
        y = is_infinite(difference) ? plus(times(low, rest), times(high, t))
            : t < T(0.5)            ? plus(low, times(difference, t))
                                    : plus(high, -times(difference, rest));
    }
    return plus(y, T(0));
}

// ---- integers ----

// The value of an integer or truth value, in 64 bits, signed or not.
template <class B> __device__ __forceinline__ u64 value(B bits, const Params& p) {
    if (p.flags & TRUTH) {
        return bits != 0;
    }
    const int above = 64 - 8 * sizeof(B);
    return p.flags & SIGNED ? (u64)((i64)((u64)bits << above) >> above) : (u64)bits;
}

__device__ __forceinline__ u64 least(u64 a, u64 b) { return a < b ? a : b; }
__device__ __forceinline__ u64 greatest(u64 a, u64 b) { return a > b ? a : b; }

// BLOCKS blocks of THREADS threads fit on a multiprocessor, which limits the registers.
#define BLOCKS_KERNEL(NAME, BLOCKS) \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(const __grid_constant__ Params p)
#define KERNEL(NAME, THREADS) extern "C" __global__ void __launch_bounds__(THREADS) NAME(const __grid_constant__ Params p)
