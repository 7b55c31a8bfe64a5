#pragma once
#include <optional>
#include <string>

#include "spinloom/core/log.hpp"
#include "spinloom/io/image.hpp"
#include "spinloom/nlm/nlm.hpp"

/// What `spinloom denoise` was asked for, apart from files.
struct DenoiseRequest {
  std::vector<std::int64_t> patch_size{3},
      patch_distance{5};           // one value, or one for each spatial axis, as Z,Y,X
  std::optional<double> h, sigma;  // none: auto
  int dims = 0;                    // spatial axes; 0: the last 3, or 2 of a 2D image
  bool classic = false, rician = false, per_axis = false;
};

/// How an array is seen: frames one by one, of spatial axes longer than one voxel, with real and imaginary part of a
/// complex image as two channels.
struct DenoisePlan {
  spinloom::Index frames = 1, channels = 1;
  spinloom::Shape spatial;
  bool in_double = false;        // sums and values in double: float64 and 32 and 64 bit integers
  spinloom::NlmOptions options;  // h and sigma are not set yet

  spinloom::Shape frame_shape() const {
    spinloom::Shape shape = spatial;
    shape.push_back(channels);
    return shape;
  }
  spinloom::Index frame_voxels() const { return spinloom::count(spatial); }
};

/// Throws ArgumentError, ShapeError with the file's name.
DenoisePlan plan_denoise(const std::string& path, const spinloom::Shape& shape, spinloom::DType type,
                         const spinloom::Geometry& geometry, const DenoiseRequest& request);

/// Sets h and sigma, where they are asked for from `estimate` (the noise that was measured).
void set_strength(const std::string& path, const DenoiseRequest& request, double estimate, DenoisePlan& plan);
