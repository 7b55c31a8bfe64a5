#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "spinloom/core/log.hpp"
#include "spinloom/stencil/schedule.hpp"

namespace spinloom::stencil {

/// Schedules that were found by trials: one text file, one line per key, the latest last. Several threads and processes
/// may use it at once: the file is replaced whole, by rename, and under a lock, so that no line is lost. Whatever is
/// wrong with the folder is a miss, never an error.
class TuningStore {
 public:
  /// An empty folder means that nothing is kept.
  TuningStore(std::filesystem::path folder, Log log) : folder_(std::move(folder)), log_(std::move(log)) {}

  /// What was stored last under `key`. Lines that are damaged are skipped, with one warning for all.
  std::optional<Schedule> load(const std::string& key) const;
  /// `key` holds neither tabs nor line ends. Returns whether it was kept.
  bool store(const std::string& key, const Schedule& schedule) const;
  std::filesystem::path file() const { return folder_ / "stencil-schedules.txt"; }

 private:
  std::filesystem::path folder_;
  Log log_;
};

/// FNV-1a, 16 hexadecimal digits.
std::string hash_of(const std::string& text);

}  // namespace spinloom::stencil
