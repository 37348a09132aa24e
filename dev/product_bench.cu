// nvcc -O3 -arch=sm_90 -o product_bench dev/product_bench.cu -lcublas ; ./product_bench
// Times the kernels of products beside cuBLAS, and compares bits with chains on the host.
#include "../backend-cuda/kernels/products/product.cu"
#include <cublas_v2.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static FastDiv fast(u32 d) {
    u32 shift = 0;
    while ((1ull << shift) < d) shift++;
    u64 m = ((1ull << 32) * ((1ull << shift) - d)) / d + 1;
    return {d, (u32)m, shift};
}

template <class T> double seconds(T&& run, int times) {
    cudaEvent_t a, b;
    cudaEventCreate(&a), cudaEventCreate(&b);
    run();
    cudaEventRecord(a);
    for (int i = 0; i < times; i++) run();
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    float ms;
    cudaEventElapsedTime(&ms, a, b);
    return ms / 1e3 / times;
}

template <class N> void bench(cublasHandle_t handle, int n, void (*kernel)(const Params), int down, int across, int threads) {
    std::vector<N> a(n * (size_t)n), b(a.size()), y(a.size());
    for (auto& x : a) x = (N)(rand() % 2001 - 1000) / 7;
    for (auto& x : b) x = (N)(rand() % 2001 - 1000) / 11;
    N *da, *db, *dy;
    cudaMalloc(&da, a.size() * sizeof(N)), cudaMalloc(&db, a.size() * sizeof(N)), cudaMalloc(&dy, a.size() * sizeof(N));
    cudaMemcpy(da, a.data(), a.size() * sizeof(N), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), a.size() * sizeof(N), cudaMemcpyHostToDevice);
    Params p = {};
    p.a = (u64)da, p.b = (u64)db, p.y = (u64)dy;
    p.a_row = n, p.a_k = 1, p.b_k = n, p.b_column = 1, p.y_row = n, p.y_column = 1;
    p.m = p.n = p.k = n, p.chains = 1, p.chain = 4096;
    u32 td = (n + down - 1) / down, ta = (n + across - 1) / across;
    p.tiles = fast(td * ta), p.tiles_down = fast(td);
    int times = n >= 4096 ? 3 : 20;
    double ours = seconds([&] { kernel<<<td * ta, threads>>>(p); }, times);
    cudaMemcpy(y.data(), dy, y.size() * sizeof(N), cudaMemcpyDeviceToHost);
    size_t wrong = 0;
    for (int s = 0; s < 2000; s++) {
        int i = rand() % n, j = rand() % n;
        N sum = 0;
        for (int k = 0; k < n && k < 4096; k++) sum = std::fma(a[i * (size_t)n + k], b[k * (size_t)n + j], sum);
        if (n <= 4096 && memcmp(&sum, &y[i * (size_t)n + j], sizeof(N))) wrong++;
    }
    N one = 1, zero = 0;
    double theirs = seconds([&] {
        if constexpr (sizeof(N) == 4) cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, (float*)&one, (float*)db, n, (float*)da, n, (float*)&zero, (float*)dy, n);
        else cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, (double*)&one, (double*)db, n, (double*)da, n, (double*)&zero, (double*)dy, n);
    }, times);
    double flop = 2.0 * n * n * n / 1e12;
    printf("f%d %5d: ours %6.2f TFLOP/s, cublas %6.2f, ratio %.3f, wrong %zu, %s\n", (int)sizeof(N) * 8, n, flop / ours, flop / theirs, theirs / ours, wrong, cudaGetErrorString(cudaGetLastError()));
    cudaFree(da), cudaFree(db), cudaFree(dy);
}

int main() {
    cublasHandle_t handle;
    cublasCreate(&handle);
    for (int n : {64, 256, 512, 1000, 1024, 2048, 4096, 8192}) {
        bench<float>(handle, n, f32_large_nn, 128, 128, 256);
        if (n <= 1024) bench<float>(handle, n, f32_small_nn, 32, 32, 64);
    }
    for (int n : {256, 1024, 2048, 4096}) bench<double>(handle, n, f64_large_nn, 64, 64, 256);
}
