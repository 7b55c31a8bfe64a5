#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>

/// The tree keeps to the floors of docs/architecture.md.
namespace {
namespace fs = std::filesystem;

std::map<std::string, int> floors() {
  std::ifstream page(SPINLOOM_SOURCE_DIR "/docs/architecture.md");
  std::map<std::string, int> table;
  const std::regex row(R"(^\| ([a-z]+) \| ([0-9]+) \|.*)");
  std::smatch found;
  for (std::string line; std::getline(page, line);)
    if (std::regex_match(line, found, row)) table[found[1]] = std::stoi(found[2]);
  return table;
}

/// The folder that a file, or an included name, belongs to; empty when it is none of ours.
std::string folder_of(const std::string& path, const std::map<std::string, int>& table) {
  static const std::regex layout(R"((?:(?:include/)?spinloom/|src/|^)?(cli|[a-z]+)/.*)");
  std::smatch found;
  if (std::regex_match(path, found, layout) && table.count(found[1])) return found[1];
  return "";
}

TEST(House, FoldersIncludeOnlyThemselvesAndLowerFloors) {
  const auto table = floors();
  ASSERT_GE(table.size(), 10u) << "the table of docs/architecture.md was not found";
  const fs::path root(SPINLOOM_SOURCE_DIR);
  const std::regex include(R"(^\s*#\s*include\s*"([^"]+)\".*)");
  int checked = 0;
  for (const char* top : {"include", "src", "cli", "python"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = fs::relative(entry.path(), root).generic_string();
      const std::string from = folder_of(name, table);
      std::ifstream file(entry.path());
      std::smatch found;
      for (std::string line; std::getline(file, line);) {
        if (!std::regex_match(line, found, include)) continue;
        const std::string to = folder_of(found[1], table);
        if (to.empty() || to == from) continue;
        ++checked;
        ASSERT_FALSE(from.empty()) << name << " lies in no folder of the table";
        EXPECT_LT(table.at(to), table.at(from)) << name << " includes " << found[1];
      }
    }
  EXPECT_GT(checked, 10) << "nothing was read";
}

// What is asked of the operating system is asked in one folder, which has a part for each system.
TEST(House, OnlyTheFolderOfASystemIncludesItsHeaders) {
  const fs::path root(SPINLOOM_SOURCE_DIR);
  const std::regex include(
      R"(^\s*#\s*include\s*<(sys/|net/|arpa/|linux/)?(unistd|dlfcn|fcntl|c?signal|signal|termios|pthread|sched|spawn|poll|glob|pwd|dirent|ftw|strings|execinfo|link|windows|io|direct|process|mman|resource|sysinfo|wait|stat|file|ioctl|select|socket|prctl)(\.h)?>.*)");
  int systems = 0;
  for (const char* top : {"include", "src", "cli", "python/src", "bench"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string name = fs::relative(entry.path(), root).generic_string();
      if (!entry.is_regular_file() || name.starts_with("bench/peers/")) continue;
      const bool is_system =
          name.starts_with("src/runtime/os/posix/") || name.starts_with("src/runtime/os/windows/");
      std::ifstream file(entry.path());
      std::smatch found;
      for (std::string line; std::getline(file, line);)
        if (std::regex_match(line, found, include) || line.find("_WIN32") != std::string::npos) {
          systems += is_system;
          EXPECT_TRUE(is_system) << name << ": " << line << "; src/runtime/os/ is the place for it";
        }
    }
  EXPECT_GT(systems, 10) << "nothing was read";
}

}  // namespace
