#pragma once
#include <chrono>

#include "common.hpp"
#include "denoise_plan.hpp"
#include "mask_values.hpp"
#include "spinloom/io/image_part.hpp"
#include "spinloom/runtime/array.hpp"

/// What the parts of `spinloom denoise` share: whole images, and images in slabs.

struct DenoiseOptions : Common, DenoiseRequest {
  std::string input, output, mask, group;
  std::uint64_t memory_limit = 0;
};

/// What a run did, for its report.
struct DenoiseDone {
  DenoisePlan plan;
  double seconds = 0;
  spinloom::Index slabs = 1;
};

/// Of the program itself and its threads.
constexpr std::uint64_t denoise_base_memory = std::uint64_t{64} << 20;

DenoiseDone denoise_whole(const DenoiseOptions& options, spinloom::Device device);
/// `type`: of the file's elements.
template <class Real>
DenoiseDone denoise_slabs(const DenoiseOptions& options, std::uint64_t limit, spinloom::ImageReader& reader,
                          spinloom::DType type, DenoisePlan plan);

class DenoiseClock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The elements as Real, where they lie if they are Real already; complex ones as pairs.
template <class Real>
spinloom::View<const Real> values_of(const spinloom::Tensor& data, spinloom::Array<Real>& storage) {
  using spinloom::Tensor;
  constexpr auto own = Tensor::dtype_of<Real>(), complex = Tensor::dtype_of<std::complex<Real>>();
  if (data.dtype == own || data.dtype == complex)
    return {reinterpret_cast<const Real*>(data.bytes.data()),
            {data.bytes.size() / spinloom::Index{sizeof(Real)}}};
  storage = data.to<Real>();
  return storage.view();
}

/// The standard deviation of the noise of all frames together; 0 where there is none but rounding.
template <class Real>
double measured_noise(spinloom::View<const Real> values, const spinloom::Shape& frame);

void require_mask_shape(const std::string& path, const spinloom::Shape& mask, const DenoisePlan& plan,
                        const spinloom::Shape& image);
/// Progress of one frame as progress of all.
spinloom::Progress of_frame(const spinloom::Progress& progress, spinloom::Index frame,
                            spinloom::Index frames);
/// The type of the file is kept where both ends are NIfTI: scaling and all.
spinloom::SaveOptions denoise_save_options(const DenoiseOptions& options, const spinloom::Image& head);
