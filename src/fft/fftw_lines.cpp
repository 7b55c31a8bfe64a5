#include "fft/fftw_lines.hpp"

#include <fftw3.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include "runtime/cache_folder.hpp"
#include "runtime/os/system.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

/// FFTW's functions of one precision under one name.
template <class Real>
struct Api;
template <>
struct Api<float> {
  using Number = fftwf_complex;
  static constexpr const char* wisdom = "fftw-float.wisdom";
  static constexpr auto import = fftwf_import_wisdom_from_string;
  static constexpr auto export_to = fftwf_export_wisdom;
  static constexpr auto plan = fftwf_plan_many_dft;
  static constexpr auto limit = fftwf_set_timelimit;
  static constexpr auto execute = fftwf_execute_dft;
  static constexpr auto allocate = fftwf_malloc;
  static constexpr auto release = fftwf_free;
  using Plan = fftwf_plan;
};
template <>
struct Api<double> {
  using Number = fftw_complex;
  static constexpr const char* wisdom = "fftw-double.wisdom";
  static constexpr auto import = fftw_import_wisdom_from_string;
  static constexpr auto export_to = fftw_export_wisdom;
  static constexpr auto plan = fftw_plan_many_dft;
  static constexpr auto limit = fftw_set_timelimit;
  static constexpr auto execute = fftw_execute_dft;
  static constexpr auto allocate = fftw_malloc;
  static constexpr auto release = fftw_free;
  using Plan = fftw_plan;
};

/// FFTW's planner may run in one thread at a time; both precisions share its lock here.
std::mutex planner;

template <class Real>
void read_wisdom() {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return;
  std::ifstream file(folder / Api<Real>::wisdom);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!text.empty()) Api<Real>::import(text.c_str());
}

/// Written apart and renamed, so that a reader never meets half a file. Failure costs the next process a
/// measurement.
template <class Real>
void write_wisdom() noexcept {
  try {
    const std::filesystem::path folder = cache_folder();
    if (folder.empty()) return;
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    std::filesystem::path path = folder / Api<Real>::wisdom, temporary = path;
    temporary += fmt::format(".{}", os::process_id());
    std::ofstream file(temporary);
    Api<Real>::export_to([](char c, void* to) { static_cast<std::ofstream*>(to)->put(c); }, &file);
    file.close();
    if (file) std::filesystem::rename(temporary, path, failed);
    if (!file || failed) std::filesystem::remove(temporary, failed);
  } catch (...) {
  }
}

using Key = std::tuple<Index, Index, Index, Index, bool>;

template <class Real>
void* make_plan(Index n, Index stride, Index lines, Index distance, bool inverse) {
  // Measuring overwrites its array, so it gets one of its own; new-array execution then asks for no more
  // alignment.
  const auto size = static_cast<std::size_t>((n - 1) * stride + (lines - 1) * distance + 1);
  auto* data = static_cast<typename Api<Real>::Number*>(Api<Real>::allocate(size * 2 * sizeof(Real)));
  if (data == nullptr) throw DeviceError(fmt::format("FFT: no memory to plan lines of {}", n));
  std::fill_n(reinterpret_cast<Real*>(data), 2 * size, Real(0));
  const int length = static_cast<int>(n);
  // A second of measuring is enough for any line; within a process the plan found is kept whatever it is.
  Api<Real>::limit(1.0);
  void* plan = Api<Real>::plan(1, &length, static_cast<int>(lines), data, nullptr, static_cast<int>(stride),
                               static_cast<int>(distance), data, nullptr, static_cast<int>(stride),
                               static_cast<int>(distance), inverse ? FFTW_BACKWARD : FFTW_FORWARD,
                               FFTW_MEASURE | FFTW_UNALIGNED);
  Api<Real>::release(data);
  if (plan == nullptr) throw ArgumentError(fmt::format("FFT: no plan for lines of {}", n));
  return plan;
}

}  // namespace

template <class Real>
FftwLines<Real>::FftwLines(Index n, Index stride, Index lines, Index distance, bool inverse) {
  constexpr Index largest = std::numeric_limits<int>::max();
  if (n < 1 || n > largest || stride > largest || distance > largest)
    throw ArgumentError(
        fmt::format("FFT: lines of {} elements at stride {} are beyond FFTW's integers", n, stride));
  // Outlives every static object that may still transform.
  static auto& plans = *new std::map<Key, void*>;
  const std::lock_guard lock(planner);
  if (plans.empty()) read_wisdom<Real>();
  void*& plan = plans[{n, stride, lines, distance, inverse}];
  if (plan == nullptr) {
    plan = make_plan<Real>(n, stride, lines, distance, inverse);
    write_wisdom<Real>();
  }
  plan_ = plan;
}

template <class Real>
void FftwLines<Real>::operator()(std::complex<Real>* data) const {
  auto* numbers = reinterpret_cast<typename Api<Real>::Number*>(data);
  Api<Real>::execute(static_cast<typename Api<Real>::Plan>(plan_), numbers, numbers);
}

template class FftwLines<float>;
template class FftwLines<double>;

}  // namespace spinloom
