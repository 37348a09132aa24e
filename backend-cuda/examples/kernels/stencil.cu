// The mean of each element and its four neighbours; outside the grid is 0. A block computes a tile, and reads the tile and
// a margin around it into shared memory first.
extern "C" __global__ void stencil(const float* from, size_t rows, size_t columns,
                                   float* to, size_t to_rows, size_t to_columns) {
    extern __shared__ float tile[];  // blockDim.y + 2 rows of blockDim.x + 2
    const int width = blockDim.x + 2, height = blockDim.y + 2;
    const long long first_row = (long long)blockIdx.y * blockDim.y - 1;
    const long long first_column = (long long)blockIdx.x * blockDim.x - 1;
    for (int at = threadIdx.y * blockDim.x + threadIdx.x; at < width * height; at += blockDim.x * blockDim.y) {
        const long long row = first_row + at / width, column = first_column + at % width;
        const bool inside = row >= 0 && row < (long long)rows && column >= 0 && column < (long long)columns;
        tile[at] = inside ? from[row * columns + column] : 0.0f;
    }
    __syncthreads();
    const size_t row = first_row + 1 + threadIdx.y, column = first_column + 1 + threadIdx.x;
    if (row < rows && column < columns) {
        const float* center = tile + (threadIdx.y + 1) * width + threadIdx.x + 1;
        const float vertical = center[-width] + center[width], horizontal = center[-1] + center[1];
        to[row * columns + column] = ((vertical + horizontal) + center[0]) * 0.2f;
    }
}
