// Align poses with walls (`compute.fitting.align2d`, a pose a warp) and rate the beams of poses
// (`compute.likelihood.score2d`, a beam a thread).

#include "common.cuh"

const double REACH = 3.5; // beams that end farther from walls, in sigmas, have no weight

// Sums over the beams of a pose.
struct Sums {
    double v[11]; // xx, xy, xa, yy, ya, aa, Σ w, Σ w e², gx, gy, ga
};

__device__ Sums sum_beams(const float *field, int height, int width, const double *ends, int m,
                          double sigma, double x, double y, double yaw)
{
    Sums sums;
    for (int k = 0; k < 11; ++k)
        sums.v[k] = 0.0;
    const double scale = 0.5 / (sigma * sigma), reach = REACH * sigma;
    double s, c;
    sincos(yaw, &s, &c);
    for (int k = threadIdx.x & 31; k < m; k += 32) {
        const double rx = c * ends[2 * k] - s * ends[2 * k + 1];
        const double ry = s * ends[2 * k] + c * ends[2 * k + 1];
        double dx, dy;
        const double e = distance_at(field, height, width, x + rx, y + ry, dx, dy);
        if (e > reach)
            continue;
        const double w = exp(-e * e * scale), da = dy * rx - dx * ry;
        sums.v[0] += w * dx * dx;
        sums.v[1] += w * dx * dy;
        sums.v[2] += w * dx * da;
        sums.v[3] += w * dy * dy;
        sums.v[4] += w * dy * da;
        sums.v[5] += w * da * da;
        sums.v[6] += w;
        sums.v[7] += w * e * e;
        sums.v[8] += w * dx * e;
        sums.v[9] += w * dy * e;
        sums.v[10] += w * da * e;
    }
    for (int k = 0; k < 11; ++k)
        for (int lane = 16; lane > 0; lane >>= 1)
            sums.v[k] += __shfl_xor_sync(0xffffffffu, sums.v[k], lane);
    return sums;
}

// Take Gauss-Newton steps from each pose, one for each width.
//
// ends, widths: in cells, shapes (m, 2) and (steps,).
// poses: (x, y, yaw) in cells and rad, shape (K, 3).
// aligned: output, the poses after all steps; sums: output, at these poses, shape (K, 8).
extern "C" __global__ void align(
    const float *__restrict__ field, int height, int width, const double *__restrict__ ends,
    int m, const double *__restrict__ widths, int steps, double damping,
    const double *__restrict__ poses, int pose_count, double *__restrict__ aligned,
    double *__restrict__ sums)
{
    const int q = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (q >= pose_count)
        return;
    double arm = 0.0;
    for (int k = lane; k < m; k += 32)
        arm += ends[2 * k] * ends[2 * k] + ends[2 * k + 1] * ends[2 * k + 1];
    for (int half = 16; half > 0; half >>= 1)
        arm += __shfl_xor_sync(0xffffffffu, arm, half);
    arm /= m;
    double x = poses[3 * q], y = poses[3 * q + 1], yaw = poses[3 * q + 2];
    for (int k = 0; k < steps; ++k) {
        const double sigma = widths[k];
        const Sums s = sum_beams(field, height, width, ends, m, sigma, x, y, yaw);
        const double xx = s.v[0] + damping * m, xy = s.v[1], xa = s.v[2];
        const double yy = s.v[3] + damping * m, ya = s.v[4];
        const double aa = s.v[5] + damping * m * arm * 0.1;
        const double gx = s.v[8], gy = s.v[9], ga = s.v[10];
        const double a = yy * aa - ya * ya, b = xa * ya - xy * aa, d = xy * ya - xa * yy;
        const double det = xx * a + xy * b + xa * d;
        if (!(det > 0.0))
            break;
        const double step_x = -(a * gx + b * gy + d * ga) / det;
        const double step_y =
            -(b * gx + (xx * aa - xa * xa) * gy + (xy * xa - xx * ya) * ga) / det;
        const double step_a =
            -(d * gx + (xy * xa - xx * ya) * gy + (xx * yy - xy * xy) * ga) / det;
        const double length = hypot(step_x, step_y);
        const double shrink = length > 0.0 ? fmin(1.0, sigma / length) : 1.0;
        x += shrink * step_x;
        y += shrink * step_y;
        yaw += fmin(fmax(step_a, -0.1), 0.1);
    }
    const Sums s = sum_beams(field, height, width, ends, m, widths[steps - 1], x, y, yaw);
    if (lane == 0) {
        aligned[3 * q] = x;
        aligned[3 * q + 1] = y;
        aligned[3 * q + 2] = yaw;
        for (int k = 0; k < 8; ++k)
            sums[8 * (long long)q + k] = s.v[k];
    }
}

// ---- Exact rays: `compute.rays.grid2d` -------------------------------------------------------

