#include "solve/cuda/cg_steps.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <type_traits>

#include "ops/cuda/gives_dots.hpp"
#include "runtime/cuda/graph.hpp"
#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/pinned.hpp"
#include "runtime/cuda/scratch.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/memory.hpp"

namespace spinloom::cuda {

extern const KernelSource cg_source;

namespace {

constexpr Index threads = 256;  // as in cg.cu
/// Enough blocks for any card there is, few enough that each can add the parts of all. Depends on nothing but the size, as
/// the bits of a sum do.
constexpr Index most_blocks = 1024;
/// Steps that are told to the host at once before the first is overwritten: one more than can be under way.
constexpr int told_count = 4;

thread_local std::string graph_refusal;

// As in cg.cu.
struct State {
  double rr = 0, pp = 0, largest_curvature = 0, b_norm = 0, residual = 0, curvature = 0,
         direction_squared = 0, mark = 0;
  long long iteration = 0, marked_at = 0, launches = 0;
  int verdict = 0, is_paused = 0;
};
struct Rules {
  double threshold, rounding, slack, keep;
  long long window;
};

template <class Real>
const KernelInstance& instance(bool is_aligned) {
  if constexpr (std::is_same_v<Real, float>) {
    static const KernelInstance wide{&cg_source, {"REAL=float", "WIDTH=2"}},
        narrow{&cg_source, {"REAL=float", "WIDTH=1"}};
    return is_aligned ? wide : narrow;
  } else {
    static const KernelInstance one{&cg_source, {"REAL=double", "WIDTH=1"}};
    return one;
  }
}

/// When the step that was issued last has ended, without waiting for those behind it.
class Mark {
 public:
  explicit Mark(const Context& context) : context_(context) {
    Current current(context_);
    SPINLOOM_CUDA(EventCreate, &handle_, event_disable_timing);
  }
  ~Mark() {
    ContextHandle popped = nullptr;
    driver().CtxPushCurrent(context_.handle());
    driver().EventDestroy(handle_);
    driver().CtxPopCurrent(&popped);
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  void set() {
    Current current(context_);
    SPINLOOM_CUDA(EventRecord, handle_, context_.own_stream());
  }
  void wait() {
    Current current(context_);
    SPINLOOM_CUDA(EventSynchronize, handle_);
  }

 private:
  const Context& context_;
  EventHandle handle_ = nullptr;
};

/// The operator as one that gives <x, A x>, in so few parts that each block can add them all; null when it is none.
template <class Real>
const GivesDots<Real>* operator_with_dots(const LinearOperator<Real>& a) {
  constexpr Index most_parts = 4096;
  const auto* const dots = dynamic_cast<const GivesDots<Real>*>(&a);
  return dots != nullptr && dots->dot_count() > 0 && dots->dot_count() <= most_parts ? dots : nullptr;
}

template <class Real>
class DeviceSteps final : public CgSteps<Real> {
 public:
  using Complex = std::complex<Real>;
  explicit DeviceSteps(const CgProblem<Real>& problem)
      : c_(problem),
        context_(context(problem.x.device.index)),
        size_(problem.x.size()),
        blocks_(std::clamp<Index>((size_ + 4 * threads - 1) / (4 * threads), 1, most_blocks)),
        instance_(instance<Real>(reinterpret_cast<std::uintptr_t>(problem.x.data) % 16 == 0)),
        state_(context_, 2),
        dots_(operator_with_dots(problem.a)),
        curvatures_(dots_ == nullptr ? blocks_ : dots_->dot_count()),
        parts_(context_, static_cast<std::size_t>(curvatures_ + blocks_)),
        told_(allocate_pinned(context_, told_count * sizeof(State))),
        ahead_(problem.is_observed ? 1 : 2) {
    for (int i = 0; i < told_count; ++i) marks_.emplace_back(context_);
    graph_refusal.clear();
  }
  ~DeviceSteps() override {
    // Steps under way still write to what this object holds.
    try {
      context_.synchronize();
    } catch (...) {
    }
  }

  void restart(double rr, int iteration, double residual) override {
    copy<Complex>(c_.r, c_.p);
    State s = known_;
    s.rr = s.pp = rr;
    s.b_norm = c_.b_norm;
    s.residual = s.mark = residual;
    s.iteration = s.marked_at = iteration;
    resume(s);
  }
  void know_curvature(double largest) override { known_.largest_curvature = largest; }

