// The complete search where beams end: `compute.branch_and_bound.upper_bounds` for rounds of boxes, a box a thread, and the
// halves of those that survive.

#include "common.cuh"

// `compute.branch_and_bound.upper_bounds.tabulate` for all rounds: a beam a block, a code a thread.
// taken: what boxes take off both distances, in m, shape (rounds, m, 2).
extern "C" __global__ void tabulate(const Model *numbers, const double *lengths, const double *walls,
                                    int wall_classes, const double *frontiers,
                                    int frontier_classes, const double *taken, int m, double unit,
                                    unsigned short *tables)
{
    const int k = blockIdx.x, round = blockIdx.y, code = threadIdx.x;
    const Model model = *numbers;
    const double z = lengths[k];
    unsigned short lost = 0;
    if (code < wall_classes * frontier_classes) {
        const double *off = taken + 2 * ((long long)round * m + k);
        const double most = ceiling(model, z, walls[code / frontier_classes] - off[0],
                                    frontiers[code % frontier_classes] - off[1]);
        const double less = fmax(0.0, (ceiling(model, z, 0.0, 0.0) - most) / unit - 1e-6);
        lost = (unsigned short)fmin(less, 65535.0);
    }
    tables[((long long)round * m + k) * 256 + code] = lost;
}

struct Known {
    double x, y, yaw, radius, turn; // radius < 0: nothing is known
};

// Boxes of one round whose ends do not drop them.  Boxes are squares of `size` cells, number
// (x, y), and headings of `step` rad; with them goes the sum of deficits.
//
// codes: class of each cell, padded by `pad`, shape (height, width).
// squares: of the first round, which tries each at all headings; else boxes are a list.
// ends: of the beams in cells, those first that tell most, shape (m, 2); tables alike, (m, 256).
// kept: those that survive; settled: those of them inside the place that is known.
// counts: of kept and of settled boxes, and of look-ups.
extern "C" __global__ void bounded(
    const Byte *__restrict__ codes, int height, int width, int pad,
    const int2 *__restrict__ squares, const int4 *__restrict__ list, long long per_heading,
    long long boxes, double size, double step, const double2 *__restrict__ ends, int m,
    const unsigned short *__restrict__ tables, int budget, const Known *__restrict__ place,
    int4 *__restrict__ kept, long long most, int4 *__restrict__ settled, long long most_settled,
    Long *__restrict__ counts)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const Known known = *place;
    int looked = 0;
    if (i < boxes) {
        int4 box;
        if (squares) {
            const int2 square = squares[i % per_heading];
            box = make_int4(square.x, square.y, (int)(i / per_heading), 0);
        } else {
            box = list[i];
        }
        const double x = (box.x + 0.5) * size, y = (box.y + 0.5) * size;
        const double yaw = (box.z + 0.5) * step;
        double s, c;
        sincos(yaw, &s, &c);
        int sum = 0;
        for (; looked < m; ++looked) {
            const double2 end = ends[looked];
            const int u = (int)floor(c * end.x - s * end.y + x) + pad;
            const int v = (int)floor(s * end.x + c * end.y + y) + pad;
            const int column = min(max(u, 0), width - 1), row = min(max(v, 0), height - 1);
            sum += tables[looked * 256 + codes[(long long)row * width + column]];
            if (sum > budget)
                break;
        }
        if (sum <= budget) {
            box.w = sum;
            const double far = hypot(x - known.x, y - known.y) + sqrt(2.0) * 0.5 * size;
            double turned = fmod(yaw - known.yaw + PI, 2.0 * PI);
            turned += turned < 0.0 ? 2.0 * PI : 0.0;
            turned = fabs(turned - PI) + 0.5 * step;
            const bool inside = far <= known.radius && turned <= known.turn;
            const Long at = atomicAdd(counts + (inside ? 1 : 0), 1ull);
            if (inside && at < most_settled)
                settled[at] = box;
            if (!inside && at < most)
                kept[at] = box;
        }
    }
    Long all = i < boxes ? min(looked + 1, m) : 0;
    for (int lane = 16; lane > 0; lane >>= 1)
        all += __shfl_xor_sync(0xffffffffu, all, lane);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(counts + 2, all);
}

// The halves of boxes that hold a free cell.
// standing: which squares of half the size do, shape (rows, columns); nothing for parts of a cell.
extern "C" __global__ void halves(const int4 *__restrict__ boxes, long long count,
                                  const Byte *__restrict__ standing, int rows, int columns,
                                  int4 *__restrict__ out, long long most, Long *__restrict__ made)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const int4 box = boxes[i];
    for (int turn = 0; turn < 2; ++turn)
        for (int corner = 0; corner < 4; ++corner) {
            const int x = 2 * box.x + (corner & 1), y = 2 * box.y + (corner >> 1);
            if (standing && (x >= columns || y >= rows || !standing[(long long)y * columns + x]))
                continue;
            const Long at = atomicAdd(made, 1ull);
            if (at < most)
                out[at] = make_int4(x, y, 2 * box.z + turn, 0);
        }
}

