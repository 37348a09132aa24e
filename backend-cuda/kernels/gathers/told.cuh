// How the host is told of indices out of range.
#pragma once

#include "params.cuh"

// What the host is told: for each operation that met an index out of range, the first one.
#define SLOTS 256
struct Slot {
    u64 sequence; // odd while it is written
    u64 number, position;
    i64 value, bound;
    u32 operation;
    int axis;
    u64 unused[2];
};
struct Told {
    u64 changes, unused[7];
    Slot slot[SLOTS];
};

// What the device knows of this; all 0 when the module is loaded. `best` ranks the finds of a slot:
// a later operation first, then a lower position. It is one number, so that one atomic maximum
// stops nearly all threads that find something.
__device__ struct {
    u32 lock, unused;
    u64 changes;
    struct {
        u64 best, sequence;
    } slot[SLOTS];
} known;

#define POSITION_BITS 40

__device__ __forceinline__ u64 seen(const u64& at) {
    return *reinterpret_cast<const volatile u64*>(&at);
}

__device__ __forceinline__ void set(u64& at, u64 value) {
    *reinterpret_cast<volatile u64*>(&at) = value;
}

// Tells the host of an index out of range, unless it knows of one before it.
__device__ __forceinline__ void tell(const Params& p, u64 position, i64 value) {
    auto& mine = known.slot[p.number % SLOTS];
    const u64 last = (1ull << POSITION_BITS) - 1;
    const u64 best = ((p.number / SLOTS + 1) << POSITION_BITS) | (last - (position < last ? position : last));
    if (seen(mine.best) >= best || atomicMax(&mine.best, best) >= best) {
        return;
    }
    bool done = false;
    while (!done) {
        if (atomicCAS(&known.lock, 0u, 1u) == 0u) {
            __threadfence();
            // If another thread found a better one meanwhile, that thread tells of it.
            if (seen(mine.best) == best) {
                const u64 sequence = seen(mine.sequence) + 2;
                set(mine.sequence, sequence);
                Slot& slot = p.told->slot[p.number % SLOTS];
                set(slot.sequence, sequence - 1);
                __threadfence_system();
                set(slot.number, p.number);
                set(slot.position, position);
                set(*reinterpret_cast<u64*>(&slot.value), static_cast<u64>(value));
                set(*reinterpret_cast<u64*>(&slot.bound), static_cast<u64>(p.bound));
                *reinterpret_cast<volatile u32*>(&slot.operation) = p.operation;
                *reinterpret_cast<volatile int*>(&slot.axis) = p.axis;
                __threadfence_system();
                set(slot.sequence, sequence);
                const u64 changes = seen(known.changes) + 1;
                set(known.changes, changes);
                __threadfence_system();
                set(p.told->changes, changes);
            }
            __threadfence();
            atomicExch(&known.lock, 0u);
            done = true;
        }
    }
}
