// Compare nodes with scans at every heading (`compute.search.correlate`), select the cheapest, and
// bound boxes of poses.
//
// Costs are sums of whole steps, so that they are the same bit by bit as on the cores.

#define NO_COST 0x7fffffff
#define MAX_CODE 32767.0f

__device__ __forceinline__ unsigned long long warp_min(unsigned long long key)
{
    for (int lane = 16; lane > 0; lane >>= 1) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, key, lane);
        key = other < key ? other : key;
    }
    return key;
}

// Compare nodes with scans, a node a block and a heading a thread.
//
// descriptors: of all nodes, shape (N, total_rings, n); the scans begin at the ring `first_ring`.
// nodes: the nodes to compare with every scan, shape (count,); 0 for the first ones of all.
// values: channels of the scans in steps above the base, shape (scans, phases, rings, m).
// channels, channel_counts: the channels that count, in the same shape, and how many, shape
//     (scans, phases, rings).
// is_allowed: headings that count, shape (scans, n phases).
// base, per, step: value that steps are counted from, steps of 1, and size of a step.
// low, high: limits of a difference in steps.
// costs, headings: output, shape (scans, count, keep); headings are 0 if they are not wanted.
// Shared memory holds 2 n rings codes of the node, and n phases costs.
extern "C" __global__ void correlate(
    const float *__restrict__ descriptors, int total_rings, int first_ring, int rings, int n,
    const long long *__restrict__ nodes, long long count, const short *__restrict__ values,
    const int *__restrict__ channels, const int *__restrict__ channel_counts, int phases, int m,
    const bool *__restrict__ is_allowed, float base, float per, double step, int low, int high,
    int keep, float *__restrict__ costs, int *__restrict__ headings)
{
    extern __shared__ int shared[];
    int *codes = shared;               // (rings, 2 n)
    int *cost = codes + 2 * n * rings; // (n phases)
    __shared__ unsigned long long warp_keys[32];

    const int turns = n * phases, scan = blockIdx.y;
    const int j = threadIdx.x, k = j / phases, p = j % phases;
    const short *scan_values = values + (long long)(scan * phases + p) * rings * m;
    const int *scan_channels = channels + (long long)(scan * phases + p) * rings * m;
    const int *scan_counts = channel_counts + (scan * phases + p) * rings;
    const bool is_counted = j < turns && is_allowed[scan * turns + j];

    for (long long i = blockIdx.x; i < count; i += gridDim.x) {
        __syncthreads();
        const float *node = descriptors + ((nodes ? nodes[i] : i) * total_rings + first_ring) * n;
        for (int c = threadIdx.x; c < 2 * n * rings; c += blockDim.x) {
            const float steps = __fmul_rn(__fsub_rn(node[(c / (2 * n)) * n + c % n], base), per);
            codes[c] = (int)fminf(fmaxf(__fadd_rn(steps, 0.5f), 0.0f), MAX_CODE);
        }
        __syncthreads();
        if (j < turns) {
            int sum = 0;
            for (int ring = 0; ring < rings; ++ring) {
                const int *code = codes + ring * 2 * n + k;
                for (int q = 0; q < scan_counts[ring]; ++q) {
                    const int c = scan_channels[ring * m + q];
                    sum += abs(min(max(scan_values[ring * m + c] - code[c], low), high));
                }
            }
            cost[j] = is_counted ? sum : NO_COST;
        }
        __syncthreads();
        unsigned long long key = ~0ull;
        if (j < turns) {
            const int value = cost[j];
            const int before = cost[j == 0 ? turns - 1 : j - 1];
            const int after = cost[j + 1 == turns ? 0 : j + 1];
            if (value < NO_COST && before >= value && after >= value)
                key = (unsigned long long)value << 32 | j;
        }
        const long long at = ((long long)scan * count + i) * keep;
        for (int r = 0; r < keep; ++r) {
            const unsigned long long best = warp_min(key);
            if ((threadIdx.x & 31) == 0)
                warp_keys[threadIdx.x >> 5] = best;
            __syncthreads();
            unsigned long long block_key =
                threadIdx.x < blockDim.x / 32 ? warp_keys[threadIdx.x] : ~0ull;
            if (threadIdx.x < 32) {
                block_key = warp_min(block_key);
                if (threadIdx.x == 0)
                    warp_keys[0] = block_key;
            }
            __syncthreads();
            block_key = warp_keys[0];
            if (key == block_key)
                key = ~0ull;
            if (threadIdx.x == 0) {
                costs[at + r] = block_key == ~0ull ? __int_as_float(0x7f800000)
                                                   : (float)((int)(block_key >> 32) * step);
                if (headings)
                    headings[at + r] = block_key == ~0ull ? 0 : (int)(block_key & 0xffffffffu);
            }
            __syncthreads();
        }
    }
}