// ---- What beams pass: `compute.branch_and_bound.visibility`, a box a warp ----------------------------------------------

struct Bits {
    const Long *walls, *unknown;
    int lines, words;
};

__device__ __forceinline__ Long shifted(Long word, int by)
{
    if (by >= 64 || by <= -64)
        return 0;
    return by >= 0 ? word >> by : word << -by;
}

__device__ __forceinline__ Long bits_from(const Long *words, int per_line, int line, int first)
{
    const Long *row = words + (long long)line * per_line + (first >> 6);
    const int s = first & 63;
    return s ? row[0] >> s | row[1] << (64 - s) : row[0];
}

__device__ __forceinline__ Long fill(Long reached, Long free)
{
    const Long up = (free & ~(free + reached)) | reached;
    Long down = reached, run = free;
#pragma unroll
    for (int k = 0; k < 6; ++k) {
        down |= run & (down >> (1 << k));
        run &= run >> (1 << k);
    }
    return up | down;
}

__device__ bool meets(const Bits &bits, const Byte *clear, int clear_columns, bool turned,
                      bool flipped, int across_cells, double u, double v, double a, double b,
                      double angle, double reach)
{
    const int WIDEST = 62;
    const double slowest = fmin(cos(angle - b), cos(angle + b));
    const double lower = tan(angle - b), middle = tan(angle), upper = tan(angle + b);
    int line = (int)floor(u - a);
    const int last = (int)floor(u + a);
    const int end = min((int)floor(u - a + reach * slowest) - 1, bits.lines - 1);
    const int begin = (int)floor(v - a), until = (int)floor(v + a);
    if (line < 0)
        return false;
    Long reached = 0;
    int first = 0;
    bool anywhere = false;
    while (line <= end) {
        const double near = fmax(0.0, line - u - a), far = line + 1.0 - u + a;
        const int low = (int)floor(v - a + fmin(lower * near, lower * far));
        const int high = (int)floor(v + a + fmax(upper * near, upper * far));
        if (low < 0 || high >= across_cells || high - low >= WIDEST)
            return false;
        if (line > last) {
            const int across = (int)floor(v + middle * (line + 0.5 - u));
            const int along = flipped ? bits.lines - 1 - line : line;
            const int room = turned ? clear[(long long)(across + 1) * clear_columns + along + 1]
                                    : clear[(long long)(along + 1) * clear_columns + across + 1];
            const int spare = room - 2 - (high - low + 1) / 2 - 4;
            if (spare > 0) {
                line += max(1, spare >> 1);
                anywhere = true;
                continue;
            }
        }
        const Long free =
            ~bits_from(bits.walls, bits.words, line, low) & ((1ull << (high - low + 1)) - 1);
        if (anywhere) {
            reached = free;
        } else {
            const int by = low - first;
            Long spread = shifted(reached, by) | shifted(reached, by + 1) | shifted(reached, by - 1);
            if (line <= last)
                spread |= ((1ull << (until - begin + 1)) - 1) << (begin - low);
            reached = fill(spread & free, free);
        }
        if (reached & bits_from(bits.unknown, bits.words, line, low))
            return false;
        if (!reached && line >= last)
            return true;
        first = low;
        anywhere = false;
        ++line;
    }
    return false;
}

__device__ bool meets_wall(const Bits *sides, const Byte *clear, int rows, int columns, double x,
                           double y, double a, double b, double angle, double reach)
{
    const int height = rows - 2, width = columns - 2;
    double s, c;
    sincos(angle, &s, &c);
    if (fabs(c) >= fabs(s)) {
        const bool back = c < 0.0;
        return meets(sides[back ? 1 : 0], clear, columns, true, back, height, back ? width - x : x,
                     y, a, b, atan2(s, fabs(c)), reach);
    }
    const bool back = s < 0.0;
    return meets(sides[back ? 3 : 2], clear, columns, false, back, width, back ? height - y : y, x,
                 a, b, atan2(c, fabs(s)), reach);
}

__device__ __forceinline__ double over_warp(double value)
{
    for (int lane = 16; lane > 0; lane >>= 1)
        value += __shfl_xor_sync(0xffffffffu, value, lane);
    return value;
}

const int BEAMS = 8; // of each lane, at most

