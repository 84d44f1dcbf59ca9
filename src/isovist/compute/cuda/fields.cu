// Prepare a map of cells for rays and for the ends of beams: `atlas.data.surfaces` and
// `maps.grid2d.distance`.  A thread takes a cell, unless it says otherwise.

typedef unsigned char Byte;

const int FREE = 0, OCCUPIED = 1, UNKNOWN = 2, EDGE = 3;

#define EACH_CELL                                                                                  \
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;                           \
    if (x >= width)                                                                                \
        return;                                                                                    \
    const long long i = (long long)y * width + x;

// Copy a map, with unknown cells free that are nearer than `gap` cells to free ones.
extern "C" __global__ void bridge(const Byte *cells, int height, int width, double gap, Byte *clear)
{
    EACH_CELL
    Byte code = cells[i];
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
    clear[i] = code;
}

__device__ __forceinline__ int code_at(const Byte *cells, int height, int width, int y, int x)
{
    if (x < 0 || y < 0 || x >= width || y >= height)
        return EDGE;
    return cells[(long long)y * width + x];
}

// Write the codes of the cells with a face to a free one, low and high bits, as `sweep.cu` reads
// them: `height` rows of `width` bits, a bit a thread.
extern "C" __global__ void surface(const Byte *cells, int rows, int columns, bool is_transposed,
                                   int stride, int class_bits, int pad, int height, int width,
                                   uint2 *words)
{
    EACH_CELL
    const int minor = x % class_bits * stride + x / class_bits - pad;
    const int v = is_transposed ? minor : y - 1, u = is_transposed ? y - 1 : minor;
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
        words[i / 32] = make_uint2(low, high);
}

// Mark the occupied cells that a free one touches, by a face or by a corner.
extern "C" __global__ void faces(const Byte *cells, int height, int width, Byte *mask)
{
    EACH_CELL
    bool is_face = false;
    if (cells[i] == OCCUPIED)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
                is_face |= code_at(cells, height, width, y + dy, x + dx) == FREE;
    mask[i] = is_face;
}

// Count the steps along its column from each cell to the nearest cell of the mask, up to `limit`.
// A thread takes a column.
extern "C" __global__ void along_columns(const Byte *mask, int height, int width, int limit,
                                         int *gaps)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width)
        return;
    int gap = limit;
    for (int y = 0; y < height; ++y) {
        const long long i = (long long)y * width + x;
        gap = mask[i] ? 0 : min(gap + 1, limit);
        gaps[i] = gap;
    }
    gap = limit;
    for (int y = height - 1; y >= 0; --y) {
        const long long i = (long long)y * width + x;
        const int below = gaps[i];
        gap = below == 0 ? 0 : min(gap + 1, limit);
        gaps[i] = min(gap, below);
    }
}

// Compute the distance to the nearest cell of the mask from the steps along columns (`gaps`).
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
    distance[i] = (float)sqrt((double)best);
}

// Count king moves to the nearest cell of the mask from the steps along columns, up to `limit`.
extern "C" __global__ void king_moves(const int *gaps, int height, int width, int limit,
                                      Byte *moves)
{
    EACH_CELL
    const int *row = gaps + (long long)y * width;
    int best = min(row[x], limit);
    for (int dx = 1; dx < best; ++dx) {
        if (x - dx < 0 && x + dx >= width)
            break;
        if (x - dx >= 0)
            best = min(best, max(dx, row[x - dx]));
        if (x + dx < width)
            best = min(best, max(dx, row[x + dx]));
    }
    moves[i] = best;
}
