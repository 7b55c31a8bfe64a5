#include "stencil/interpreted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/parse.hpp"
#include "stencil/builtin/targets.hpp"

namespace spinloom::stencil {

#define SPINLOOM_DECLARE(target)                \
  namespace target {                            \
  void interpreted_rows(RowFunctions<float>*);  \
  void interpreted_rows(RowFunctions<double>*); \
  }
SPINLOOM_STENCIL_TARGETS(SPINLOOM_DECLARE)
#undef SPINLOOM_DECLARE

namespace {

/// Owns what an InterpretedProgram points to.
struct Lowered {
  InterpretedProgram program{};
  std::vector<InterpretedStep> once, steps;
  std::vector<InterpretedRead> reads;
  std::vector<short> slots;
};

class Lowering {
 public:
  explicit Lowering(const Definition& definition) : d_(definition) {
    for (const Output& o : d_.outputs) roots_.push_back(written_out(o.root, 0));
    for (const ReductionRoot& r : d_.reductions) roots_.push_back(written_out(r.root, 0));
  }

  void into(Lowered& l) const {
    const int count = static_cast<int>(code_.size());
    std::vector<char> uniform(code_.size());
    std::vector<int> last_use(code_.size(), -1);
    for (int v = 0; v < count; ++v) {
      const Node& n = code_[static_cast<std::size_t>(v)];
      bool same = n.op != Op::access;
      for (const short operand : {n.a, n.b, n.c})
        if (operand >= 0) {
          same = same && uniform[static_cast<std::size_t>(operand)];
          last_use[static_cast<std::size_t>(operand)] = v;
        }
      uniform[static_cast<std::size_t>(v)] = same;
    }
    for (const short root : roots_) last_use[static_cast<std::size_t>(root)] = count;

    // Stretches of values that nobody reads any more are written again; those of uniform ones stay.
    l.slots.assign(code_.size(), -1);
    std::vector<short> free;
    int slots = 0;
    Read list[max_reads];
    const int reads = d_.view().list_reads(list);
    const int low = d_.view().reach().low[0];
    for (int v = 0; v < count; ++v) {
      const Node& n = code_[static_cast<std::size_t>(v)];
      const short value = static_cast<short>(v);
      if (n.op == Op::access) {
        const auto r = std::find_if(list, list + reads, [&](const Read& read) {
          return read.field == n.field && read.level == n.level;
        });
        l.reads.push_back({value, static_cast<short>(r - list), static_cast<short>(n.z + low), n.y, n.x});
        continue;
      }
      const auto use = [](short operand) { return std::max<short>(0, operand); };
      const InterpretedStep step{n.op, value, use(n.a), use(n.b), use(n.c), n.field, n.value};
      if (!uniform[static_cast<std::size_t>(v)])
        for (const short operand : {n.a, n.b, n.c}) {
          if (operand < 0 || uniform[static_cast<std::size_t>(operand)]) continue;
          const short slot = l.slots[static_cast<std::size_t>(operand)];
          if (slot >= 0 && last_use[static_cast<std::size_t>(operand)] == v &&
              std::find(free.begin(), free.end(), slot) == free.end())
            free.push_back(slot);
        }
      if (uniform[static_cast<std::size_t>(v)] || free.empty()) {
        l.slots[static_cast<std::size_t>(v)] = static_cast<short>(slots++);
      } else {
        l.slots[static_cast<std::size_t>(v)] = free.back();
        free.pop_back();
      }
      (uniform[static_cast<std::size_t>(v)] ? l.once : l.steps).push_back(step);
    }
    InterpretedProgram& p = l.program;
    p = {l.once.data(),
         l.steps.data(),
         static_cast<int>(l.once.size()),
         static_cast<int>(l.steps.size()),
         l.reads.data(),
         static_cast<int>(l.reads.size()),
         l.slots.data(),
         count,
         slots,
         {},
         0,
         {},
         0,
         d_.red_black};
    for (std::size_t o = 0; o < d_.outputs.size(); ++o) p.outputs[p.output_count++] = roots_[o];
    for (std::size_t r = 0; r < d_.reductions.size(); ++r)
      p.reductions[p.reduction_count++] = {roots_[d_.outputs.size() + r], d_.reductions[r].kind};
  }

 private:
  /// Node `at` moved by dx along x, with shifts resolved into the offsets under them.
  short written_out(int at, int dx) {
    const auto key = std::pair(at, dx);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    Node n = d_.code[static_cast<std::size_t>(at)];
    short value = -1;
    if (n.op == Op::shifted) {
      value = written_out(n.a, dx + n.x);
    } else {
      for (short* operand : {&n.a, &n.b, &n.c})
        if (*operand >= 0) *operand = written_out(*operand, dx);
      if (n.op == Op::access) n.x = static_cast<short>(n.x + dx);
      const auto same = std::find(code_.begin(), code_.end(), n);
      value = static_cast<short>(same - code_.begin());
      if (same == code_.end()) code_.push_back(n);
    }
    if (code_.size() > interpreted_values)
      throw ArgumentError(fmt::format("{}: more than {} operations in one stencil; split it into several",
                                      d_.name, interpreted_values));
    known_[key] = value;
    return value;
  }

  const Definition& d_;
  std::vector<Node> code_;
  std::vector<short> roots_;
  std::map<std::pair<int, int>, short> known_;
};

template <class T>
RowFunctions<T> best_rows() {
  RowFunctions<T> rows;
  const std::string target = builtin_targets().front();
#define SPINLOOM_FILL(name) \
  if (target == #name) return name::interpreted_rows(&rows), rows;
  SPINLOOM_STENCIL_TARGETS(SPINLOOM_FILL)
#undef SPINLOOM_FILL
  return rows;
}

}  // namespace

template <class T>
Kernel<T> make_interpreted_kernel(const Definition& definition) {
  auto lowered = std::make_shared<Lowered>();
  Lowering(definition).into(*lowered);
  const int most = interpreted_scratch_bytes / static_cast<int>(sizeof(T)) / interpreted_least - 1;
  if (lowered->program.slot_count > most)
    throw ArgumentError(
        fmt::format("{}: {} values are needed at a time, at most {} fit; split it into several",
                    definition.name, lowered->program.slot_count, most));
  Kernel<T> kernel;
  kernel.definition = std::make_shared<const Definition>(definition);
  kernel.rows = best_rows<T>();
  kernel.state = std::shared_ptr<const void>(lowered, &lowered->program);
  return kernel;
}
template Kernel<float> make_interpreted_kernel(const Definition&);
template Kernel<double> make_interpreted_kernel(const Definition&);

}  // namespace spinloom::stencil
