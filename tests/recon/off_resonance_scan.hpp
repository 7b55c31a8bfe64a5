#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "operator_suite.hpp"
#include "spinloom/fourier/off_resonance.hpp"
#include "spinloom/mri/trajectories.hpp"
#include "spinloom/recon/field_map.hpp"
#include "spinloom/recon/reconstruct.hpp"
#include "spinloom/recon/verify.hpp"

namespace spinloom::testing {

/// Two soft blobs, which a disc of k-space holds, and a smooth field of up to 120 Hz.
struct Subject {
  Shape matrix{32, 30};
  Array<cfloat> image = Array<cfloat>::zeros(matrix);
  std::shared_ptr<Array<double>> map = std::make_shared<Array<double>>(matrix);
  Subject() {
    for (Index n = 0; n < image.size(); ++n) {
      const double y = double(n / 30 - 16) / 16, x = double(n % 30 - 15) / 15;
      const double wide = std::exp(-6 * (x * x + y * y)),
                   narrow = std::exp(-40 * ((x - 0.3) * (x - 0.3) + (y + 0.2) * (y + 0.2)));
      image[n] = cfloat(cdouble(wide, 0) + narrow * cdouble(-0.5, 0.4));
      (*map)[n] = 120 * (1 - x * x - y * y) * std::cos(2 * x);
    }
  }
};

/// One spiral scan of 20 ms readouts of the subject.
inline Measurement scan(const Subject& subject) {
  const Readouts spiral = spiral2d(subject.matrix, {.interleaves = 4});
  Measurement m;
  m.trajectory = spiral.trajectory;
  m.matrix = m.recon_matrix = subject.matrix;
  m.field_map_hz = subject.map;
  for (Index i = 0; i < m.trajectory->samples(); ++i)
    m.sample_times_s.push_back(static_cast<float>(0.02 * double(i % spiral.samples_per_readout) /
                                                  double(spiral.samples_per_readout)));
  m.kspace = Array<cfloat>({1, m.trajectory->samples()});
  const auto exact = make_dft<float>(m.trajectory, m.matrix, off_resonance_of(m));
  exact->forward(subject.image.view().reshaped({1, 32, 30}), m.kspace.view());
  // The encoding operator is unitary-scaled.
  scale<cfloat>(static_cast<float>(1 / std::sqrt(double(count(m.matrix)))), m.kspace.view());
  return m;
}

inline double error_db(const Array<cfloat>& image, const Subject& subject) {
  return 20 * std::log10(relative_error(image, subject.image));
}

inline void expect_the_map_to_help(FourierKind kind, Device device) {
  const Subject subject;
  Measurement m = scan(subject);
  Reconstructor reconstructor(
      {.fourier = kind, .tolerance = 1e-4, .iterations = 60, .stop = 1e-5, .device = device});
  const Reconstruction with = reconstructor.run(m);
  const double corrected = error_db(with.image, subject);
  const Verification v = verify(m, with);
  EXPECT_LT(v.relative_error_forward, 3e-4);
  EXPECT_LT(v.relative_error_adjoint, 3e-4);
  EXPECT_LT(v.relative_error_normal, 5e-4);
  m.field_map_hz = nullptr;  // the same instance must not go on with the operators that it kept
  EXPECT_LT(corrected, error_db(reconstructor.run(m).image, subject) - 10);
  EXPECT_LT(corrected, -30);
}

}  // namespace spinloom::testing
