#pragma once
#include <memory>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "stencil/chain.hpp"
#include "stencil/cuda/stencil_halo.hpp"
#include "stencil/cuda/stencil_rim.hpp"
#include "stencil/cuda/stencil_stage.hpp"
#include "stencil/cuda/stencil_work.hpp"
#include "stencil/plan.hpp"

namespace spinloom::cuda {

template <class T>
class StencilEngine;

/// A chain in fewer passes over memory. Each link of it is a stencil of its own by any of the GPU's kernels where all that it
/// reads of values in between lies inside; points near faces are computed by kernels that know the faces' rules.
template <class T>
class FusedChain {
 public:
  /// The plan outlives it. Errors: ArgumentError for chains that cannot be joined.
  FusedChain(Context& context, const stencil::Plan<T>& plan);
  ~FusedChain();

  /// A run starts, and the fields' faces are as they are now.
  void start();
  /// Issues steps from the arrays that are current in the plan; which fields' results lie in the other one. Fields that are
  /// read by nobody else are written by the last step of a run.
  std::vector<char> advance(Index steps, bool ends_run, const std::vector<DeviceHalo<T>>& halos);

 private:
  /// A link with some of its outputs.
  struct Variant {
    std::vector<stencil::LinkOutput> outputs;
    int low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
    bool has_inner = false;
    stencil::Plan<T> inner;  ///< of the points far from faces, as a grid
    std::unique_ptr<StencilEngine<T>> engine;
    const KernelInstance* rim = nullptr;
    struct Face {  ///< points at one distance from one face
      stencil::NearFace near;
      std::vector<stencil::ChainSource> sources;
      StencilStage stage;
      std::vector<stencil::Read> reads;
    };
    std::vector<Face> faces;
  };
  struct Arrays {
    T *now = nullptr, *other = nullptr;
  };
  static T* written(const stencil::LinkOutput& o, const std::vector<Arrays>& arrays) {
    const Arrays& a = arrays[static_cast<std::size_t>(o.field)];
    return o.turns ? a.other : a.now;
  }
  std::unique_ptr<Variant> variant(std::size_t link, std::vector<stencil::LinkOutput> outputs) const;
  void run(Variant& v, const std::vector<Arrays>& arrays) const;
  // Of points near faces: one kernel for each distance from each face, where rules lead along one axis alone, and one for all
  // others.
  void prepare_faces(Variant& v, const stencil::Link& link) const;
  void run_rim(const Variant& v, const std::vector<Arrays>& arrays) const;
  void run_faces(const Variant& v, const std::vector<Arrays>& arrays) const;

  Context& context_;
  const stencil::Plan<T>& plan_;
  bool in_double_;
  StencilNumbers numbers_;
  std::vector<stencil::Definition> chain_;
  std::vector<stencil::Link> links_;
  struct Stage {
    std::unique_ptr<Variant> pass, last;  ///< last: null where it is the same
  };
  std::vector<Stage> stages_;
  std::vector<stencil::Boundaries> faces_;
  std::shared_ptr<std::byte> rules_;
};

/// `cuda` as it is carried out: with the stencils of a chain taken together where that is faster by what they move and
/// compute. Other schedules stay.
stencil::Schedule with_fusing(const std::vector<stencil::Definition>& chain, StencilNumbers numbers,
                              const stencil::GridLayout& layout, stencil::Schedule schedule);

}  // namespace spinloom::cuda
