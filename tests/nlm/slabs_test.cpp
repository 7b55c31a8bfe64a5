#include "spinloom/nlm/slabs.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "nlm/images.hpp"
#include "spinloom/core/error.hpp"
#include "temporary_folder.hpp"

namespace spinloom {
namespace {

using testing::noisy_image;
using testing::run_nlm;

/// Planes of an array; counts what is read and refuses what lies outside.
template <class T>
class ArrayPlanes final : public PlaneSource<T> {
 public:
  explicit ArrayPlanes(const Array<T>& all) : all_(all), plane_(all.size() / all.shape()[0]) {}
  void read(Index first, Index planes, T* to) override {
    ASSERT_GE(first, 0);
    ASSERT_LE(first + planes, all_.shape()[0]);
    std::copy(all_.data() + first * plane_, all_.data() + (first + planes) * plane_, to);
    read_ += planes;
  }
  Index planes_read() const { return read_; }

 private:
  const Array<T>& all_;
  Index plane_, read_ = 0;
};

template <class T>
class Collected final : public PlaneSink<T> {
 public:
  explicit Collected(Index plane) : plane_(plane) {}
  void write(Index planes, const T* from) override {
    values.insert(values.end(), from, from + planes * plane_);
  }
  std::vector<T> values;

 private:
  Index plane_;
};

template <class Real>
void expect_same_in_slabs(const Shape& shape, const NlmOptions& o) {
  const Array<Real> image = noisy_image<Real>(shape, 3);
  Array<std::uint8_t> mask(Shape(shape.begin(), shape.end() - 1));
  for (Index i = 0; i < mask.size(); ++i) mask[i] = i % 3 != 0;
  NlmMaps<Real> maps;
  maps.mask = mask.view();
  const Array<Real> whole = run_nlm(image, o, DeviceKind::cpu),
                    masked = run_nlm(image, o, DeviceKind::cpu, maps);
  for (const Index planes : {Index{1}, Index{2}, Index{5}, shape[0], shape[0] + 9}) {
    ArrayPlanes<Real> source(image);
    ArrayPlanes<std::uint8_t> mask_source(mask);
    Collected<Real> plain(image.size() / shape[0]), under_mask(image.size() / shape[0]);
    nlm_slabs<Real>(shape, source, o, plain, planes);
    EXPECT_EQ(source.planes_read(), shape[0]) << "each plane is read once";
    nlm_slabs<Real>(shape, source, o, under_mask, planes, &mask_source);
    const auto bytes = static_cast<std::size_t>(image.size()) * sizeof(Real);
    ASSERT_EQ(static_cast<Index>(plain.values.size()), image.size());
    ASSERT_EQ(static_cast<Index>(under_mask.values.size()), image.size());
    EXPECT_EQ(std::memcmp(plain.values.data(), whole.data(), bytes), 0) << planes;
    EXPECT_EQ(std::memcmp(under_mask.values.data(), masked.data(), bytes), 0) << planes;
  }
}

TEST(NlmSlabs, GiveTheSameBitsForAnyNumberOfPlanes) {
  expect_same_in_slabs<float>({17, 12, 20, 1}, {.patch_size = {3}, .patch_distance = {2}, .sigma = 0.1});
  expect_same_in_slabs<float>({17, 6, 9, 2}, {.patch_size = {5}, .patch_distance = {3}, .sigma = 0.1});
  expect_same_in_slabs<double>({13, 6, 9, 1},
                               {.patch_size = {3}, .patch_distance = {2}, .mode = NlmMode::classic});
  expect_same_in_slabs<float>({3, 6, 9, 1},
                              {.patch_size = {7}, .patch_distance = {8}});  // reflected several times
  expect_same_in_slabs<float>({30, 40, 1}, {.patch_size = {3}, .patch_distance = {4}});
  expect_same_in_slabs<float>({5, 4, 5, 6, 1}, {.patch_size = {3}, .patch_distance = {1}});
}

TEST(NlmSlabs, SayWhatTheyHold) {
  const NlmOptions o{.patch_size = {3}, .patch_distance = {3}};
  // 10 planes with 3 before and 4 after them, and 10 of the result.
  EXPECT_EQ(nlm_slab_bytes({100, 8, 9, 1}, o, 4, false, 10), (10 + 3 + 4 + 10) * 8 * 9 * 4);
  EXPECT_EQ(nlm_slab_bytes({100, 8, 9, 1}, o, 4, true, 10), (10 + 3 + 4 + 10) * 8 * 9 * 4 + 10 * 8 * 9);
  EXPECT_EQ(nlm_slab_bytes({5, 8, 9, 1}, o, 4, false, 10), (5 + 5) * 8 * 9 * 4);
}

TEST(NlmSlabs, RefuseWhatNeedsTheWholeImage) {
  const Array<float> image = noisy_image<float>({5, 6, 7, 1}, 1);
  ArrayPlanes<float> source(image);
  Collected<float> sink(42);
  EXPECT_NE(
      testing::message_of([&] { nlm_slabs<float>(image.shape(), source, {}, sink, 0); }).find("0 planes"),
      std::string::npos);
  NlmOptions theirs;
  theirs.compat = NlmCompat::scikit_image;
  EXPECT_NE(
      testing::message_of([&] { nlm_slabs<float>(image.shape(), source, theirs, sink, 2); }).find("compat"),
      std::string::npos);
}

}  // namespace
}  // namespace spinloom
