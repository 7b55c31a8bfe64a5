// What the exact DFT's matrix product multiplies, made from small tables of phases per axis.
//
// The grid [z, y, x] is cut so that the phase separates: y = fold * outer + inner, and (inner, x) counted from its
// middle is closed under negation, so cosines and sines of one half of it serve both halves (the names are those of
// DftLayout in dft_layout.hpp):
//   group    g = z * outers + outer          phase psi(g, m): axis z, middle of the fold on axis y, middle of axis x
//   column   q < half: (inner, x) = divmod(q, nx)   phase theta(q, m), antisymmetric under q -> nx * fold - 1 - q
// SPLIT: 0 or 1, see operands.cuh.
// clang-format off: each needs what stands before it.
#include "fixed_turns.cuh"
#include "dft_layout.cuh"
#include "operands.cuh"
// clang-format on

// largest[coil] = bits of the largest |re| or |im|; bits of non-negative floats are ordered as they are, so the order
// in which atomics arrive does not matter.
extern "C" __global__ void __launch_bounds__(256)
    find_largest(const float2* data, Index per_coil, unsigned* largest) {
  unsigned most = 0;
  const float2* coil = data + blockIdx.y * per_coil;
  for (Index i = (Index)blockIdx.x * 256 + threadIdx.x; i < per_coil; i += (Index)gridDim.x * 256) {
    const float2 v = coil[i];
    most = max(most, max(__float_as_uint(v.x) & 0x7fffffffu, __float_as_uint(v.y) & 0x7fffffffu));
  }
  for (int step = 16; step > 0; step /= 2) most = max(most, __shfl_xor_sync(0xffffffffu, most, step));
  if (threadIdx.x % 32 == 0) atomicMax(largest + blockIdx.y, most);
}

// Tables for samples first .. first + width, of which those from `samples` on are at k = 0: [z][m], [inner][m], [x][m]
// and [outer][m], or, when data is given, [coil][outer][m] with the data multiplied in (0 beyond the last sample).
// blockIdx.x counts through all rows of all of them.
extern "C" __global__ void __launch_bounds__(128)
    make_tables(Layout g, const Turns* k, Index samples, Index first, int width, float2* z_table,
                float2* inner_table, float2* x_table, float2* outer_table, const float2* data,
                const unsigned* largest) {
  const int m = blockIdx.y * 128 + threadIdx.x;
  if (m >= width) return;
  const bool exists = first + m < samples;
  const auto along = [&](int axis) { return exists ? k[axis * samples + first + m] : 0; };
  int entry = blockIdx.x;
  float2* table;
  Complexf value;
  if (entry < g.nz) {
    value = unit(turns(along(0), 2 * (entry - g.nz / 2)));
    table = z_table;
  } else if ((entry -= g.nz) < g.fold) {
    value = unit(turns(along(1), 2 * entry - (g.fold - 1)));
    value = {value.re * COLUMN_SCALE, value.im * COLUMN_SCALE};
    table = inner_table;
  } else if ((entry -= g.fold) < g.nx) {
    value = unit(turns(along(2), 2 * entry - (g.nx - 1)));
    table = x_table;
  } else {
    entry -= g.nx;
    const int outer = entry % g.outers, coil = entry / g.outers;
    value = unit(turns(along(1), 2 * g.fold * outer + g.fold - 1 - 2 * (g.ny / 2)) +
                 turns(along(2), g.nx - 1 - 2 * (g.nx / 2)));
    table = outer_table;
    if (data != nullptr) {
      const float2 d = exists ? data[coil * samples + first + m] : make_float2(0, 0);
      const float scale = scale_of(largest[coil]);
      value = value * Complexf{d.x * scale, d.y * scale};
    }
  }
  table[(Index)entry * width + m] = make_float2(value.re, value.im);
}

__device__ inline void load_eight(const float2* table, Complexf (&out)[8]) {
  for (int i = 0; i < 4; ++i) {
    const float4 two = ((const float4*)table)[i];
    out[2 * i] = {two.x, two.y};
    out[2 * i + 1] = {two.z, two.w};
  }
}

__device__ inline void store_product(const Complexf (&a)[8], const float2* b_table, char* hi, char* lo,
                                     Index rows, Index row, int m) {
  Complexf b[8];
  load_eight(b_table + m, b);
  float re[8], im[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const Complexf v = a[i] * b[i];
    re[i] = v.re;
    im[i] = v.im;
  }
  store_piece(hi, lo, piece_offset(rows, row, m), re);
  store_piece(hi, lo, piece_offset(rows, row + 1, m), im);
}

