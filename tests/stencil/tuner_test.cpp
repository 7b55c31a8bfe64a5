#include "spinloom/stencil/tuner.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "stencil/tuner/key.hpp"
#include "stencil/tuner/shadow.hpp"
#include "stencil/tuner/store.hpp"
#include "temporary_folder.hpp"

namespace spinloom::stencil {
namespace {
using testing::TemporaryFolder;

Machine any_machine() {
  Machine m;
  m.caches = {{1, 32 << 10, 1}, {2, 1 << 20, 1}, {3, 32 << 20, 2}};
  m.threads = 2;
  for (auto& r : m.rates) r = {{100e9, 160e9, 0}, {80e9, 128e9, 0}, {30e9, 60e9, 40e9}};
  return m;
}
Boundaries all_faces(const Boundary& b, std::size_t rank) {
  Boundaries faces{{b, b, b}, {b, b, b}};
  if (rank == 2) faces.low[1] = faces.high[1] = {};
  return faces;
}
GridProblem problem_of(const std::vector<Kernel<double>>& chain, const Shape& shape,
                       const Boundary& boundary) {
  GridProblem p;
  p.shape = shape;
  int fields = 0;
  for (const auto& k : chain) {
    const Halo one(k.view().reach());
    fields = std::max(fields, k.view().fields());
    for (std::size_t a = 0; a < 3; ++a) {
      p.halo.low[a] = std::max(p.halo.low[a], one.low[a]);
      p.halo.high[a] = std::max(p.halo.high[a], one.high[a]);
    }
  }
  p.fields.assign(static_cast<std::size_t>(fields), all_faces(boundary, shape.size()));
  return p;
}

TEST(StencilTuner, CandidatesAreLegalFewAndDifferent) {
  const std::vector<Boundary> kinds = {none(), dirichlet(1), neumann(0.5), periodic(), reflect(), clamp()};
  int refused = 0, temporal = 0;
  for (const char* name :
       {"7-point", "wave", "red-black", "gaussian", "gradient", "5-point", "lattice-boltzmann"}) {
    const auto chain = builtin_kernels<double>(name);
    const bool is_2d = chain[0].view().rank == 2;
    const std::vector<Shape> shapes =
        is_2d ? std::vector<Shape>{{1, 1}, {3, 5}, {17, 1023}, {2000, 3001}}
              : std::vector<Shape>{{1, 1, 1}, {3, 5, 2}, {17, 9, 65}, {129, 255, 31}, {512, 512, 512}};
    for (const Shape& shape : shapes)
      for (const Boundary& kind : kinds) {
        const GridProblem problem = problem_of(chain, shape, kind);
        ModelInput input;
        for (const auto& k : chain) input.chain.push_back(*k.definition);
        input.layout = make_layout(shape, problem.halo, 8);
        input.machine = any_machine();
        const auto in_core = [&](const Schedule&) { return std::vector<double>(chain.size(), 2e-10); };
        const auto kept = [&](const Schedule& s) { return effective(chain, s); };
        const std::string what =
            std::string(name) + " on " + spinloom::to_string(shape) + ", " + to_string(kind);
        if (const auto why = why_illegal(input.chain, input.layout, problem.fields, {})) {
          EXPECT_THROW(candidates(input, problem.fields, in_core, kept), ArgumentError) << what << *why;
          ++refused;
          continue;
        }
        const auto all = candidates(input, problem.fields, in_core, kept);
        ASSERT_GE(all.size(), 1u) << what;
        EXPECT_LE(all.size(), 12u) << what;
        int sweeps = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
          const Schedule& s = all[i].schedule;
          EXPECT_EQ(why_illegal(input.chain, input.layout, problem.fields, s), std::nullopt)
              << what << to_string(s);
          EXPECT_EQ(s, effective(chain, s)) << what;
          EXPECT_LE(all[i].predicted_glups, all[0].predicted_glups) << what;
          for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(s == all[j].schedule) << what << to_string(s);
          sweeps += s.kind == Schedule::Kind::sweep || s.kind == Schedule::Kind::naive;
          temporal += s.kind == Schedule::Kind::diamond || s.kind == Schedule::Kind::overlapped;
        }
        EXPECT_GE(sweeps, 1) << what;
      }
  }
  EXPECT_GT(refused, 0);  // red-black on periodic axes of odd length
  EXPECT_GT(temporal, 0);
}

TEST(StencilTuner, FewStepsLeaveTemporalBlocksNothing) {
  const auto chain = builtin_kernels<double>("7-point");
  const GridProblem problem = problem_of(chain, {512, 512, 512}, dirichlet(0));
  const TemporaryFolder folder;
  TuneOptions options;
  options.folder = folder / "";
  options.steps = 1;
  EXPECT_EQ(best_schedule(chain, problem, options).schedule.kind, Schedule::Kind::sweep);
  options.steps = 1000;
  EXPECT_EQ(best_schedule(chain, problem, options).schedule.kind, Schedule::Kind::diamond);
  EXPECT_EQ(folder.count(), 0u);  // a guess is not kept
}

TEST(StencilTuner, RemembersItsAnswerAndLeavesGridsAlone) {
  const auto chain = builtin_kernels<double>("wave");
  const GridProblem problem = problem_of(chain, {9, 21, 34}, dirichlet(0));
  std::vector<Grid<double>> mine;
  for (int g = 0; g < 3; ++g) {
    mine.emplace_back(problem.shape, problem.halo, dirichlet(0));
    mine.back().fill([g](Index z, Index y, Index x) { return double(g + 7 * z + 3 * y + x); });
  }
  std::vector<FieldGrids<double>> bound{{mine[0], mine[1]}, {mine[2]}};
  const Stepper<double> stepper(chain, bound, {});
  const auto before = mine[0].to_array();
  const TemporaryFolder folder;
  TuneOptions options;
  options.folder = folder / "new";
  options.steps = 3;
  options.seconds = 60;  // so that no slow machine cuts it short; it takes a second
  int told = 0;
  options.progress = [&](const std::string&, double fraction, const std::string&) {
    EXPECT_TRUE(fraction >= 0 && fraction <= 1);
    ++told;
  };
  const Tuned first = tune(chain, problem, options);
  EXPECT_GT(told, 0);
  EXPECT_FALSE(first.from_cache);
  EXPECT_EQ(first.first_guess, first.trials[0].schedule);
  int finalists = 0;
  bool is_among = false;
  for (const Trial& t : first.trials) {
    EXPECT_GE(t.rounds, 1);
    EXPECT_GT(t.glups, 0);
    finalists += t.is_finalist;
    is_among |= t.is_finalist && t.schedule == first.schedule;
  }
  EXPECT_TRUE(is_among);
  EXPECT_LE(finalists, 4);
  EXPECT_TRUE(first.trials[0].is_finalist);
  EXPECT_EQ(std::memcmp(before.data(), mine[0].to_array().data(), sizeof(double) * 9 * 21 * 34), 0);

  const Tuned second = tune(chain, problem, options), best = best_schedule(chain, problem, options);
  EXPECT_TRUE(second.from_cache && best.from_cache);
  EXPECT_EQ(second.schedule, first.schedule);
  EXPECT_EQ(best.schedule, first.schedule);
  EXPECT_TRUE(second.trials.empty());
  // Another number of threads, other boundaries and another type are other questions.
  set_thread_count(thread_count() + 1);
  EXPECT_FALSE(best_schedule(chain, problem, options).from_cache);
  set_thread_count(0);
  EXPECT_FALSE(best_schedule(chain, problem_of(chain, {9, 21, 34}, reflect()), options).from_cache);
  EXPECT_FALSE(best_schedule(builtin_kernels<float>("wave"), problem, options).from_cache);
}

TEST(StencilTuner, RefusesAndStops) {
  const auto chain = builtin_kernels<double>("red-black");
  const TemporaryFolder folder;
  TuneOptions options;
  options.folder = folder / "";
  EXPECT_THROW(tune(chain, problem_of(chain, {9, 9, 9}, periodic()), options), ArgumentError);
  EXPECT_THROW(tune(std::vector<Kernel<double>>{}, problem_of(chain, {9, 9, 9}, dirichlet(0)), options),
               Error);
  request_interrupt();
  EXPECT_THROW(tune(chain, problem_of(chain, {9, 9, 9}, dirichlet(0)), options), Interrupted);
  clear_interrupt();
  EXPECT_EQ(folder.count(), 0u);
  EXPECT_FALSE(tune(chain, problem_of(chain, {0, 9, 9}, dirichlet(0)), options).from_cache);
}

TEST(StencilTuner, ShadowsAreSmallAndAlike) {
  EXPECT_EQ(shadow_planes(10, 512 * 512, 16, 32 << 20, 1), 10);
  for (const Index planes : {512, 513}) {
    const Index shadow = shadow_planes(planes, 512 * 512, 16, 32 << 20, 1);
    EXPECT_GE(shadow, 64);
    EXPECT_LE(shadow, 65);
    EXPECT_EQ(shadow % 2, planes % 2);
  }
  EXPECT_GE(shadow_planes(512, 512 * 512, 16, 32 << 20, 4), 128);
}

TEST(TuningStore, KeepsTheLastScheduleOfAKey) {
  const TemporaryFolder folder;
  const TuningStore store(folder / "deep/er", {});
  const Schedule a = parse_schedule("sweep rows=64 planes=2 stream prefetch"),
                 b = parse_schedule("diamond width=16");
  EXPECT_EQ(store.load("one"), std::nullopt);
  EXPECT_TRUE(store.store("one", a));
  EXPECT_TRUE(store.store("two", b));
  EXPECT_EQ(store.load("one"), a);
  EXPECT_TRUE(store.store("one", b));
  EXPECT_EQ(store.load("one"), b);
  EXPECT_EQ(store.load("two"), b);
  const std::string text = testing::read_bytes(store.file());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(TuningStore, SkipsDamagedLinesWithOneWarning) {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  const TuningStore store(folder / "", [&](Severity severity, const std::string& text) {
    EXPECT_EQ(severity, Severity::warning);
    warnings.push_back(text);
  });
  const Schedule a = parse_schedule("sweep rows=64");
  store.store("one", a);
  store.store("two", a);
  const std::string good = testing::read_bytes(store.file());
  EXPECT_TRUE(warnings.empty());
  std::string changed = good;
  changed[changed.find("rows=64") + 5] = '9';  // the first line no longer agrees with its check
  const std::string wrong = "three\tsweep tiles=4\t" + hash_of("three\tsweep tiles=4");
  testing::write_bytes(store.file(), "nonsense\n\n\t\t\n" + std::string(300, '\0') + "\n" + wrong + "\n" +
                                         changed + good.substr(0, 20));
  EXPECT_EQ(store.load("one"), std::nullopt);
  EXPECT_EQ(store.load("two"), a);
  EXPECT_EQ(store.load("three"), std::nullopt);
  EXPECT_EQ(warnings.size(), 3u) << "one for each load";
  store.store("one", a);  // clears them
  warnings.clear();
  EXPECT_EQ(store.load("one"), a);
  EXPECT_EQ(store.load("two"), a);
  EXPECT_TRUE(warnings.empty());
}

TEST(TuningStore, LosesNothingToWritersAtOnce) {
  const TemporaryFolder folder;
  constexpr int writers = 4, each = 12;
  const auto write = [&](const std::string& who) {
    const TuningStore store(folder / "", {});
    bool kept = true;
    for (int i = 0; i < each; ++i)
      kept &= store.store(who + std::to_string(i), parse_schedule("sweep rows=" + std::to_string(i + 1)));
    return kept;
  };
  std::vector<pid_t> children;
  for (int w = 0; w < writers; ++w) {
    const pid_t child = fork();
    if (child == 0) _exit(write("process " + std::to_string(w) + " ") ? 0 : 1);
    children.push_back(child);
  }
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([&, w] { EXPECT_TRUE(write("thread " + std::to_string(w) + " ")); });
  for (auto& t : threads) t.join();
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const TuningStore store(folder / "", [](Severity, const std::string& text) { ADD_FAILURE() << text; });
  for (const char* kind : {"process ", "thread "})
    for (int w = 0; w < writers; ++w)
      for (int i = 0; i < each; ++i)
        EXPECT_EQ(store.load(kind + std::to_string(w) + " " + std::to_string(i)),
                  parse_schedule("sweep rows=" + std::to_string(i + 1)));
  EXPECT_EQ(folder.count(), 2u) << "the file and its lock";
}

TEST(TuningStore, AFolderThatCannotBeIsNoError) {
  const TemporaryFolder folder;
  folder.write("file", "x");
  for (const std::string& where : {std::string(), folder / "file/below", std::string("/proc/spinloom")}) {
    const TuningStore store(where, [](Severity, const std::string& text) { ADD_FAILURE() << text; });
    EXPECT_FALSE(store.store("one", {}));
    EXPECT_EQ(store.load("one"), std::nullopt);
  }
  // A folder without the right to write (which the superuser has all the same).
  std::filesystem::create_directory(folder / "locked");
  std::filesystem::permissions(folder / "locked",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const TuningStore locked(folder / "locked", {});
  const bool kept = locked.store("one", {});
  EXPECT_EQ(locked.load("one").has_value(), kept);
  std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_all);
}

TEST(TuningKey, NamesAllThatTheAnswerDependsOn) {
  Hardware here;
  here.cpu_name = "A";
  here.caches = {{1, 32 << 10, 1}};
  const std::vector<Boundaries> faces{all_faces(dirichlet(1), 3)};
  const auto key = [&](const Hardware& h, const char* code = "u", const char* element = "f8",
                       std::array<Index, 3> n = {512, 512, 512}, Index steps = 0,
                       int threads = 2) { return tuning_key(code, element, n, faces, steps, threads, h); };
  const std::string base = key(here);
  EXPECT_EQ(base.find_first_of("\t\n"), std::string::npos);
  Hardware other = here;
  other.cpu_name = "B";
  EXPECT_NE(key(other), base);
  other = here;
  other.caches[0].bytes *= 2;
  EXPECT_NE(key(other), base);
  other = here;
  other.caches[0].shared_by = 2;
  EXPECT_NE(key(other), base);
  EXPECT_NE(key(here, "v"), base);
  EXPECT_NE(key(here, "u", "f4"), base);
  EXPECT_NE(key(here, "u", "f8", {512, 512, 256}), base);
  EXPECT_NE(key(here, "u", "f8", {512, 512, 512}, 4), base);
  EXPECT_NE(key(here, "u", "f8", {512, 512, 512}, 0, 1), base);
  EXPECT_NE(tuning_key("u", "f8", {512, 512, 512}, {all_faces(periodic(), 3)}, 0, 2, here), base);
  // Nearly the same grid, other values on its faces, more steps than many: the same answer will do.
  EXPECT_EQ(key(here, "u", "f8", {500, 512, 520}, 1000), base);
  EXPECT_EQ(tuning_key("u", "f8", {512, 512, 512}, {all_faces(dirichlet(7), 3)}, 0, 2, here), base);
  for (Index n = 0; n < 3000; ++n) {
    EXPECT_LE(std::abs(double(extent_class(n) - n)), 0.125 * double(n)) << n;
    EXPECT_LE(extent_class(n), extent_class(n + 1));
  }
}

}  // namespace
}  // namespace spinloom::stencil
