#pragma once
#include <functional>
#include <string>

namespace spinloom {

/// Receives what the library has to tell a person beside its result: warnings ("coil 2 is silent, dropped")
/// and notes ("3 lines skipped"). Throwing is not allowed. Empty means: tell nobody.
enum class Severity { note, warning };
using Log = std::function<void(Severity, const std::string&)>;

inline void note(const Log& log, const std::string& text) {
  if (log) log(Severity::note, text);
}
inline void warn(const Log& log, const std::string& text) {
  if (log) log(Severity::warning, text);
}

/// Receives the share of a stage that is done, in [0, 1], and a few words beside it (a residual).
using Progress = std::function<void(const std::string& stage, double fraction, const std::string& detail)>;

}  // namespace spinloom