  CgNumbers next() override {
    if (known_.is_paused) {  // the host has seen why, and goes on all the same
      State s = known_;
      s.is_paused = s.verdict = 0;
      resume(s);
    }
    while (issued_ < taken_ + ahead_ && known_.iteration + (issued_ - taken_) < c_.options.iterations)
      issue();
    const int slot = static_cast<int>(taken_ % told_count);
    marks_[static_cast<std::size_t>(slot)].wait();
    std::memcpy(&known_, told_.get() + static_cast<std::size_t>(slot) * sizeof(State), sizeof(State));
    ++taken_;
    return {static_cast<Curvature>(known_.verdict), known_.curvature, known_.direction_squared,
            known_.residual};
  }

 private:
  /// Takes up from numbers of the host's; steps that are still under way have to come to nothing first.
  void resume(State s) {
    s.launches = 0;
    s.is_paused = s.verdict = 0;
    issued_ = taken_ = 0;
    known_ = s;
    copy_bytes(reinterpret_cast<std::byte*>(state_.data()), c_.x.device,
               reinterpret_cast<const std::byte*>(&s), {}, sizeof s);
  }

  /// Hands one step to the GPU: as kernels the first time, so that all of them are loaded, and as a graph from then on,
  /// unless the operator cannot be recorded.
  void issue() {
    if (!is_tried_ && has_run_) {
      is_tried_ = true;
      if (c_.options.use_graph)
        graph_ = Graph::record(
            context_, [&] { issue_kernels(); }, graph_refusal);
    }
    if (graph_)
      graph_->launch();
    else
      issue_kernels();
    has_run_ = true;
    marks_[static_cast<std::size_t>(issued_ % told_count)].set();
    ++issued_;
  }

  void issue_kernels() {
    constexpr double rounding = std::numeric_limits<Real>::epsilon();
    const Rules rules{c_.threshold, rounding, negative_curvature_slack, 1 - c_.options.stagnation,
                      c_.options.stagnation_window};
    State* const first = state_.data();
    State* const second = first + 1;
    double* const curvatures = parts_.data();
    double* const squares = curvatures + curvatures_;
    State* const told = reinterpret_cast<State*>(told_.get());
    const Grid grid{static_cast<unsigned>(blocks_)}, block{threads};
    const int part_count = static_cast<int>(blocks_);
    const Complex* const p = c_.p.data;
    const Complex* const ap = c_.ap.data;
    const Complex* const r = c_.r.data;
    if (dots_ != nullptr) {
      dots_->forward_with_dots(p, c_.ap.data, curvatures);
    } else {
      c_.a.forward(c_.p, c_.ap);
      launch(context_, instance_, "curvature_parts", grid, block, 0, p, ap, size_, curvatures);
    }
    launch(context_, instance_, "step_residual", grid, block, 0, first, second, curvatures,
           static_cast<int>(curvatures_), ap, c_.r.data, size_, squares, rules);
    launch(context_, instance_, "step_solution", grid, block, 0, second, first, squares, part_count, r,
           c_.x.data, c_.p.data, size_, rules, told, told_count);
  }

  CgProblem<Real> c_;
  Context& context_;
  Index size_, blocks_;
  const KernelInstance& instance_;
  Scratch<State> state_;
  const GivesDots<Real>* dots_;  ///< the operator, where it gives p.A p on its way
  Index curvatures_;             ///< parts of p.A p
  Scratch<double> parts_;
  std::shared_ptr<std::byte> told_;
  std::deque<Mark> marks_;
  long long ahead_, issued_ = 0, taken_ = 0;  ///< since the last resume()
  State known_;
  bool has_run_ = false, is_tried_ = false;
  std::unique_ptr<Graph> graph_;
};

}  // namespace

template <class Real>
std::unique_ptr<CgSteps<Real>> make_cg_steps(const CgProblem<Real>& problem) {
  return std::make_unique<DeviceSteps<Real>>(problem);
}

const std::string& last_graph_refusal() { return graph_refusal; }

std::vector<KernelInstance> cg_kernel_instances() {
  return {instance<float>(true), instance<float>(false), instance<double>(true)};
}

template std::unique_ptr<CgSteps<float>> make_cg_steps(const CgProblem<float>&);
template std::unique_ptr<CgSteps<double>> make_cg_steps(const CgProblem<double>&);

}  // namespace spinloom::cuda
