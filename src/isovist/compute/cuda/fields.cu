// What a map of cells looks like to rays and to beams that end: `atlas.data.surfaces` and `maps.grid2d.distance`.

typedef unsigned char Byte;

const int FREE = 0, OCCUPIED = 1, UNKNOWN = 2, EDGE = 3;

#define EACH_CELL                                                                                  \
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;                           \
    if (x >= width)                                                                                \
        return;                                                                                    \
    const long long at = (long long)y * width + x;

// Unknown cells nearer than `gap` cells to free ones become free.
extern "C" __global__ void bridge(const Byte *cells, int height, int width, double gap, Byte *clear)
{
    EACH_CELL
    Byte code = cells[at];
    if (code == UNKNOWN) {
        const int reach = (int)ceil(gap);
        for (int dy = -reach; dy <= reach && code == UNKNOWN; ++dy)
            for (int dx = -reach; dx <= reach; ++dx) {
                const int u = x + dx, v = y + dy;
                if (u < 0 || v < 0 || u >= width || v >= height)
                    continue;
                if ((double)(float)sqrt((double)(dx * dx + dy * dy)) < gap &&
                    cells[(long long)v * width + u] == FREE) {
                    code = FREE;
                    break;
                }
            }
    }
    clear[at] = code;
}

__device__ __forceinline__ int code_at(const Byte *cells, int height, int width, int y, int x)
{
    if (x < 0 || y < 0 || x >= width || y >= height)
        return EDGE;
    return cells[(long long)y * width + x];
}

// Codes of the cells with a face to a free one, low and high bits, as `sweep.cu` wants them.  A
// thread for each bit of `height` rows of `width` bits; the map is turned when `turned` says so.
extern "C" __global__ void surface(const Byte *cells, int rows, int columns, bool turned, int stride,
                                   int class_bits, int pad, int height, int width, uint2 *words)
{
    EACH_CELL
    const int minor = x % class_bits * stride + x / class_bits - pad;
    const int v = turned ? minor : y - 1, u = turned ? y - 1 : minor;
    int code = 0;
    if (v >= -1 && v <= rows && u >= -1 && u <= columns &&
        (code_at(cells, rows, columns, v, u - 1) == FREE ||
         code_at(cells, rows, columns, v, u + 1) == FREE ||
         code_at(cells, rows, columns, v - 1, u) == FREE ||
         code_at(cells, rows, columns, v + 1, u) == FREE))
        code = code_at(cells, rows, columns, v, u);
    const unsigned low = __ballot_sync(0xffffffffu, code & 1);
    const unsigned high = __ballot_sync(0xffffffffu, code >> 1);
    if ((threadIdx.x & 31) == 0)
        words[at / 32] = make_uint2(low, high);
}

// Occupied cells that a free one touches, by a face or by a corner.
extern "C" __global__ void faces(const Byte *cells, int height, int width, Byte *met)
{
    EACH_CELL
    bool beside = false;
    if (cells[at] == OCCUPIED)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
                beside |= code_at(cells, height, width, y + dy, x + dx) == FREE;
    met[at] = beside;
}

// Steps along its column from each cell to the nearest one that is met, `most` at the most.
extern "C" __global__ void along_columns(const Byte *met, int height, int width, int most, int *gaps)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width)
        return;
    int gap = most;
    for (int y = 0; y < height; ++y) {
        const long long at = (long long)y * width + x;
        gap = met[at] ? 0 : min(gap + 1, most);
        gaps[at] = gap;
    }
    gap = most;
    for (int y = height - 1; y >= 0; --y) {
        const long long at = (long long)y * width + x;
        const int below = gaps[at];
        gap = below == 0 ? 0 : min(gap + 1, most);
        gaps[at] = min(gap, below);
    }
}

// Distance to the nearest cell that is met, from the steps along columns.
extern "C" __global__ void along_rows(const int *gaps, int height, int width, float *distance)
{
    EACH_CELL
    const int *row = gaps + (long long)y * width;
    long long best = (long long)row[x] * row[x];
    for (int dx = 1; (long long)dx * dx < best; ++dx) {
        if (x - dx < 0 && x + dx >= width)
            break;
        if (x - dx >= 0) {
            const long long g = row[x - dx], d = g * g + (long long)dx * dx;
            best = min(best, d);
        }
        if (x + dx < width) {
            const long long g = row[x + dx], d = g * g + (long long)dx * dx;
            best = min(best, d);
        }
    }
    distance[at] = (float)sqrt((double)best);
}

// King moves to the nearest cell that is met, from the steps along columns.
extern "C" __global__ void kings(const int *gaps, int height, int width, int most, Byte *moves)
{
    EACH_CELL
    const int *row = gaps + (long long)y * width;
    int best = min(row[x], most);
    for (int dx = 1; dx < best; ++dx) {
        if (x - dx < 0 && x + dx >= width)
            break;
        if (x - dx >= 0)
            best = min(best, max(dx, row[x - dx]));
        if (x + dx < width)
            best = min(best, max(dx, row[x + dx]));
    }
    moves[at] = best;
}
