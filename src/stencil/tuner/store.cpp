#include "stencil/tuner/store.hpp"

#include <fmt/format.h>

#include <atomic>
#include <fstream>
#include <vector>

#include "runtime/os/file.hpp"
#include "runtime/os/system.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom::stencil {
namespace {
namespace fs = std::filesystem;

/// Old lines go when there are more than this: a machine meets few stencils.
constexpr std::size_t most_lines = 1000;

/// "key <tab> schedule <tab> check", where check is the hash of what stands before it.
std::string line_of(const std::string& key, const Schedule& schedule) {
  const std::string text = key + "\t" + to_string(schedule);
  return text + "\t" + hash_of(text);
}
struct Line {
  std::string key;
  Schedule schedule;
};
std::optional<Line> parse(const std::string& line) {
  const std::size_t second = line.rfind('\t'), first = line.find('\t');
  if (second == std::string::npos || first == second) return {};
  if (hash_of(line.substr(0, second)) != line.substr(second + 1)) return {};
  try {
    return Line{line.substr(0, first), parse_schedule(line.substr(first + 1, second - first - 1))};
  } catch (const ArgumentError&) {
    return {};  // a word that another version knows
  }
}

}  // namespace

std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::optional<Schedule> TuningStore::load(const std::string& key) const {
  if (folder_.empty()) return {};
  std::ifstream in(file());
  std::optional<Schedule> found;
  int damaged = 0;
  for (std::string line; std::getline(in, line);) {
    const auto parsed = parse(line);
    if (!parsed)
      ++damaged;
    else if (parsed->key == key)
      found = parsed->schedule;
  }
  if (damaged > 0)
    warn(log_, fmt::format("{}: {} damaged line{} left out; the next schedule that is kept clears them",
                           to_name(file()), damaged, damaged == 1 ? "" : "s"));
  return found;
}

bool TuningStore::store(const std::string& key, const Schedule& schedule) const {
  if (folder_.empty()) return false;
  static std::atomic<unsigned> counter{0};
  std::error_code problem;
  fs::create_directories(folder_, problem);
  // Where a folder knows no locks, rename alone must do.
  const os::FileLock lock(to_name(folder_ / "stencil-schedules.lock"));
  std::vector<std::string> lines;
  {
    std::ifstream in(file());
    for (std::string line; std::getline(in, line);)
      if (const auto parsed = parse(line); parsed && parsed->key != key) lines.push_back(line);
  }
  lines.push_back(line_of(key, schedule));
  const std::size_t skipped = lines.size() > most_lines ? lines.size() - most_lines : 0;
  fs::path temporary = file();
  temporary += fmt::format(".{}.{}", os::process_id(), counter++);
  {
    std::ofstream out(temporary);
    for (std::size_t l = skipped; l < lines.size(); ++l) out << lines[l] << '\n';
    out.close();
    if (!out) {
      fs::remove(temporary, problem);
      return false;
    }
  }
  fs::rename(temporary, file(), problem);
  if (!problem) return true;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  return false;
}

}  // namespace spinloom::stencil
