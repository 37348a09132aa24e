// Combines slices by group, in place or by positions.

#include "groups.cuh"

// Four blocks on a multiprocessor hide the waiting of pieces of groups.
#define GROUPS(NAME, HOW...)                                   \
    BLOCKS_KERNEL(NAME##_lines, 4) { lines<HOW>(p); }          \
    KERNEL(NAME##_segments, THREADS) { segments<HOW>(p); }     \
    KERNEL(NAME##_finish, THREADS) { finish<HOW>(p); }         \
    KERNEL(NAME##_columns, THREADS) { columns<HOW>(p); }

GROUPS(sum_f16, Sum<HalfSum>)
GROUPS(sum_f32, Sum<SingleSum>)
GROUPS(sum_f64, Sum<DoubleSum>)
GROUPS(total, Total)
GROUPS(extreme, Extreme)
