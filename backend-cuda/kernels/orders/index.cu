// Positions in ascending lists, counts, elements combined by index without an order, and reports of
// wrong indices to the host.

#include "report.cuh"
#include "search.cuh"

// ---- reports ----

// Positions of wrong indices. The end of an empty group is reported only if nothing else is wrong.
const u64 EMPTY = 1ull << 63;

__device__ __forceinline__ void found(const Params& p, u64 position) { atomicMin((u64*)p.first, position); }

// An index of 4 or 8 bytes; a larger u64 becomes the largest i64.
template <class B> __device__ __forceinline__ i64 index_at(const Params& p, u64 memory, u64 at) {
    const B bits = ((const B*)memory)[at];
    const i64 index = (i64)value(bits, p);
    return sizeof(B) == 8 && !(p.flags & SIGNED) && index < 0 ? 0x7fffffffffffffffll : index;
}

// Reports the first wrong index to the host. first: its position, or all ones; a: indices.
template <class B> __device__ __forceinline__ void report(const Params& p) {
    const u64 first = *(const u64*)p.first;
    if (first == ~0ull) {
        return;
    }
    const u64 position = first & ~EMPTY;
    tell(p, position, index_at<B>(p, p.a, position), first & EMPTY);
}

// Like report, for results without room for all rows: `extent` rows have room; c: the count.
KERNEL(report_room, 1) {
    if (*(const u64*)p.c > p.extent) {
        tell(p, p.extent, (i64)p.extent, false);
    }
}

// ---- searches ----

// The interval of an element among `extent` edges at a, or all ones.
template <class K> __device__ __forceinline__ u64 interval(const Params& p, typename K::Bits bits) {
    typedef typename K::Bits B;
    const B* edges = (const B*)p.a;
    const u64 last = p.extent - 1;
    if (K::is_nan(bits, p)) {
        return ~0ull;
    }
    const B key = K::key(bits, p);
    u64 places[1];
    const B keys[1] = {key};
    places_of<K, true, u64>(p, p.extent, keys, places);
    const u64 above = places[0];
    return above == 0      ? ~0ull
           : above <= last ? above - 1
           : key == K::key(edges[last], p) ? last - 1
                                           : ~0ull;
}

// The number of places whose counts a block keeps in shared memory.
const u32 SHARED_COUNTS = 8192;

// The number that stands for no place.
const u64 NOWHERE = ~0ull;
// If this many lanes of a warp have one place, they are counted together.
const int MANY = 8;

// Counts of `extent` places in y, which are 0 at first, in shared memory if there is room. If many
// lanes of a warp have one place, the warp counts it alone until it meets another such place: otherwise
// all lanes would add to one address.
struct Counter {
    u32* shared;
    u64 *y, many;
    u32 extent, hits;

    __device__ __forceinline__ Counter(u32* memory, const Params& p, u64 extent, u64 most)
        : shared(extent <= most ? memory : nullptr), y((u64*)p.y), many(NOWHERE), extent((u32)extent), hits(0) {
        if (shared) {
            for (u32 at = threadIdx.x; at < this->extent; at += THREADS) {
                shared[at] = 0;
            }
            __syncthreads();
        }
    }

    __device__ __forceinline__ void add(u64 place, u32 count) {
        if (shared) {
            atomicAdd(&shared[place], count);
        } else {
            atomicAdd(y + place, (u64)count);
        }
    }

    __device__ __forceinline__ void flush() {
        if (hits && threadIdx.x % WARP == 0) {
            add(many, hits);
        }
        hits = 0;
    }

    __device__ __forceinline__ bool is_many(u64 place) const { return place == many && place != NOWHERE; }

    // Whether many lanes of the warp have the frequent place.
    __device__ __forceinline__ bool are_many(u64 place) const {
        return __popc(__ballot_sync(~0u, is_many(place))) >= MANY;
    }

