#include "stencil/multigrid/cuda/multigrid.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory.hpp"
#include "stencil/multigrid/cuda/store.hpp"

namespace spinloom::cuda {

extern const KernelSource multigrid_source;

namespace {

using stencil::multigrid::CycleKind;
using stencil::multigrid::GradientStep;

// As in multigrid.cu.
constexpr Index block_x = 64, block_y = 4, row_warps = 8;
constexpr unsigned sum_threads = 1024, team = 256, most_team_levels = 40;
struct TeamKind {
  int sweeps, symmetric;
};

template <class T>
const KernelInstance& instance() {
  static const KernelInstance one{&multigrid_source,
                                  {std::is_same_v<T, float> ? "REAL=float" : "REAL=double"}};
  return one;
}

Index blocks_of(Index count, Index size) { return (count + size - 1) / size; }

template <class T>
class DeviceEngine final : public stencil::multigrid::Engine<T> {
 public:
  using State = typename stencil::Multigrid<T>::State;
  using Level = MultigridLevel<T>;
  DeviceEngine(const State& state, std::shared_ptr<MultigridStore<T>> store, bool gradients)
      : s_(state),
        store_(std::move(store)),
        context_(store_->gpu()),
        device_{DeviceKind::cuda, context_.index()},
        instance_(instance<T>()),
        work_(store_->borrow(gradients)),
        l_(work_->levels[0]) {
    const Index most = std::min(multigrid_ways().coarse_cells, Index{1} << 20);
    const std::size_t count = work_->levels.size();
    while (first_coarse_ + 1 < count &&
           (state.levels[first_coarse_].layout.cells() > most || count - first_coarse_ > most_team_levels))
      ++first_coarse_;
  }
  ~DeviceEngine() override { store_->give_back(std::move(work_)); }

  T* u() const override { return l_.u; }
  T* f() const override { return l_.f; }
  T* x() const override { return work_->x; }
  T* q() const override { return work_->q; }

  void load(const T* dense, Index stride, T* field) const override {
    by_points(l_, l_.n[2], "load", dense, static_cast<int>(stride), field);
  }
  void store(const T* field, T* dense, Index stride) const override {
    by_points(l_, l_.n[2], "store", field, dense, static_cast<int>(stride));
  }
  void zero_dense(T* dense, Index stride) const override { store(nullptr, dense, stride); }
  void zero(T* field) const override {
    cuda::zero_bytes(reinterpret_cast<std::byte*>(field), device_,
                     static_cast<std::size_t>(s_.levels[0].layout.size) * sizeof(T));
  }
  void add_to_face(std::size_t axis, bool high, T value, T* field) const override {
    by_points(l_, l_.n[2], "add_to_face", static_cast<int>(axis), static_cast<int>(high), value, field);
  }

  void remove_means(T* field) const override {
    const auto& parts = s_.parts;
    const bool has_labels = !parts.label.empty();
    if (!has_labels && parts.singular == 0) return;
    double* means = nullptr;
    if (!has_labels) {
      by_rows("dot_rows", static_cast<const T*>(field), static_cast<const T*>(nullptr), rows());
      sum_rows(&numbers()->mean, double(s_.levels[0].layout.cells()), nullptr);
      means = &numbers()->mean;
    } else if (parts.singular > 0) {
      means = reinterpret_cast<double*>(work_->means.get());
      double* const sums = reinterpret_cast<double*>(work_->chunk_sums.get());
      start("sum_chunks", {static_cast<unsigned>(blocks_of(store_->chunks(), row_warps))}, {32, row_warps},
            l_, store_->cells(), store_->first(), store_->first_chunk(), store_->part_of_chunk(),
            store_->chunks(), static_cast<const T*>(field), sums);
      start("part_means", {static_cast<unsigned>(parts.is_singular.size())}, {sum_threads},
            static_cast<const double*>(sums), store_->first(), store_->first_chunk(), means);
    }
    by_points(l_, l_.n[2], "take_means", store_->label(), static_cast<const double*>(means), field);
  }
  double remove_means_told(T* field) const override {
    remove_means(field);
    const auto& parts = s_.parts;
    if (parts.singular == 0) return 0;
    std::vector<double> means(parts.label.empty() ? 2 : parts.is_singular.size());
    const std::byte* from =
        parts.label.empty() ? reinterpret_cast<const std::byte*>(&numbers()->mean) : work_->means.get();
    double* const to = means.data() + (parts.label.empty() ? 1 : 0);
    cuda::copy_bytes(reinterpret_cast<std::byte*>(to), {}, from, device_,
                     (parts.label.empty() ? 1 : means.size()) * sizeof(double));
    return stencil::multigrid::removed_by(parts, s_.levels[0].layout.cells(), means);
  }
  double dot(const T* a, const T* b) const override {
    by_rows("dot_rows", a, b, rows());
    sum_rows(&numbers()->mean, 0, told());
    return read_told(0);
  }
  void apply(T* in, T* out) const override {
    fill(l_, in);
    by_rows("apply", static_cast<const T*>(in), out, static_cast<double*>(nullptr));
  }
  void subtract(const T* from, T* field) const override { by_points(l_, l_.n[2], "subtract", from, field); }

