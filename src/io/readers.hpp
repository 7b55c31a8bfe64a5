#pragma once
#include "io/byte_source.hpp"
#include "spinloom/core/log.hpp"
#include "spinloom/io/image.hpp"

/// The readers behind the public ones, from bytes that are already open and may be a pipe.
namespace spinloom {

Tensor read_npy(ByteSource& source);
Tensor read_png(ByteSource& source);
Image read_nifti(ByteSource& source, const Log& log);

}  // namespace spinloom