    // Counts N places of each lane. All lanes of the warp call this. The first place of each lane shows
    // whether many have one place.
    template <int N> __device__ __forceinline__ void count(const u64 (&places)[N]) {
        if (!are_many(places[0])) {
            flush();
            many = __shfl_sync(~0u, places[0], 0);
            if (!are_many(places[0])) {
#pragma unroll
                for (int i = 0; i < N; i++) {
                    if (places[i] != NOWHERE) {
                        add(places[i], 1);
                    }
                }
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < N; i++) {
            hits += __popc(__ballot_sync(~0u, is_many(places[i])));
            if (!is_many(places[i]) && places[i] != NOWHERE) {
                add(places[i], 1);
            }
        }
    }

    // Counts the places of elements. `place` gives the place of an element and its number.
    template <class B, class F> __device__ __forceinline__ void count_all(const Params& p, F place) {
        const B* b = (const B*)p.b;
        const u64 step = (u64)gridDim.x * THREADS;
        u64 at = (u64)blockIdx.x * THREADS + threadIdx.x;
        for (; at - threadIdx.x % WARP + 3 * step + WARP <= p.len; at += 4 * step) {
            B four[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                four[i] = b[at + i * step];
            }
            u64 places[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                places[i] = place(four[i], at + i * step);
            }
            count(places);
        }
        for (; at - threadIdx.x % WARP < p.len; at += step) {
            const u64 places[1] = {at < p.len ? place(b[at], at) : NOWHERE};
            count(places);
        }
        flush();
        if (shared) {
            __syncthreads();
            for (u32 each = threadIdx.x; each < extent; each += THREADS) {
                if (shared[each]) {
                    atomicAdd(y + each, (u64)shared[each]);
                }
            }
        }
    }
};

// b: elements; a: edges; y: u64 counts, 0 at first.
template <class K> __device__ __forceinline__ void histogram(const Params& p) {
    extern __shared__ u32 counts[];
    Counter counter(counts, p, p.extent - 1, SHARED_COUNTS);
    counter.count_all<typename K::Bits>(
        p, [&](typename K::Bits element, u64) { return interval<K>(p, element); });
}

// ---- counts ----

// Counts how many bytes have each value. b: elements; z: 256 counts, 0 at first.
KERNEL(bytes, THREADS) {
    // Each warp counts separately, so that not all warps add to one address for one value.
    __shared__ u32 counts[THREADS / WARP][256];
    for (int at = threadIdx.x; at < THREADS / WARP * 256; at += THREADS) {
        (&counts[0][0])[at] = 0;
    }
    __syncthreads();
    u32* own = counts[threadIdx.x / WARP];
    const u8* b = (const u8*)p.b;
    // The bytes before the first 16 aligned bytes, and after the last.
    const u64 head = least((16 - (p.b & 15)) & 15, p.len), wide = (p.len - head) / 16;
    const uint4* from = (const uint4*)(b + head);
    EACH(at, wide) {
        const uint4 four = from[at];
        const u32 words[4] = {four.x, four.y, four.z, four.w};
        if (four.x == __byte_perm(four.x, 0, 0) && four.x == four.y && four.z == four.w && four.x == four.z) {
            // If all lanes have one value, it is added once for 16 bytes.
            atomicAdd(&own[four.x & 255], 16);
            continue;
        }
#pragma unroll
        for (int w = 0; w < 4; w++) {
#pragma unroll
            for (int byte = 0; byte < 4; byte++) {
                atomicAdd(&own[words[w] >> 8 * byte & 255], 1);
            }
        }
    }
    if (blockIdx.x == 0) {
        for (u64 at = threadIdx.x; at < p.len - 16 * wide; at += THREADS) {
            atomicAdd(&own[b[at < head ? at : at + 16 * wide]], 1);
        }
    }
    __syncthreads();
    u32 sum = 0;
#pragma unroll
    for (int w = 0; w < THREADS / WARP; w++) {
        sum += counts[w][threadIdx.x];
    }
    if (sum) {
        atomicAdd((u64*)p.z + threadIdx.x, (u64)sum);
    }
}

// Adds the counts of bytes to intervals. z: 256 counts; b: edges; y: u64 counts, 0 at first.
template <class K> __device__ __forceinline__ void histogram_of_bytes(const Params& p) {
    const u64 count = ((const u64*)p.z)[threadIdx.x];
    const u64 place = interval<K>(p, (typename K::Bits)threadIdx.x);
    if (count && place != ~0ull) {
        atomicAdd((u64*)p.y + place, count);
    }
}

// Adds the counts of bytes to places. z: 256 counts; y: `extent` counts. The kernel of places reports
// values that occur and have no place.
KERNEL(bincount_of_bytes, 256) {
    const u64 count = ((const u64*)p.z)[threadIdx.x];
    const i64 at = (i64)value((u8)threadIdx.x, p);
    if (at >= 0 && at < (i64)p.extent) {
        ((u64*)p.y)[at] = count;
    } else if (count) {
        *(u32*)p.next = 1;
    }
}

// Writes bytes in order, given how many have each value. z: 256 counts; y: `len` bytes.
KERNEL(bytes_in_order, THREADS) {
    __shared__ u64 ends[256];
    __shared__ u8 values[256];
    // The values are in the order of keys.
    values[threadIdx.x] = (u8)(threadIdx.x ^ p.turn);
    ends[threadIdx.x] = ((const u64*)p.z)[values[threadIdx.x]];
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        const u64 before = threadIdx.x >= step ? ends[threadIdx.x - step] : 0;
        __syncthreads();
        ends[threadIdx.x] += before;
        __syncthreads();
    }
    u8* y = (u8*)p.y;
    const u64 head = least((16 - (p.y & 15)) & 15, p.len), wide = (p.len - head) / 16;
    // The key of the element at a place.
    const auto key_at = [&](u64 at) {
        u32 base = 0;
#pragma unroll
        for (u32 half = 128; half > 0; half /= 2) {
            base += ends[base + half - 1] <= at ? half : 0;
        }
        return base;
    };
    EACH(at, wide) {
        const u64 first = head + 16 * at;
        u32 key = key_at(first);
        u32 words[4];
        if (ends[key] >= first + 16) {
            words[0] = words[1] = words[2] = words[3] = values[key] * 0x01010101u;
        } else {
#pragma unroll
            for (int w = 0; w < 4; w++) {
                words[w] = 0;
                for (int byte = 0; byte < 4; byte++) {
                    while (ends[key] <= first + 4 * w + byte) {
                        key++;
                    }
                    words[w] |= (u32)values[key] << 8 * byte;
                }
            }
        }
        *(uint4*)(y + first) = make_uint4(words[0], words[1], words[2], words[3]);
    }
    if (blockIdx.x == 0) {
        for (u64 at = threadIdx.x; at < p.len - 16 * wide; at += THREADS) {
            const u64 place = at < head ? at : at + 16 * wide;
            y[place] = values[key_at(place)];
        }
    }
}

