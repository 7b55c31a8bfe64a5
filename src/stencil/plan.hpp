#pragma once
#include <vector>

#include "spinloom/stencil/stepper.hpp"
#include "stencil/chain.hpp"
#include "stencil/halo_rules.hpp"

namespace spinloom::stencil {

/// All that a schedule needs to know of a run. A level is one application of one stencil of the chain, or one colour
/// of it; level l turns the state after l levels into the one after l + 1.
template <class T>
struct Plan {
  struct Field {
    T* origin[2] = {nullptr, nullptr};  ///< [0] is the current one at level 0
    bool swaps = false;                 ///< two arrays, taken in turn
    bool is_read_around = false;        ///< some stencil reads it beside the point
    HaloRules<T> rules;
    Boundaries boundaries;  ///< what the rules were made of
  };
  struct Level {
    int kernel = 0, colour = 0;
  };
  struct KernelRead {
    Read read;
    int high_z = 0;
  };
  GridLayout layout;
  Schedule schedule;
  std::vector<Kernel<T>> chain;
  std::vector<std::vector<KernelRead>> reads;  ///< of each kernel
  std::vector<Reach> reach;                    ///< of each kernel
  std::vector<Field> fields;
  std::vector<double> params;
  std::vector<Level> levels;             ///< of one step
  std::vector<std::vector<char>> flips;  ///< [level of a step][field]: swaps before it, within the step
  std::vector<char> flips_per_step;      ///< [field]
  std::vector<std::vector<double>>
      reduced;                ///< per reduction of the kernel that reduces last: one entry per row
  int radius[3] = {0, 0, 0};  ///< largest of the chain
  bool periodic[3] = {false, false, false};  ///< of a field that is read around
  std::vector<SameValue> handed;             ///< of a joined chain's stencil
  int handed_reach = 0;                      ///< how far along x such values are wanted

  const Level& level(Index l) const { return levels[static_cast<std::size_t>(l) % levels.size()]; }
  /// Which of a field's two arrays is current before level l.
  int parity(Index l, std::size_t field) const {
    const Index per_step = static_cast<Index>(levels.size());
    return static_cast<int>(
        (flips[static_cast<std::size_t>(l % per_step)][field] + l / per_step * flips_per_step[field]) & 1);
  }
  T* current(Index l, std::size_t field) const {
    const Field& f = fields[field];
    return f.origin[f.swaps ? parity(l, field) : 0];
  }
  /// A red-black half-sweep, also of fields that other stencils of the chain write anew.
  bool stays_in_place(Index l) const {
    return chain[static_cast<std::size_t>(level(l).kernel)].definition->red_black &&
           schedule.kind != Schedule::Kind::layered;
  }
  T* written(Index l, std::size_t field) const {
    if (stays_in_place(l)) return current(l, field);
    const Field& f = fields[field];
    return f.origin[f.swaps ? 1 - parity(l, field) : 0];
  }
  T* read(Index l, const Read& r) const {
    const std::size_t f = static_cast<std::size_t>(r.field);
    return r.level == TimeLevel::current ? current(l, f) : written(l, f);
  }
};

/// How rows are computed: 0 plainly, 1 fetching ahead, 2 fetching ahead with results past the caches.
enum Way : int { plain = 0, fetching = 1, streaming = 2 };

/// Points [begin, end) along z, y, x.
struct Box {
  std::array<Index, 3> begin{}, end{};
  bool is_empty() const { return begin[0] >= end[0] || begin[1] >= end[1] || begin[2] >= end[2]; }
};

/// Computes level l on planes [z0, z1), rows [y0, y1), whole rows in blocks of `columns` (0: unbroken), and lets the
/// halo follow. Of the rows, points [x0, x1) alone where that is asked for: x0 at the start of a cache line, x1 = -1 the
/// end; a row's halo is right when all of it has been computed. What is fetched ahead lies `fetched` rows further.
template <class T>
void compute_rows(const Plan<T>& plan, Index l, Index z0, Index z1, Index y0, Index y1, Way way, Index x0 = 0,
                  Index x1 = -1, Index fetched = 0);

/// The entry of a row-function table for that many planes (1, 2, 4, 8) and way, or a simpler one that is there; `planes`
/// becomes what it computes at once.
template <class T>
RowFunction<T> pick(const RowFunctions<T>& rows, int& planes, Way way);

/// Makes results that went past the caches visible before other threads go on.
void finish_streaming();

template <class T>
void run_sweep(const Plan<T>& plan, Index first_level, Index levels);
/// Level l on the points of a box alone, whose x begins at the start of a cache line.
template <class T>
void sweep_box(const Plan<T>& plan, Index l, const Box& box);
template <class T>
void run_diamond(const Plan<T>& plan, Index first_level, Index levels);
template <class T>
void run_wavefront(const Plan<T>& plan, Index first_level, Index levels);
/// Advances `levels` levels at once, from the arrays that are current at first_level into the others.
template <class T>
void run_overlapped(const Plan<T>& plan, Index first_level, Index levels);

/// X(T) for each element type.
#define SPINLOOM_STENCIL_ELEMENTS(X) X(float) X(double) X(cfloat) X(cdouble)
/// Those that grids hold, halves among them.
#define SPINLOOM_STENCIL_STORED(X) SPINLOOM_STENCIL_ELEMENTS(X) X(Half)

}  // namespace spinloom::stencil
