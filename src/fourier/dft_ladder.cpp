#include "spinloom/fourier/dft_ladder.hpp"

#include <fmt/format.h>

#include "fourier/cpu/dft_kernels.hpp"
#include "fourier/cpu/ladder.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"

namespace spinloom {
namespace {

std::vector<DftRungInfo> make_rungs() {
  // Phase: 3 products and 2 sums (and a product by 2 pi); sine and cosine; complex product and sum: 4 + 4.
  constexpr double plain = 5 + 2 + 8;
  const double lanes = double(cpu::ladder_lanes());
  const auto tile = cpu::dft_kernels<float>();
  const double rows = double(tile.tile_rows), columns = double(tile.tile_columns);
  return {
      {DftRung::scatter, "scatter", "each sample adds to all voxels with atomic additions", plain + 1, 48},
      {DftRung::gather, "gather", "each voxel sums all samples: no atomics; sums and coordinates in memory",
       plain + 1, 48},
      {DftRung::fission, "fission", "phases in a loop of their own, from a precomputed 2 pi k", plain, 56},
      {DftRung::registers, "registers", "a voxel's coordinates and sums stay in registers", plain, 20},
      {DftRung::chunk_arrays, "chunk_arrays",
       "samples by chunks that stay in the level 1 cache, structure of arrays", plain, 20},
      {DftRung::chunk_structures, "chunk_structures", "the same chunks as an array of structures", plain, 20},
      {DftRung::polynomial, "polynomial", "a vector of voxels; sine and cosine by polynomials", plain,
       20 / lanes},
      {DftRung::unrolled, "unrolled", "four aligned vectors of voxels per sample", plain, 5 / lanes},
      // Complex product and sum; eight vectors share one start of 15 operations, 5 loads and the turn's 2.
      {DftRung::recurrence, "recurrence", "phasors turned from vector to vector along a line", 8 + 15.0 / 8,
       28 / (8 * lanes)},
      // A step of a tile loads rows + columns values for rows * columns multiply-adds; a pair needs two of
      // these.
      {DftRung::separable, "separable", "the phase factors over block centres and offsets: a matrix product",
       4, 8 * (rows + columns) / (rows * columns)},
  };
}

}  // namespace

const std::vector<DftRungInfo>& dft_rungs() {
  static const std::vector<DftRungInfo> rungs = make_rungs();
  return rungs;
}

const DftRungInfo& find_dft_rung(const std::string& name) {
  std::string names;
  for (const DftRungInfo& rung : dft_rungs()) {
    if (rung.name == name) return rung;
    names += (names.empty() ? "" : ", ") + rung.name;
  }
  throw ArgumentError(fmt::format("rung '{}' is unknown, expected one of {}", name, names));
}

void dft_adjoint_rung(DftRung rung, std::shared_ptr<const Trajectory> trajectory, const Shape& matrix,
                      View<const cfloat> kspace, View<cfloat> image) {
  trajectory->require_fits(matrix);
  require_shape("DFT ladder", "k-space", kspace.shape, {trajectory->samples()});
  require_shape("DFT ladder", "image", image.shape, matrix);
  if (rung == DftRung::separable) {
    make_dft<float>(trajectory, matrix)
        ->adjoint(kspace.reshaped({1, kspace.size()}), image.reshaped(prepend(1, matrix)));
    return;
  }
  cpu::LadderProblem problem(*trajectory, matrix, kspace);
  switch (rung) {
    case DftRung::scatter: cpu::ladder_scatter(problem); break;
    case DftRung::gather: cpu::ladder_gather(problem); break;
    case DftRung::fission: cpu::ladder_fission(problem); break;
    case DftRung::registers: cpu::ladder_registers(problem); break;
    case DftRung::chunk_arrays: cpu::ladder_chunk_arrays(problem); break;
    case DftRung::chunk_structures: cpu::ladder_chunk_structures(problem); break;
    case DftRung::polynomial: cpu::ladder_polynomial(problem); break;
    case DftRung::unrolled: cpu::ladder_unrolled(problem); break;
    case DftRung::recurrence: cpu::ladder_recurrence(problem); break;
    case DftRung::separable: break;
  }
  for (Index n = 0; n < image.size(); ++n) image[n] = {problem.rho_re[n], problem.rho_im[n]};
}

}  // namespace spinloom
