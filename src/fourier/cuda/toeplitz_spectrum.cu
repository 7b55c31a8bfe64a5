// The point spread q[l] = sum_m w[m] exp(2 pi i k[m].l / N) from adjoint transforms of its corners, and the order of its
// spectrum. REAL is float or double.
struct __align__(2 * sizeof(REAL)) Complex {
  REAL re, im;
};
typedef long long Index;
struct Box {
  Index n[3];  ///< z, y, x
};
constexpr int threads = 256;

__device__ inline Index first_index() { return (Index)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline Index stride() { return (Index)gridDim.x * blockDim.x; }
__device__ inline Index wrapped(Index lag, Index cells) { return lag < 0 ? lag + cells : lag; }
__device__ inline Index cell_of(const Index* lag, int sign, Box cells) {
  return (wrapped(sign * lag[0], cells.n[0]) * cells.n[1] + wrapped(sign * lag[1], cells.n[1])) * cells.n[2] +
         wrapped(sign * lag[2], cells.n[2]);
}

/// w[m] exp(2 pi i k[m].shift / N), the phases in double less whole turns. k: [3, samples], weights null: ones.
extern "C" __global__ void __launch_bounds__(threads)
    shift_weights(const double* k, const double* weights, Box matrix, Box shift, int axes, Index samples,
                  Complex* out) {
  for (Index m = first_index(); m < samples; m += stride()) {
    double turns = 0;
    for (int d = 0; d < axes; ++d) {
      const double part =
          k[d * samples + m] * (double)shift.n[3 - axes + d] / (double)matrix.n[3 - axes + d];
      turns += part - rint(part);
    }
    const double w = weights == nullptr ? 1.0 : weights[m];
    double s, c;
    sincospi(2 * turns, &s, &c);
    out[m] = {(REAL)(w * c), (REAL)(w * s)};
  }
}

/// One corner's lags = voxel - floor(N / 2) + shift into q; with their mirror images where the lag of `half_axis`
/// is positive.
extern "C" __global__ void __launch_bounds__(threads)
    place_corner(const Complex* part, Box matrix, Box shift, int half_axis, Box cells, Complex* q) {
  const Index voxels = matrix.n[0] * matrix.n[1] * matrix.n[2];
  for (Index i = first_index(); i < voxels; i += stride()) {
    const Index at[3] = {i / (matrix.n[1] * matrix.n[2]), i / matrix.n[2] % matrix.n[1], i % matrix.n[2]};
    Index lag[3];
    bool occurs = true;
    for (int d = 0; d < 3; ++d) {
      lag[d] = at[d] - matrix.n[d] / 2 + shift.n[d];
      occurs = occurs && lag[d] != -matrix.n[d];  // one beyond the lags that occur
    }
    if (!occurs) continue;
    const Complex v = part[i];
    q[cell_of(lag, 1, cells)] = v;
    if (lag[half_axis] > 0) q[cell_of(lag, -1, cells)] = {v.re, -v.im};
  }
}

/// Where the lag of the halved axis is 0, both signs of the others were computed, each with its own error.
extern "C" __global__ void __launch_bounds__(threads) mean_of_both(Box cells, int half_axis, Complex* q) {
  Box plane = cells;
  for (int d = 0; d <= half_axis; ++d) plane.n[d] = 1;
  const Index size = plane.n[0] * plane.n[1] * plane.n[2];
  for (Index i = first_index(); i < size; i += stride()) {
    const Index y = i / plane.n[2], x = i % plane.n[2];
    const Index mirrored = (plane.n[1] - y) % plane.n[1] * plane.n[2] + (plane.n[2] - x) % plane.n[2];
    if (mirrored < i) continue;
    const Complex a = q[i], b = q[mirrored];
    q[i] = {REAL(0.5) * (a.re + b.re), REAL(0.5) * (a.im - b.im)};
    q[mirrored] = {REAL(0.5) * (a.re + b.re), REAL(0.5) * (b.im - a.im)};
  }
}

/// q is hermitian, so that its spectrum is real.
extern "C" __global__ void __launch_bounds__(threads)
    scaled_real(const Complex* spectrum, double scale, Index size, RESULT* out) {
  for (Index i = first_index(); i < size; i += stride()) out[i] = (RESULT)(scale * spectrum[i].re);
}

struct Line {
  int a, b, halves;
};

/// See pack_spectrum().
extern "C" __global__ void __launch_bounds__(threads)
    pack(const float* spectrum, Line lz, Line ly, Line lx, int row_values, float* packed) {
  const int nz = lz.a * lz.b, ny = ly.a * ly.b, nx = lx.a * lx.b;
  const Index row_size = (Index)lx.halves * lx.b * row_values;
  const Index rows = (Index)ly.halves * ny, size = (Index)lz.halves * nz * rows * row_size;
  for (Index i = first_index(); i < size; i += stride()) {
    int r = (int)(i % row_size);
    const Index row = i / row_size % rows, plane = i / row_size / rows;
    const int in_four = r % 4, t = r / 4 % lx.b, four = r / (4 * lx.b) % (row_values / 4),
              half_x = r / (lx.b * row_values), value = four * 4 + in_four, q = t + value / lx.b * lx.b,
              m = value % lx.b;
    const int at_y = (int)(row % ny), half_y = (int)(row / ny), at_z = (int)(plane % nz),
              half_z = (int)(plane / nz);
    const Index kx = lx.halves * (q + lx.a * m) + half_x,
                ky = ly.halves * (at_y / ly.b + ly.a * (at_y % ly.b)) + half_y,
                kz = lz.halves * (at_z / lz.b + lz.a * (at_z % lz.b)) + half_z;
    // Values beyond the line fill up its groups of four, or are of no q.
    packed[i] = q < lx.a && kx < lx.halves * nx
                    ? spectrum[(kz * (ly.halves * ny) + ky) * (lx.halves * nx) + kx]
                    : 0.0f;
  }
}
