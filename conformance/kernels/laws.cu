// The kernels that the laws of kernels launch. Integers alone, so that every backend has the same bits.

// to[i] = k * from[i] + i
extern "C" __global__ void scale(const unsigned int* from, size_t from_len, unsigned int* to, size_t to_len, unsigned int k) {
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < to_len) to[at] = k * from[at] + (unsigned int)at;
}

// to += from, of any strides
extern "C" __global__ void add_to(const short* from, long long rows, long long columns, long long row_stride,
                                  long long column_stride, short* to, long long to_rows, long long to_columns,
                                  long long to_row_stride, long long to_column_stride) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < rows * columns) {
        const long long row = at / columns, column = at % columns;
        to[row * to_row_stride + column * to_column_stride] += from[row * row_stride + column * column_stride];
    }
}

// to[i] = squares[from[i] % 256] + values[from[i] % 8]
__constant__ unsigned int squares[256];
struct Values { unsigned int values[8]; };
extern "C" __global__ void look_up(const unsigned char* from, size_t from_len, unsigned int* to, size_t to_len, Values given) {
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < to_len) to[at] = squares[from[at]] + given.values[from[at] % 8];
}

// Turns each line around, by way of shared memory
extern "C" __global__ void reverse(const unsigned char* from, size_t lines, size_t len,
                                   unsigned char* to, size_t to_lines, size_t to_len) {
    extern __shared__ unsigned char line[];
    for (size_t at = threadIdx.x; at < len; at += blockDim.x) line[at] = from[blockIdx.x * len + at];
    __syncthreads();
    for (size_t at = threadIdx.x; at < len; at += blockDim.x) to[blockIdx.x * len + at] = line[len - 1 - at];
}
