#pragma once
#include <complex>
#include <memory>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/view.hpp"
#include "spinloom/runtime/array.hpp"

/// What mri/encoding.cpp does to arrays, on a GPU. Shapes are checked, and all views lie on one device.
namespace spinloom::cuda {

template <class Real>
void expand(View<const std::complex<Real>> maps, View<const std::complex<Real>> x, Real scale,
            View<std::complex<Real>> images);
template <class Real>
void combine(View<const std::complex<Real>> maps, View<const std::complex<Real>> images, Real scale,
             bool first, View<std::complex<Real>> x);
template <class Real>
void weigh(View<const double> weights, View<std::complex<Real>> y);

std::vector<KernelInstance> encoding_kernel_instances();

/// Maps kept in locked host memory, of which a batch at a time is brought to the GPU.
template <class Real>
class StreamedMaps {
 public:
  StreamedMaps(View<const std::complex<Real>> maps, Device device);
  Device device() const { return device_; }
  /// Coils [first, first + length): the copy is issued in the stream's order, and may be recorded.
  Array<std::complex<Real>> fetch(Index first, Index length) const;

 private:
  Device device_;
  Shape shape_;
  std::shared_ptr<std::byte> pinned_;
};

}  // namespace spinloom::cuda