// Adjoint, both operands; k runs over samples, and a thread makes eight of them.
//   a, rows 2 g and 2 g + 1: real and imaginary part of D[m] exp(i psi(g, m)); a thread makes all groups of one z
//   b, rows 2 q and 2 q + 1: cos and sin of theta(q, m); a thread makes all columns of one x
// Rows that only fill the last tile are zeros. blockIdx.y counts 32 z of coil 0, 1, ..., then 32 x.
extern "C" __global__ void __launch_bounds__(256)
    make_adjoint_operands(Layout g, int coils, const float2* z_table, const float2* weighted,
                          const float2* inner_table, const float2* x_table, int width, char* a_hi, char* a_lo,
                          char* b_hi, char* b_lo) {
  const int m = 8 * (blockIdx.x * 8 + threadIdx.x % 8),
            z_blocks = (g.nz + 32) / 32;  // one z more, for the filling rows
  if (m >= width) return;
  const float zeros[8] = {};
  Complexf own[8];
  if ((int)blockIdx.y < z_blocks * coils) {
    const int coil = blockIdx.y / z_blocks, z = blockIdx.y % z_blocks * 32 + threadIdx.x / 8;
    const Index rows = (Index)coils * g.rows, first_row = (Index)coil * g.rows;
    if (z > g.nz) return;
    if (z == g.nz) {
      for (int row = 2 * g.groups; row < g.rows; ++row)
        store_piece(a_hi, a_lo, piece_offset(rows, first_row + row, m), zeros);
      return;
    }
    load_eight(z_table + (Index)z * width + m, own);
    for (int outer = 0; outer < g.outers; ++outer)
      store_product(own, weighted + ((Index)coil * g.outers + outer) * width, a_hi, a_lo, rows,
                    first_row + 2 * (z * g.outers + outer), m);
  } else {
    const int x = (blockIdx.y - z_blocks * coils) * 32 + threadIdx.x / 8;
    if (x > g.nx) return;
    if (x == g.nx) {
      for (int row = 2 * g.half; row < g.columns; ++row)
        store_piece(b_hi, b_lo, piece_offset(g.columns, row, m), zeros);
      return;
    }
    load_eight(x_table + (Index)x * width + m, own);
    for (int inner = 0; inner * g.nx + x < g.half; ++inner)
      store_product(own, inner_table + (Index)inner * width, b_hi, b_lo, g.columns, 2 * (inner * g.nx + x),
                    m);
  }
}

// Forward, one row per sample: cos and sin of theta(q, m) side by side, k runs over columns. A block makes 128 samples'
// block of 64, which lie together: they are brought in order in shared memory and leave in one piece.
extern "C" __global__ void __launch_bounds__(128)
    make_forward_samples(Layout g, const float2* inner_table, const float2* x_table, int width, char* hi,
                         char* lo) {
  __shared__ __align__(16) char ordered[1 + SPLIT][128 * 128];
  const int m = blockIdx.x * 128 + threadIdx.x, first_q = blockIdx.y * 32;
  int inner = first_q / g.nx, x = first_q % g.nx;
  float2 a = first_q < g.half ? inner_table[(Index)inner * width + m] : make_float2(0, 0);
  for (int piece = 0; piece < 8; ++piece) {
    float v[8] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first_q + piece * 4 + i < g.half) {
        const float2 b = x_table[(Index)x * width + m];
        const Complexf value = Complexf{a.x, a.y} * Complexf{b.x, b.y};
        v[2 * i] = value.re;
        v[2 * i + 1] = value.im;
      }
      if (++x == g.nx) {
        x = 0;
        if (++inner < g.fold) a = inner_table[(Index)inner * width + m];
      }
    }
    store_piece(ordered[0], ordered[SPLIT], piece_offset(128, threadIdx.x, piece * 8), v);
  }
  __syncthreads();
  const Index begin = ((Index)blockIdx.y * width + blockIdx.x * 128) * 128;
  for (int i = threadIdx.x; i < 1024; i += 128) {
    ((uint4*)(hi + begin))[i] = ((const uint4*)ordered[0])[i];
    if (SPLIT) ((uint4*)(lo + begin))[i] = ((const uint4*)ordered[SPLIT])[i];
  }
}

