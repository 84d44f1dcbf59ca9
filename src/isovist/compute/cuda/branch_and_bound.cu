// A complete search for boxes of poses, round by round: `compute.branch_and_bound`.
//
// A box is a square of cells and a heading.  It is stored as (column, row, heading, deficit); the
// first three count boxes of its round.

#include "common.cuh"

// Tabulate the deficits of beams by class of cell, in whole units, for all rounds:
// `compute.branch_and_bound.upper_bounds`.  A block takes a beam, a thread takes a class.
//
// margins: what boxes take off the distances to walls and to unknown space, in m, shape
//     (rounds, m, 2).
extern "C" __global__ void tabulate(
    const BeamModel *beam_model, const double *lengths, const double *walls, int wall_classes,
    const double *frontiers, int frontier_classes, const double *margins, int m, double unit,
    unsigned short *tables)
{
    const int k = blockIdx.x, round = blockIdx.y, code = threadIdx.x;
    const BeamModel model = *beam_model;
    const double z = lengths[k];
    unsigned short deficit = 0;
    if (code < wall_classes * frontier_classes) {
        const double *margin = margins + 2 * ((long long)round * m + k);
        const double bound = rating_bound(model, z, walls[code / frontier_classes] - margin[0],
                                          frontiers[code % frontier_classes] - margin[1]);
        const double units = fmax(0.0, (rating_bound(model, z, 0.0, 0.0) - bound) / unit - 1e-6);
        deficit = (unsigned short)fmin(units, 65535.0);
    }
    tables[((long long)round * m + k) * 256 + code] = deficit;
}

struct Place {
    double x, y, yaw, radius, turn; // a negative radius means that there is none
};

// Drop the boxes of a round by where beams end, a box a thread.
//
// codes: class of each cell, padded by `pad` cells, shape (height, width).
// squares: the squares of the first round, which tries each at all headings; 0 in other rounds.
// list: the boxes of the other rounds.
// size, step: width of the boxes in cells, and their heading in rad.
// ends: ends of the beams in cells, those first that drop most boxes, shape (m, 2).
// tables: deficits of these beams by class, shape (m, 256).
// remaining, inside: output, the boxes that are not dropped, outside and inside the place.
// counts: added to: remaining boxes, boxes inside, and ends that were looked up.
extern "C" __global__ void bound_round(
    const Byte *__restrict__ codes, int height, int width, int pad,
    const int2 *__restrict__ squares, const int4 *__restrict__ list, long long square_count,
    long long boxes, double size, double step, const double2 *__restrict__ ends, int m,
    const unsigned short *__restrict__ tables, int budget, const Place *__restrict__ place_at,
    int4 *__restrict__ remaining, long long remaining_room, int4 *__restrict__ inside,
    long long inside_room, Long *__restrict__ counts)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const Place place = *place_at;
    int k = 0;
    if (i < boxes) {
        int4 box;
        if (squares) {
            const int2 square = squares[i % square_count];
            box = make_int4(square.x, square.y, (int)(i / square_count), 0);
        } else {
            box = list[i];
        }
        const double x = (box.x + 0.5) * size, y = (box.y + 0.5) * size;
        const double yaw = (box.z + 0.5) * step;
        double s, c;
        sincos(yaw, &s, &c);
        int sum = 0;
        for (; k < m; ++k) {
            const double2 end = ends[k];
            const int u = (int)floor(c * end.x - s * end.y + x) + pad;
            const int v = (int)floor(s * end.x + c * end.y + y) + pad;
            const int column = min(max(u, 0), width - 1), row = min(max(v, 0), height - 1);
            sum += tables[k * 256 + codes[(long long)row * width + column]];
            if (sum > budget)
                break;
        }
        if (sum <= budget) {
            box.w = sum;
            const double distance = hypot(x - place.x, y - place.y) + sqrt(2.0) * 0.5 * size;
            double turn = fmod(yaw - place.yaw + PI, 2.0 * PI);
            turn += turn < 0.0 ? 2.0 * PI : 0.0;
            turn = fabs(turn - PI) + 0.5 * step;
            const bool is_inside = distance <= place.radius && turn <= place.turn;
            const Long slot = atomicAdd(counts + (is_inside ? 1 : 0), 1ull);
            if (is_inside && slot < inside_room)
                inside[slot] = box;
            if (!is_inside && slot < remaining_room)
                remaining[slot] = box;
        }
    }
    Long lookups = i < boxes ? min(k + 1, m) : 0;
    for (int lane = 16; lane > 0; lane >>= 1)
        lookups += __shfl_xor_sync(0xffffffffu, lookups, lane);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(counts + 2, lookups);
}

