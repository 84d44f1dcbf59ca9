// Every node and every heading against scans: `compute.search.correlate`, a node a block.
//
// Terms are whole steps, as there, so that costs are the same bit by bit.

#define NEVER 0x7fffffff
#define HIGHEST 32767.0f

__device__ __forceinline__ unsigned long long least(unsigned long long key)
{
    for (int lane = 16; lane > 0; lane >>= 1) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, key, lane);
        key = other < key ? other : key;
    }
    return key;
}

// nodes: f, shape (N, all rings, n), of which those of the scans begin at `lowest`.
// windows: o in steps above the base, shape (scans, phases, rings, m); channels: those that count, shape (scans, phases,
//     rings, m), and how many they are, counts, shape (scans, phases, rings).
// allowed: shape (scans, n phases).
// active: nodes to try, shape (A,), for every scan; the first A of all where that is 0.
// base, per: what counts as 0, and steps of 1; step: one over that; low, high: limits in steps.
// costs, headings: shape (scans, A, keep); headings 0 where nobody asks.
// A thread for each heading; shared memory holds 2 n rings codes, and costs.
extern "C" __global__ void correlate(
    const float *__restrict__ nodes, int all, int lowest, int rings, int n,
    const long long *__restrict__ active, long long tried, const short *__restrict__ windows,
    const int *__restrict__ channels, const int *__restrict__ counts, int phases, int m,
    const bool *__restrict__ allowed, float base, float per, double step, int low, int high,
    int keep, float *__restrict__ costs, int *__restrict__ headings)
{
    extern __shared__ int shared[];
    int *f = shared;                   // (rings, 2 n)
    int *cost = f + 2 * n * rings;     // (n phases)
    __shared__ unsigned long long found[32];

    const int turns = n * phases, scan = blockIdx.y;
    const int j = threadIdx.x, k = j / phases, p = j % phases;
    const short *o = windows + (long long)(scan * phases + p) * rings * m;
    const int *which = channels + (long long)(scan * phases + p) * rings * m;
    const int *many = counts + (scan * phases + p) * rings;
    const bool counted = j < turns && allowed[scan * turns + j];

    for (long long i = blockIdx.x; i < tried; i += gridDim.x) {
        __syncthreads();
        const float *node = nodes + ((active ? active[i] : i) * all + lowest) * n;
        for (int c = threadIdx.x; c < 2 * n * rings; c += blockDim.x) {
            const float above = __fmul_rn(__fsub_rn(node[(c / (2 * n)) * n + c % n], base), per);
            f[c] = (int)fminf(fmaxf(__fadd_rn(above, 0.5f), 0.0f), HIGHEST);
        }
        __syncthreads();
        if (j < turns) {
            int sum = 0;
            for (int ring = 0; ring < rings; ++ring) {
                const int *mine = f + ring * 2 * n + k;
                for (int q = 0; q < many[ring]; ++q) {
                    const int c = which[ring * m + q];
                    sum += abs(min(max(o[ring * m + c] - mine[c], low), high));
                }
            }
            cost[j] = counted ? sum : NEVER;
        }
        __syncthreads();
        unsigned long long key = ~0ull;
        if (j < turns) {
            const int value = cost[j];
            const int before = cost[j == 0 ? turns - 1 : j - 1];
            const int after = cost[j + 1 == turns ? 0 : j + 1];
            if (value < NEVER && before >= value && after >= value)
                key = (unsigned long long)value << 32 | j;
        }
        const long long at = ((long long)scan * tried + i) * keep;
        for (int r = 0; r < keep; ++r) {
            const unsigned long long best = least(key);
            if ((threadIdx.x & 31) == 0)
                found[threadIdx.x >> 5] = best;
            __syncthreads();
            unsigned long long all = threadIdx.x < blockDim.x / 32 ? found[threadIdx.x] : ~0ull;
            if (threadIdx.x < 32) {
                all = least(all);
                if (threadIdx.x == 0)
                    found[0] = all;
            }
            __syncthreads();
            all = found[0];
            if (key == all)
                key = ~0ull;
            if (threadIdx.x == 0) {
                costs[at + r] = all == ~0ull ? __int_as_float(0x7f800000) : (float)((int)(all >> 32) * step);
                if (headings)
                    headings[at + r] = all == ~0ull ? 0 : (int)(all & 0xffffffffu);
            }
            __syncthreads();
        }
    }
}

