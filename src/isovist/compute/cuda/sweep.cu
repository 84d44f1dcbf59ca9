// Ranges of nodes in one pass over the map for each direction: `compute.grids.sweep2d`, a line a thread.
//
// Nodes lie on a lattice of every stride-th cell, and the lanes of a warp follow lines that lie a
// stride apart, so that they all come to nodes in the same columns.  Going from the far end of the
// rays to the near end, 32 columns at a time, each lane asks one column which of the warp's lines
// meet anything in it, as the bits of a word.  These bits, turned, tell each line in which columns
// it meets something, and of these only the last before a node is read counts.  Equations (1) to (3)
// of `compute.grids.sweep2d` hold bit by bit: offsets and lengths are made of doubles as there.

typedef unsigned int Word;

const int WARP = 32;
const int WARPS = 4; // of a block
const int SIDE = 4;
const int MAXIMUM = 3;
const Word ALL = 0xffffffffu;

struct Column {
    float near;
    float crossed;
    float back_u;
    float back_v;
};

// Which bits of a row of cells are those of the lines of a warp: class and place in it.
__device__ __forceinline__ int bit_of(int cell, int stride, double per_stride, int class_bits)
{
    const int place = (int)((cell + 0.5) * per_stride);
    return (cell - place * stride) * class_bits + place;
}

__device__ __forceinline__ uint2 window(const uint2 *words, int bit)
{
    const uint2 low = words[bit >> 5], high = words[(bit >> 5) + 1];
    return make_uint2(__funnelshift_r(low.x, high.x, bit & 31),
                      __funnelshift_r(low.y, high.y, bit & 31));
}

// Bit k of lane j becomes bit j of lane k.
__device__ __forceinline__ Word turned(Word word, int lane)
{
    Word mask = 0x0000ffffu;
#pragma unroll
    for (int m = 16; m > 0; m >>= 1, mask ^= mask << m) {
        const Word other = __shfl_xor_sync(ALL, word, m);
        word = lane & m ? (word & ~mask) | (other & ~mask) >> m
                        : (word & mask) | (other & mask) << m;
    }
    return word;
}

// What a line meets last, in the columns where it enters a cell and where it leaves through one;
// a column that it enters through a cell is met nearer than the one that it leaves through.
__device__ __forceinline__ void meet(Word enters, Word leaves, const Column *columns,
                                     const uint2 *entered, const uint2 *left, int lane,
                                     float &line, int &end)
{
    if (!(enters | leaves))
        return;
    const bool side = __clz(leaves) < __clz(enters);
    const int q = 31 - __clz(side ? leaves : enters);
    const uint2 word = side ? left[q] : entered[q];
    line = side ? columns[q].crossed : columns[q].near;
    end = (word.x >> lane & 1) | (word.y >> lane & 1) << 1 | (side ? SIDE : 0);
}