// List the halves of boxes that hold a free cell, a box a thread.
//
// is_free: which squares of half the width do, shape (rows, columns); 0 for parts of a cell.
extern "C" __global__ void halve(const int4 *__restrict__ boxes, long long count,
                                 const Byte *__restrict__ is_free, int rows, int columns,
                                 int4 *__restrict__ halves, long long room,
                                 Long *__restrict__ half_count)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const int4 box = boxes[i];
    for (int turn = 0; turn < 2; ++turn)
        for (int corner = 0; corner < 4; ++corner) {
            const int x = 2 * box.x + (corner & 1), y = 2 * box.y + (corner >> 1);
            if (is_free && (x >= columns || y >= rows || !is_free[(long long)y * columns + x]))
                continue;
            const Long slot = atomicAdd(half_count, 1ull);
            if (slot < room)
                halves[slot] = make_int4(x, y, 2 * box.z + turn, 0);
        }
}

// ---- Rays of a box: `compute.branch_and_bound.visibility` ------------------------------------

// Cells along the lines of a map, as seen from one of its sides, a bit for each cell.
struct Bits {
    const Long *walls, *unknown;
    int lines, words;
};

__device__ __forceinline__ Long shift(Long word, int by)
{
    if (by >= 64 || by <= -64)
        return 0;
    return by >= 0 ? word >> by : word << -by;
}

// 64 cells of a line, from a cell on.
__device__ __forceinline__ Long bits_from(const Long *words, int per_line, int line, int first)
{
    const Long *row = words + (long long)line * per_line + (first >> 6);
    const int s = first & 63;
    return s ? row[0] >> s | row[1] << (64 - s) : row[0];
}

// All free cells of a line that are connected to the cells that were reached.
__device__ __forceinline__ Long fill(Long reach, Long free)
{
    const Long up = (free & ~(free + reach)) | reach;
    Long down = reach, run = free;
#pragma unroll
    for (int k = 0; k < 6; ++k) {
        down |= run & (down >> (1 << k));
        run &= run >> (1 << k);
    }
    return up | down;
}

// Whether every ray of a wedge meets a wall before `max_range` cells, and nothing unknown before.
//
// The wedge begins within `a` cells of (u, v), on each axis, and goes within `b` rad of `angle`
// from the axis u.  Line by line, `reach` holds the cells that rays may reach.
__device__ bool wedge_meets_wall(const Bits &bits, const Byte *clear, int clear_columns,
                                 bool is_transposed, bool is_flipped, int across_cells, double u,
                                 double v, double a, double b, double angle, double max_range)
{
    const int MAX_WIDTH = 62;
    const double min_cosine = fmin(cos(angle - b), cos(angle + b));
    const double lower = tan(angle - b), middle = tan(angle), upper = tan(angle + b);
    int line = (int)floor(u - a);
    const int last = (int)floor(u + a);
    const int end = min((int)floor(u - a + max_range * min_cosine) - 1, bits.lines - 1);
    const int begin = (int)floor(v - a), until = (int)floor(v + a);
    if (line < 0)
        return false;
    Long reach = 0;
    int first = 0;
    bool is_after_skip = false; // rays may then be at any free cell of the wedge
    while (line <= end) {
        const double near = fmax(0.0, line - u - a), far = line + 1.0 - u + a;
        const int low = (int)floor(v - a + fmin(lower * near, lower * far));
        const int high = (int)floor(v + a + fmax(upper * near, upper * far));
        if (low < 0 || high >= across_cells || high - low >= MAX_WIDTH)
            return false;
        if (line > last) {
            const int across = (int)floor(v + middle * (line + 0.5 - u));
            const int along = is_flipped ? bits.lines - 1 - line : line;
            const int code = is_transposed
                                 ? clear[(long long)(across + 1) * clear_columns + along + 1]
                                 : clear[(long long)(along + 1) * clear_columns + across + 1];
            const int spare = code - 2 - (high - low + 1) / 2 - 4;
            if (spare > 0) { // nothing but free cells around: skip lines
                line += max(1, spare >> 1);
                is_after_skip = true;
                continue;
            }
        }
        const Long free =
            ~bits_from(bits.walls, bits.words, line, low) & ((1ull << (high - low + 1)) - 1);
        if (is_after_skip) {
            reach = free;
        } else {
            const int by = low - first;
            Long next = shift(reach, by) | shift(reach, by + 1) | shift(reach, by - 1);
            if (line <= last)
                next |= ((1ull << (until - begin + 1)) - 1) << (begin - low);
            reach = fill(next & free, free);
        }
        if (reach & bits_from(bits.unknown, bits.words, line, low))
            return false;
        if (!reach && line >= last)
            return true;
        first = low;
        is_after_skip = false;
        ++line;
    }
    return false;
}

// The same for a wedge around any angle in the map: `visibility.meets_wall`.
__device__ bool meets_wall(const Bits *sides, const Byte *clear, int rows, int columns, double x,
                           double y, double a, double b, double angle, double max_range)
{
    const int height = rows - 2, width = columns - 2;
    double s, c;
    sincos(angle, &s, &c);
    if (fabs(c) >= fabs(s)) {
        const bool back = c < 0.0;
        return wedge_meets_wall(sides[back ? 1 : 0], clear, columns, true, back, height,
                                back ? width - x : x, y, a, b, atan2(s, fabs(c)), max_range);
    }
    const bool back = s < 0.0;
    return wedge_meets_wall(sides[back ? 3 : 2], clear, columns, false, back, width,
                            back ? height - y : y, x, a, b, atan2(c, fabs(s)), max_range);
}

