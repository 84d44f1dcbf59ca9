// Ranges of nodes in one pass over the map for each direction: `compute.grids.sweep2d`.
//
// A thread follows a line.  Nodes lie on a lattice of every stride-th cell, and the lanes of a warp
// follow lines that lie a stride apart, so that they all come to nodes in the same columns.  The
// warp goes from the far end of the rays to the near end, 32 columns at a time:
//
// 1. Each lane takes one column and reads, as the bits of a word, which lines of the warp meet
//    anything in it.
// 2. The 32 words are transposed: now each lane has the columns in which its own line meets
//    something.
// 3. For each node, the last such column before it gives its range.
//
// Equations (1) to (3) of `compute.grids.sweep2d` hold bit by bit: offsets and lengths are made of
// doubles as there.

typedef unsigned int Word;

const int WARP = 32;
const int WARPS = 4; // of a block
const int SIDE = 4;  // added to an ending that a line meets where it leaves a column
const int MAXIMUM = 3;
const Word ALL = 0xffffffffu;

// Lengths along a line in cells.
struct Column {
    float entry;  // to where the line enters the column
    float side;   // to where it leaves the column through the side of a cell
    float node_u; // to the middle of the column, along the major axis
    float node_v; // the same along the minor axis
};

// Bit of a cell in its row, where the cells lie class after class.
__device__ __forceinline__ int bit_of(int cell, int stride, double per_stride, int class_bits)
{
    const int place = (int)((cell + 0.5) * per_stride);
    return (cell - place * stride) * class_bits + place;
}

// 32 bits of a row from a bit on.
__device__ __forceinline__ uint2 window(const uint2 *words, int bit)
{
    const uint2 low = words[bit >> 5], high = words[(bit >> 5) + 1];
    return make_uint2(__funnelshift_r(low.x, high.x, bit & 31),
                      __funnelshift_r(low.y, high.y, bit & 31));
}

// Bit k of lane j becomes bit j of lane k.
__device__ __forceinline__ Word transpose(Word word, int lane)
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

// Length and ending of what a line meets last, unchanged if it meets nothing.
//
// entries, sides: the columns in which it meets something where it enters, or leaves through a
// side.  What it meets at the entry of a column is nearer than what it meets at its side.
__device__ __forceinline__ void meet_last(Word entries, Word sides, const Column *columns,
                                          const uint2 *entry_words, const uint2 *side_words,
                                          int lane, float &length, int &ending)
{
    if (!(entries | sides))
        return;
    const bool is_side = __clz(sides) < __clz(entries);
    const int q = 31 - __clz(is_side ? sides : entries);
    const uint2 word = is_side ? side_words[q] : entry_words[q];
    length = is_side ? columns[q].side : columns[q].entry;
    ending = (word.x >> lane & 1) | (word.y >> lane & 1) << 1 | (is_side ? SIDE : 0);
}

// Sweep the map along some directions.
//
// codes: low and high bits of the surface of the map with a border of one cell, row after row of
//     the major axis.  In a row the cells lie class after class by their place modulo stride, each
//     class in `class_words` words; cell v is number v + pad, and pad is a multiple of stride;
//     shape (majors + 2, stride class_words).
// directions: (du, dv), the major axis first, shape (S, 2).
// slots: row of the output of each direction, shape (S,).
// origin, stride, lattice: the nodes are the cells origin + k stride, k below lattice.
// ranges: output in cells, -1 where the ending does not count, shape (rows, count); node
//     (k_major, k_minor) is at k_major step_major + k_minor step_minor.
// max_range: in cells; endings: bits of the endings that count.
extern "C" __global__ void __launch_bounds__(WARP *WARPS) sweep(
    const uint2 *__restrict__ codes, int majors, int minors, int class_words, int pad,
    const double *__restrict__ directions, const int *__restrict__ slots, int origin_major,
    int origin_minor, int stride, int lattice_major, int lattice_minor, long long step_major,
    long long step_minor, long long count, float max_range, int endings,
    float *__restrict__ ranges)
{
    __shared__ Column block_columns[WARPS][WARP];
    __shared__ uint2 block_entry_words[WARPS][WARP], block_side_words[WARPS][WARP];
    __shared__ int2 block_places[WARPS][WARP];

    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    Column *columns = block_columns[warp];
    uint2 *entry_words = block_entry_words[warp], *side_words = block_side_words[warp];
    int2 *places = block_places[warp];

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

    float *line_ranges = ranges + slots[blockIdx.y] * count + lane * step_minor;
    const int class_bits = class_words * 32, row_words = stride * class_words;
    float length = 0.0f;
    int ending = 0;

    for (int top = high; top >= low; top -= WARP) {
        const int p = top - lane;
        bool has_entry = false, has_side = false, is_node_first = false, has_nodes = false;
        Word entry_bits = 0, side_bits = 0; // of the column of this lane
        if (p >= low) {
            const int i = du > 0.0 ? p : majors - 1 - p;
            const int a = (int)floor(0.5 + t * (p - 0.5));
            const int s = (int)floor(0.5 + t * p);
            const int b = (int)floor(0.5 + t * (p + 0.5));
            const uint2 *words = codes + (long long)(i + 1) * row_words;
            const uint2 word =
                window(words, bit_of(begin + a + pad, stride, per_stride, class_bits));
            entry_bits = word.x | word.y;
            has_entry = entry_bits;
            entry_words[lane] = word;
            if (a != b) {
                const uint2 side =
                    window(words, bit_of(begin + b + pad, stride, per_stride, class_bits));
                side_bits = side.x | side.y;
                has_side = side_bits;
                is_node_first = b == s;
                side_words[lane] = side;
            }
            const int k = i - origin_major, r = begin + s - origin_minor + pad;
            const int row = (int)floor((r + 0.5) * per_stride);
            if (row * stride == r && p < majors && k >= 0) {
                const int column = (int)((k + 0.5) * per_stride);
                has_nodes = column * stride == k && column < lattice_major;
                places[lane] = make_int2(column, row - pad / stride);
            }
            if (has_entry || has_side || has_nodes) {
                Column lengths;
                lengths.entry = (float)(p * per_u);
                lengths.side = (float)(max(a, b) * per_v);
                lengths.node_u = (float)((p + 0.5) * per_u);
                lengths.node_v = (float)((s + 0.5) * per_v);
                columns[lane] = lengths;
            }
        }
        __syncwarp();
        const Word entered = __ballot_sync(ALL, has_entry), left = __ballot_sync(ALL, has_side);
        const Word node_first = __ballot_sync(ALL, is_node_first);
        const Word with_nodes = __ballot_sync(ALL, has_nodes);
        const Word entries = entered ? transpose(entry_bits, lane) : 0;
        const Word sides = left ? transpose(side_bits, lane) : 0;
        for (Word rest = with_nodes; rest; rest &= rest - 1) {
            const int q = __ffs(rest) - 1;
            const Word earlier = (1u << q) - 1, own = 1u << q;
            float node_length = length;
            int node_ending = ending;
            meet_last(entries & earlier, sides & (earlier | (own & ~node_first)), columns,
                      entry_words, side_words, lane, node_length, node_ending);
            const int2 place = places[q];
            const int k = place.y + lane;
            if (k >= 0 && k < lattice_minor) {
                const float range =
                    node_length - (node_ending > 3 ? columns[q].node_v : columns[q].node_u);
                const int kind = range > max_range ? MAXIMUM : (node_ending & 3) - 1;
                const bool is_counted = kind >= 0 && (endings >> kind & 1);
                line_ranges[place.x * step_major + place.y * step_minor] =
                    is_counted ? range : -1.0f;
            }
        }
        meet_last(entries, sides, columns, entry_words, side_words, lane, length, ending);
        __syncwarp();
    }
}

