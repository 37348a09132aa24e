// Reports an index to the host.
#pragma once

#include "order.cuh"

struct Slot {
    u64 key, position;
    i64 value;
    // The key again, if this is the second of the two mistakes that the call may find.
    u64 second;
};

// Reports an index to the host, by the slot and the key of the call.
__device__ __forceinline__ void tell(const Params& p, u64 position, i64 value, bool is_second) {
    volatile Slot* slot = (volatile Slot*)p.slot;
    slot->position = position;
    slot->value = value;
    slot->second = is_second ? p.key : ~p.key;
    slot->key = p.key;
}
