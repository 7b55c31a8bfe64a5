#include "runtime/cuda/cufft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/scratch.hpp"
#include "runtime/dynamic_library.hpp"
#include "runtime/os/library.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

constexpr int type_c2c = 0x29, type_z2z = 0x69;

/// What is used of cuFFT, by the names of its manual less the prefix cufft.
struct Library {
  int (*GetVersion)(int*);
  int (*Create)(int*);
  int (*Destroy)(int);
  int (*SetAutoAllocation)(int, int);
  int (*MakePlanMany64)(int, int, long long*, long long*, long long, long long, long long*, long long,
                        long long, int, long long, std::size_t*);
  int (*SetStream)(int, StreamHandle);
  int (*SetWorkArea)(int, void*);
  int (*ExecC2C)(int, void*, void*, int);
  int (*ExecZ2Z)(int, void*, void*, int);
};

struct Loaded : LibraryFunctions<Library> {
  int version = 0;
};

template <class Bind>
void list_functions(const Bind& bind, Library& l) {
  bind(l.GetVersion, "cufftGetVersion");
  bind(l.Create, "cufftCreate");
  bind(l.Destroy, "cufftDestroy");
  bind(l.SetAutoAllocation, "cufftSetAutoAllocation");
  bind(l.MakePlanMany64, "cufftMakePlanMany64");
  bind(l.SetStream, "cufftSetStream");
  bind(l.SetWorkArea, "cufftSetWorkArea");
  bind(l.ExecC2C, "cufftExecC2C");
  bind(l.ExecZ2Z, "cufftExecZ2Z");
}

Loaded load() {
  const std::vector<std::string> files = toolkit_files(os::cufft_files);
  const std::string remedy = "update it to that of CUDA 12.0 or newer";
  Loaded loaded{
      load_functions<Library>(files,
                              {"cuFFT",
                               fmt::format("cuFFT was not found ({}); it comes with the CUDA toolkit or the "
                                           "Python package nvidia-cufft",
                                           fmt::join(files, " or ")),
                               remedy},
                              [](const auto& bind, Library& l) { list_functions(bind, l); }),
      0};
  if (loaded.problem.empty() && loaded.functions.GetVersion(&loaded.version) != 0)
    loaded.problem = fmt::format("cuFFT ({}) does not tell its version; {}", loaded.file, remedy);
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

const Library& library() {
  if (!loaded().problem.empty()) throw BackendUnavailable("cuda", loaded().problem + "; choose --device cpu");
  return loaded().functions;
}

const char* explain_cufft(int status) {
  switch (status) {
    case 1: return "invalid plan";
    case 2: return "out of memory";
    case 3: return "invalid type";
    case 4: return "invalid value";
    case 5: return "internal error of the driver";
    case 6: return "execution failed";
    case 7: return "setup failed";
    case 8: return "unsupported size";
    case 9: return "unaligned data";
    case 0xB: return "invalid device";
    case 0xD: return "no work area";
    case 0xE: return "not implemented";
    case 0x10: return "not supported";
    case 0x11: return "a library that it needs is missing";
    default: return "unknown error";
  }
}

void require(int status, const std::string& call) {
  if (status == 0) return;
  throw DeviceError(fmt::format("{}: {} (code {})", call, explain_cufft(status), status));
}

}  // namespace

std::string cufft_problem() { return loaded().problem; }
std::string cufft_file() { return loaded().file; }
std::string cufft_version() {
  const int v = loaded().version;  // 12004 is 12.0.4
  return loaded().problem.empty() ? fmt::format("{}.{}", v / 1000, v % 1000 / 100) : "";
}

template <class Real>
Cufft<Real>::Cufft(Context& context, const std::vector<Index>& size, Index batch, FftLayout layout)
    : context_(context) {
  const Library& l = library();
  const Current current(context_);
  std::vector<long long> n(size.begin(), size.end());
  const int rank = static_cast<int>(n.size());
  Index elements = 1;
  for (const Index extent : size) elements *= extent;
  const Index distance = layout.distance > 0 ? layout.distance : elements;
  const std::string call = fmt::format("cuFFT plan of {} transforms of [{}]", batch, fmt::join(size, ", "));
  require(l.Create(&plan_), call);
  try {
    require(l.SetAutoAllocation(plan_, 0), call);
    require(
        l.MakePlanMany64(plan_, rank, n.data(), n.data(), layout.stride, distance, n.data(), layout.stride,
                         distance, sizeof(Real) == sizeof(float) ? type_c2c : type_z2z, batch, &work_bytes_),
        call);
    require(l.SetStream(plan_, context_.stream()), call);
  } catch (...) {
    l.Destroy(plan_);
    throw;
  }
}

template <class Real>
Cufft<Real>::~Cufft() {
  Context& c = context_;
  try {
    c.synchronize();  // the plan's tables must outlive the work that was issued
    const Current current(c);
    library().Destroy(plan_);
  } catch (...) {  // the driver may be gone when the process ends
  }
}

template <class Real>
void Cufft<Real>::run(const Complex* in, Complex* out, FftSign sign) const {
  const Library& l = library();
  const Scratch<std::byte> work(context_, work_bytes_);
  const Current current(context_);
  std::lock_guard lock(guard_);
  require(l.SetWorkArea(plan_, work.data()), "cufftSetWorkArea");
  require(l.SetStream(plan_, context_.stream()), "cufftSetStream");  // which may be a record's
  const auto execute = sizeof(Real) == sizeof(float) ? l.ExecC2C : l.ExecZ2Z;
  require(execute(plan_, const_cast<Complex*>(in), out, static_cast<int>(sign)), "cuFFT transform");
}

template class Cufft<float>;
template class Cufft<double>;

}  // namespace spinloom::cuda
