#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "temporary_folder.hpp"

namespace spinloom::testing {

struct Outcome {
  int code;  ///< exit status; -1 when a signal ended the command
  std::string out, err;
};

/// The installed command as a user runs it, in a folder of its own.
class CommandTest : public ::testing::Test {
 protected:
  explicit CommandTest(std::string name = "") : name_(std::move(name)) {}

  std::string path(const std::string& name) const { return folder_ / name; }

  /// Runs `spinloom NAME ARGUMENTS` in the folder, through the shell after `setup` ("ulimit ...;"). What it says is kept
  /// outside the folder.
  Outcome run(const std::string& arguments, const std::string& setup = "") const {
    const TemporaryFolder logs;
    const std::string command = "cd '" + folder_ / "" + "' && " + setup + " " SPINLOOM_COMMAND " " + name_ +
                                " " + arguments + " >" + logs / "out" + " 2>" + logs / "err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_bytes(logs / "out"), read_bytes(logs / "err")};
  }

  /// What it prints with --json, which is all that it prints.
  nlohmann::json json_of(const std::string& arguments) const {
    const Outcome o = run(arguments + " --json --quiet");
    EXPECT_EQ(o.code, 0) << arguments << "\n" << o.err;
    return o.code == 0 ? nlohmann::json::parse(o.out) : nlohmann::json();
  }

  /// One line that holds `words`, the exit code, and no new file.
  void expect_failure(const std::string& arguments, int code, const std::string& words,
                      const std::string& setup = "") const {
    const std::size_t before = folder_.count();
    const Outcome o = run(arguments + " --quiet", setup);
    EXPECT_EQ(o.code, code) << arguments << "\n" << o.err;
    EXPECT_NE(o.err.find(words), std::string::npos) << "expected '" << words << "' in: " << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << "expected one line: " << o.err;
    EXPECT_EQ(o.out, "") << arguments;
    EXPECT_EQ(folder_.count(), before) << "a file was left behind by: " << arguments;
  }

  TemporaryFolder folder_;

 private:
  std::string name_;
};

}  // namespace spinloom::testing