// codes: low and high bits of the surface of the map with a border of one cell, row after row of
//     the major axis.  In a row the cells lie class after class by their place modulo stride, each
//     class in `class_words` words; cell v is number v + pad, and pad is a multiple of stride;
//     shape (majors + 2, stride class_words).
// directions: du and dv, major first, shape (S, 2); slots: where each goes.
// nodes: of the lattice of cells origin + k stride, shape (…, count), at k_major * step_major +
//     k_minor * step_minor; ranges in cells, or −1 where the ending does not count.
extern "C" __global__ void __launch_bounds__(WARP *WARPS) sweep(
    const uint2 *__restrict__ codes, int majors, int minors, int class_words, int pad,
    const double *__restrict__ directions, const int *__restrict__ slots, int origin_major,
    int origin_minor, int stride, int lattice_major, int lattice_minor, long long step_major,
    long long step_minor, long long count, float longest, int counted, float *__restrict__ nodes)
{
    __shared__ Column all_columns[WARPS][WARP];
    __shared__ uint2 all_entered[WARPS][WARP], all_left[WARPS][WARP];
    __shared__ int2 all_reads[WARPS][WARP];

    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    Column *columns = all_columns[warp];
    uint2 *entered = all_entered[warp], *left = all_left[warp];
    int2 *reads = all_reads[warp];

    const double du = directions[2 * blockIdx.y], dv = directions[2 * blockIdx.y + 1];
    const double t = dv / fabs(du), per_u = 1.0 / fabs(du), per_v = dv != 0.0 ? 1.0 / dv : 0.0;
    const double per_stride = 1.0 / stride;
    const int drift = (int)floor(0.5 + t * (majors + 1));
    const int first = -2 - max(drift, 0), last = minors + 1 - min(drift, 0);
    const int number = (int)blockIdx.x * WARPS + warp;
    const int begin = first + number / stride * (WARP * stride) + number % stride; // of lane 0
    if (begin > last)
        return;

    // Columns in which some line of the warp is in the map, or just outside.
    int low = 0, high = majors;
    const double behind = -4.0 - (begin + WARP * stride), before = minors + 4.0 - begin;
    if (t > 1e-9) {
        low = max(low, (int)floor(fmax(-1e9, behind / t)));
        high = min(high, (int)ceil(fmin(1e9, before / t)));
    } else if (t < -1e-9) {
        low = max(low, (int)floor(fmax(-1e9, before / t)));
        high = min(high, (int)ceil(fmin(1e9, behind / t)));
    }

    float *mine = nodes + slots[blockIdx.y] * count + lane * step_minor;
    const int class_bits = class_words * 32, row_words = stride * class_words;
    float line = 0.0f;
    int end = 0;

    for (int top = high; top >= low; top -= WARP) {
        const int p = top - lane;
        bool meets = false, leaves = false, after = false, read = false;
        Word mine_entered = 0, mine_left = 0; // of the column that this lane asks
        if (p >= low) {
            const int i = du > 0.0 ? p : majors - 1 - p;
            const int a = (int)floor(0.5 + t * (p - 0.5));
            const int s = (int)floor(0.5 + t * p);
            const int b = (int)floor(0.5 + t * (p + 0.5));
            const uint2 *words = codes + (long long)(i + 1) * row_words;
            const uint2 word = window(words, bit_of(begin + a + pad, stride, per_stride, class_bits));
            mine_entered = word.x | word.y;
            meets = mine_entered;
            entered[lane] = word;
            if (a != b) {
                const uint2 side =
                    window(words, bit_of(begin + b + pad, stride, per_stride, class_bits));
                mine_left = side.x | side.y;
                leaves = mine_left;
                after = b == s;
                left[lane] = side;
            }
            const int k = i - origin_major, r = begin + s - origin_minor + pad;
            const int row = (int)floor((r + 0.5) * per_stride);
            if (row * stride == r && p < majors && k >= 0) {
                const int column = (int)((k + 0.5) * per_stride);
                read = column * stride == k && column < lattice_major;
                reads[lane] = make_int2(column, row - pad / stride);
            }
            if (meets || leaves || read) {
                Column told;
                told.near = (float)(p * per_u);
                told.crossed = (float)(max(a, b) * per_v);
                told.back_u = (float)((p + 0.5) * per_u);
                told.back_v = (float)((s + 0.5) * per_v);
                columns[lane] = told;
            }
        }
        __syncwarp();
        const Word meeting = __ballot_sync(ALL, meets), leaving = __ballot_sync(ALL, leaves);
        const Word later = __ballot_sync(ALL, after), reading = __ballot_sync(ALL, read);
        const Word enters = meeting ? turned(mine_entered, lane) : 0;
        const Word goes = leaving ? turned(mine_left, lane) : 0;
        for (Word nodes_here = reading; nodes_here; nodes_here &= nodes_here - 1) {
            const int q = __ffs(nodes_here) - 1;
            const Word earlier = (1u << q) - 1, bit = 1u << q;
            float at = line;
            int met = end;
            meet(enters & earlier, goes & (earlier | (bit & ~later)), columns, entered, left, lane,
                 at, met);
            const int2 place = reads[q];
            const int k = place.y + lane;
            if (k >= 0 && k < lattice_minor) {
                const float reach = at - (met > 3 ? columns[q].back_v : columns[q].back_u);
                const int ending = reach > longest ? MAXIMUM : (met & 3) - 1;
                const bool counts = ending >= 0 && (counted >> ending & 1);
                mine[place.x * step_major + place.y * step_minor] = counts ? reach : -1.0f;
            }
        }
        meet(enters, goes, columns, entered, left, lane, line, end);
        __syncwarp();
    }
}

