// What several sources share: types, the distance to walls, and the beam model.

typedef unsigned char Byte;
typedef unsigned long long Long;

const double PI = 3.141592653589793;

// Bilinear value and gradient of a field at (x, y): `compute.fitting.align2d`.
__device__ double distance_at(const float *field, int height, int width, double x, double y,
                              double &slope_x, double &slope_y)
{
    double u = x - 0.5, v = y - 0.5;
    u = u > 0.0 ? fmin(u, width - 1.000001) : 0.0;
    v = v > 0.0 ? fmin(v, height - 1.000001) : 0.0;
    const int i = (int)u, j = (int)v;
    const double a = u - i, b = v - j;
    const float *corner = field + (long long)j * width + i;
    const float f00 = corner[0], f01 = corner[1], f10 = corner[width], f11 = corner[width + 1];
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

// The numbers of `compute.likelihood.beam_model`, in its order:
// sigma, Z, a, b, r0, c, u, lambda, s0, s1.
struct BeamModel {
    double sigma, max_range, hit_share, short_share, min_range, random, unknown_hit_share, fading,
        slack, slack_share;
};

// Density of a hit that is `off` standard deviations from the wall.
__device__ __forceinline__ double hit_density(double off, double sigma)
{
    return exp(-0.5 * (off * off)) / (sqrt(2.0 * PI) * sigma);
}

// Upper bound on the rating of a beam: equation (2) of `compute.branch_and_bound.upper_bounds`.
//
// wall, unknown: least distances from the end of the beam to a wall and to unknown space, in m.
__device__ double rating_bound(const BeamModel &model, double z, double wall, double unknown)
{
    const double slack = model.slack + model.slack_share * z;
    const double hit = hit_density(fmin(fmax(wall, 0.0), slack) / model.sigma, model.sigma);
    double faded = 1.0;
    if (unknown > model.slack && z <= model.max_range - model.slack)
        faded = exp(-model.fading * unknown);
    const double wall_density =
        model.hit_share * hit + model.short_share / fmax(z, model.min_range);
    const double unknown_density = model.unknown_hit_share * hit +
                                   (1.0 - model.unknown_hit_share) * model.fading * faded;
    return log(model.max_range * fmax(wall_density, unknown_density) + model.random);
}
