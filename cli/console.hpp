#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "spinloom/core/log.hpp"

using Json = nlohmann::ordered_json;

/// Writes `line` to stderr, control characters replaced: they come from files and would reach the terminal. An stderr
/// that cannot be written is no reason to stop.
void say(const std::string& line);
/// From now on neither say() nor a result is written: another rank of the same command does that.
void silence();

/// The talk of a command. Notes, warnings and progress go to stderr; results to stdout: one JSON object with --json,
/// else text.
class Console {
 public:
  Console(bool json, bool quiet) : json_(json), quiet_(quiet) {}

  void note(const std::string& line) const;     ///< stderr, unless quiet
  void warning(const std::string& line) const;  ///< stderr, always
  void result(const Json& object, const std::string& text) const;

  spinloom::Log log() const;
  /// A bar on a terminal, a line at each tenth elsewhere, nothing when quiet.
  spinloom::Progress progress() const;

 private:
  bool json_;
  bool quiet_;
};