struct Weight {
    int ray;
    float weight;
};

// Sums of weighted signals: F_i += Σ_s f(r_s) w_si and K_i += Σ_s w_si over rays that count.
//
// ranges: in cells, −1 where nothing counts, shape (S, rows columns); column after column where
//     `turned` says so, else row after row.
// starts, weights: the rays of channel i are weights[starts[i]] to weights[starts[i + 1]].
// totals: K where all rays count, shape (channels,).
// F, K: shape (rows columns, channels), row after row.
// A block takes 4 × 8 nodes, which lie together either way; shared memory holds S × 32 signals,
// 32 × (channels + 1) sums and the weights.
extern "C" __global__ void accumulate(
    const float *__restrict__ ranges, const bool *__restrict__ turned, int rays, int rows,
    int columns, int channels, const int *__restrict__ starts, const Weight *__restrict__ weights,
    const float *__restrict__ totals, float longest, float side, int transform, float scale,
    bool more, float *__restrict__ F, float *__restrict__ K)
{
    extern __shared__ float signal[];
    float *sums = signal + rays * WARP;
    Weight *told = (Weight *)(sums + WARP * (channels + 1));
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const int top = blockIdx.y * 4, left = blockIdx.x * 8;
    const int row = top + lane / 8, column = left + lane % 8;
    const bool inside = row < rows && column < columns;
    const long long count = (long long)rows * columns;
    const long long by_rows = (long long)row * columns + column;
    const long long by_columns = (long long)column * rows + row;
    for (int e = threadIdx.x; e < starts[channels]; e += blockDim.x)
        told[e] = weights[e];
    bool missed = false;
#pragma unroll 4
    for (int s = warp; s < rays; s += warps) {
        float value = -1.0f;
        if (inside) {
            const float reach = ranges[s * count + (turned[s] ? by_columns : by_rows)];
            if (reach >= 0.0f) {
                value = fminf(reach, longest) * side;
                if (transform == 1)
                    value = scale == 1.0f ? logf(1.0f + value)
                                          : scale * logf(1.0f + value / scale);
                else if (transform == 2)
                    value = value / (value + scale);
            }
            missed |= value < 0.0f;
        }
        signal[s * WARP + lane] = value;
    }
    missed = __syncthreads_or(missed);
    for (int known = 0; known < 2; ++known) {
        if (!known || missed) {
            for (int i = warp; i < channels; i += warps) {
                float sum = 0.0f;
                const int last = starts[i + 1];
#pragma unroll 4
                for (int e = starts[i]; e < last; ++e) {
                    const Weight w = told[e];
                    const float value = signal[w.ray * WARP + lane];
                    sum += known ? (value >= 0.0f ? w.weight : 0.0f) : fmaxf(value, 0.0f) * w.weight;
                }
                sums[lane * (channels + 1) + i] = sum;
            }
            __syncthreads();
        }
        for (int node = warp; node < WARP; node += warps) {
            const int r = top + node / 8, c = left + node % 8;
            if (r >= rows || c >= columns)
                continue;
            float *out = (known ? K : F) + ((long long)r * columns + c) * channels;
            for (int i = lane; i < channels; i += WARP) {
                const float sum =
                    known && !missed ? totals[i] : sums[node * (channels + 1) + i];
                out[i] = more ? out[i] + sum : sum;
            }
        }
        __syncthreads();
    }
}