// Number of threads of the block before this one whose value is true, and of all such threads.
__device__ __forceinline__ int count_before(bool value, int *warp_sums, int &total)
{
    const unsigned votes = __ballot_sync(0xffffffffu, value);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0)
        warp_sums[warp] = __popc(votes);
    __syncthreads();
    if (warp == 0) {
        int sum = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
        for (int step = 1; step < 32; step <<= 1) {
            const int other = __shfl_up_sync(0xffffffffu, sum, step);
            if (lane >= step)
                sum += other;
        }
        warp_sums[lane] = sum;
    }
    __syncthreads();
    total = warp_sums[31];
    return (warp ? warp_sums[warp - 1] : 0) + __popc(votes & ((1u << lane) - 1u));
}

// Select the cheapest nodes, of equal costs the first: `compute.search.topk`, by one block of 1024
// threads.
//
// costs: costs of the nodes as bits of floats, 0 or more, shape (count,).
// nodes: their numbers, ascending; 0 for the first ones of all.
// selected, selected_costs: output, in the order of the nodes, shape (length,), length <= count.
extern "C" __global__ void cheapest(
    const unsigned *__restrict__ costs, long long count, const long long *__restrict__ nodes,
    long long length, long long *__restrict__ selected, unsigned *__restrict__ selected_costs)
{
    __shared__ int bins[256], warp_sums[32];
    __shared__ unsigned edge_out;
    __shared__ long long missing_out;

    unsigned edge = 0, mask = 0;
    long long missing = length;
    for (int shift = 24; shift >= 0; shift -= 8) {
        if (threadIdx.x < 256)
            bins[threadIdx.x] = 0;
        __syncthreads();
        for (long long i = threadIdx.x; i < count; i += blockDim.x)
            if ((costs[i] & mask) == edge)
                atomicAdd(&bins[costs[i] >> shift & 255], 1);
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned place = 0;
            while (place < 255 && bins[place] < missing)
                missing -= bins[place++];
            edge_out = edge | place << shift;
            missing_out = missing;
        }
        __syncthreads();
        edge = edge_out;
        missing = missing_out;
        mask |= 255u << shift;
    }
    long long written = 0, ties = 0;
    for (long long first = 0; first < count; first += blockDim.x) {
        const long long i = first + threadIdx.x;
        const unsigned cost = i < count ? costs[i] : 0xffffffffu;
        const bool is_tie = i < count && cost == edge;
        int tie_count, selected_count;
        const int tie_rank = count_before(is_tie, warp_sums, tie_count);
        const bool is_selected =
            i < count && (cost < edge || (is_tie && ties + tie_rank < missing));
        const long long slot = written + count_before(is_selected, warp_sums, selected_count);
        if (is_selected) {
            selected[slot] = nodes ? nodes[i] : i;
            selected_costs[slot] = cost;
        }
        written += selected_count;
        ties += tie_count;
    }
}

// Sum the deficits of boxes of poses, a box a thread: `compute.branch_and_bound.upper_bounds`.
//
// cells: column and row of the cell that holds the middle of each box, shape (boxes, 2).
// groups: group of each box; offsets: from there to where each beam ends, for each group, shape
//     (g, m, 2).
// deficits: output, -1 for boxes that are dropped; lookups: added to.
extern "C" __global__ void bound(
    const unsigned char *__restrict__ codes, int height, int width, const int *__restrict__ groups,
    const int *__restrict__ cells, long long boxes, const int *__restrict__ offsets,
    const unsigned short *__restrict__ tables, int m, int budget, int *__restrict__ deficits,
    unsigned long long *__restrict__ lookups)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long own = 0;
    if (i < boxes) {
        const int column = cells[2 * i], row = cells[2 * i + 1];
        const int *offset = offsets + (long long)groups[i] * m * 2;
        int sum = 0, k = 0;
        for (; k < m; ++k) {
            const int u = min(max(column + offset[2 * k], 0), width - 1);
            const int v = min(max(row + offset[2 * k + 1], 0), height - 1);
            sum += tables[k * 256 + codes[(long long)v * width + u]];
            if (((k & 3) == 3 || k == m - 1) && sum > budget)
                break;
        }
        deficits[i] = sum <= budget ? sum : -1;
        own = min(k + 1, m);
    }
    for (int lane = 16; lane > 0; lane >>= 1)
        own += __shfl_xor_sync(0xffffffffu, own, lane);
    if ((threadIdx.x & 31) == 0 && own)
        atomicAdd(lookups, own);
}