  void cycle(const CycleKind& kind) const override {
    as_graph({0, kind.sweeps, kind.symmetric, 0}, [&] { v_cycle(kind); });
  }
  double cycle_told(const CycleKind& kind) const override {
    as_graph({1, kind.sweeps, kind.symmetric, 0}, [&] {
      v_cycle(kind);
      tell_residual();
    });
    return read_told(0);
  }
  double residual_squared() const override {
    tell_residual();
    return read_told(0);
  }
  GradientStep gradient_step(const CycleKind& kind, bool fresh) const override {
    as_graph({2, kind.sweeps, kind.symmetric, fresh}, [&] {
      T *z = l_.u, *r = l_.f, *p = work_->p, *q = work_->q;
      zero(z);
      v_cycle(kind);
      MultigridNumbers* const n = numbers();
      by_rows("dot_rows", static_cast<const T*>(r), static_cast<const T*>(z), rows());
      sum_rows(&n->rz, 0, nullptr);
      by_points(l_, l_.n[2], "direction", static_cast<const T*>(z), p,
                static_cast<const MultigridNumbers*>(n), static_cast<int>(fresh));
      fill(l_, p);
      by_rows("apply", static_cast<const T*>(p), q, rows());
      sum_rows(&n->curvature, 0, nullptr);
      by_rows("advance", static_cast<const T*>(p), static_cast<const T*>(q), work_->x, r,
              static_cast<const MultigridNumbers*>(n), rows());
      sum_rows(&n->rr, 0, told());
    });
    const double rr = read_told(0);
    double rest[2];
    std::memcpy(rest, told() + 1, sizeof rest);
    return {rest[0], rest[1], rr};
  }

 private:
  double* rows() const { return reinterpret_cast<double*>(work_->rows.get()); }
  double* told() const { return reinterpret_cast<double*>(work_->told.get()); }
  MultigridNumbers* numbers() const { return reinterpret_cast<MultigridNumbers*>(work_->numbers.get()); }
  double read_told(int i) const {
    context_.synchronize();
    double value;
    std::memcpy(&value, told() + i, sizeof value);
    return value;
  }

  template <class... Arguments>
  void start(const char* kernel, Grid grid, Grid block, const Arguments&... arguments) const {
    launch(context_, instance_, kernel, grid, block, 0, arguments...);
  }
  /// A thread for each of `length` points of the rows of `l`.
  template <class... Arguments>
  void by_points(const Level& l, Index length, const char* kernel, const Arguments&... arguments) const {
    const Index blocks = blocks_of(length, block_x) * blocks_of(Index{l.n[0]} * l.n[1], block_y);
    start(kernel, {static_cast<unsigned>(blocks)}, {block_x, block_y}, l, arguments...);
  }
  /// A warp for each row of the finest level.
  template <class... Arguments>
  void by_rows(const char* kernel, const Arguments&... arguments) const {
    start(kernel, {static_cast<unsigned>(blocks_of(Index{l_.n[0]} * l_.n[1], row_warps))}, {32, row_warps},
          l_, arguments...);
  }
  void sum_rows(double* out, double share, double* told) const {
    start("sum_rows", {1}, {sum_threads}, static_cast<const double*>(rows()), Index{l_.n[0]} * l_.n[1], share,
          out, numbers(), told);
  }
  void tell_residual() const {
    fill(l_, l_.u);
    by_rows("norm_rows", rows());
    sum_rows(&numbers()->mean, 0, told());
  }