const int FREE = 3, EDGE = 2, MAXIMUM = 3, WALL = 0, UNKNOWN = 1;
const double SURE = 1e-11; // crossings that differ by more, as a share, are in this order
const double CLEAR = 1e-7; // a place so far from grid lines, in cells, is in the cell of its float

// a b = p + e without rounding.
__device__ void two_product(double a, double b, double &p, double &e)
{
    p = a * b;
    e = fma(a, b, -p);
}

// a - b = s + e without rounding.
__device__ void two_difference(double a, double b, double &s, double &e)
{
    s = a - b;
    const double t = s - a;
    e = (a - (s - t)) - (b + t);
}

// Sign of |fx - x| ady - |fy - y| adx, exactly: the terms are added without rounding.
__device__ __noinline__ int exact_sign(double fx, double x, double ady, double fy, double y,
                                       double adx)
{
    double a1, a0, b1, b0, terms[8], parts[8];
    two_difference(fx, x, a1, a0);
    two_difference(fy, y, b1, b0);
    if (a1 < 0.0) {
        a1 = -a1;
        a0 = -a0;
    }
    if (b1 < 0.0) {
        b1 = -b1;
        b0 = -b0;
    }
    two_product(a1, ady, terms[0], terms[1]);
    two_product(a0, ady, terms[2], terms[3]);
    two_product(-b1, adx, terms[4], terms[5]);
    two_product(-b0, adx, terms[6], terms[7]);
    for (int count = 0; count < 8; ++count) {
        double carry = terms[count];
        for (int k = 0; k < count; ++k) {
            double total, error;
            two_difference(carry, -parts[k], total, error);
            parts[k] = error;
            carry = total;
        }
        parts[count] = carry;
    }
    for (int k = 7; k >= 0; --k)
        if (parts[k] != 0.0)
            return parts[k] > 0.0 ? 1 : -1;
    return 0;
}

// Whether a ray from (x, y) crosses the line at fy before the one at fx.
__device__ bool y_first(double fx, double x, double ady, double fy, double y, double adx, bool tie)
{
    const double ax = fabs(fx - x) * ady, ay = fabs(fy - y) * adx;
    if (fabs(ax - ay) > SURE * (ax + ay))
        return ay < ax;
    const int sign = exact_sign(fx, x, ady, fy, y, adx);
    return sign == 0 ? tie : sign > 0;
}

// Cell in which a ray crosses the line at f, near a guess, between two cells.
__device__ int last_inside(double guess, int start, int stop, int step, double f, double u,
                           int ahead, double v, double adu, double adv, bool tie)
{
    int k = (int)guess;
    if (CLEAR < guess - k && guess - k < 1.0 - CLEAR)
        return k;
    k = min(max(k, min(start, stop)), max(start, stop));
    while (y_first(f, u, adv, k + ahead, v, adu, tie))
        k += step;
    while (k != start && !y_first(f, u, adv, k - step + ahead, v, adu, tie))
        k -= step;
    return k;
}

// Length of a ray in cells, `maximum` at most, and what it meets.
//
// clear: codes of cells with a border of one; from FREE on, how far a ray may jump.
__device__ double cast_one(const Byte *clear, int rows, int columns, double x, double y, double dx,
                           double dy, double maximum, int &ending)
{
    const int height = rows - 2, width = columns - 2;
    ending = EDGE;
    if (!(0.0 <= x && x <= width && 0.0 <= y && y <= height))
        return 0.0;
    const int sx = dx > 0.0 || (dx == 0.0 && dy < 0.0) ? 1 : -1;
    const int sy = dy > 0.0 || (dy == 0.0 && dx > 0.0) ? 1 : -1;
    const int ahead_x = (sx + 1) / 2, ahead_y = (sy + 1) / 2;
    const bool tie = sx == sy;
    int ix = (int)x, iy = (int)y;
    ix -= x == ix && sx < 0;
    iy -= y == iy && sy < 0;
    int code = clear[(long long)(iy + 1) * columns + ix + 1];
    if (code < FREE) {
        ending = code;
        return 0.0;
    }
    const double adx = fabs(dx), ady = fabs(dy);
    const double rise = adx > 0.0 ? dy / dx : 0.0, run = ady > 0.0 ? dx / dy : 0.0;
    double ax = fabs(ix + ahead_x - x) * ady, ay = fabs(iy + ahead_y - y) * adx;
    const double limit = maximum * adx * ady * (1.0 + SURE);
    while (true) {
        const int jump = code - FREE;
        if (jump > 1) {
            const int jx = ix + sx * jump, jy = iy + sy * jump;
            const double fx = jx + ahead_x, fy = jy + ahead_y;
            if (y_first(fx, x, ady, fy, y, adx, tie)) {
                const double guess = x + (fy - y) * run;
                ix = last_inside(guess, ix, jx, sx, fy, y, ahead_x, x, ady, adx, !tie);
                iy = jy;
            } else {
                const double guess = y + (fx - x) * rise;
                iy = last_inside(guess, iy, jy, sy, fx, x, ahead_y, y, adx, ady, tie);
                ix = jx;
            }
            ax = fabs(ix + ahead_x - x) * ady;
            ay = fabs(iy + ahead_y - y) * adx;
        }
        bool along_y;
        if (fabs(ax - ay) > SURE * (ax + ay))
            along_y = ay < ax;
        else
            along_y = y_first(ix + ahead_x, x, ady, iy + ahead_y, y, adx, tie);
        double crossed;
        if (along_y) {
            crossed = ay;
            iy += sy;
            ay += adx;
        } else {
            crossed = ax;
            ix += sx;
            ax += ady;
        }
        code = clear[(long long)(iy + 1) * columns + ix + 1];
        if (code < FREE) {
            const double gap =
                along_y ? fabs(iy + 1 - ahead_y - y) : fabs(ix + 1 - ahead_x - x);
            const double length = gap / (along_y ? ady : adx);
            if (length > maximum)
                break;
            ending = code;
            return length;
        }
        if (crossed > limit)
            break;
    }
    ending = MAXIMUM;
    return maximum;
}

