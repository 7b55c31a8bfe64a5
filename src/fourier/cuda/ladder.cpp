#include "fourier/cuda/ladder.hpp"

#include <algorithm>

#include "fourier/cuda/dft.hpp"
#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/scratch.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom::cuda {

extern const KernelSource dft_ladder_source;

namespace {

constexpr Index threads = 256, chunk_of_arrays = 3264, chunk_of_structures = 2048;  // as in dft_ladder.cu
constexpr Index floats_per_structure = 8;
constexpr Index voxels_per_thread = 4;  // of the rung `unrolled`

const KernelInstance& ladder_instance(bool has_arrays) {
  static const KernelInstance arrays{&dft_ladder_source, {"CHUNK_OF_ARRAYS=1"}},
      structures{&dft_ladder_source, {"CHUNK_OF_ARRAYS=0"}};
  return has_arrays ? arrays : structures;
}

struct Samples {  // as in dft_ladder.cu, and Voxels too
  const float *kx, *ky, *kz, *dr, *di;
  int count;
};
struct Voxels {
  const float *x, *y, *z;
  float *re, *im;
  Index count;
};

/// A rung with its trajectory, coordinates and sums on the GPU.
class Rung {
 public:
  Rung(DftRung rung, const Trajectory& k, const Shape& matrix, Device device)
      : rung_(rung),
        device_(device),
        context_(context(device.index)),
        samples_(k.samples()),
        voxels_(count(matrix)),
        k_(to_floats(k, device)),
        r_(coordinates(matrix, device)),
        angles_({3, samples_}, device),
        data_({2, samples_}, device),
        packed_({samples_, floats_per_structure}, device),
        sums_({2, voxels_}, device) {}

  void operator()(View<const cfloat> kspace, View<cfloat> image) {
    run("split_data", samples_, kspace.data, static_cast<int>(samples_), data_.data(),
        data_.data() + samples_);
    // The first rungs add to what is in memory, from the first sample or the first chunk on.
    zero_bytes(reinterpret_cast<std::byte*>(sums_.data()), device_,
               static_cast<std::size_t>(sums_.size()) * sizeof(float));
    sum();
    run("join_image", voxels_, sums_.data(), sums_.data() + voxels_, voxels_, image.data);
  }

 private:
  static Array<float> to_floats(const Trajectory& k, Device device) {
    auto host = Array<float>::zeros({3, k.samples()});
    for (int d = 0; d < k.dims(); ++d)
      for (Index m = 0; m < k.samples(); ++m)
        host[(k.dims() - 1 - d) * k.samples() + m] = static_cast<float>(k.axis(d)[m]);  // kx first
    return Array<float>::copy_of(host.view(), device);
  }
  static Array<float> coordinates(const Shape& matrix, Device device) {
    const Index voxels = count(matrix);
    auto host = Array<float>::zeros({3, voxels});
    for (Index n = 0; n < voxels; ++n) {
      Index rest = n;
      for (std::size_t d = matrix.size(); d-- > 0; rest /= matrix[d])
        host[static_cast<Index>(matrix.size() - 1 - d) * voxels + n] =
            static_cast<float>(double(rest % matrix[d] - matrix[d] / 2) / double(matrix[d]));
    }
    return Array<float>::copy_of(host.view(), device);
  }

  template <class... Arguments>
  void run(const char* kernel, Index count, const Arguments&... arguments) {
    launch(context_, ladder_instance(rung_ == DftRung::chunk_arrays), kernel,
           {static_cast<unsigned>((count + threads - 1) / threads)}, {threads}, 0, arguments...);
  }
  Samples samples_with(const float* k) const {
    const float* d = data_.data();
    return {k, k + samples_, k + 2 * samples_, d, d + samples_, static_cast<int>(samples_)};
  }
  Voxels voxels() {
    const float* r = r_.data();
    return {r, r + voxels_, r + 2 * voxels_, sums_.data(), sums_.data() + voxels_, voxels_};
  }

