#include "denoise_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"

using spinloom::ArgumentError;
using spinloom::count;
using spinloom::DType;
using spinloom::Index;
using spinloom::Shape;
using spinloom::to_string;

namespace {

/// Sizes given for the finest axis, fewer voxels along coarser ones: the same lengths in space.
Shape along_axes(const std::string& path, Index size, const spinloom::Geometry& geometry, std::size_t axes,
                 bool is_odd) {
  if (!geometry.is_known)
    throw ArgumentError(
        path +
        ": --per-axis needs the voxel size, which the file does not give; name a size for each "
        "axis instead, as --patch-size 1,3,3");
  const auto voxel = geometry.voxel_size();  // x, y, z
  const double finest = *std::min_element(voxel.begin(), voxel.begin() + static_cast<std::ptrdiff_t>(axes));
  Shape sizes;
  for (std::size_t a = axes; a-- > 0;) {
    const double wanted = static_cast<double>(size) * finest / voxel[a];
    const double half = (wanted - 1) / 2;
    sizes.push_back(is_odd ? 2 * std::max<Index>(0, std::llround(half)) + 1 : std::llround(wanted));
  }
  return sizes;
}

}  // namespace

DenoisePlan plan_denoise(const std::string& path, const Shape& shape, DType type,
                         const spinloom::Geometry& geometry, const DenoiseRequest& request) {
  if (is_colour(type) || type == DType::b1)
    throw ArgumentError(fmt::format("{}: holds {}, expected one number per voxel{}", path, to_string(type),
                                    is_colour(type) ? "; split the image into its channels first" : ""));
  DenoisePlan plan;
  const Shape used = spinloom::without_leading_ones(shape);
  const std::size_t dims =
      request.dims > 0 ? static_cast<std::size_t>(request.dims) : std::clamp<std::size_t>(used.size(), 2, 3);
  if (shape.size() < dims)
    throw spinloom::ShapeError(
        fmt::format("{}: has shape {}, expected at least {} axes", path, to_string(shape), dims));
  if (count(shape) == 0)
    throw spinloom::ShapeError(fmt::format("{}: has shape {}, which is empty", path, to_string(shape)));
  const Shape space(shape.end() - static_cast<std::ptrdiff_t>(dims), shape.end());
  plan.frames = count(shape) / count(space);
  plan.channels = is_complex(type) ? 2 : 1;
  plan.in_double = item_size(type) / plan.channels == 8 || type == DType::i32 || type == DType::u32;

  Shape patch = request.patch_size, distance = request.patch_distance;
  for (const auto* sizes : {&patch, &distance})
    if (sizes->size() != 1 && sizes->size() != dims)
      throw ArgumentError(
          fmt::format("{}: {} sizes were given for {} spatial axes", path, sizes->size(), dims));
  if (request.per_axis) {
    if (patch.size() != 1 || distance.size() != 1 || dims > 3)
      throw ArgumentError(path +
                          ": --per-axis scales one size by the voxel size in 2D or 3D; give one number each");
    patch = along_axes(path, patch[0] + 1 - patch[0] % 2, geometry, dims, true);
    distance = along_axes(path, distance[0], geometry, dims, false);
  }
  // An axis of one voxel has no neighbours; its sizes go with it.
  plan.options.patch_size.clear();
  plan.options.patch_distance.clear();
  for (std::size_t a = 0; a < dims; ++a) {
    if (space[a] == 1) continue;
    plan.spatial.push_back(space[a]);
    plan.options.patch_size.push_back(patch[patch.size() == 1 ? 0 : a]);
    plan.options.patch_distance.push_back(distance[distance.size() == 1 ? 0 : a]);
  }
  while (plan.spatial.size() < 2) {
    plan.spatial.insert(plan.spatial.begin(), 1);
    plan.options.patch_size.insert(plan.options.patch_size.begin(), 1);
    plan.options.patch_distance.insert(plan.options.patch_distance.begin(), 0);
  }
  plan.options.mode = request.classic ? spinloom::NlmMode::classic : spinloom::NlmMode::fast;
  plan.options.noise = request.rician ? spinloom::NlmNoise::rician : spinloom::NlmNoise::gaussian;
  if (request.rician && plan.channels > 1)
    throw ArgumentError(path + ": is complex, and its noise is Gaussian; --rician is for magnitude images");
  return plan;
}

void set_strength(const std::string& path, const DenoiseRequest& request, double estimate,
                  DenoisePlan& plan) {
  plan.options.sigma = request.sigma.value_or(estimate);
  if (!request.sigma && !(estimate > 0))
    throw ArgumentError(path + ": no noise was found in it; give --sigma, and --h");
  if (!request.h && !(plan.options.sigma > 0))
    throw ArgumentError(path + ": --h auto goes by the noise, which --sigma says is 0; give --h");
  // Best on a phantom of smooth and sharp parts with patches of 3 and 5 voxels; fast mode's distances are smaller,
  // as its box is narrower than what they are divided by.
  plan.options.h = request.h.value_or((request.classic ? 1.2 : 0.6) * plan.options.sigma);
}
