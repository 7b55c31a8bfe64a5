#include "console.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>

#include "spinloom/runtime/process.hpp"

namespace {

std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = c == '\n' || c == '\t' ? ' ' : '?';
  return text;
}

bool is_silent = false;

void put(const std::string& text) {
  if (is_silent) return;
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

void silence() { is_silent = true; }

void say(const std::string& line) { put(printable(line) + "\n"); }

void Console::note(const std::string& line) const {
  if (!quiet_) say(line);
}

void Console::warning(const std::string& line) const { say("warning: " + line); }

void Console::result(const Json& object, const std::string& text) const {
  if (is_silent) return;
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
  const bool terminal = spinloom::stderr_is_terminal();
  auto last = std::make_shared<std::pair<std::string, int>>("", -1);
  return [=](const std::string& stage, double fraction, const std::string& detail) {
    const int step =
        static_cast<int>(std::floor(std::min(1.0, std::max(0.0, fraction)) * (terminal ? 100 : 10)));
    const std::pair<std::string, int> now{stage, step};
    if (now == *last && fraction < 1) return;
    if (now == *last) return;
    *last = now;
    if (!terminal) {
      say(fmt::format("{}: {:3.0f} %  {}", stage, 100 * fraction, detail));
      return;
    }
    const int width = 30, full = static_cast<int>(width * fraction);
    put(fmt::format("\r{} [{}{}] {:3.0f} %  {}\033[K{}", stage, std::string(full, '#'),
                    std::string(width - full, ' '), 100 * fraction, detail, fraction >= 1 ? "\n" : ""));
  };
}
