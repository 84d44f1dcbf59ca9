// Ranges of nodes in one pass over the map for each direction: `kernels.sweep`, a line a thread.
//
// Threads of a block follow lines that lie beside each other from the far end of the rays to the
// near end, column after column, so that what they read of a column lies together.  Equations (1)
// to (3) of `kernels.sweep` hold bit by bit: offsets and lengths are made of doubles as there, once
// for each column, by one thread of the block for all.

typedef unsigned char Byte;

const int LINES = 128;  // of a block
const int TOGETHER = 4; // columns whose cells are asked for before the first is needed
const int SIDE = 4;
const int MAXIMUM = 3;

struct Step {
    int entered; // where the cell of line 0 is that lines enter the column through
    int left;    // four times where the cell is that they leave through, if it is another one;
                 // 1 when nodes are read here, 2 when they are read before that cell is met
    float near;
    float crossed;
};

struct Reading {
    int row;
    float back_u;
    float back_v;
    int column;
};

__device__ __forceinline__ void meet(int code, float reach, int face, float &line, int &end)
{
    if (code) {
        line = reach;
        end = code | face;
    }
}

// codes: surface of the map with a border of one cell, then `pad` columns of zeros on both sides of
//     each row, shape (majors + 2, pitch).
// directions: du and dv, major first, shape (S, 2).
// nodes: of the lattice of cells origin + k stride, shape (S, count), at k_major * steps[0] +
//     k_minor * steps[1]; the value f(r), or −1 where the ending does not count.
extern "C" __global__ void __launch_bounds__(LINES) sweep(
    const Byte *__restrict__ codes, int majors, int minors, int pitch, int pad,
    const double *__restrict__ directions, int origin_major, int origin_minor, int stride,
    int lattice_major, int lattice_minor, long long step_major, long long step_minor,
    long long count, float longest, float side, int transform, float scale, int counted,
    float *__restrict__ nodes)
{
    __shared__ Step steps[LINES + TOGETHER];
    __shared__ Reading readings[LINES];

    const double du = directions[2 * blockIdx.y], dv = directions[2 * blockIdx.y + 1];
    const double t = dv / fabs(du), per_u = 1.0 / fabs(du), per_v = dv != 0.0 ? 1.0 / dv : 0.0;
    const int drift = (int)floor(0.5 + t * (majors + 1));
    const int first = -2 - max(drift, 0), last = minors + 1 - min(drift, 0);
    const int begin = first + (int)blockIdx.x * LINES;
    if (begin > last)
        return;
    const int j = begin + (int)threadIdx.x;

    // Columns in which some line of the block is in the map, or just outside.
    int low = 0, high = majors;
    if (t > 1e-9) {
        low = max(low, (int)floor(fmax(-1e9, (-4.0 - (begin + LINES)) / t)));
        high = min(high, (int)ceil(fmin(1e9, (minors + 4.0 - begin) / t)));
    } else if (t < -1e-9) {
        low = max(low, (int)floor(fmax(-1e9, (minors + 4.0 - begin) / t)));
        high = min(high, (int)ceil(fmin(1e9, (-4.0 - (begin + LINES)) / t)));
    }

    float *mine = nodes + blockIdx.y * count;
    const Byte *line_codes = codes + j;
    float line = 0.0f;
    int end = 0;

    for (int top = high; top >= low; top -= LINES) {
        const int columns = min(LINES, top - low + 1);
        __syncthreads();
        if ((int)threadIdx.x < columns) {
            const int p = top - (int)threadIdx.x;
            const int i = du > 0.0 ? p : majors - 1 - p;
            const int a = (int)floor(0.5 + t * (p - 0.5));
            const int s = (int)floor(0.5 + t * p);
            const int b = (int)floor(0.5 + t * (p + 0.5));
            const int base = (i + 1) * pitch + pad + 1;
            const int k = i - origin_major;
            const bool read = p < majors && k >= 0 && k % stride == 0 && k / stride < lattice_major;
            Step step;
            step.entered = base + a;
            step.left = (a != b || b != s ? 4 * (base + b) : 0) + (read ? 1 : 0) +
                        (a != b && b == s ? 2 : 0);
            step.near = (float)(p * per_u);
            step.crossed = (float)(max(a, b) * per_v);
            steps[threadIdx.x] = step;
            Reading reading;
            reading.row = s;
            reading.back_u = (float)((p + 0.5) * per_u);
            reading.back_v = (float)((s + 0.5) * per_v);
            reading.column = k / stride;
            readings[threadIdx.x] = reading;
        }
        if (threadIdx.x < TOGETHER)
            steps[columns + threadIdx.x].entered = pad + 1;
        __syncthreads();

        for (int q = 0; q < columns; q += TOGETHER) {
            int entered[TOGETHER];
#pragma unroll
            for (int h = 0; h < TOGETHER; ++h)
                entered[h] = line_codes[steps[q + h].entered];
#pragma unroll
            for (int h = 0; h < TOGETHER; ++h) {
                if (q + h >= columns)
                    break;
                const Step step = steps[q + h];
                if (step.left) {
                    const int left = step.left >> 2;
                    if (left && !(step.left & 2))
                        meet(line_codes[left], step.crossed, SIDE, line, end);
                    if (step.left & 1) {
                        const Reading reading = readings[q + h];
                        const int row = j + reading.row - origin_minor;
                        const int k = row / stride;
                        if (row >= 0 && k < lattice_minor && k * stride == row) {
                            float reach = line - (end > 3 ? reading.back_v : reading.back_u);
                            int ending = (end & 3) - 1;
                            if (reach > longest) {
                                reach = longest;
                                ending = MAXIMUM;
                            }
                            float value = reach * side;
                            if (transform == 1)
                                value = scale * logf(1.0f + value / scale);
                            else if (transform == 2)
                                value = value / (value + scale);
                            const bool counts = ending >= 0 && (counted >> ending & 1);
                            mine[reading.column * step_major + k * step_minor] =
                                counts ? value : -1.0f;
                        }
                    }
                    if (left && (step.left & 2))
                        meet(line_codes[left], step.crossed, SIDE, line, end);
                }
                meet(entered[h], step.near, 0, line, end);
            }
        }
    }
}