// Finds the first byte without a place. b: elements; next: whether there is one.
KERNEL(first_byte, THREADS) {
    if (!*(const u32*)p.next) {
        return;
    }
    EACH(at, p.len) {
        const i64 place = (i64)value(((const u8*)p.b)[at], p);
        if (place < 0 || place >= (i64)p.extent) {
            found(p, at);
            return;
        }
    }
}

// b: elements; y: `extent` counts, 0 at first; first: the first element without a place.
template <class B> __device__ __forceinline__ void bincount(const Params& p) {
    extern __shared__ u32 counts[];
    Counter counter(counts, p, p.extent, SHARED_COUNTS + SHARED_COUNTS / 2);
    u64 wrong = NOWHERE;
    counter.count_all<B>(p, [&](B element, u64 at) {
        const u64 place = value(element, p);
        if (place < p.extent) {
            return place;
        }
        wrong = least(wrong, at);
        return NOWHERE;
    });
    if (wrong != NOWHERE) {
        found(p, wrong);
    }
}

// ---- places ----

// b: indices; z: u32 places, `extent` for indices without a place.
template <class B> __device__ __forceinline__ void places(const Params& p) {
    EACH(at, p.len) {
        u64 place = value(((const B*)p.b)[at], p);
        if (p.flags & FROM_END && (i64)place < 0) {
            place += p.extent;
        }
        if (place >= p.extent) {
            found(p, at);
            place = p.extent;
        }
        ((u32*)p.z)[at] = (u32)place;
    }
}

// c: offsets, `len` of them; offsets: the same as i64. Finds the first that is outside 0 … extent or below
// the one before it. If there is none, finds with EXTREME the end of the first group without elements.
template <class B> __device__ __forceinline__ void segment_offsets(const Params& p) {
    EACH(at, p.len) {
        const i64 offset = index_at<B>(p, p.a, at);
        ((i64*)p.offsets)[at] = offset;
        const i64 before = at > 0 ? index_at<B>(p, p.a, at - 1) : 0;
        if (offset < 0 || offset > (i64)p.extent || offset < before) {
            found(p, at);
        } else if (at > 0 && offset == before && p.flags & EXTREME) {
            found(p, at | EMPTY);
        }
    }
}

// Finds where each place begins in ascending places. a: u32 places, `len` of them; offsets: extent + 1
// of i64.
KERNEL(place_offsets, THREADS) {
    const u32* list = (const u32*)p.a;
    EACH(at, p.extent + 1) {
        u64 base = 0, len = p.len;
        while (len > 0) {
            const u64 half = len / 2;
            const bool goes = list[base + half] < at;
            base += goes ? half + 1 : 0;
            len = goes ? len - half - 1 : half;
        }
        ((i64*)p.offsets)[at] = (i64)base;
    }
}

#define KEYS(NAME, KEY)                                              \
    KERNEL(NAME##_search, THREADS) { search_sorted<KEY>(p); }        \
    KERNEL(NAME##_histogram, THREADS) { histogram<KEY>(p); }         \
    KERNEL(NAME##_put_extreme, THREADS) { put_extreme<KEY>(p); }

KEYS(w8, Byte)
KEYS(w16, Short)
KEYS(w32, Whole<u32>)
KEYS(w64, Whole<u64>)
KEYS(f32, Float<u32>)
KEYS(f64, Float<u64>)
KERNEL(histogram_of_bytes, 256) { histogram_of_bytes<Byte>(p); }

#define WORDS(NAME, B)                                                                                  \
    KERNEL(NAME##_bincount, THREADS) { bincount<B>(p); }                                                \
    KERNEL(NAME##_places, THREADS) { places<B>(p); }                                                    \
    KERNEL(NAME##_report, 1) { report<B>(p); }                                                          \
    KERNEL(NAME##_put_add, THREADS) { put<B>(p, [](B* to, B v) { add(to, v); }); }                      \
    KERNEL(NAME##_weights, THREADS) { weights<B>(p); }

WORDS(w8, u8)
WORDS(w16, u16)
WORDS(w32, u32)
WORDS(w64, u64)
KERNEL(w32_offsets, THREADS) { segment_offsets<u32>(p); }
KERNEL(w64_offsets, THREADS) { segment_offsets<u64>(p); }
