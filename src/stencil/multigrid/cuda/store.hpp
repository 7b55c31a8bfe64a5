#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/graph.hpp"
#include "runtime/cuda/pinned.hpp"
#include "runtime/cuda/scratch.hpp"
#include "stencil/multigrid/state.hpp"

namespace spinloom::cuda {

/// As in multigrid.cu.
template <class T>
struct MultigridLevel {
  T *u = nullptr, *f = nullptr;
  const T *diagonal = nullptr, *inverse = nullptr;
  const T* faces[3] = {};
  const T* links[3] = {};
  const T* toward[3] = {};
  Index plane = 0;
  int n[3] = {};
  int row = 0, half = 0, guard = 0;
  int halves[3] = {}, periodic[3] = {};
  int is_weighted = 0, colours_meet = 0;
  T coupling[3] = {};
};
struct MultigridNumbers {
  double rz, curvature, rr, rz_before, mean;
};

/// Memory for one solver's cycles, with its graphs.
template <class T>
struct MultigridWork {
  std::vector<MultigridLevel<T>> levels;
  std::shared_ptr<std::byte> fields, more, level_table, rows, numbers, chunk_sums, means, told;
  T *x = nullptr, *p = nullptr, *q = nullptr;  ///< of the finest level, in `more`
  std::map<std::array<int, 4>, std::unique_ptr<Graph>> graphs;
};

/// What of a problem lies on one GPU: operators and lists, copied there once, and idle memory for cycles.
///
/// Threads  may be shared; borrowed work belongs to the borrower
template <class T>
class MultigridStore {
 public:
  using State = typename stencil::Multigrid<T>::State;
  MultigridStore(Context& context, const State& state);

  std::unique_ptr<MultigridWork<T>> borrow(bool gradients);
  void give_back(std::unique_ptr<MultigridWork<T>> work);

  Context& gpu() const { return context_; }
  Index chunks() const { return chunks_; }
  const unsigned* label() const { return reinterpret_cast<const unsigned*>(label_.get()); }
  const unsigned* cells() const { return reinterpret_cast<const unsigned*>(cells_.get()); }
  const unsigned* part_of_chunk() const { return reinterpret_cast<const unsigned*>(part_of_chunk_.get()); }
  const Index* first() const { return reinterpret_cast<const Index*>(first_.get()); }
  const Index* first_chunk() const { return reinterpret_cast<const Index*>(first_chunk_.get()); }

 private:
  template <class V>
  std::shared_ptr<std::byte> send(const std::vector<V>& values);
  std::unique_ptr<MultigridWork<T>> make_work() const;

  Context& context_;
  const State& state_;
  std::vector<MultigridLevel<T>> levels_;  ///< without fields
  std::vector<std::shared_ptr<std::byte>> held_;
  std::shared_ptr<std::byte> label_, cells_, first_, first_chunk_, part_of_chunk_;
  Index chunks_ = 0;
  std::mutex guard_;
  std::vector<std::unique_ptr<MultigridWork<T>>> idle_;
};

}  // namespace spinloom::cuda
