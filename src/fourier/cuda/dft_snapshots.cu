// The exact DFT with off-resonance as plain ones at the times of snapshots, between which each sample interpolates: what
// comes before and after the matrix products of dft_operands.cu.
//
// Samples are sorted by windows of time. A piece is a run of them that meets one snapshot (adjoint) or one window (forward);
// pieces follow one another, each padded to whole units of k (64 for the adjoint) or of rows (128 for the forward product).
// A voxel's field is (hz, factor): frequency from the middle of the map's range, and TimeInterpolation's g.
#include "fixed_turns.cuh"
// clang-format off: needs what stands before it.
#include "dft_layout.cuh"
// clang-format on

// snapshots.hpp, field by field.
struct Pieces {
  const Index* first;   // [piece] place of its first sample in the sorted order
  const Index* end;     // [piece]
  const int* start;     // [piece + 1] where it begins, in units
  const int* of_unit;   // [unit] its piece
  const int* snapshot;  // [piece] number of its snapshot or window
  int unit;
};

/// Where the sample in position q, counted from first_piece's start, stands in the sorted order, or -1 in padding.
__device__ inline Index place_of(const Pieces& p, int first_piece, int q, int& piece) {
  const int begin = p.start[first_piece];
  piece = p.of_unit[begin + q / p.unit];
  const Index place = p.first[piece] + (q - (p.start[piece] - begin) * p.unit);
  return place < p.end[piece] ? place : -1;
}

// Positions 0 .. width of chunk_k [3][width], and, with kspace, what each coil's sample gives to its snapshot:
// chunk_data [coil][width] = conj(weight) kspace. weights are [tap][sorted], a snapshot's tap is its number modulo `taps`.
// blockIdx.y counts three axes, then coils.
extern "C" __global__ void __launch_bounds__(256)
    gather_samples(Pieces pieces, int first_piece, const Turns* k, const Index* order, const float2* weights, int taps,
                   Index samples, const float2* kspace, int width, Turns* chunk_k, float2* chunk_data) {
  const int q = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y;
  if (q >= width) return;
  int piece;
  const Index s = place_of(pieces, first_piece, q, piece);
  if (row < 3) {
    chunk_k[(Index)row * width + q] = s < 0 ? 0 : k[row * samples + s];
    return;
  }
  const int coil = row - 3;
  Complexf value = {0, 0};
  if (s >= 0) {
    const float2 v = kspace[coil * samples + order[s]], w = weights[pieces.snapshot[piece] % taps * samples + s];
    value = Complexf{w.x, -w.y} * Complexf{v.x, v.y};
  }
  chunk_data[(Index)coil * width + q] = make_float2(value.re, value.im);
}

// Adjoint, after a product: image (+)= factor sum_part exp(+2 pi i hz t(part)) part's image, from sums
// [part][coil][row][column] as make_image of dft_operands.cu reads them. t = first_time + step * snapshot.
extern "C" __global__ void __launch_bounds__(256)
    add_snapshots(Layout g, const float* sums, int parts, const int* snapshots, double first_time, double step,
                  const float2* field, const unsigned* largest, int is_first, float2* image) {
  const int q = blockIdx.y * 256 + threadIdx.x, group = blockIdx.x, coil = blockIdx.z;
  if (q >= g.half) return;
  const int z = group / g.outers, outer = group % g.outers, mirror = g.nx * g.fold - 1 - q;
  // Voxel j of the group, counted along x and then along y, lies at first_voxel + j of the volume.
  const Index first_voxel = ((Index)z * g.ny + g.fold * outer) * g.nx;
  const int end = (g.ny - g.fold * outer) * g.nx;
  const bool exists[2] = {q < end, mirror < end && mirror != q};
  float2 voxel[2];
  Complexf turn[2], next[2], total[2] = {{0, 0}, {0, 0}};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    voxel[i] = exists[i] ? field[first_voxel + (i == 0 ? q : mirror)] : make_float2(0, 0);
    next[i] = turn_back(voxel[i].x, -step);
  }
  const Index part_size = (Index)gridDim.z * g.rows * g.columns;
  const float* at = sums + ((Index)coil * g.rows + 2 * group) * g.columns + 2 * q;
  for (int part = 0; part < parts; ++part, at += part_size) {
    const int snapshot = snapshots[part], moved = part == 0 ? -1 : snapshot - snapshots[part - 1];
    if (moved != 0) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        turn[i] = moved == 1 && part % steps_between_turns != 0 ? turn[i] * next[i]
                                              : turn_back(voxel[i].x, -(first_time + step * snapshot));
    }
    const float2 r = *(const float2*)at, m = *(const float2*)(at + g.columns);
    const Complexf own = turn[0] * Complexf{r.x - m.y, m.x + r.y}, other = turn[1] * Complexf{r.x + m.y, m.x - r.y};
    total[0] = {total[0].re + own.re, total[0].im + own.im};
    total[1] = {total[1].re + other.re, total[1].im + other.im};
  }
  // Two divisions by powers of two, as their product may leave the range of floats.
  const float a = 1 / COLUMN_SCALE, b = 1 / scale_of(largest[coil]);
  float2* own_voxels = image + (Index)coil * g.nz * g.ny * g.nx + first_voxel;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (!exists[i]) continue;
    float2* to = own_voxels + (i == 0 ? q : mirror);
    const float2 before = is_first ? make_float2(0, 0) : *to;
    *to = make_float2(before.x + total[i].re * voxel[i].y * a * b, before.y + total[i].im * voxel[i].y * a * b);
  }
}

// Forward, after a chunk's products: each sample's sums over tiles of partial [tap][coil][tile][width], weighted by tap.
extern "C" __global__ void __launch_bounds__(256)
    collect_samples(Pieces pieces, int first_piece, const Index* order, const float2* weights, int taps, int tiles,
                    const float2* partial, const unsigned* largest, Index samples, int width, float2* kspace) {
  const int q = blockIdx.x * 256 + threadIdx.x, coil = blockIdx.y, coils = gridDim.y;
  if (q >= width) return;
  int piece;
  const Index s = place_of(pieces, first_piece, q, piece);
  if (s < 0) return;
  double re = 0, im = 0;
  for (int tap = 0; tap < taps; ++tap) {
    const float2 w = weights[(pieces.snapshot[piece] + tap) % taps * samples + s];
    double tap_re = 0, tap_im = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      const float2 v = partial[(((Index)tap * coils + coil) * tiles + tile) * width + q];
      tap_re += v.x;
      tap_im += v.y;
    }
    re += w.x * tap_re - w.y * tap_im;
    im += w.x * tap_im + w.y * tap_re;
  }
  const double scale = 1.0 / ((double)COLUMN_SCALE * scale_of(largest[coil]));
  kspace[coil * samples + order[s]] = make_float2((float)(re * scale), (float)(im * scale));
}
