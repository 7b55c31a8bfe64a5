#pragma once
#include <string>
#include <vector>

#include "spinloom/stencil/model.hpp"

/// What a schedule should cost on a GPU: what its blocks ask of the level 2 cache and of memory, counted from the schedule
/// and the expression, and times by rates that are measured on the card. See docs/stencil-model.md.
namespace spinloom::stencil {

/// What the model knows of a GPU. Rates are [bytes/s], a byte read and a byte written count one each; describe_gpu() leaves
/// them 0, and they may be given by hand.
struct GpuMachine {
  std::string name;
  int capability = 90;  ///< compute capability times ten
  int multiprocessors = 132;
  std::int64_t level2_bytes = 50 << 20;
  std::int64_t shared_bytes = 227 << 10;  ///< that a block may have
  double copy = 0;                        ///< of memory, by the driver
  double in_order = 0;                    ///< of memory, by blocks that follow one another as memory lies
  double marching = 0;                    ///< of memory, by blocks that go through planes
  double level2 = 0;                      ///< of arrays that stay in the level 2 cache
  double single_operations = 0;           ///< [1/s] of all threads: fma, add or multiply
  double double_operations = 0;
  double launch_seconds = 0;  ///< from one kernel to the next
};
/// Errors   BackendUnavailable where there is no such GPU
GpuMachine describe_gpu(Device device);
/// The same with rates, in some hundredths of a second once their kernels are compiled. Takes 2 GiB of the GPU's memory, or
/// half of what is free.
///
/// Errors   BackendUnavailable as above; DeviceError where there is no room
GpuMachine measure_gpu(Device device);

/// Of a GPU's memory by the driver's copy [bytes/s], read and written; needs no kernel. Memory and errors as above.
double measure_gpu_copy(Device device);

/// What the driver says of a kernel. Zeros: not known.
struct GpuKernel {
  int threads = 0, registers = 0;  ///< of a block; of a thread
  std::int64_t local_bytes = 0;    ///< of a thread, what registers did not hold
  std::int64_t shared_bytes = 0;   ///< of a block
  int blocks_at_once = 0;          ///< on a multiprocessor
};

struct GpuModelInput {
  std::vector<Definition> chain;
  GridLayout layout;
  std::vector<Boundaries> fields;
  Index element_bytes = 4;
  bool in_double = false;  ///< elements of 4 bytes, computed in double
  bool is_complex = false;
  Schedule schedule;
  Index steps = 0;  ///< of a run; 0: many
  GpuMachine machine;
  // One per stencil, or per pass of a fused chain.
  std::vector<GpuKernel> kernels;  ///< empty: not known
  std::vector<double> on_chip;     ///< [s] per point of a pass; see rehearse_gpu(). Empty: from rates alone
};

/// One stencil of the chain, or one pass that takes several. Figures are per point of the pass; those of the whole are per
/// update, a point by one stencil of the chain.
struct GpuStage {
  int stencils = 1;        ///< of the chain
  double share = 1;        ///< of the steps that it is taken in
  Schedule schedule;       ///< with the library's choice where that was asked for
  Index block[3] = {};     ///< points along z, y, x that a block is there for, overlapping rims included
  Index blocks = 0;        ///< of one pass
  double redundancy = 1;   ///< points computed per update
  Traffic level2, memory;  ///< [bytes/update] asked of the level 2 cache by its multiprocessors, of memory
  double operations =
      0;  ///< [1/update] arithmetic of all points computed, what a thread's points share counted once
  GpuKernel kernel;
  double waves = 0;  ///< blocks over those that the GPU holds at once; 0: not known
  double memory_seconds = 0, level2_seconds = 0, arithmetic_seconds = 0;  ///< per update, each on its own
  double on_chip = 0;  ///< [s] per update, memory apart: measured, or the larger of the two before
  double tail = 1;     ///< what the last wave adds
  double seconds = 0;  ///< per update
};

struct GpuPrediction {
  std::vector<GpuStage> stages;
  Traffic level2, memory;
  double bytes_per_update = 0;  ///< of memory
  double redundancy = 1, operations = 0;
  double memory_seconds = 0, level2_seconds = 0, arithmetic_seconds = 0, on_chip = 0;
  double roofline_glups = 0;  ///< what memory's copy or the arithmetic alone would allow
  double glups = 0;
  std::string
      limit;  ///< "memory", "L2", "arithmetic", "instructions" (on the chip, and neither of the two before), "launches"
};

/// Whether the model knows this kind of schedule.
bool is_modelled_on_gpu(const Schedule& schedule);

/// Counts alone: needs no rates.
///
/// Errors   ArgumentError for an empty chain, for what cannot run on a GPU and for schedules that are not modelled
GpuPrediction predict_gpu_traffic(const GpuModelInput& input);

/// The same with times. Of one stencil, all per update,
///
///   seconds = (on_chip^p + memory^p)^(1/p) tail + launch
///
/// with p = 4, 2 for gathering kernels, and 1.2 for overlapped blocks of stencils that read what they do not write; launch has
/// the kernels of faces with it.
///
/// Errors   ArgumentError as above, and for rates that are not above 0
GpuPrediction predict_gpu(const GpuModelInput& input);

/// What the driver says of the kernels that would run, and what a step of each takes when memory has no part in it: the same
/// kernels on grids whose planes lie so close that all of them stay in the level 2 cache. Compiles them. Fills
/// `input.kernels` and `input.on_chip`.
///
/// Errors   BackendUnavailable, DeviceError; ArgumentError for what cannot run
template <class T>
void rehearse_gpu(const std::vector<Kernel<T>>& chain, GpuModelInput& input);

/// Everything of the input but for rates, kernels and the rehearsal.
template <class T>
GpuModelInput gpu_model_input(const std::vector<Kernel<T>>& chain, const GridLayout& layout,
                              const std::vector<Boundaries>& fields, const Schedule& schedule, Index steps);

/// A prediction beside what was measured, as Report.
struct GpuReport {
  GpuPrediction predicted;
  double bandwidth = 0;                 ///< the copy's [bytes/s]
  double glups = 0;                     ///< measured
  double implied_bytes_per_update = 0;  ///< bandwidth / measured speed
  double share_of_bandwidth = 0;        ///< the model's bytes at the measured speed, of the bandwidth
  double predicted_over_measured = 0;
};
GpuReport report(const GpuPrediction& predicted, const GpuMachine& machine, double measured_glups);

}  // namespace spinloom::stencil
