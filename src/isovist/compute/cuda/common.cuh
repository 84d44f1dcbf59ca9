// What several sources share.

typedef unsigned char Byte;
typedef unsigned long long Long;

const double PI = 3.141592653589793;

// Bilinear value and gradient of a field: `compute.fitting.align2d.distance_at`.
__device__ double distance_at(const float *field, int height, int width, double x, double y,
                              double &slope_x, double &slope_y)
{
    double u = x - 0.5, v = y - 0.5;
    u = u > 0.0 ? fmin(u, width - 1.000001) : 0.0;
    v = v > 0.0 ? fmin(v, height - 1.000001) : 0.0;
    const int i = (int)u, j = (int)v;
    const double a = u - i, b = v - j;
    const float *at = field + (long long)j * width + i;
    const float f00 = at[0], f01 = at[1], f10 = at[width], f11 = at[width + 1];
    const double lower = f00 + a * (f01 - f00);
    const double upper = f10 + a * (f11 - f10);
    double value = lower + b * (upper - lower);
    slope_x = (1.0 - b) * (f01 - f00);
    slope_x += b * (f11 - f10);
    slope_y = upper - lower;
    const double out_x = x - 0.5 - u, out_y = y - 0.5 - v;
    double out = fabs(out_x) + fabs(out_y);
    if (!(out <= 1e-5)) {
        out = hypot(out_x, out_y);
        value += out;
        slope_x = out_x / out;
        slope_y = out_y / out;
    }
    return value;
}

// The numbers of `compute.likelihood.beam_model`.
struct Model {
    double sigma, longest, hits, brief, nearest, random, beyond, fading, slack, share;
};

// Equation (2) of `compute.branch_and_bound.upper_bounds`.
__device__ double ceiling(const Model &model, double z, double miss, double dark)
{
    const double off = fmin(fmax(miss, 0.0), model.slack + model.share * z) / model.sigma;
    const double hit = exp(-0.5 * (off * off)) / (sqrt(2.0 * PI) * model.sigma);
    double faded = 1.0;
    if (dark > model.slack && z <= model.longest - model.slack)
        faded = exp(-model.fading * dark);
    const double seen = model.hits * hit + model.brief / fmax(z, model.nearest);
    const double unseen = model.beyond * hit + (1.0 - model.beyond) * model.fading * faded;
    return log(model.longest * fmax(seen, unseen) + model.random);
}