// Weight of a ray in a channel.
struct Weight {
    int ray;
    float weight;
};

// Add weighted signals to sums: F_i += sum of f(r_s) w_si and K_i += sum of w_si, over the rays s
// that count.
//
// ranges: in cells, -1 where a ray does not count, shape (S, rows columns); column after column
//     where `is_transposed` says so, else row after row.
// starts, weights: the rays of channel i are weights[starts[i]] to weights[starts[i + 1]].
// totals: K where all rays count, shape (channels,).
// max_range: in cells; cell, scale: in m; transform: 0 linear, 1 logarithmic, 2 saturating.
// has_sums: whether F and K hold sums of other rays already.
// F, K: shape (rows columns, channels), row after row.
// A block takes 4 x 8 nodes, which lie together either way; shared memory holds S x 32 signals,
// 32 x (channels + 1) sums and the weights.
extern "C" __global__ void accumulate(
    const float *__restrict__ ranges, const bool *__restrict__ is_transposed, int rays, int rows,
    int columns, int channels, const int *__restrict__ starts, const Weight *__restrict__ weights,
    const float *__restrict__ totals, float max_range, float cell, int transform, float scale,
    bool has_sums, float *__restrict__ F, float *__restrict__ K)
{
    extern __shared__ float signal[];
    float *sums = signal + rays * WARP;
    Weight *entries = (Weight *)(sums + WARP * (channels + 1));
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const int top = blockIdx.y * 4, left = blockIdx.x * 8;
    const int row = top + lane / 8, column = left + lane % 8;
    const bool is_inside = row < rows && column < columns;
    const long long count = (long long)rows * columns;
    const long long by_rows = (long long)row * columns + column;
    const long long by_columns = (long long)column * rows + row;
    for (int e = threadIdx.x; e < starts[channels]; e += blockDim.x)
        entries[e] = weights[e];
    bool has_gap = false; // a ray that does not count
#pragma unroll 4
    for (int s = warp; s < rays; s += warps) {
        float value = -1.0f;
        if (is_inside) {
            const float range = ranges[s * count + (is_transposed[s] ? by_columns : by_rows)];
            if (range >= 0.0f) {
                value = fminf(range, max_range) * cell;
                if (transform == 1)
                    value = scale == 1.0f ? logf(1.0f + value)
                                          : scale * logf(1.0f + value / scale);
                else if (transform == 2)
                    value = value / (value + scale);
            }
            has_gap |= value < 0.0f;
        }
        signal[s * WARP + lane] = value;
    }
    has_gap = __syncthreads_or(has_gap);
    for (int is_mass = 0; is_mass < 2; ++is_mass) { // F, then K
        if (!is_mass || has_gap) {
            for (int i = warp; i < channels; i += warps) {
                float sum = 0.0f;
                const int last = starts[i + 1];
#pragma unroll 4
                for (int e = starts[i]; e < last; ++e) {
                    const Weight w = entries[e];
                    const float value = signal[w.ray * WARP + lane];
                    sum += is_mass ? (value >= 0.0f ? w.weight : 0.0f)
                                   : fmaxf(value, 0.0f) * w.weight;
                }
                sums[lane * (channels + 1) + i] = sum;
            }
            __syncthreads();
        }
        for (int node = warp; node < WARP; node += warps) {
            const int r = top + node / 8, c = left + node % 8;
            if (r >= rows || c >= columns)
                continue;
            float *out = (is_mass ? K : F) + ((long long)r * columns + c) * channels;
            for (int i = lane; i < channels; i += WARP) {
                const float sum =
                    is_mass && !has_gap ? totals[i] : sums[node * (channels + 1) + i];
                out[i] = has_sums ? out[i] + sum : sum;
            }
        }
        __syncthreads();
    }
}
