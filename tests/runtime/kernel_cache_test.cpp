#include "runtime/cuda/kernel_cache.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace spinloom::cuda {
namespace {
namespace fs = std::filesystem;

class KernelCacheOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("spinloom-cache-" + std::to_string(getpid()));
    fs::remove_all(folder);
  }
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, ignored);
    fs::remove_all(folder, ignored);
  }
  static std::vector<char> code(std::size_t size, char seed) {
    std::vector<char> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<char>(i * 31 + static_cast<std::size_t>(seed));
    return bytes;
  }
  fs::path folder;
};

TEST_F(KernelCacheOnDisk, GivesBackWhatWasStoredUnderTheSameKeyOnly) {
  const KernelCache cache(folder);
  EXPECT_FALSE(cache.load("sm_90 source"));
  cache.store("sm_90 source", code(1000, 1));
  EXPECT_EQ(cache.load("sm_90 source"), code(1000, 1));
  EXPECT_FALSE(cache.load("sm_80 source"));
  EXPECT_EQ(KernelCache(folder).load("sm_90 source"), code(1000, 1)) << "another process";
}

TEST_F(KernelCacheOnDisk, TakesADamagedFileAsAMiss) {
  const KernelCache cache(folder);
  cache.store("key", code(1000, 2));
  const fs::path path = cache.file_of("key");
  for (const std::uintmax_t size : {std::uintmax_t{0}, std::uintmax_t{10}, fs::file_size(path) - 1}) {
    cache.store("key", code(1000, 2));
    fs::resize_file(path, size);
    EXPECT_FALSE(cache.load("key")) << "cut to " << size;
  }
  cache.store("key", code(1000, 2));
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-100, std::ios::end);
    file.put('!');
  }
  EXPECT_FALSE(cache.load("key")) << "one byte changed";
  cache.store("key", code(1000, 3));
  EXPECT_EQ(cache.load("key"), code(1000, 3)) << "mended by the next store";
}

TEST_F(KernelCacheOnDisk, WorksOnWithoutAFolderItCanWrite) {
  std::ofstream(folder.string()) << "a file where the folder should be";
  const KernelCache blocked(folder);
  blocked.store("key", code(10, 1));
  EXPECT_FALSE(blocked.load("key"));
  fs::remove(folder);

  const KernelCache none({});
  none.store("key", code(10, 1));
  EXPECT_FALSE(none.load("key"));

  if (geteuid() == 0) GTEST_SKIP() << "the superuser can write everywhere";
  fs::create_directories(folder);
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  const KernelCache read_only(folder);
  read_only.store("key", code(10, 1));
  EXPECT_FALSE(read_only.load("key"));
}

TEST_F(KernelCacheOnDisk, ForgetsTheLongestUnusedWhenItOutgrowsItsLimit) {
  const KernelCache cache(folder, 4500);
  for (const char* key : {"a", "b", "c", "d"}) {
    cache.store(key, code(1000, key[0]));
    const auto age = std::chrono::minutes('z' - key[0]);
    fs::last_write_time(cache.file_of(key), fs::file_time_type::clock::now() - age);
  }
  EXPECT_TRUE(cache.load("a")) << "which makes it the last used";
  cache.store("e", code(1000, 'e'));
  EXPECT_TRUE(cache.load("a"));
  EXPECT_FALSE(cache.load("b"));
  EXPECT_TRUE(cache.load("e"));
  std::uintmax_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder)) total += entry.file_size();
  EXPECT_LE(total, 4500u);
}

TEST_F(KernelCacheOnDisk, NeverShowsAHalfWrittenFileToAnother) {
  const KernelCache cache(folder);
  const auto write = [&] {
    for (int i = 0; i < 50; ++i) cache.store("key", code(200000, 7));
  };
  std::thread one(write), two(write);
  for (int i = 0; i < 50; ++i)
    if (const auto found = cache.load("key")) {
      EXPECT_EQ(*found, code(200000, 7));
    }
  one.join();
  two.join();
  EXPECT_EQ(cache.load("key"), code(200000, 7));
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 1) << "no temporary file stays";
}

TEST(KernelCache, FollowsTheEnvironment) {
  const std::string before = std::getenv("SPINLOOM_CACHE_DIR") ? std::getenv("SPINLOOM_CACHE_DIR") : "";
  setenv("SPINLOOM_CACHE_DIR", "/somewhere/else", 1);
  EXPECT_EQ(default_kernel_cache().file_of("key").parent_path(), "/somewhere/else");
  before.empty() ? unsetenv("SPINLOOM_CACHE_DIR") : setenv("SPINLOOM_CACHE_DIR", before.c_str(), 1);
}

}  // namespace
}  // namespace spinloom::cuda
