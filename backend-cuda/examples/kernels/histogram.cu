// Counts bytes by value. A block counts in shared memory and adds what it found to the counts.
extern "C" __global__ void histogram(const unsigned char* bytes, size_t len, unsigned int* counts, size_t bins) {
    __shared__ unsigned int found[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) found[bin] = 0;
    __syncthreads();
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < len; at += step) atomicAdd(&found[bytes[at]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        if (found[bin] != 0) atomicAdd(&counts[bin], found[bin]);
    }
}
