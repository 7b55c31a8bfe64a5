#pragma once
#include "spinloom/nlm/nlm.hpp"

namespace spinloom {

/// How much of a search a block of threads keeps in a GPU's shared memory: what is read anew for each shift, each row of
/// shifts, each plane of them, or once. A voxel is a thread's, and its boxes are summed sample by sample. These are the
/// steps before nlm()'s own kernel, where the sums stay in registers; they are kept to be timed and read.
enum class NlmTier { shift = 0, row = 1, plane = 2, window = 3 };

/// Shared memory that a tier takes.
Index nlm_tier_bytes(NlmTier tier, const Shape& image, const NlmOptions& options);

/// Fast mode of a grey 3D image in single precision, [z, y, x, 1], both arrays on one GPU.
/// Rounding within 1e-5 of the image's range
/// Errors   those of nlm(); ArgumentError for other images, and where the GPU's shared memory is too small
void nlm_tier(NlmTier tier, View<const float> image, const NlmOptions& options, View<float> result);

/// How nlm() computes float64 on GPUs: by_card takes pairs of floats where the card has few units for doubles. Patches of one
/// voxel, where nothing is compared, are computed in double always.
enum class NlmDouble { by_card, native, pairs };
/// For all later calls of the process; so that each can be timed and tested on any card.
void set_nlm_double(NlmDouble how);

}  // namespace spinloom