__device__ __forceinline__ double warp_sum(double value)
{
    for (int lane = 16; lane > 0; lane >>= 1)
        value += __shfl_xor_sync(0xffffffffu, value, lane);
    return value;
}

const int LANE_BEAMS = 8; // beams of each lane, at most

// Drop boxes by what the rays of their beams pass as well, a box a warp.
//
// ends: ends of the beams in m, the longest first, shape (m, 2).
// wall_deficits, max_ratings: of these beams, in nats, shape (m,).
// remaining: output, the boxes that are not dropped; deficits: output, theirs in nats.
// counts: added to: these boxes, and wedges of rays that were followed.
extern "C" __global__ void follow_rays(
    const float *__restrict__ field, const Byte *__restrict__ codes, int height, int width, int pad,
    const double *__restrict__ frontiers, int classes, const Bits *__restrict__ sides,
    const Byte *__restrict__ clear, int rows, int columns, double cell,
    const BeamModel *__restrict__ beam_model, const double2 *__restrict__ ends, int m,
    const double *__restrict__ wall_deficits, const double *__restrict__ max_ratings,
    double budget, double size, double step, const int4 *__restrict__ boxes, long long count,
    int4 *__restrict__ remaining, double *__restrict__ deficits, Long *__restrict__ counts)
{
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i >= count)
        return;
    const BeamModel model = *beam_model;
    const int4 box = boxes[i];
    const double x = (box.x + 0.5) * size, y = (box.y + 0.5) * size, yaw = (box.z + 0.5) * step;
    const double a = 0.5 * size, b = 0.5 * step;
    // gain: what a beam may add to the deficit if its rays meet a wall; hope: the sum of these.
    double s, c, slope_x, slope_y, gain[LANE_BEAMS], deficit = 0.0, hope = 0.0;
    sincos(yaw, &s, &c);
    for (int j = 0; j < LANE_BEAMS; ++j) {
        const int k = 32 * j + lane;
        gain[j] = 0.0;
        if (k >= m)
            continue;
        const double2 end = ends[k];
        const double z = hypot(end.x, end.y);
        const double motion = sqrt(2.0) * a * cell + 2.0 * z * sin(0.5 * b);
        const double u = x + (c * end.x - s * end.y) / cell;
        const double v = y + (s * end.x + c * end.y) / cell;
        const double distance = distance_at(field, rows - 2, columns - 2, u, v, slope_x, slope_y);
        const double wall = distance * cell - sqrt(2.0) * motion;
        const int column = min(max((int)floor(u) + pad, 0), width - 1);
        const int row = min(max((int)floor(v) + pad, 0), height - 1);
        const double unknown = frontiers[codes[(long long)row * width + column] % classes] -
                               motion - sqrt(0.5) * cell;
        const double loss = fmax(0.0, max_ratings[k] - rating_bound(model, z, wall, unknown));
        deficit += loss;
        gain[j] = fmax(0.0, wall_deficits[k] - loss);
        hope += gain[j];
    }
    deficit = warp_sum(deficit);
    hope = warp_sum(hope);
    Long wedges = 0;
    for (int j = 0; j < LANE_BEAMS && deficit <= budget && deficit + hope > budget; ++j) {
        double loss = 0.0, possible = gain[j];
        if (gain[j] > 0.0) {
            const double2 end = ends[32 * j + lane];
            const double z = hypot(end.x, end.y);
            const double max_range = (z - model.slack - model.slack_share * z - 1e-6) / cell;
            ++wedges;
            if (meets_wall(sides, clear, rows, columns, x, y, a, b, yaw + atan2(end.y, end.x),
                           max_range))
                loss = gain[j];
        }
        deficit += warp_sum(loss);
        hope -= warp_sum(possible);
    }
    for (int half = 16; half > 0; half >>= 1)
        wedges += __shfl_xor_sync(0xffffffffu, wedges, half);
    if (lane)
        return;
    atomicAdd(counts + 1, wedges);
    if (deficit <= budget + 1e-9) {
        const Long slot = atomicAdd(counts, 1ull);
        remaining[slot] = box;
        deficits[slot] = deficit;
    }
}

// Mean deficit of each beam over a sample of the boxes of the first round, a beam a block.
extern "C" __global__ void sample(
    const Byte *__restrict__ codes, int height, int width, int pad,
    const int2 *__restrict__ squares, long long square_count, long long boxes, double size,
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
    const int2 square = squares[i % square_count];
    double s, c;
    sincos(((int)(i / square_count) + 0.5) * step, &s, &c);
    const int u = (int)floor(c * end.x - s * end.y + (square.x + 0.5) * size) + pad;
    const int v = (int)floor(s * end.x + c * end.y + (square.y + 0.5) * size) + pad;
    const int column = min(max(u, 0), width - 1), row = min(max(v, 0), height - 1);
    float deficit = tables[k * 256 + codes[(long long)row * width + column]];
    for (int lane = 16; lane > 0; lane >>= 1)
        deficit += __shfl_xor_sync(0xffffffffu, deficit, lane);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(means + k, deficit);
}
