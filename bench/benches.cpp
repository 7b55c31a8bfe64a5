#include "bench.hpp"

const std::vector<Bench>& benches() {
  static const std::vector<Bench> all = {
      {"stream", "memory bandwidth: copy, triad, and copy past the caches", 0, bench_stream},
      {"fhd", "the exact adjoint DFT, rung by rung from atomics to a matrix product",
       takes_matrix | takes_samples | takes_rung | runs_on_gpu, bench_fhd},
      {"dft", "the exact DFT as an operator, forward and adjoint, at the tolerances that it offers",
       takes_matrix | takes_samples | takes_coils | takes_off_resonance | runs_on_gpu, bench_dft},
      {"nufft", "the NUFFT, types 1 and 2, at three tolerances",
       takes_matrix | takes_samples | takes_coils | takes_tolerances | runs_on_gpu, bench_nufft},
      {"cg", "a whole reconstruction by conjugate gradients, from arrays on the host to the image there",
       takes_matrix | takes_samples | takes_coils | takes_off_resonance | runs_on_gpu | shares_gpus,
       bench_cg},
      {"normal", "the Toeplitz normal operator against FFTW, or cuFFT, on a padded grid",
       takes_matrix | takes_samples | takes_coils | runs_on_gpu, bench_normal},
      {"nlm", "non-local means: scikit-image's order, rows, and fused tiles; on a GPU its tiers of caching",
       takes_matrix | takes_patch | runs_on_gpu, bench_nlm},
      {"stencil", "stencil sweeps and temporal blocking against the speed of memory",
       takes_matrix | takes_stencil | runs_on_gpu, bench_stencil},
      {"poisson", "a Poisson problem solved by multigrid, and a cycle's cost in plain sweeps", takes_matrix | runs_on_gpu,
       bench_poisson},
      {"ranks",
       "a grid shared by the processes of mpirun against as many threads; on GPUs a block of --matrix for "
       "each "
       "rank against one rank with one block",
       takes_matrix | takes_ranks | runs_on_gpu | shares_gpus, bench_ranks},
  };
  return all;
}
