#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/cuda/kernel.hpp"
#include "spinloom/stencil/half.hpp"
#include "stencil/cuda/stencil_fused.hpp"

/// Points of a fused pass near faces: a kernel for each distance from each face, and one that follows all rules as it goes, for
/// edges and corners.
namespace spinloom::cuda {

using namespace stencil;

template <class T>
void FusedChain<T>::prepare_faces(Variant& v, const Link& link) const {
  v.faces.clear();
  if (v.rim == nullptr || !v.has_inner || !std::is_same_v<T, real_of<T>>) return;
  // Points across rows lie apart, and a load of a warp touches as many lines as it has lanes: where these are many, threads
  // of several points load once what their points share.
  constexpr int many_loads = 40;
  static const Schedule along_rows = parse_schedule("cuda gather"),
                        across_rows = parse_schedule("cuda gather block=1x128"),
                        apart = parse_schedule("cuda tile points=1 rows=4 depth=2 block=1x64");
  std::vector<const KernelInstance*> instances;
  for (int axis = 0; axis < 3; ++axis)
    for (int d = 0; d < v.low[axis] + v.high[axis]; ++d) {
      const Index n = plan_.layout.n[static_cast<std::size_t>(axis)];
      typename Variant::Face face;
      face.near = {axis, d < v.low[axis] ? d : n - v.high[axis] + (d - v.low[axis])};
      const auto j = joined(chain_, link, v.outputs, between(numbers_), &plan_.layout, &faces_, face.near);
      if (!j) {
        v.faces.clear();
        return;
      }
      face.sources = j->sources;
      Read list[max_reads];
      const int count = j->definition.view().list_reads(list);
      face.reads.assign(list, list + count);
      GridLayout layout = plan_.layout;
      layout.n[static_cast<std::size_t>(axis)] = 1;
      const bool is_apart = axis == 2 && j->definition.view().loads() > many_loads;
      face.stage = stencil_stage(j->definition, numbers_, layout,
                                 is_apart    ? apart
                                 : axis == 2 ? across_rows
                                             : along_rows,
                                 context_.facts());
      instances.push_back(face.stage.instance);
      v.faces.push_back(std::move(face));
    }
  context_.modules().prepare(instances);
}

template <class T>
void FusedChain<T>::run_rim(const Variant& v, const std::vector<Arrays>& arrays) const {
  const GridLayout& g = plan_.layout;
  RimWork w;
  for (std::size_t f = 0; f < arrays.size(); ++f) w.field[f] = arrays[f].now;
  for (const LinkOutput& o : v.outputs) w.out[o.field] = written(o, arrays);
  w.rules = reinterpret_cast<const RimRule*>(rules_.get());
  w.row = g.row_stride;
  w.plane = g.plane_stride;
  std::copy_n(g.n.begin(), 3, w.n);
  std::copy_n(v.low, 3, w.low);
  std::copy_n(v.high, 3, w.high);
  put_params(plan_.params, in_double_ || sizeof(real_of<T>) == 8, w.params);
  constexpr int whole[3][3] = {{1, 0, 0}, {2, 1, 0}, {2, 2, 1}},
                edges[3][3] = {{1, 1, 0}, {1, 2, 1}, {2, 1, 1}};
  w.regions = v.has_inner ? 3 : 1;
  if (v.has_inner) std::memcpy(w.parts, v.faces.empty() ? whole : edges, sizeof whole);
  Index points = 0;
  for (int r = 0; r < w.regions; ++r) {
    Index count = 1;
    for (std::size_t a = 0; a < 3; ++a) {
      const int rim = w.low[a] + w.high[a];
      count *= w.parts[r][a] == 0 ? g.n[a] : w.parts[r][a] == 1 ? rim : g.n[a] - rim;
    }
    points += count;
  }
  if (points > 0) launch(context_, *v.rim, "rim", {static_cast<unsigned>((points + 127) / 128)}, {128}, 0, w);
  run_faces(v, arrays);
}

template <class T>
void FusedChain<T>::run_faces(const Variant& v, const std::vector<Arrays>& arrays) const {
  const GridLayout& g = plan_.layout;
  for (const auto& face : v.faces) {
    StencilWork w;
    Box box;
    for (int a = 0; a < 3; ++a) {
      const std::size_t s = static_cast<std::size_t>(a);
      box.begin[s] = a == face.near.axis ? face.near.at : v.low[a];
      box.end[s] = a == face.near.axis ? face.near.at + 1 : g.n[s] - v.high[a];
    }
    const Index offset = box.begin[0] * g.plane_stride + box.begin[1] * g.row_stride + box.begin[2];
    for (std::size_t r = 0; r < face.reads.size(); ++r) {
      const ChainSource& s = face.sources[static_cast<std::size_t>(face.reads[r].field)];
      w.in[r] = arrays[static_cast<std::size_t>(s.field)].now + offset +
                s.periods[0] * g.n[0] * g.plane_stride + s.periods[1] * g.n[1] * g.row_stride +
                s.periods[2] * g.n[2];
    }
    for (std::size_t o = 0; o < v.outputs.size(); ++o) {
      w.out[o] = written(v.outputs[o], arrays) + offset;
    }
    w.row = g.row_stride;
    w.plane = g.plane_stride;
    w.nz = box.end[0] - box.begin[0];
    w.ny = box.end[1] - box.begin[1];
    w.nx = box.end[2] - box.begin[2];
    put_params(plan_.params, in_double_ || sizeof(real_of<T>) == 8, w.params);
    launch_stage(context_, face.stage, plan_.layout, w, false);
  }
}

#define SPINLOOM_INSTANTIATE(T)                                                           \
  template void FusedChain<T>::prepare_faces(FusedChain<T>::Variant&, const Link&) const; \
  template void FusedChain<T>::run_rim(const FusedChain<T>::Variant&,                     \
                                       const std::vector<FusedChain<T>::Arrays>&) const;
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::cuda