// ---- Ratings of beams: `compute.likelihood.beam_model` ---------------------------------------

enum Kind { EXPLAINED, SHORT, THROUGH, IN_UNKNOWN, ASTRAY };

// Rating of a beam of z m whose ray is r m long: equations (1) to (3) of `beam_model`.
//
// miss: distance from the end of the beam to where it should end, in m.
__device__ __forceinline__ double rate_beam(const BeamModel &model, double z, double r, double miss,
                                            bool in_unknown)
{
    const double hit = hit_density(miss / model.sigma, model.sigma);
    double p;
    if (in_unknown)
        p = model.unknown_hit_share * hit +
            (1.0 - model.unknown_hit_share) * model.fading * exp(-model.fading * fmax(z - r, 0.0));
    else if (z < r)
        p = model.hit_share * hit + model.short_share / fmax(r, model.min_range);
    else
        p = model.hit_share * hit;
    return log(model.max_range * p + model.random);
}

// Rate each beam from each pose.
//
// clear, walls: the codes that rays walk on, with unknown cells and without, shape (rows, columns).
// field: distance to the nearest wall in cells; cell: side of a cell in m.
// ends: ends of the beams in m, shape (m, 2); poses: (x, y, yaw) in cells and rad, shape (K, 3).
// ratings, kinds: output, shape (K, m).
extern "C" __global__ void score(
    const Byte *__restrict__ clear, const Byte *__restrict__ walls, int rows, int columns,
    const float *__restrict__ field, double cell, const BeamModel *__restrict__ beam_model,
    const double *__restrict__ ends, int m, const double *__restrict__ poses, int pose_count,
    float *__restrict__ ratings, Byte *__restrict__ kinds)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)pose_count * m)
        return;
    const int q = (int)(i / m), k = (int)(i % m);
    const double x = poses[3 * q], y = poses[3 * q + 1];
    double s, c;
    sincos(poses[3 * q + 2], &s, &c);
    const double u = ends[2 * k], v = ends[2 * k + 1], z = sqrt(u * u + v * v);
    const double along = (c * u - s * v) / z, across = (s * u + c * v) / z;
    const BeamModel model = *beam_model;
    const double max_range = model.max_range / cell;
    int ending = WALL, wall_ending;
    double r = 0.0;
    if (model.slack_share < 1.0) // else nothing can be behind a wall, and no ray need be cast
        r = cast_one(clear, rows, columns, x, y, along, across, max_range, ending) * cell;
    double wall = r;
    const bool in_unknown = ending != WALL && z > r - model.slack;
    if (in_unknown && ending == UNKNOWN)
        wall = cast_one(walls, rows, columns, x, y, along, across, max_range, wall_ending) * cell;
    const bool is_through = z > wall + model.slack + model.slack_share * z;
    double miss, slope_x, slope_y;
    if (is_through)
        miss = z - r;
    else
        miss = distance_at(field, rows - 2, columns - 2, x + z * along / cell,
                           y + z * across / cell, slope_x, slope_y) * cell;
    ratings[i] = (float)rate_beam(model, z, r, miss, in_unknown);
    Byte kind;
    if (miss <= 3.0 * model.sigma && !is_through)
        kind = EXPLAINED;
    else if (in_unknown)
        kind = IN_UNKNOWN;
    else if (is_through)
        kind = THROUGH;
    else
        kind = z < r ? SHORT : ASTRAY;
    kinds[i] = kind;
}