// Forward, rows 2 g and 2 g + 1 of the second operand: what multiplies cos and sin in the real and imaginary part of
//   sum over the group's voxels of image exp(-i theta) = sum_q (a + b) cos - i (a - b) sin,
// a and b being the two voxels that mirror one another. With a field (see dft_snapshots.cu) the image is what it is at the
// times of `count` snapshots from `first` on, each in the rows of slot snapshot % slots, coil by coil; without, count is 1.
extern "C" __global__ void __launch_bounds__(256)
    make_image_rows(Layout g, const float2* image, const unsigned* largest, const float2* field, double first_time,
                    double step, int first, int count, int slots, char* hi, char* lo) {
  const int piece = blockIdx.x * 8 + threadIdx.x % 8, group = blockIdx.y * 32 + threadIdx.x / 8,
            coil = blockIdx.z, coils = gridDim.z;
  if (8 * piece >= g.columns || 2 * group >= g.rows) return;
  const Index rows = (Index)slots * coils * g.rows;
  Complexf value[8] = {}, turn[8], next[8];  // of four voxels, then of their mirrors
  float hz[8] = {};
  if (group < g.groups) {
    const float scale = scale_of(largest[coil]);
    const int z = group / g.outers, outer = group % g.outers, last = g.nx * g.fold - 1;
    // Voxel j of the group, counted along x and then along y, lies at first_voxel + j of the volume.
    const Index first_voxel = ((Index)z * g.ny + g.fold * outer) * g.nx;
    const int end = (g.ny - g.fold * outer) * g.nx;
    const float2* own = image + (Index)coil * g.nz * g.ny * g.nx + first_voxel;
    const auto load = [&](int j, int i) {
      if (j >= end) return;
      const float2 v = own[j];
      value[i] = {v.x * scale, v.y * scale};
      if (field == nullptr) return;
      const float2 f = field[first_voxel + j];
      value[i] = {value[i].re * f.y, value[i].im * f.y};
      hz[i] = f.x;
    };
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int q = 4 * piece + i;
      if (q >= g.half) continue;
      load(q, i);
      if (q != last - q) load(last - q, 4 + i);
    }
  }
  for (int s = 0; s < count; ++s) {
    float re[8], im[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (field == nullptr) {
        turn[i] = {1, 0};
      } else if (s % steps_between_turns == 0) {
        turn[i] = turn_back(hz[i], first_time + step * (first + s));
        if (s == 0 && count > 1) next[i] = turn_back(hz[i], step);
      } else {
        turn[i] = turn[i] * next[i];
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Complexf a = value[i] * turn[i], b = value[4 + i] * turn[4 + i];
      re[2 * i] = a.re + b.re;
      re[2 * i + 1] = a.im - b.im;
      im[2 * i] = a.im + b.im;
      im[2 * i + 1] = b.re - a.re;
    }
    const Index row = ((Index)((first + s) % slots) * coils + coil) * g.rows + 2 * group;
    store_piece(hi, lo, piece_offset(rows, row, 8 * piece), re);
    store_piece(hi, lo, piece_offset(rows, row + 1, 8 * piece), im);
  }
}

// Adjoint, last step: image from the product's sums [part][coil][row][column], parts added in order.
extern "C" __global__ void __launch_bounds__(256)
    make_image(Layout g, const float* sums, int parts, const unsigned* largest, float2* image) {
  const int q = blockIdx.y * 256 + threadIdx.x, group = blockIdx.x, coil = blockIdx.z;
  if (q >= g.half) return;
  const Index part_size = (Index)gridDim.z * g.rows * g.columns;
  const float* at = sums + ((Index)coil * g.rows + 2 * group) * g.columns + 2 * q;
  float2 re = make_float2(0, 0), im = make_float2(0, 0);  // x: times cos, y: times sin
  for (int part = 0; part < parts; ++part, at += part_size) {
    const float2 r = *(const float2*)at, i = *(const float2*)(at + g.columns);
    re = make_float2(re.x + r.x, re.y + r.y);
    im = make_float2(im.x + i.x, im.y + i.y);
  }
  // Two divisions by powers of two, as their product may leave the range of floats.
  const float a = 1 / COLUMN_SCALE, b = 1 / scale_of(largest[coil]);
  const int z = group / g.outers, outer = group % g.outers, mirror = g.nx * g.fold - 1 - q;
  float2* plane = image + ((Index)coil * g.nz + z) * g.ny * g.nx;
  const int y = g.fold * outer + q / g.nx, mirror_y = g.fold * outer + mirror / g.nx;
  if (y < g.ny) plane[(Index)y * g.nx + q % g.nx] = make_float2((re.x - im.y) * a * b, (im.x + re.y) * a * b);
  if (mirror_y < g.ny && mirror != q)
    plane[(Index)mirror_y * g.nx + mirror % g.nx] = make_float2((re.x + im.y) * a * b, (im.x - re.y) * a * b);
}

// Forward, last step: a sample's sum over the tiles of groups, [coil][tile][m], in order.
extern "C" __global__ void __launch_bounds__(256)
    add_tiles(const float2* partial, int tiles, const unsigned* largest, Index samples, Index first,
              int width, float2* kspace) {
  const int m = blockIdx.x * 256 + threadIdx.x, coil = blockIdx.y;
  if (m >= width || first + m >= samples) return;
  double re = 0, im = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const float2 v = partial[((Index)coil * tiles + tile) * width + m];
    re += v.x;
    im += v.y;
  }
  const double scale = 1.0 / ((double)COLUMN_SCALE * scale_of(largest[coil]));
  kspace[coil * samples + first + m] = make_float2((float)(re * scale), (float)(im * scale));
}