__device__ __forceinline__ int before(bool mine, int *warps, int &total)
{
    // How many threads of the block before this one say yes, and how many do in all.
    const unsigned said = __ballot_sync(0xffffffffu, mine);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0)
        warps[warp] = __popc(said);
    __syncthreads();
    if (warp == 0) {
        int sum = lane < blockDim.x / 32 ? warps[lane] : 0;
        for (int step = 1; step < 32; step <<= 1) {
            const int other = __shfl_up_sync(0xffffffffu, sum, step);
            if (lane >= step)
                sum += other;
        }
        warps[lane] = sum;
    }
    __syncthreads();
    total = warps[31];
    return (warp ? warps[warp - 1] : 0) + __popc(said & ((1u << lane) - 1u));
}

// The cheapest of some nodes: `compute.search.topk.cheapest`, by one block of 1024 threads.
//
// costs: 0 or more, shape (count,); active: their nodes, or 0 where these are the first of all.
// chosen, theirs: nodes, in their order, and costs, shape (most,), most <= count.
extern "C" __global__ void cheapest(
    const unsigned *__restrict__ costs, long long count, const long long *__restrict__ active,
    long long most, long long *__restrict__ chosen, unsigned *__restrict__ theirs)
{
    __shared__ int bins[256], warps[32];
    __shared__ unsigned last;
    __shared__ long long left;

    unsigned edge = 0, known = 0;
    long long wanted = most;
    for (int shift = 24; shift >= 0; shift -= 8) {
        if (threadIdx.x < 256)
            bins[threadIdx.x] = 0;
        __syncthreads();
        for (long long i = threadIdx.x; i < count; i += blockDim.x)
            if ((costs[i] & known) == edge)
                atomicAdd(&bins[costs[i] >> shift & 255], 1);
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned place = 0;
            while (place < 255 && bins[place] < wanted)
                wanted -= bins[place++];
            last = edge | place << shift;
            left = wanted;
        }
        __syncthreads();
        edge = last;
        wanted = left;
        known |= 255u << shift;
    }
    long long done = 0, alike = 0;
    for (long long first = 0; first < count; first += blockDim.x) {
        const long long i = first + threadIdx.x;
        const unsigned cost = i < count ? costs[i] : 0xffffffffu;
        const bool same = i < count && cost == edge;
        int sames, taken;
        const int rank = before(same, warps, sames);
        const bool take = i < count && (cost < edge || (same && alike + rank < wanted));
        const long long at = done + before(take, warps, taken);
        if (take) {
            chosen[at] = active ? active[i] : i;
            theirs[at] = cost;
        }
        done += taken;
        alike += sames;
    }
}

// Deficits of boxes of poses: `compute.branch_and_bound.upper_bounds`, a box a thread, the same sums.
//
// places: column and row of the cell that holds the middle of each box, shape (n, 2).
// group: of each box; offsets: from there to where beam k ends, for each group, shape (g, m, 2).
// looked: added up over all boxes.
extern "C" __global__ void bound(
    const unsigned char *__restrict__ codes, int height, int width, const int *__restrict__ group,
    const int *__restrict__ places, long long boxes, const int *__restrict__ offsets,
    const unsigned short *__restrict__ tables, int m, int budget, int *__restrict__ deficits,
    unsigned long long *__restrict__ looked)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long mine = 0;
    if (i < boxes) {
        const int column = places[2 * i], row = places[2 * i + 1];
        const int *to = offsets + (long long)group[i] * m * 2;
        int sum = 0, k = 0;
        for (; k < m; ++k) {
            const int u = min(max(column + to[2 * k], 0), width - 1);
            const int v = min(max(row + to[2 * k + 1], 0), height - 1);
            sum += tables[k * 256 + codes[(long long)v * width + u]];
            if (((k & 3) == 3 || k == m - 1) && sum > budget)
                break;
        }
        deficits[i] = sum <= budget ? sum : -1;
        mine = min(k + 1, m);
    }
    for (int lane = 16; lane > 0; lane >>= 1)
        mine += __shfl_xor_sync(0xffffffffu, mine, lane);
    if ((threadIdx.x & 31) == 0 && mine)
        atomicAdd(looked, mine);
}
