// Times kernels of products beside cuBLAS, and compares samples of their bits with chains on the host.
//
//     nvcc -O2 -std=c++17 -Xcompiler -mfma,-ffp-contract=off -o product_bench backend-cuda/kernels/products/bench/product_bench.cu -lcublas -lcuda
//     ./product_bench IMAGE < backend-cuda/kernels/products/bench/product_cases.txt
//
// IMAGE is product.sm_90.cubin, unpacked (with backend-cuda/kernels on Python's path:
// `python -c "import packing, sys; sys.stdout.buffer.write(packing.unpack(open(sys.argv[1], 'rb').read()))" FILE`).
// A line of the cases: kernel, type, m, n, k, matrices, how a and b lie in memory (k: along k; l: along
// lines), whether the launch is of the transposed product (s; - if not), the tile down and across, threads,
// bytes of dynamic shared memory, and what the rate counts (t: TFLOP/s; g: GB/s of operands and result).
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct FastDiv {
    u32 divisor, multiplier, shift;
};
struct BatchAxis {
    FastDiv by;
    u32 unused;
    i64 a, b, y;
};
struct Params {
    u64 a, b, y, sums;
    i64 a_row, a_k, b_k, b_column, y_row, y_column;
    u32 m, n, k, chain, chains, batch_axes;
    FastDiv tiles, tiles_down;
    BatchAxis at[16];
};
const u32 CHAIN = 4096;

static void check(int code, const char* what) {
    if (code != 0) {
        printf("%s: error %d\n", what, code);
        exit(1);
    }
}

static FastDiv fast(u32 d) {
    u32 shift = 0;
    while ((1ull << shift) < d) shift++;
    return {d, (u32)(((1ull << 32) * ((1ull << shift) - d)) / d + 1), shift};
}

// The median of five runs of several launches.
template <class T> double seconds(T&& run) {
    cudaEvent_t a, b;
    cudaEventCreate(&a), cudaEventCreate(&b);
    auto ms = [&](int times) {
        cudaEventRecord(a);
        for (int i = 0; i < times; i++) run();
        cudaEventRecord(b);
        check(cudaEventSynchronize(b), "run");
        float took;
        cudaEventElapsedTime(&took, a, b);
        return took / times;
    };
    ms(2);
    const int times = std::max(1, std::min(200, (int)(4 / ms(2))));
    std::vector<float> took;
    for (int i = 0; i < 5; i++) took.push_back(ms(times));
    std::sort(took.begin(), took.end());
    return took[2] / 1e3;
}

static u64 seed = 1;
static u64 draw() {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}

struct Case {
    char kernel[64], type[8];
    u32 m, n, k, matrices;
    char by_a, by_b, swapped;
    u32 down, across, threads, shared;
    char rate;
};

static double number(unsigned short h, bool brain) {
    if (brain) {
        u32 bits = (u32)h << 16;
        float f;
        memcpy(&f, &bits, 4);
        return f;
    }
    const int e = h >> 10 & 31;
    const double f = e ? std::ldexp(1024 + (h & 1023), e - 25) : std::ldexp(h & 1023, -24);
    return h >> 15 ? -f : f;
}

template <class N> N fill(int wide) {
    // Like sizes; or all, also of no size, infinite, and not a number.
    if (!wide) return (N)((double)(i64)draw() / 9.3e18 * 3);
    const u64 r = draw();
    if (r % 997 == 0) return (N)0 * (r % 2 ? 1 : -1);
    if (wide == 2 && r % 100003 == 0) return r % 3 ? (N)INFINITY : (N)NAN;
    // Products of the smallest sizes, of nearly all, or of some.
    const bool is_double = sizeof(N) == 8;
    const int range = wide == 4 ? (is_double ? 480 : 60) : wide == 3 ? 20 : 30;
    const int low = wide == 3 ? (is_double ? 530 : 70) : 0;
    return (N)std::ldexp((double)(i64)draw() / 9.3e18, (int)(r >> 20 & 0xffff) % range - (int)(r >> 40 & 0xffff) % range - low);
}

