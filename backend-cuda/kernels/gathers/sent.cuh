// Reports of operations that run in a graph. A launch of the graph may begin before the host has read the reports of
// the one before it. So the operations report to memory of the device, and each launch is followed by a kernel that
// sends what they found to slots of that launch.
#pragma once

#include "told.cuh"

#define PAGE_REPORTS 64

struct Sent {
    Slot* slot; // in memory of the host
    u64 key;
};

struct Page {
    Slot slots[PAGE_REPORTS];
    State states[PAGE_REPORTS];
};

struct SendParams {
    Page* page;
    u64 count;
    Sent to[PAGE_REPORTS];
};
static_assert(sizeof(Page) == 48 * PAGE_REPORTS && sizeof(SendParams) == 16 + 16 * PAGE_REPORTS, "as the host declares it");

// Sends the reports of a page, and clears them for the next launch.
extern "C" __global__ __launch_bounds__(PAGE_REPORTS) void send_reports(const __grid_constant__ SendParams p) {
    if (threadIdx.x >= p.count) {
        return;
    }
    Slot& found = p.page->slots[threadIdx.x];
    if (found.key == 0) {
        return;
    }
    const Sent to = p.to[threadIdx.x];
    *to.slot = {to.key, found.position, found.value, found.second == found.key ? to.key : ~to.key};
    __threadfence_system();
    found.key = 0;
    p.page->states[threadIdx.x].key = 0;
}
