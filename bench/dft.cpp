#include <cmath>
#include <random>

#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/fourier/dft_ladder.hpp"
#include "spinloom/fourier/off_resonance.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace {

using namespace spinloom;

/// One entry of the sums that the operator makes, in double; sign is that of the exponent, centres are voxels' r per axis.
struct Problem {
  Shape matrix;
  std::shared_ptr<const Trajectory> k;
  OffResonancePtr b0;           ///< or null
  Array<cfloat> image, kspace;  ///< of one coil, the last

  std::vector<double> centre(Index voxel) const {
    std::vector<double> r(matrix.size());
    for (std::size_t d = matrix.size(); d-- > 0; voxel /= matrix[d])
      r[d] = double(voxel % matrix[d] - matrix[d] / 2) / double(matrix[d]);
    return r;
  }
  cdouble turn(Index m, Index voxel, const std::vector<double>& r, double sign) const {
    double turns = b0 == nullptr ? 0 : b0->map_hz()[voxel] * b0->times_s()[m];
    for (std::size_t d = 0; d < r.size(); ++d)
      turns += k->view()[static_cast<Index>(d) * k->samples() + m] * r[d];
    return std::polar(1.0, sign * 2 * M_PI * (turns - std::rint(turns)));
  }
  cdouble forward_at(Index m) const {
    cdouble sum = 0;
    for (Index n = 0; n < image.size(); ++n) sum += cdouble(image[n]) * turn(m, n, centre(n), -1);
    return sum;
  }
  cdouble adjoint_at(Index n) const {
    const std::vector<double> r = centre(n);
    cdouble sum = 0;
    for (Index m = 0; m < kspace.size(); ++m) sum += cdouble(kspace[m]) * turn(m, n, r, 1);
    return sum;
  }
};

constexpr double field_hz = 100, readout_s = 0.02;
constexpr Index samples_per_readout = 256;

/// A map drawn evenly from +-field_hz, so that no smoothness helps, and readouts that all last readout_s.
OffResonancePtr even_off_resonance(const Shape& matrix, Index samples) {
  std::mt19937_64 bits(29);
  Array<double> map(matrix), times({samples});
  for (double& f : map) f = field_hz * (2 * double(bits() >> 11) * 0x1p-53 - 1);
  for (Index m = 0; m < samples; ++m)
    times[m] = readout_s * double(m % samples_per_readout) / double(samples_per_readout - 1);
  return std::make_shared<OffResonance>(std::move(map), std::move(times));
}

/// As many entries as some hundred millions of terms allow.
int entries_to_check(Index terms) { return static_cast<int>(std::clamp<Index>(200000000 / terms, 4, 256)); }

}  // namespace

