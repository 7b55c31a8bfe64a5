#include "runtime/cuda/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/kernel_cache.hpp"
#include "runtime/dynamic_library.hpp"
#include "runtime/os/library.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

using Program = struct _nvrtcProgram*;

/// What is used of NVRTC, by the names of its manual less the prefix nvrtc.
struct Nvrtc {
  int (*Version)(int*, int*);
  const char* (*GetErrorString)(int);
  int (*GetNumSupportedArchs)(int*);
  int (*GetSupportedArchs)(int*);
  int (*CreateProgram)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*CompileProgram)(Program, int, const char* const*);
  int (*DestroyProgram)(Program*);
  int (*GetProgramLogSize)(Program, std::size_t*);
  int (*GetProgramLog)(Program, char*);
  int (*GetCUBINSize)(Program, std::size_t*);
  int (*GetCUBIN)(Program, char*);
  int (*GetPTXSize)(Program, std::size_t*);
  int (*GetPTX)(Program, char*);
};

struct Loaded : LibraryFunctions<Nvrtc> {
  int major = 0, minor = 0;
  std::vector<int> architectures;
};

template <class Bind>
void list_functions(const Bind& bind, Nvrtc& n) {
  bind(n.Version, "nvrtcVersion");
  bind(n.GetErrorString, "nvrtcGetErrorString");
  bind(n.GetNumSupportedArchs, "nvrtcGetNumSupportedArchs");
  bind(n.GetSupportedArchs, "nvrtcGetSupportedArchs");
  bind(n.CreateProgram, "nvrtcCreateProgram");
  bind(n.CompileProgram, "nvrtcCompileProgram");
  bind(n.DestroyProgram, "nvrtcDestroyProgram");
  bind(n.GetProgramLogSize, "nvrtcGetProgramLogSize");
  bind(n.GetProgramLog, "nvrtcGetProgramLog");
  bind(n.GetCUBINSize, "nvrtcGetCUBINSize");
  bind(n.GetCUBIN, "nvrtcGetCUBIN");
  bind(n.GetPTXSize, "nvrtcGetPTXSize");
  bind(n.GetPTX, "nvrtcGetPTX");
}

Loaded load() {
  const std::vector<std::string> files = toolkit_files(os::nvrtc_files);
  const std::string remedy = "update it to 12.0 or newer";
  Loaded loaded{
      load_functions<Nvrtc>(files,
                            {"NVRTC",
                             fmt::format("NVRTC was not found ({}); it comes with the CUDA toolkit or the "
                                         "Python package nvidia-cuda-nvrtc",
                                         fmt::join(files, " or ")),
                             remedy},
                            [](const auto& bind, Nvrtc& n) { list_functions(bind, n); }),
      0,
      0,
      {}};
  if (!loaded.problem.empty()) return loaded;
  const Nvrtc& n = loaded.functions;
  if (n.Version(&loaded.major, &loaded.minor) != 0) {
    loaded.problem = fmt::format("NVRTC ({}) does not tell its version; {}", loaded.file, remedy);
    return loaded;
  }
  int count = 0;
  if (n.GetNumSupportedArchs(&count) == 0 && count > 0) {
    loaded.architectures.resize(static_cast<std::size_t>(count));
    n.GetSupportedArchs(loaded.architectures.data());
  }
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

std::vector<std::string> options_for(const KernelInstance& instance, const std::string& architecture) {
  std::vector<std::string> options = {"--gpu-architecture=" + architecture, "--std=c++17", "-default-device"};
  for (const std::string& define : instance.defines) options.push_back("-D" + define);
  return options;
}

}  // namespace

std::string KernelInstance::describe() const {
  return fmt::format("{} [{}]", source->name, fmt::join(defines, " "));
}

std::string compiler_problem() { return loaded().problem; }
std::string compiler_file() { return loaded().file; }
std::string compiler_version() {
  return loaded().problem.empty() ? fmt::format("{}.{}", loaded().major, loaded().minor) : "";
}

std::string architecture_for(int capability, const KernelInstance& instance) {
  const std::vector<int>& known = loaded().architectures;
  if (known.empty() || std::find(known.begin(), known.end(), capability) != known.end())
    return fmt::format("sm_{}{}", capability, instance.needs_exact_architecture ? "a" : "");
  int newest = 0;
  for (const int a : known)
    if (a < capability) newest = std::max(newest, a);
  return fmt::format("compute_{}", newest);
}

std::vector<char> compile_anew(const KernelInstance& instance, const std::string& architecture) {
  if (!loaded().problem.empty()) throw BackendUnavailable("cuda", loaded().problem + "; choose --device cpu");
  const Nvrtc& n = loaded().functions;
  const auto require = [&](int status, const char* call) {
    if (status != 0)
      throw DeviceError(fmt::format("{} for {}: {}", call, instance.describe(), n.GetErrorString(status)));
  };
  Program program = nullptr;
  require(n.CreateProgram(&program, instance.source->text, instance.source->name, 0, nullptr, nullptr),
          "nvrtcCreateProgram");
  struct Guard {
    const Nvrtc& n;
    Program& p;
    ~Guard() { n.DestroyProgram(&p); }
  } guard{n, program};

  const std::vector<std::string> options = options_for(instance, architecture);
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const int status = n.CompileProgram(program, static_cast<int>(words.size()), words.data());
  if (status != 0) {
    std::size_t size = 0;
    std::string log;
    if (n.GetProgramLogSize(program, &size) == 0 && size > 1) {
      log.resize(size);
      n.GetProgramLog(program, log.data());
      while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    }
    throw DeviceError(fmt::format("compiling {} for {}: {}: {}", instance.describe(), architecture,
                                  n.GetErrorString(status), log));
  }
  const bool is_text = architecture.rfind("compute_", 0) == 0;
  std::size_t size = 0;
  require((is_text ? n.GetPTXSize : n.GetCUBINSize)(program, &size), "nvrtcGetCUBINSize");
  std::vector<char> code(size);
  require((is_text ? n.GetPTX : n.GetCUBIN)(program, code.data()), "nvrtcGetCUBIN");
  return code;
}

std::vector<char> compile(const KernelInstance& instance, const std::string& architecture) {
  std::string key = fmt::format("nvrtc {}\n", compiler_version());
  for (const std::string& option : options_for(instance, architecture)) key += option + "\n";
  key += instance.source->text;
  const KernelCache cache = default_kernel_cache();
  if (auto code = cache.load(key)) return std::move(*code);
  std::vector<char> code = compile_anew(instance, architecture);
  cache.store(key, code);
  return code;
}

}  // namespace spinloom::cuda
