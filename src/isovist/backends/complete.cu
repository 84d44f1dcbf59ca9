// The complete search where beams end: `kernels.bound` for rounds of boxes, a box a thread, and the
// halves of those that survive.

typedef unsigned char Byte;

struct Model {
    double sigma, longest, hits, brief, nearest, random, beyond, fading, slack, share;
};

__device__ double ceiling(const Model &model, double z, double miss, double dark)
{
    const double off = fmin(fmax(miss, 0.0), model.slack + model.share * z) / model.sigma;
    const double hit = exp(-0.5 * (off * off)) / (sqrt(2.0 * 3.141592653589793) * model.sigma);
    double faded = 1.0;
    if (dark > model.slack && z <= model.longest - model.slack)
        faded = exp(-model.fading * dark);
    const double seen = model.hits * hit + model.brief / fmax(z, model.nearest);
    const double unseen = model.beyond * hit + (1.0 - model.beyond) * model.fading * faded;
    return log(model.longest * fmax(seen, unseen) + model.random);
}

// `kernels.bound.tabulate` for all rounds: a beam a block, a code a thread.
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

// One round.  Boxes are squares of `size` cells, number (x, y), and headings of `step` rad.
//
// codes: class of each cell, padded by `pad`, shape (height, width).
// squares: of the first round, which tries each at all headings; else boxes are a list.
// ends: of the beams in cells, those first that tell most, shape (m, 2); tables alike, (m, 256).
// standing: which squares of half the size hold a free cell, shape (rows, columns).
// halves: of the boxes that survive; settled: boxes inside the place that is known.
// counts: of halves, of settled boxes, of look-ups.
extern "C" __global__ void halve(
    const Byte *__restrict__ codes, int height, int width, int pad,
    const int2 *__restrict__ squares, const int4 *__restrict__ list, long long per_heading,
    long long boxes, double size, double step, const double2 *__restrict__ ends, int m,
    const unsigned short *__restrict__ tables, int budget,
    const Known *__restrict__ place,
    const Byte *__restrict__ standing, int rows, int columns, int4 *__restrict__ halves,
    long long most, int4 *__restrict__ settled, long long most_settled,
    unsigned long long *__restrict__ counts)
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
            double turned = fmod(yaw - known.yaw + 3.141592653589793, 2.0 * 3.141592653589793);
            turned += turned < 0.0 ? 2.0 * 3.141592653589793 : 0.0;
            turned = fabs(turned - 3.141592653589793) + 0.5 * step;
            if (far <= known.radius && turned <= known.turn) {
                const unsigned long long at = atomicAdd(counts + 1, 1ull);
                if (at < most_settled)
                    settled[at] = box;
            } else {
                for (int turn = 0; turn < 2; ++turn)
                    for (int corner = 0; corner < 4; ++corner) {
                        const int cx = 2 * box.x + (corner & 1), cy = 2 * box.y + (corner >> 1);
                        if (standing && (cx >= columns || cy >= rows ||
                                         !standing[(long long)cy * columns + cx]))
                            continue;
                        const unsigned long long at = atomicAdd(counts, 1ull);
                        if (at < most)
                            halves[at] = make_int4(cx, cy, 2 * box.z + turn, sum);
                    }
            }
        }
    }
    unsigned long long all = min(looked + 1, m);
    for (int lane = 16; lane > 0; lane >>= 1)
        all += __shfl_xor_sync(0xffffffffu, all, lane);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(counts + 2, all);
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
