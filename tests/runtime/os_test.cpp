#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/cache_folder.hpp"
#include "runtime/dynamic_library.hpp"
#include "runtime/os/child_reader.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/library.hpp"
#include "runtime/os/machine.hpp"
#include "runtime/os/system.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"
#include "spinloom/runtime/process.hpp"
#include "temporary_folder.hpp"

namespace spinloom::os {
namespace {
namespace fs = std::filesystem;
using spinloom::testing::TemporaryFolder;
using Mode = File::Mode;

// "Größe", and a sign beyond the first 65536.
const std::string odd_name =
    "Gr\xc3\xb6\xc3\x9f"
    "e \xf0\x9f\xa7\xb5.bin";

std::string content(const std::string& path) {
  File file(path, Mode::read);
  std::string bytes(1000, '\0');
  const std::ptrdiff_t got = file.is_open() ? file.read(bytes.data(), bytes.size()) : -1;
  return got < 0 ? "cannot be read" : bytes.substr(0, static_cast<std::size_t>(got));
}
void put(const std::string& path, const std::string& bytes) {
  File file(path, Mode::create);
  ASSERT_TRUE(file.is_open()) << problem();
  ASSERT_EQ(file.write(bytes.data(), bytes.size()), static_cast<std::ptrdiff_t>(bytes.size()));
  ASSERT_TRUE(file.close());
}

TEST(OsFile, KeepsEveryByteUnderAnyName) {
  const TemporaryFolder folder;
  std::string bytes = "a\r\nb\nc\x1a";  // line ends and Windows' end of a text stay what they are
  bytes += std::string(3, '\0') + "\xff";
  put(folder / odd_name, bytes);
  EXPECT_EQ(content(folder / odd_name), bytes);
  EXPECT_TRUE(fs::exists(to_path(folder / odd_name)));
  EXPECT_EQ(to_name(fs::directory_iterator(folder / "")->path().filename()), odd_name);
  EXPECT_EQ(File(folder / odd_name, Mode::read).size(), bytes.size());
}

TEST(OsFile, MakesNewFilesOnlyAndRewritesOldOnes) {
  const TemporaryFolder folder;
  EXPECT_FALSE(File(folder / "a", Mode::rewrite).is_open());
  EXPECT_FALSE(File(folder / "a", Mode::read).is_open());
  EXPECT_FALSE(problem().empty());
  put(folder / "a", "long content");
  EXPECT_FALSE(File(folder / "a", Mode::create).is_open());
  File again(folder / "a", Mode::rewrite);
  ASSERT_TRUE(again.is_open());
  EXPECT_EQ(again.write("b", 1), 1);
  EXPECT_TRUE(again.close());
  EXPECT_FALSE(again.is_open());
  EXPECT_EQ(content(folder / "a"), "b");
}

TEST(OsFile, ReadsFromAnyPlaceInSeveralThreads) {
  const TemporaryFolder folder;
  std::string bytes(100'000, '\0');
  std::mt19937 random(std::random_device{}());
  for (char& c : bytes) c = static_cast<char>(random());
  put(folder / "a", bytes);
  const File file(folder / "a", Mode::read);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 mine(t);
      char part[997];
      for (int turn = 0; turn < 200; ++turn) {
        const std::size_t at = mine() % (bytes.size() - sizeof part);
        if (file.read_at(at, part, sizeof part) != sizeof part ||
            bytes.compare(at, sizeof part, part, sizeof part) != 0)
          ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  char beyond;
  EXPECT_EQ(file.read_at(bytes.size(), &beyond, 1), 0);
}

TEST(OsFile, HasPlacesBeyondFourGibibytes) {
  const TemporaryFolder folder;
  put(folder / "a", "start");
  std::error_code failed;
  fs::resize_file(folder / "a", (std::uintmax_t{5} << 30) + 3, failed);  // a hole where the disk knows them
  if (failed) GTEST_SKIP() << "no room for a file of 5 GiB: " << failed.message();
  const File file(folder / "a", Mode::read);
  EXPECT_EQ(file.size(), (std::uint64_t{5} << 30) + 3);
  char end[8];
  EXPECT_EQ(file.read_at(std::uint64_t{5} << 30, end, sizeof end), 3);
  EXPECT_EQ(file.read_at(0, end, 5), 5);
  EXPECT_EQ(std::memcmp(end, "start", 5), 0);
}

TEST(OsFile, ReplacesAFileAtOnceAndRemovesIt) {
  const TemporaryFolder folder;
  put(folder / "new", "new");
  put(folder / odd_name, "old");
  EXPECT_TRUE(flush_to_disk(folder / "new"));
  EXPECT_TRUE(replace_file(folder / "new", folder / odd_name));
  EXPECT_EQ(content(folder / odd_name), "new");
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_FALSE(replace_file(folder / "nothing", folder / "a"));
  EXPECT_FALSE(problem().empty());
  remove_file((folder / odd_name).c_str());
  EXPECT_EQ(folder.count(), 0u);
}

TEST(OsFileLock, IsHeldByOne) {
  const TemporaryFolder folder;
  int inside = 0, most = 0;  // guarded by the lock: data races would be found by the thread sanitizer
  std::atomic<int> now{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20; ++turn) {
        const FileLock lock(folder / odd_name);
        most = std::max(most, ++now);
        ++inside;
        --now;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inside, 80);
  EXPECT_EQ(most, 1);
}

TEST(OsFileLock, IsNoErrorWhereItCannotBeMade) { const FileLock lock("no such folder/a"); }

TEST(OsSystem, ReadsAndSetsTheEnvironment) {
  EXPECT_EQ(environment("SPINLOOM_NEVER_SET"), "");
  set_default_environment("SPINLOOM_OS_TEST", odd_name.c_str());
  EXPECT_EQ(environment("SPINLOOM_OS_TEST"), odd_name);
  set_default_environment("SPINLOOM_OS_TEST", "another");
  EXPECT_EQ(environment("SPINLOOM_OS_TEST"), odd_name);
  EXPECT_GT(process_id(), 0);
}

TEST(OsSystem, HasAPlaceForWhatMayBeKept) {
  EXPECT_TRUE(user_cache_folder().empty() || user_cache_folder().is_absolute()) << user_cache_folder();
}

TEST(OsMachine, SaysWhatThereIs) {
  EXPECT_GT(memory_bytes(), std::int64_t{1} << 26);
  EXPECT_GT(memory_available_bytes(), 0);
  EXPECT_LE(memory_available_bytes(), memory_bytes());
  EXPECT_FALSE(cpu_name().empty());
  EXPECT_GT(peak_memory_bytes(), 1 << 18);
  for (const CacheFacts& cache : caches()) {
    EXPECT_GE(cache.bytes, 1 << 12);
    EXPECT_GE(cache.shared_by, 1);
  }
}

TEST(OsMachine, AllocatesAligned) {
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{1} << 21}) {
    void* data = allocate(alignment, 3 * alignment);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0u);
    advise_huge_pages(data, 3 * alignment);
    std::memset(data, 1, 3 * alignment);
    release(data);
  }
}

TEST(OsLibrary, FindsThisProgramAndNoStranger) {
  EXPECT_TRUE(fs::exists(own_file())) << own_file();
  EXPECT_EQ(os::open_library("no-such-library.so.7"), nullptr);
  EXPECT_FALSE(problem_of_library().empty());
  EXPECT_FALSE(spinloom::open_library({}));
  EXPECT_FALSE(driver_files().empty());
  for (const int cuda : {12, 13}) {
    EXPECT_FALSE(nvrtc_files(cuda).empty());
    EXPECT_FALSE(cufft_files(cuda).empty());
  }
}

TEST(OsLibrary, LooksForNvidiasWheelsBesideThePackage) {
  const auto sites = site_packages();
  EXPECT_NE(std::find(sites.begin(), sites.end(), own_file().parent_path().parent_path()), sites.end());
  EXPECT_FALSE(wheel_folders("nvidia/cuda_nvrtc").empty());
}

TEST(OsChildReader, HandsOverWhatAReaderWritesAndItsErrors) {
  std::string got(300'000, '\0'), sent(300'000, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 + i / 256);
  read_in_child(
      "a file", "ANY", 0,
      [&](ChildPipe& pipe) {
        pipe.write(sent.data(), 1);
        pipe.write(sent.data() + 1, sent.size() - 1);
      },
      [&](ChildPipe& pipe) {
        return pipe.read(got.data(), 1000) && pipe.read(got.data() + 1000, got.size() - 1000);
      });
  EXPECT_EQ(got, sent);
  char byte;
  EXPECT_THROW(read_in_child(
                   "a file", "ANY", 0, [](ChildPipe&) { throw FormatError("a file: is odd"); },
                   [&](ChildPipe& pipe) { return pipe.read(&byte, 1); }),
               FormatError);
}

// Known results, where a second rounding gives another one; and sums of a product's own rounding error, which are exact.
TEST(OsArithmetic, FusesMultiplyAndAddWithOneRounding) {
  const auto fused = [](auto x, decltype(x) y, decltype(x) z) {
    const volatile decltype(x) values[] = {x, y, z};  // so that it is computed when the test runs
    return std::fma(values[0], values[1], values[2]);
  };
  const double a = 1 + 0x1p-27, b = 1 - 0x1p-27;  // their product is half way between 1 - 2^-53 and 1
  EXPECT_EQ(fused(a, b, 0x1p-200), 1);
  EXPECT_EQ(fused(a, b, -0x1p-200), 1 - 0x1p-53);
  EXPECT_EQ(fused(0x1p-600, 0x1p-474, 0x1p-1074), 0x1p-1073);
  EXPECT_EQ(fused(0x1p-600, 0x1.8p-475, 0.0), 0x1p-1074);
  EXPECT_TRUE(std::isinf(fused(0x1p1000, 0x1p24, 0.0)));
  EXPECT_EQ(fused(0x1p1000, 0x1p24, -0x1p1023), 0x1p1023);
  EXPECT_EQ(fused(1 + 0x1p-12f, 1 - 0x1p-12f, 0x1p-100f), 1.0f);
  EXPECT_EQ(fused(1 + 0x1p-12f, 1 - 0x1p-12f, -0x1p-100f), 1 - 0x1p-24f);
  std::mt19937_64 random(std::random_device{}());
  for (int i = 0; i < 10'000; ++i) {
    const double x = std::ldexp(static_cast<double>(random() >> 11), -53),
                 y = std::ldexp(static_cast<double>(random() >> 11), -53);
    const volatile double product = x * y;
    const double error = fused(x, y, -product);
    EXPECT_EQ(fused(x, y, -error), product) << x << " " << y;
    EXPECT_LE(std::abs(error), 0x1p-54);
  }
}

TEST(CacheFolder, IsTheOneChosenElseTheSystems) {
  const std::string chosen = environment("SPINLOOM_CACHE_DIR");
  const fs::path folder = cache_folder();
  if (!chosen.empty()) {
    EXPECT_EQ(folder, to_path(chosen));
  } else {
    EXPECT_EQ(folder, user_cache_folder().empty() ? fs::path() : user_cache_folder() / "spinloom");
  }
}

}  // namespace
}  // namespace spinloom::os
