#pragma once
#include "spinloom/fourier/dft_ladder.hpp"

namespace spinloom::cpu {

/// What the rungs read and write: plain float arrays, voxel coordinates included, filled up with zeros to
/// whole vectors.
struct LadderProblem {
  LadderProblem(const Trajectory& trajectory, const Shape& matrix, View<const cfloat> kspace);

  Index samples, voxels, line;  ///< line: voxels along x
  Array<float> kz, ky, kx;      ///< [samples] cycles per field of view
  Array<float> re, im;          ///< [samples]
  Array<float> z, y, x;         ///< [voxels] fields of view
  Array<float> rho_re, rho_im;  ///< [voxels], zero at the start
};

/// Room behind the voxels for the longest vectors, unrolled.
inline constexpr Index ladder_padding = 64;

void ladder_scatter(LadderProblem& p);
void ladder_gather(LadderProblem& p);
void ladder_fission(LadderProblem& p);
void ladder_registers(LadderProblem& p);
void ladder_chunk_arrays(LadderProblem& p);
void ladder_chunk_structures(LadderProblem& p);

/// One sample as the chunked rungs from `chunk_structures` on hold it; the phase of k in turns.
struct LadderSample {
  float kz, ky, kx, re, im;
};
std::vector<LadderSample> ladder_samples(const LadderProblem& p);

Index ladder_lanes();
void ladder_polynomial(LadderProblem& p);
void ladder_unrolled(LadderProblem& p);
void ladder_recurrence(LadderProblem& p);

}  // namespace spinloom::cpu
