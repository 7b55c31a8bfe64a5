#include "spinloom/recon/whiten_scan.hpp"

#include <fmt/format.h>

#include "spinloom/mri/encoding.hpp"
#include "spinloom/mri/whitening.hpp"

namespace spinloom {

std::shared_ptr<const Array<cfloat>> whiten_scan(Assembled& scan, std::shared_ptr<const Array<cfloat>> maps,
                                                 const Log& log) {
  if (scan.noise.empty() || scan.measurements.empty()) return maps;
  if (maps) require_coil_maps(maps->shape(), scan.measurements[0].coils(), scan.measurements[0].matrix);
  const Whitening whitening =
      make_whitening(scan.noise.view(), scan.measurements[0].kspace.view(),
                     {.image_dwell_time = scan.image_sample_time_s,
                      .noise_dwell_time = scan.noise_sample_time_s,
                      .relative_noise_bandwidth = scan.relative_noise_bandwidth,
                      .log = log});
  for (Measurement& m : scan.measurements) m.kspace = whiten<float>(whitening, m.kspace.view());
  note(log, fmt::format("whitened with {} noise samples of {} channels: the data are now in units of the noise",
                        scan.noise.shape()[1], whitening.kept.size()));
  if (!maps) return maps;
  const Shape matrix(maps->shape().begin() + 1, maps->shape().end());
  const auto seen = whiten<float>(whitening, maps->view().reshaped({maps->shape()[0], count(matrix)}));
  auto result = std::make_shared<Array<cfloat>>(prepend(static_cast<Index>(whitening.kept.size()), matrix));
  std::copy(seen.begin(), seen.end(), result->begin());
  return result;
}

}  // namespace spinloom
