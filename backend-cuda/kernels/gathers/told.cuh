// Reports indices out of range to the host.
#pragma once

#include "params.cuh"

// The report of a gather: its first index out of range. In memory of the host; in a graph, in memory of the device.
struct Slot {
    u64 key, position;
    i64 value;
    u64 second; // the key again, if it is the second of the mistakes that the call may find: never a gather's
};

// The state that the threads which find such an index share. At first it may hold anything but the key of the gather.
struct State {
    u64 key; // of the gather, if one was found; one more while it is being told
    u64 position;
};

__device__ __forceinline__ u64 seen(const u64& at) {
    return *reinterpret_cast<const volatile u64*>(&at);
}

__device__ __forceinline__ void set(u64& at, u64 value) {
    *reinterpret_cast<volatile u64*>(&at) = value;
}

// Reports an index out of range to the host, unless an earlier one is reported.
__device__ __forceinline__ void tell(const Params& p, u64 position, i64 value) {
    State& state = *p.state;
    const u64 busy = p.key + 1;
    while (true) {
        const u64 key = seen(state.key);
        __threadfence();
        // The reported position of a gather only falls. So most threads that find an index stop
        // here.
        if (key == p.key && seen(state.position) <= position) {
            return;
        }
        if (key == busy || atomicCAS(&state.key, key, busy) != key) {
            continue;
        }
        __threadfence();
        if (key != p.key || seen(state.position) > position) {
            set(state.position, position);
            set(p.told->position, position);
            set(*reinterpret_cast<u64*>(&p.told->value), static_cast<u64>(value));
            set(p.told->key, p.key);
            __threadfence_system();
        }
        __threadfence();
        atomicExch(&state.key, p.key);
        return;
    }
}
