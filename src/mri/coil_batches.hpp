#pragma once
#include <fmt/format.h>

#include <algorithm>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/mri/encoding.hpp"

namespace spinloom {

/// Operators for `coils` coils, `batch` at a time: one for the full batches and one for those left over.
template <class Real>
class CoilBatches {
 public:
  CoilBatches(const char* who, Index coils, Index batch, const CoilTransform<Real>& make) : coils_(coils) {
    if (batch < 0)
      throw ArgumentError(
          fmt::format("{}: batches of {} coils, expected 0 (all at once) or more", who, batch));
    if (!make) throw ArgumentError(fmt::format("{}: needs something that makes the Fourier operator", who));
    batch_ = batch == 0 ? coils : std::min(batch, coils);
    full_ = make(batch_);
    if (coils % batch_ != 0) rest_ = make(coils % batch_);
    for (const Index size : {batch_, coils % batch_}) {
      if (size == 0) continue;
      const auto& op = size == batch_ ? full_ : rest_;
      if (op == nullptr)
        throw ArgumentError(fmt::format("{}: no Fourier operator was made for {} coils", who, size));
      if (op->domain().empty() || op->domain()[0] != size)
        throw ShapeError(fmt::format("{}: the {} made for {} coils takes {}, expected [{}, matrix...]", who,
                                     op->name(), size, to_string(op->domain()), size));
    }
  }
  CoilBatches(Index coils, Index batch, OperatorPtr<Real> full, OperatorPtr<Real> rest)
      : coils_(coils), batch_(batch), full_(std::move(full)), rest_(std::move(rest)) {}

  Index batch() const { return batch_; }
  const OperatorPtr<Real>& full() const { return full_; }

  /// body(first coil, number of coils, operator for that many), in order.
  template <class Body>
  void for_each(const Body& body) const {
    for (Index first = 0; first < coils_; first += batch_) {
      check_interrupt();
      const Index length = std::min(batch_, coils_ - first);
      body(first, length, length == batch_ ? *full_ : *rest_);
    }
  }

  CoilBatches normals() const {
    return {coils_, batch_, normal(full_), rest_ == nullptr ? nullptr : normal(rest_)};
  }

 private:
  Index coils_;
  Index batch_ = 0;
  OperatorPtr<Real> full_, rest_;
};

/// " (coils, z, y, x)" for as many axes as there are.
std::string coil_axes(std::size_t rank);

/// Throws ArgumentError naming coil and voxel of the first value that is not finite in [coils, matrix...].
template <class Real>
void require_finite_coils(const char* who, const char* what, View<const std::complex<Real>> images);

}  // namespace spinloom