// `S` is stored; -1 wide: plain numbers.
template <class S, class N> void bench(cublasHandle_t handle, CUmodule module, const Case& c, int wide, bool brain = false) {
    const size_t a_len = (size_t)c.m * c.k, b_len = (size_t)c.k * c.n, y_len = (size_t)c.m * c.n;
    std::vector<S> a(a_len * c.matrices), b(b_len * c.matrices), y(y_len * c.matrices);
    auto draws = [&](std::vector<S>& to) {
        for (size_t i = 0; i < to.size(); i++) {
            if (i >= 1 << 22) to[i] = to[i - (1 << 22) + i / 65536 % 7];
            else if constexpr (std::is_same<S, N>::value) to[i] = fill<N>(wide);
            else to[i] = brain ? 0x3f00 + draw() % 512 + draw() % 2 * 0x8000 : 0x3800 + draw() % 2048 + draw() % 2 * 0x8000;
        }
    };
    draws(a), draws(b);
    S *da, *db, *dy;
    N* sums;
    const u32 chains = (c.k + CHAIN - 1) / CHAIN;
    check(cudaMalloc(&da, a.size() * sizeof(S)), "a"), check(cudaMalloc(&db, b.size() * sizeof(S)), "b");
    check(cudaMalloc(&dy, y.size() * sizeof(S)), "y"), check(cudaMalloc(&sums, y.size() * chains * sizeof(N)), "sums");
    cudaMemcpy(da, a.data(), a.size() * sizeof(S), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * sizeof(S), cudaMemcpyHostToDevice);
    cudaMemset(dy, 0xcd, y.size() * sizeof(S));

    const i64 a_row = c.by_a == 'k' ? c.k : 1, a_k = c.by_a == 'k' ? 1 : c.m;
    const i64 b_column = c.by_b == 'k' ? c.k : 1, b_k = c.by_b == 'k' ? 1 : c.n;
    Params p = {};
    p.sums = (u64)sums, p.k = c.k, p.chain = CHAIN, p.chains = chains, p.y = (u64)dy;
    if (c.swapped == 's') {
        p.a = (u64)db, p.b = (u64)da, p.a_row = b_column, p.a_k = b_k, p.b_k = a_k, p.b_column = a_row;
        p.y_row = 1, p.y_column = c.n, p.m = c.n, p.n = c.m;
    } else {
        p.a = (u64)da, p.b = (u64)db, p.a_row = a_row, p.a_k = a_k, p.b_k = b_k, p.b_column = b_column;
        p.y_row = c.n, p.y_column = 1, p.m = c.m, p.n = c.n;
    }
    if (chains > 1) p.at[p.batch_axes++] = {fast(chains), 0, CHAIN * p.a_k, CHAIN * p.b_k, 0};
    if (c.matrices > 1) {
        const bool s = c.swapped == 's';
        p.at[p.batch_axes++] = {fast(c.matrices), 0, (i64)(s ? b_len : a_len), (i64)(s ? a_len : b_len), (i64)y_len};
    }
    const u32 td = (p.m + c.down - 1) / c.down, ta = (p.n + c.across - 1) / c.across;
    p.tiles = fast(td * ta), p.tiles_down = fast(td);
    CUfunction tiles, sum = nullptr;
    if (cuModuleGetFunction(&tiles, module, c.kernel) != 0) {
        printf("%s: not in the image\n", c.kernel);
        return;
    }
    check(cuFuncSetAttribute(tiles, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, c.shared), "shared");
    const char* sum_name = std::is_same<S, N>::value ? sizeof(N) == 8 ? "f64_chains" : "f32_chains" : brain ? "bf16_chains" : "f16_chains";
    if (chains > 1) check(cuModuleGetFunction(&sum, module, sum_name), sum_name);
    void* parameters[] = {&p};
    const double ours = seconds([&] {
        check(cuLaunchKernel(tiles, td * ta * c.matrices * chains, 1, 1, c.threads, 1, 1, c.shared, 0, parameters, 0), c.kernel);
        if (chains > 1) check(cuLaunchKernel(sum, (y.size() + 255) / 256, 1, 1, 256, 1, 1, 0, 0, parameters, 0), sum_name);
    });
    cudaMemcpy(y.data(), dy, y.size() * sizeof(S), cudaMemcpyDeviceToHost);
    size_t wrong = 0, wrong_theirs = 0;
    auto expected = [&](size_t at) {
        const size_t matrix = at / y_len, i = at % y_len / c.n, j = at % c.n;
        N total = 0;
        for (u32 k0 = 0; k0 < c.k; k0 += CHAIN) {
            N sum = 0;
            for (u32 k = k0; k < std::min(c.k, k0 + CHAIN); k++) {
                const S x = a[matrix * a_len + i * a_row + k * a_k], z = b[matrix * b_len + k * b_k + j * b_column];
                if constexpr (std::is_same<S, N>::value) sum = std::fma(x, z, sum);
                else sum = std::fma((N)number(x, brain), (N)number(z, brain), sum);
            }
            total = k0 ? total + sum : sum;
        }
        return total;
    };
    auto same = [&](N e, S got) {
        if constexpr (std::is_same<S, N>::value) {
            return e == e ? memcmp(&e, &got, sizeof(N)) == 0 : got != got;
        } else {
            // To within one step of the type.
            const double d = number(got, brain);
            return std::abs(d - e) <= std::abs(e) / (brain ? 256 : 2048);
        }
    };
    const size_t samples = std::min<size_t>(y.size(), (wide ? 1100000000 : 10000000) / c.k);
    std::vector<std::pair<size_t, N>> sampled(samples);
    // All, or at random with some of the last.
    for (size_t s = 0; s < samples; s++) sampled[s].first = samples == y.size() ? s : s < 64 ? y.size() - 1 - s : draw() % y.size();
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 16; t++) {
        threads.emplace_back([&, t] {
            for (size_t s = t; s < samples; s += 16) sampled[s].second = expected(sampled[s].first);
        });
    }
    for (auto& thread : threads) thread.join();
    for (auto& [at, e] : sampled) wrong += !same(e, y[at]);
    double theirs = 0;
    if constexpr (std::is_same<S, N>::value) {
        const N one = 1, zero = 0;
        const auto ob = c.by_b == 'k' ? CUBLAS_OP_T : CUBLAS_OP_N, oa = c.by_a == 'k' ? CUBLAS_OP_N : CUBLAS_OP_T;
        const int lb = c.by_b == 'k' ? c.k : c.n, la = c.by_a == 'k' ? c.k : c.m;
        theirs = seconds([&] {
            if constexpr (sizeof(N) == 4) {
                if (c.matrices == 1) check(cublasSgemm(handle, ob, oa, c.n, c.m, c.k, &one, db, lb, da, la, &zero, dy, c.n), "cublas");
                else check(cublasSgemmStridedBatched(handle, ob, oa, c.n, c.m, c.k, &one, db, lb, b_len, da, la, a_len, &zero, dy, c.n, y_len, c.matrices), "cublas");
            } else {
                if (c.matrices == 1) check(cublasDgemm(handle, ob, oa, c.n, c.m, c.k, &one, db, lb, da, la, &zero, dy, c.n), "cublas");
                else check(cublasDgemmStridedBatched(handle, ob, oa, c.n, c.m, c.k, &one, db, lb, b_len, da, la, a_len, &zero, dy, c.n, y_len, c.matrices), "cublas");
            }
        });
        cudaMemcpy(y.data(), dy, y.size() * sizeof(S), cudaMemcpyDeviceToHost);
        for (auto& [at, e] : sampled) wrong_theirs += !same(e, y[at]);
    }
    const double flop = 2.0 * c.m * c.n * c.k * c.matrices / 1e12, bytes = (double)(a.size() + b.size() + y.size()) * sizeof(S) / 1e9;
    const double work = c.rate == 'g' ? bytes : flop;
    printf("%-12s %-4s %7ux%ux%u x%u %c%c%c: %8.2f, cublas %8.2f %s, ratio %.3f, %8.2f us, wrong %zu (cublas %zu) of %zu\n", c.kernel,
           c.type, c.m, c.n, c.k, c.matrices, c.by_a, c.by_b, c.swapped, work / ours, theirs > 0 ? work / theirs : 0.0,
           c.rate == 'g' ? "GB/s" : "TFLOP/s", theirs / ours, ours * 1e6, wrong, wrong_theirs, samples);
    fflush(stdout);
    cudaFree(da), cudaFree(db), cudaFree(dy), cudaFree(sums);
}

int main(int count, char** arguments) {
    cudaFree(0);
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    printf("%s\n", device.name);
    CUmodule module;
    check(cuModuleLoad(&module, count > 1 ? arguments[1] : "product.cubin"), "image");
    cublasHandle_t handle;
    check(cublasCreate(&handle), "cublas");
    Case c;
    while (scanf("%63s %7s %u %u %u %u %c%c%c %u %u %u %u %c", c.kernel, c.type, &c.m, &c.n, &c.k, &c.matrices, &c.by_a, &c.by_b,
                 &c.swapped, &c.down, &c.across, &c.threads, &c.shared, &c.rate) == 14) {
        // f64w: of many sizes; f64x: infinities and NaN too; f64y: with subnormal products; f64z: of nearly all sizes.
        const int wide = c.type[3] < 'w' ? 0 : c.type[3] - 'v';
        if (!strncmp(c.type, "f32", 3)) bench<float, float>(handle, module, c, wide);
        else if (!strncmp(c.type, "f64", 3)) bench<double, double>(handle, module, c, wide);
        else bench<unsigned short, float>(handle, module, c, 0, c.type[0] == 'b');
    }
}