BenchResult bench_dft(const BenchRequest& request) {
  const Device device = request.device;
  const bool on_gpu = device.kind == DeviceKind::cuda;
  const Index size = on_gpu ? 128 : 48, coils = request.coils > 0 ? request.coils : 1;
  const Index samples = request.samples > 0 ? request.samples : on_gpu ? 100000 : 5000;
  const Shape matrix = request.matrix.empty() ? Shape{size, size, size} : request.matrix;
  const int repetitions = request.repetitions > 0 ? request.repetitions : on_gpu ? 20 : 5;

  std::mt19937_64 bits(17);
  Array<double> k({static_cast<Index>(matrix.size()), samples});
  for (Index d = 0; d < k.shape()[0]; ++d)
    for (Index m = 0; m < samples; ++m)
      k[d * samples + m] =
          (double(bits() >> 11) * 0x1p-53 - 0.5) * double(matrix[static_cast<std::size_t>(d)]);
  const auto trajectory = std::make_shared<Trajectory>(std::move(k));
  make_dft<float>(trajectory, matrix, coils,
                  device);  // refuses what is too large before data is drawn for it
  const OffResonancePtr b0 = request.has_off_resonance ? even_off_resonance(matrix, samples) : nullptr;
  Array<cfloat> x(prepend(coils, matrix)), y({coils, samples});
  fill_random(x.view(), 19);
  fill_random(y.view(), 20);
  const Problem problem{matrix, trajectory, b0, Array<cfloat>::copy_of(x.view().slice(coils - 1)),
                        Array<cfloat>::copy_of(y.view().slice(coils - 1))};
  const auto x_there = Array<cfloat>::copy_of(x.view(), device),
             y_there = Array<cfloat>::copy_of(y.view(), device);

  struct Direction {
    const char* name;
    bool is_forward;
    std::vector<Index> where;
    std::vector<cdouble> expected;
  } directions[] = {{"adjoint", false, {}, {}}, {"forward", true, {}, {}}};
  for (Direction& d : directions) {
    const int entries = entries_to_check(d.is_forward ? count(matrix) : samples);
    for (int i = 0; i < entries; ++i)
      d.where.push_back(
          static_cast<Index>(bits() % static_cast<std::uint64_t>(d.is_forward ? samples : count(matrix))));
    d.expected.resize(d.where.size());
    parallel_blocks(entries, 1, [&](Index i, Index, int) {
      const auto e = static_cast<std::size_t>(i);
      d.expected[e] = d.is_forward ? problem.forward_at(d.where[e]) : problem.adjoint_at(d.where[e]);
    });
  }

  BenchResult result;
  result.columns = {"name", "tolerance", "pairs_per_second", "relative_error", "seconds", "spread"};
  const double sines = fast_sines_per_second(device);
  if (on_gpu) result.columns.insert(result.columns.begin() + 3, "times_sine_limit");
  const std::vector<double> tolerances = !on_gpu         ? std::vector<double>{1e-6}
                                         : b0 == nullptr ? std::vector<double>{3e-4, 1e-6}
                                                         : std::vector<double>{1e-3, 1e-5};
  for (const double tolerance : tolerances) {
    const auto dft = make_dft<float>(problem.k, matrix, b0, coils, device, {.tolerance = tolerance});
    for (const Direction& d : directions) {
      auto out = Array<cfloat>::full(d.is_forward ? dft->range() : dft->domain(), cfloat(NAN, NAN), device);
      const auto work = [&] {
        d.is_forward ? dft->forward(x_there.view(), out.view()) : dft->adjoint(y_there.view(), out.view());
        synchronize(device);
      };
      work();
      const auto here = Array<cfloat>::copy_of(out.view(), Device{});
      double gap = 0, all = 0;
      for (std::size_t i = 0; i < d.where.size(); ++i) {
        gap += std::norm(cdouble(here[here.size() / coils * (coils - 1) + d.where[i]]) - d.expected[i]);
        all += std::norm(d.expected[i]);
      }
      Json figure = {{"name", d.name}, {"tolerance", tolerance}, {"relative_error", std::sqrt(gap / all)}};
      // What is allowed is of all entries; some of them may show a little more.
      if (!(figure["relative_error"].get<double>() < 2 * tolerance))
        throw NotConverged(std::string("bench dft: ") + d.name + " gives wrong answers; it is not timed");
      figure.update(measure(repetitions, work));
      const double pairs =
          double(count(matrix)) * double(samples) * double(coils) / figure["seconds"].get<double>();
      figure["pairs_per_second"] = pairs;
      if (on_gpu) {
        figure["sine_limit_pairs_per_second"] = sines;
        figure["times_sine_limit"] = pairs / sines;
      }
      if (b0 != nullptr) {
        figure["off_resonance_hz"] = field_hz;
        figure["readout_seconds"] = readout_s;
      }
      figure["checked_entries"] = d.where.size();
      figure["dtype"] = "float32";
      figure["size"] = matrix;
      figure["samples"] = samples;
      figure["coils"] = coils;
      result.figures.push_back(figure);
      if (request.progress)
        request.progress("dft", double(result.figures.size()) / double(2 * tolerances.size()), d.name);
    }
  }
  return result;
}