  void fill(const Level& l, T* field) const {
    Index cells = 0;
    for (int a = 0; a < 3; ++a)
      if (l.periodic[a]) cells += 2 * Index{l.n[(a + 1) % 3]} * l.n[(a + 2) % 3];
    if (cells > 0) start("fill_outside", {static_cast<unsigned>(blocks_of(cells, 256))}, {256}, l, field);
  }
  /// As in stencil/multigrid/cycle.cpp.
  void smooth(const Level& l, const CycleKind& kind, bool before) const {
    const T omega = kind.symmetric || l.colours_meet ? T(1) : T(1.3);
    for (int half = 0; half < 2 * kind.sweeps; ++half) {
      const bool red = (half % 2 == 0) != (kind.symmetric && !before);
      const bool last = before && half == 2 * kind.sweeps - 1;
      fill(l, l.u);
      constexpr Index wide = 16 / sizeof(T);
      by_points(l, blocks_of((l.n[2] + 1) / 2, wide), l.is_weighted ? "relax_weighted" : "relax",
                static_cast<int>(!red), last ? T(1) : omega);
    }
  }
  void v_cycle(const CycleKind& kind) const {
    for (std::size_t k = 0; k < first_coarse_; ++k) {
      const Level &l = work_->levels[k], &c = work_->levels[k + 1];
      smooth(l, kind, true);
      fill(l, l.u);
      start("to_coarse",
            {static_cast<unsigned>(blocks_of(c.n[2], block_x) * blocks_of(Index{c.n[0]} * c.n[1], block_y))},
            {block_x, block_y}, l, c);
    }
    start("coarse_cycle", {1}, {team}, reinterpret_cast<const Level*>(work_->level_table.get()),
          static_cast<int>(first_coarse_), static_cast<int>(work_->levels.size() - first_coarse_),
          TeamKind{kind.sweeps, kind.symmetric});
    for (std::size_t k = first_coarse_; k-- > 0;) {
      const Level &l = work_->levels[k], &c = work_->levels[k + 1];
      fill(c, c.u);
      by_points(l, c.n[2], "correct", c, static_cast<int>(kind.symmetric),
                static_cast<int>(!kind.symmetric || l.colours_meet));
      smooth(l, kind, false);
    }
  }

  /// The first time as kernels, which loads them; then recorded and started as a whole.
  template <class Issue>
  void as_graph(const std::array<int, 4>& what, const Issue& issue) const {
    if (!multigrid_ways().use_graph || recording(context_) != nullptr) return issue();
    std::array<int, 4> key = what;
    key[3] += 2 * static_cast<int>(first_coarse_);
    const auto found = work_->graphs.find(key);
    if (found == work_->graphs.end()) {
      issue();
      work_->graphs[key] = nullptr;
      return;
    }
    if (!found->second) {
      std::string why;
      found->second = Graph::record(context_, issue, why);
    }
    if (found->second)
      found->second->launch();
    else
      issue();
  }

  const State& s_;
  std::shared_ptr<MultigridStore<T>> store_;
  Context& context_;
  Device device_;
  const KernelInstance& instance_;
  std::unique_ptr<MultigridWork<T>> work_;
  const Level& l_;
  std::size_t first_coarse_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<stencil::multigrid::Engine<T>> make_multigrid_engine(
    const typename stencil::Multigrid<T>::State& state, Device device, bool gradients) {
  std::shared_ptr<MultigridStore<T>> store;
  {
    const std::lock_guard lock(state.guard);
    auto& slot = state.stores[device.index];
    if (!slot) slot = std::make_shared<MultigridStore<T>>(context(device.index), state);
    store = slot;
  }
  return std::make_unique<DeviceEngine<T>>(state, std::move(store), gradients);
}

MultigridWays& multigrid_ways() {
  static MultigridWays ways;
  return ways;
}

std::vector<KernelInstance> multigrid_kernel_instances() { return {instance<float>(), instance<double>()}; }

#define SPINLOOM_INSTANTIATE(T)                                                     \
  template std::unique_ptr<stencil::multigrid::Engine<T>> make_multigrid_engine<T>( \
      const stencil::Multigrid<T>::State&, Device, bool);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
