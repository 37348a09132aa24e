// Matrix products with one value: an element is one chain of fused multiply-adds in rising k, from +0.
//
// A block computes a tile of one matrix of a batch, of one of a few shapes; plan.rs chooses which. A kernel's
// name: the type, the shape, how the operands lie (n: a along k, b along columns; t: the other way; what is
// tt is computed as the transposed product, nn), and `_any` if nothing is known of strides and alignment but
// that; without it 16 bytes (8 of halves) that lie side by side are loaded as one.
//
// MAPPED: a text in which functions follow products, which is compiled where it runs, a kernel at a time.
// DOUBLES: only the kernels of doubles, whose instructions differ from 9.0 on.
#include "bytes.cuh"
#include "chains.cuh"
#include "mma.cuh"
#include "skinny.cuh"

#define CHAINS(NAME, K) \
    extern "C" __global__ void NAME##_chains(const __grid_constant__ Params p) { sum_chains<K>(p); }

#define KERNEL(NAME, THREADS, BLOCKS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(const __grid_constant__ Params p) { __VA_ARGS__(p); }

// For each order of operands; BLOCKS of a kernel are on a multiprocessor at least.
#define TILES(NAME, ANY, K, SHAPE, BLOCKS, WIDE)                                              \
    KERNEL(NAME##_nn##ANY, SHAPE::THREADS, BLOCKS, product_tile<K, SHAPE, true, false, WIDE>) \
    KERNEL(NAME##_nt##ANY, SHAPE::THREADS, BLOCKS, product_tile<K, SHAPE, true, true, WIDE>)  \
    KERNEL(NAME##_tn##ANY, SHAPE::THREADS, BLOCKS, product_tile<K, SHAPE, false, false, WIDE>)

#define STRIPS(NAME, ANY, N, SHAPE, WIDE, B_WIDE)                                         \
    KERNEL(NAME##_nn##ANY, SHAPE::THREADS, 1, product_strip<N, SHAPE, true, WIDE, B_WIDE>) \
    KERNEL(NAME##_tn##ANY, SHAPE::THREADS, 1, product_strip<N, SHAPE, false, WIDE, B_WIDE>)

// Tensor cores where they know doubles and bytes, threads that make the same tile where they do not.
#if __CUDA_ARCH__ >= 800
#define BYTES(NAME, ANY, BLOCKS, VECTOR, WIDE, ...)                                               \
    KERNEL(NAME##_nn##ANY, VECTOR::THREADS, BLOCKS, product_bytes<__VA_ARGS__, true, false, WIDE>) \
    KERNEL(NAME##_nt##ANY, VECTOR::THREADS, BLOCKS, product_bytes<__VA_ARGS__, true, true, WIDE>)  \
    KERNEL(NAME##_tn##ANY, VECTOR::THREADS, BLOCKS, product_bytes<__VA_ARGS__, false, false, WIDE>)
#define MMAS(NAME, ANY, BLOCKS, VECTOR, WIDE, ...)                                              \
    KERNEL(NAME##_nn##ANY, VECTOR::THREADS, BLOCKS, product_mma<__VA_ARGS__, true, false, WIDE>) \
    KERNEL(NAME##_nt##ANY, VECTOR::THREADS, BLOCKS, product_mma<__VA_ARGS__, true, true, WIDE>)  \
    KERNEL(NAME##_tn##ANY, VECTOR::THREADS, BLOCKS, product_mma<__VA_ARGS__, false, false, WIDE>)
#else
#define BYTES(NAME, ANY, BLOCKS, VECTOR, WIDE, ...) TILES(NAME, ANY, U8, VECTOR, 1, 1)
#define MMAS(NAME, ANY, BLOCKS, VECTOR, WIDE, ...) TILES(NAME, ANY, F64, VECTOR, 1, 1)
#endif

typedef Plain<float, float> F32;
typedef Plain<double, double> F64;
typedef Plain<u8, u32> U8;
typedef Plain<u16, u32> U16;
typedef Plain<u32, u32> U32;
typedef Plain<u64, u64> U64;

typedef Tile<256, 128, 8, 64, 64, 8, 16> Huge;
typedef Tile<128, 128, 8, 32, 64, 8, 8> Large;
#ifdef TEXT
// Fewer k at a time in what is compiled where it runs: less to compile and to ship.
typedef Tile<128, 64, 8, 64, 32, 8, 8> Tall;
typedef Tile<64, 64, 8, 32, 32, 8, 4> Medium;
typedef Tile<32, 64, 16, 16, 32, 4, 4> Small;
#else
typedef Tile<128, 64, 16, 64, 32, 8, 8> Tall;
typedef Tile<64, 64, 32, 32, 32, 8, 4, 3> Medium;
typedef Tile<32, 64, 32, 16, 32, 4, 4, 3> Small;
#endif
typedef Tile<32, 32, 16, 32, 16, 4, 4> Tiny;
typedef Tile<16, 16, 16, 16, 16, 2, 4> Least;
typedef Tile<64, 64, 8, 16, 32, 4, 4> Whole;
typedef Tile<64, 64, 8, 32, 32, 8, 4> MediumBytes;

#ifndef DOUBLES
KERNEL(f32_huge_nn, Huge::THREADS, 1, product_tile<F32, Huge, true, false, 4>)
TILES(f32_large, , F32, Large, 2, 4)
TILES(f32_large, _any, F32, Large, 2, 1)
KERNEL(f32_tall_nn, Tall::THREADS, 3, product_tile<F32, Tall, true, false, 4>)
TILES(f32_medium, , F32, Medium, 2, 4)
KERNEL(f32_small_nn, Small::THREADS, 2, product_tile<F32, Small, true, false, 4>)
TILES(f32_small, _any, F32, Small, 2, 1)
TILES(f32_tiny, _any, F32, Tiny, 12, 1)
TILES(f32_least, _any, F32, Least, 32, 1)
TILES(f16_large, , Half, Large, 2, 4)
TILES(f16_small, _any, Half, Small, 2, 1)
TILES(bf16_large, , Bfloat, Large, 2, 4)
TILES(bf16_small, _any, Bfloat, Small, 2, 1)
BYTES(u8_large, , 2, Large, 4, 128, 128, 16, 64, 32)
BYTES(u8_medium, _any, 4, MediumBytes, 1, 64, 64, 8, 32, 32)
TILES(u16_large, _any, U16, Whole, 2, 1)
TILES(u32_large, _any, U32, Whole, 2, 1)
TILES(u64_large, _any, U64, Whole, 2, 1)
#endif

typedef Tile<128, 128, 8, 32, 64, 8, 8> LargeDouble;
typedef Tile<64, 64, 8, 32, 32, 8, 4> MediumDouble;
typedef Tile<32, 32, 8, 32, 16, 4, 4> SmallDouble;
MMAS(f64_large, , 1, LargeDouble, 2, 128, 128, 16, 64, 32, 3)
MMAS(f64_medium, , 2, MediumDouble, 2, 64, 64, 16, 32, 32, 3)
MMAS(f64_medium, _any, 2, MediumDouble, 1, 64, 64, 16, 32, 32, 3)
MMAS(f64_small, _any, 4, SmallDouble, 1, 32, 32, 16, 32, 16, 2)

typedef Strip<1, 1, 32, 1, 64, 4> Column;
typedef Strip<1, 1, 32, 1, 32, 6> AnyColumn;
typedef Strip<2, 8, 16, 2, 32, 4> Columns;
typedef Strip<1, 1, 32, 1, 32, 4> DoubleColumn;
#ifndef DOUBLES
STRIPS(f32_column, , float, Column, 4, 1)
STRIPS(f32_column, _any, float, AnyColumn, 1, 1)
STRIPS(f32_columns, , float, Columns, 4, 4)
#endif
STRIPS(f64_column, , double, DoubleColumn, 2, 1)
STRIPS(f64_column, _any, double, DoubleColumn, 1, 1)

#ifndef DOUBLES
CHAINS(f32, F32)
#endif
CHAINS(f64, F64)
#ifndef DOUBLES
CHAINS(f16, Half)
CHAINS(bf16, Bfloat)
#endif
