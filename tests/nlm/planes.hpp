#pragma once
#include <algorithm>

#include "spinloom/nlm/slabs.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::testing {

/// The planes of an array.
template <class Real>
class ArrayPlanes final : public PlaneSource<Real> {
 public:
  explicit ArrayPlanes(const Array<Real>& all) : all_(all), plane_(all.size() / all.shape()[0]) {}
  void read(Index first, Index planes, Real* to) override {
    std::copy(all_.data() + first * plane_, all_.data() + (first + planes) * plane_, to);
    read_ += planes;
  }
  Index planes_read() const { return read_; }

 private:
  const Array<Real>& all_;
  Index plane_, read_ = 0;
};

/// Fills an array.
template <class T>
class Collected final : public PlaneSink<T> {
 public:
  explicit Collected(Array<T>& to) : next_(to.data()), plane_(to.size() / to.shape()[0]) {}
  void write(Index planes, const T* from) override { next_ = std::copy(from, from + planes * plane_, next_); }

 private:
  T* next_;
  Index plane_;
};

}  // namespace spinloom::testing
