// nvcc -O3 -std=c++17 -arch=sm_90 -o radix_bench dev/radix_bench.cu ; ./radix_bench
// Times the passes of a sort beside CUB, and compares with a stable sort on the host.
#include "../backend-cuda/kernels/orders/radix.cu"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

#define CHECK(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorString(e)); exit(1); } } while (0)

typedef void (*Kernel)(const Params);

template <class K> struct Sort {
    typedef typename K::Bits B;
    Kernel count_kernel, pass_kernel;
    int items;
    size_t position_bytes;

    // Sorts `from`, with `other` and positions as further memory; gives where the result is.
    int run(B* a, B* b, void* positions_a, void* positions_b, u64 n, u64* all_offsets, u32* words, u32* next) const {
        const int passes = sizeof(B), tile = 256 * items;
        const u32 tiles = (n + tile - 1) / tile;
        CHECK(cudaMemsetAsync(all_offsets, 0, passes * 256 * 8));
        Params p = {};
        p.from = (u64)a, p.len = n, p.offsets = (u64)all_offsets;
        count_kernel<<<132 * 8, 256>>>(p);
        offsets<<<passes, 256>>>(p);
        size_t room = (size_t)tile * std::max(sizeof(B), position_bytes);
        CHECK(cudaFuncSetAttribute(pass_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room));
        for (int pass = 0; pass < passes; pass++) {
            CHECK(cudaMemsetAsync(words, 0, (size_t)tiles * 256 * 4));
            CHECK(cudaMemsetAsync(next, 0, 4));
            p.from = (u64)(pass % 2 ? b : a), p.to = (u64)(pass % 2 ? a : b);
            p.positions_from = (u64)(pass % 2 ? positions_b : positions_a), p.positions_to = (u64)(pass % 2 ? positions_a : positions_b);
            p.offsets = (u64)(all_offsets + pass * 256), p.words = (u64)words, p.next_tile = (u64)next;
            p.shift = 8 * pass, p.counts = pass == 0;
            pass_kernel<<<tiles, 256, room>>>(p);
        }
        return passes % 2;
    }
};

template <class K> void bench(const char* name, Sort<K> sort, u64 n, bool check) {
    typedef typename K::Bits B;
    std::vector<B> host(n);
    u64 state = 88172645463325252ull;
    for (auto& x : host) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        x = (B)(state >> 11);
    }
    B *a, *b, *origin;
    void *pa = nullptr, *pb = nullptr;
    u64* offs;
    u32 *words, *next;
    CHECK(cudaMalloc(&a, n * sizeof(B))), CHECK(cudaMalloc(&b, n * sizeof(B))), CHECK(cudaMalloc(&origin, n * sizeof(B)));
    if (sort.position_bytes) CHECK(cudaMalloc(&pa, n * 8)), CHECK(cudaMalloc(&pb, n * 8));
    CHECK(cudaMalloc(&offs, 8 * 256 * 8)), CHECK(cudaMalloc(&words, (n / 2000 + 2) * 1024)), CHECK(cudaMalloc(&next, 4));
    CHECK(cudaMemcpy(origin, host.data(), n * sizeof(B), cudaMemcpyHostToDevice));
    cudaEvent_t start, end;
    cudaEventCreate(&start), cudaEventCreate(&end);
    float best = 1e9f, theirs = 1e9f, ms;
    int side = 0;
    for (int round = 0; round < 5; round++) {
        CHECK(cudaMemcpy(a, origin, n * sizeof(B), cudaMemcpyDeviceToDevice));
        cudaEventRecord(start);
        side = sort.run(a, b, pa, pb, n, offs, words, next);
        cudaEventRecord(end);
        CHECK(cudaEventSynchronize(end));
        cudaEventElapsedTime(&ms, start, end);
        best = std::min(best, ms);
    }
    size_t wrong = 0;
    if (check) {
        std::vector<B> found(n);
        CHECK(cudaMemcpy(found.data(), side ? b : a, n * sizeof(B), cudaMemcpyDeviceToHost));
        std::vector<u32> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](u32 x, u32 y) { return K::key_host(host[x]) < K::key_host(host[y]); });
        for (u64 i = 0; i < n; i++) wrong += found[i] != host[order[i]];
        if (sort.position_bytes == 4) {
            std::vector<u32> at(n);
            CHECK(cudaMemcpy(at.data(), side ? pb : pa, n * 4, cudaMemcpyDeviceToHost));
            for (u64 i = 0; i < n; i++) wrong += at[i] != order[i];
        }
    }
    size_t room = 0;
    void* memory = nullptr;
    u32 *va = (u32*)pa, *vb = (u32*)pb;
    for (int round = 0; round < 6; round++) {
        CHECK(cudaMemcpy(a, origin, n * sizeof(B), cudaMemcpyDeviceToDevice));
        cub::DoubleBuffer<B> keys(a, b);
        cub::DoubleBuffer<u32> values(va, vb);
        cudaEventRecord(start);
        if (sort.position_bytes) CHECK(cub::DeviceRadixSort::SortPairs(memory, room, keys, values, n));
        else CHECK(cub::DeviceRadixSort::SortKeys(memory, room, keys, n));
        cudaEventRecord(end);
        CHECK(cudaEventSynchronize(end));
        cudaEventElapsedTime(&ms, start, end);
        if (!memory) CHECK(cudaMalloc(&memory, room + 1));
        else theirs = std::min(theirs, ms);
    }
    printf("%-10s %10llu: ours %7.2f Gkeys/s, cub %7.2f, ratio %.3f, wrong %zu\n", name, n, n / best / 1e6, n / theirs / 1e6, theirs / best, wrong);
    cudaFree(a), cudaFree(b), cudaFree(origin), cudaFree(pa), cudaFree(pb), cudaFree(offs), cudaFree(words), cudaFree(next), cudaFree(memory);
}

// Keys as the host computes them.
struct HostU32 : Unsigned<u32> { static u32 key_host(u32 b) { return b; } };
struct HostU64 : Unsigned<u64> { static u64 key_host(u64 b) { return b; } };
struct HostU8 : Unsigned<u8> { static u8 key_host(u8 b) { return b; } };
struct HostF32 : F32 {
    static u32 key_host(u32 b) {
        u32 m = b & 0x7fffffff;
        return m > 0x7f800000 ? ~0u : m == 0 ? 0x80000000u : b >> 31 ? ~b : b | 0x80000000u;
    }
};

int main() {
    for (u64 n : {1000ull, 1ull << 20, 1ull << 24, 1ull << 28}) {
        bool check = n <= 1 << 24;
        bench<HostU32>("u32", {u32_count, u32_pass, 20, 0}, n, check);
        bench<HostF32>("f32", {f32_count, f32_pass, 20, 0}, n, check);
        bench<HostF32>("f32 arg", {f32_count, f32_pass_4, 16, 4}, n, check);
        bench<HostU64>("u64", {u64_count, u64_pass, 12, 0}, n, check);
        bench<HostU8>("u8", {u8_count, u8_pass, 24, 0}, n, check);
    }
}
