// The parameters of the gather kernels, as `src/gather/params.rs` declares them.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define THREADS 256
// The elements of a thread are THREADS apart.
#define TURNS 4
#define MAX_AXES 24
#define MAX_INDEXED_AXES 64

struct Axis {
    u32 divisor, multiplier, shift, unused;
    i64 indexed, elements, indices, mask; // bytes
    i64 position, winner;                 // counts
};

struct IndexedAxis {
    u64 extent;
    i64 stride; // bytes
};

struct Params {
    char* indexed;       // the element of index 0
    char* elements;      // written by a gather, read by a scatter
    const char* indices; // or the count of a selection, which is written
    const u8* mask;      // or null
    u64* winners;        // or null: for each place, one more than the position of the last index that names it;
                         // of a selection, the number of the next tile, and what tiles publish
    struct Slot* told;   // null if no index can be out of range
    struct State* state; // of the same slot, in memory of the device
    u64 key;             // of the gather, even
    u64 position;        // of the first index
    i64 bound;
    u32 total;           // elements, below 2^31
    u32 axes, indexed_axes;
    u32 index_type;      // 0: i32, 1: u32, 2: i64
    u32 mode;            // 0: out of range is an error, 1: wrapped, 2: clamped
    u32 pieces;          // of an element of a selection
    IndexedAxis indexed_axis[MAX_INDEXED_AXES]; // the last first
    Axis at[MAX_AXES];                          // the innermost first
};
static_assert(sizeof(Params) == 104 + 16 * MAX_INDEXED_AXES + 64 * MAX_AXES, "as the host declares it");