  void sum() {
    const Samples plain = samples_with(k_.data()), with_angles = samples_with(angles_.data());
    float* const a = angles_.data();
    switch (rung_) {
      case DftRung::scatter: return run("scatter", samples_, plain, voxels());
      case DftRung::gather: return run("gather", voxels_, plain, voxels());
      default: break;
    }
    run("make_angles", samples_, plain, a, a + samples_, a + 2 * samples_);
    switch (rung_) {
      case DftRung::fission: return run("fission", voxels_, with_angles, voxels());
      case DftRung::registers: return run("registers", voxels_, with_angles, voxels());
      case DftRung::chunk_arrays: return sum_chunks_of_arrays(with_angles);
      case DftRung::chunk_structures: return sum_chunks_of_structures("constant_chunk", with_angles, voxels_);
      case DftRung::fast_sine: return sum_chunks_of_structures("fast_sine", plain, voxels_);
      case DftRung::unrolled:
        return sum_chunks_of_structures("unrolled", plain,
                                        (voxels_ + voxels_per_thread - 1) / voxels_per_thread);
      default: throw ArgumentError("DFT ladder: this rung is one of the CPU's");
    }
  }
  void sum_chunks_of_arrays(const Samples& s) {
    const std::pair<const char*, const float*> arrays[] = {
        {"chunk_kx", s.kx}, {"chunk_ky", s.ky}, {"chunk_kz", s.kz}, {"chunk_dr", s.dr}, {"chunk_di", s.di}};
    for_chunks(chunk_of_arrays, [&](Index first, Index count) {
      for (const auto& [name, data] : arrays) to_constant(name, data + first, count * sizeof(float));
      run("constant_chunk", voxels_, static_cast<int>(count), voxels());
    });
  }
  void sum_chunks_of_structures(const char* kernel, const Samples& s, Index threads_wanted) {
    run("pack_samples", samples_, s, packed_.data());
    for_chunks(chunk_of_structures, [&](Index first, Index count) {
      to_constant("chunk_samples", packed_.data() + floats_per_structure * first,
                  count * floats_per_structure * sizeof(float));
      run(kernel, threads_wanted, static_cast<int>(count), voxels());
    });
  }
  template <class Body>
  void for_chunks(Index chunk, const Body& body) {
    for (Index first = 0; first < samples_; first += chunk) {
      check_interrupt();
      body(first, std::min(chunk, samples_ - first));
    }
  }
  void to_constant(const char* name, const float* data, std::size_t bytes) {
    const DevicePointer target =
        context_.modules().variable(ladder_instance(rung_ == DftRung::chunk_arrays), name);
    copy_bytes(reinterpret_cast<std::byte*>(target), device_, reinterpret_cast<const std::byte*>(data),
               device_, bytes);
  }

  DftRung rung_;
  Device device_;
  Context& context_;
  Index samples_, voxels_;
  Array<float> k_, r_, angles_, data_, packed_, sums_;
};

}  // namespace

const std::vector<DftRungInfo>& ladder_rungs() {
  // As on the CPU: the phase's products and sums, sine and cosine, complex product and sum. Bytes are what one thread's
  // loop asks of memory or constant memory; a warp's constant reads are one read.
  constexpr double plain = 5 + 2 + 8;
  static const std::vector<DftRungInfo> rungs = {
      {DftRung::scatter, "scatter", "a thread per sample adds to all voxels with atomic additions", plain + 1,
       28},
      {DftRung::gather, "gather",
       "a thread per voxel sums all samples: no atomics; sums and coordinates in memory", plain + 1, 48},
      {DftRung::fission, "fission", "2 pi k made beforehand by a kernel of its own", plain, 48},
      {DftRung::registers, "registers", "a voxel's coordinates and sums stay in registers", plain, 20},
      {DftRung::chunk_arrays, "chunk_arrays",
       "samples by chunks of 64 KB in constant memory, structure of arrays", plain, 20.0 / 32},
      {DftRung::chunk_structures, "chunk_structures", "the same chunks as an array of structures", plain,
       20.0 / 32},
      {DftRung::fast_sine, "fast_sine", "special function units, after a range reduction in turns", plain + 3,
       20.0 / 32},
      {DftRung::unrolled, "unrolled", "eight samples written out, four voxels to a thread", plain + 3,
       20.0 / 128},
      // A block of 128 x 256 (x 128) sums loads its operands once for each k; a pair needs two multiply-adds.
      {DftRung::separable_split, "separable_split",
       "matrix product on tensor cores, operands as pairs of FP16", 12, 4 * 4 * 256.0 / (128 * 128)},
      {DftRung::separable_fp16, "separable_fp16", "the same with operands in FP16", 4,
       4 * 2 * 384.0 / (128 * 256)},
  };
  return rungs;
}

std::function<void(View<const cfloat>, View<cfloat>)> make_rung(DftRung rung,
                                                                std::shared_ptr<const Trajectory> trajectory,
                                                                const Shape& matrix, Device device) {
  if (rung == DftRung::separable_fp16 || rung == DftRung::separable_split) {
    const auto method = rung == DftRung::separable_fp16 ? DftMethod::fp16 : DftMethod::split_fp16;
    const auto dft = make_dft<float>(std::move(trajectory), matrix, 1, device, method);
    return [=](View<const cfloat> kspace, View<cfloat> image) {
      dft->adjoint(kspace.reshaped(dft->range()), image.reshaped(dft->domain()));
    };
  }
  if (trajectory->samples() >= Index{1} << 31) throw ArgumentError("DFT ladder: more than 2^31 samples");
  auto made = std::make_shared<Rung>(rung, *trajectory, matrix, device);
  return [made](View<const cfloat> kspace, View<cfloat> image) { (*made)(kspace, image); };
}

double fast_sines_per_second(Device device) {
  Context& c = context(device.index);
  const unsigned blocks = static_cast<unsigned>(8 * c.facts().multiprocessors);
  const Scratch<float> sums(c, blocks * static_cast<std::size_t>(threads));
  const int count = 20000;
  const auto work = [&] {
    launch(c, ladder_instance(false), "only_sines", {blocks}, {threads}, 0, count, sums.data());
  };
  work();
  double best = time_on(device, work);
  for (int i = 0; i < 4; ++i) best = std::min(best, time_on(device, work));
  return double(blocks) * double(threads) * count / best;
}

std::vector<KernelInstance> ladder_kernel_instances() {
  return {ladder_instance(true), ladder_instance(false)};
}

}  // namespace spinloom::cuda
