#include "console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <memory>

void Console::note(const std::string& line) const {
  if (!quiet_) fmt::print(stderr, "{}\n", line);
}

void Console::warning(const std::string& line) const { fmt::print(stderr, "warning: {}\n", line); }

void Console::result(const Json& object, const std::string& text) const {
  if (json_)
    fmt::print("{}\n", object.dump());
  else if (!text.empty())
    fmt::print("{}\n", text);
  if (std::fflush(stdout) != 0) throw std::runtime_error("stdout: cannot be written");
}

spinloom::Log Console::log() const {
  return [self = *this](spinloom::Severity severity, const std::string& text) {
    severity == spinloom::Severity::warning ? self.warning(text) : self.note(text);
  };
}

spinloom::Progress Console::progress() const {
  if (quiet_) return {};
  const bool terminal = isatty(STDERR_FILENO);
  auto last = std::make_shared<std::pair<std::string, int>>("", -1);
  return [=](const std::string& stage, double fraction, const std::string& detail) {
    const int step = static_cast<int>(std::floor(std::min(1.0, std::max(0.0, fraction)) * (terminal ? 100 : 10)));
    const std::pair<std::string, int> now{stage, step};
    if (now == *last && fraction < 1) return;
    if (now == *last) return;
    *last = now;
    if (!terminal) {
      fmt::print(stderr, "{}: {:3.0f} %  {}\n", stage, 100 * fraction, detail);
      return;
    }
    const int width = 30, full = static_cast<int>(width * fraction);
    fmt::print(stderr, "\r{} [{}{}] {:3.0f} %  {}\033[K{}", stage, std::string(full, '#'),
               std::string(width - full, ' '), 100 * fraction, detail, fraction >= 1 ? "\n" : "");
    std::fflush(stderr);
  };
}