// Boxes that are good enough by what their beams pass as well, with the sum of deficits in nats.
// ends: of the beams in m, the longest first; behind and tops: of `compute.branch_and_bound.visibility`, in that order.
// counts: of kept boxes, and of wedges.
extern "C" __global__ void seen(
    const float *__restrict__ field, const Byte *__restrict__ codes, int height, int width, int pad,
    const double *__restrict__ frontiers, int classes, const Bits *__restrict__ sides,
    const Byte *__restrict__ clear, int rows, int columns, double cell,
    const Model *__restrict__ numbers, const double2 *__restrict__ ends, int m,
    const double *__restrict__ behind, const double *__restrict__ tops, double budget, double size,
    double step, const int4 *__restrict__ boxes, long long count, int4 *__restrict__ kept,
    double *__restrict__ deficits, Long *__restrict__ counts)
{
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i >= count)
        return;
    const Model model = *numbers;
    const int4 box = boxes[i];
    const double x = (box.x + 0.5) * size, y = (box.y + 0.5) * size, yaw = (box.z + 0.5) * step;
    const double a = 0.5 * size, b = 0.5 * step;
    double s, c, slope_x, slope_y, gain[BEAMS], lost = 0.0, hope = 0.0;
    sincos(yaw, &s, &c);
    for (int j = 0; j < BEAMS; ++j) {
        const int k = 32 * j + lane;
        gain[j] = 0.0;
        if (k >= m)
            continue;
        const double2 end = ends[k];
        const double z = hypot(end.x, end.y);
        const double moved = sqrt(2.0) * a * cell + 2.0 * z * sin(0.5 * b);
        const double u = x + (c * end.x - s * end.y) / cell;
        const double v = y + (s * end.x + c * end.y) / cell;
        const double near = distance_at(field, rows - 2, columns - 2, u, v, slope_x, slope_y) * cell -
                            sqrt(2.0) * moved;
        const int column = min(max((int)floor(u) + pad, 0), width - 1);
        const int row = min(max((int)floor(v) + pad, 0), height - 1);
        const double dark = frontiers[codes[(long long)row * width + column] % classes] - moved -
                            sqrt(0.5) * cell;
        const double less = fmax(0.0, tops[k] - ceiling(model, z, near, dark));
        lost += less;
        gain[j] = fmax(0.0, behind[k] - less);
        hope += gain[j];
    }
    lost = over_warp(lost);
    hope = over_warp(hope);
    Long wedges = 0;
    for (int j = 0; j < BEAMS && lost <= budget && lost + hope > budget; ++j) {
        double more = 0.0, tried = gain[j];
        if (gain[j] > 0.0) {
            const double2 end = ends[32 * j + lane];
            const double z = hypot(end.x, end.y);
            const double reach = (z - model.slack - model.share * z - 1e-6) / cell;
            ++wedges;
            if (meets_wall(sides, clear, rows, columns, x, y, a, b, yaw + atan2(end.y, end.x), reach))
                more = gain[j];
        }
        lost += over_warp(more);
        hope -= over_warp(tried);
    }
    for (int half = 16; half > 0; half >>= 1)
        wedges += __shfl_xor_sync(0xffffffffu, wedges, half);
    if (lane)
        return;
    atomicAdd(counts + 1, wedges);
    if (lost <= budget + 1e-9) {
        const Long at = atomicAdd(counts, 1ull);
        kept[at] = box;
        deficits[at] = lost;
    }
}

// Mean deficit of each beam over some boxes of the first round: a beam a block.
extern "C" __global__ void sample(
    const Byte *__restrict__ codes, int height, int width, int pad,
    const int2 *__restrict__ squares, long long per_heading, long long boxes, double size,
    double step, const double2 *__restrict__ ends, const unsigned short *__restrict__ tables,
    float *__restrict__ means)
{
    const int k = blockIdx.x;
    const double2 end = ends[k];
    unsigned long long hash = threadIdx.x * 0x9e3779b97f4a7c15ull + 1;
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9ull;
    hash ^= hash >> 32;
    const long long i = (long long)(hash % (unsigned long long)boxes);
    const int2 square = squares[i % per_heading];
    double s, c;
    sincos(((int)(i / per_heading) + 0.5) * step, &s, &c);
    const int u = (int)floor(c * end.x - s * end.y + (square.x + 0.5) * size) + pad;
    const int v = (int)floor(s * end.x + c * end.y + (square.y + 0.5) * size) + pad;
    const int column = min(max(u, 0), width - 1), row = min(max(v, 0), height - 1);
    float cost = tables[k * 256 + codes[(long long)row * width + column]];
    for (int lane = 16; lane > 0; lane >>= 1)
        cost += __shfl_xor_sync(0xffffffffu, cost, lane);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(means + k, cost);
}
