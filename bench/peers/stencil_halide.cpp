// The 7-point stencil of `spinloom bench stencil` by Halide, compiled at run time; bench/peers/stencil.py builds it where
// Halide 14 is installed.
//
//   stencil_halide SIZE float|double STEPS ROWS PLANES FUSED   times SIZE^3 points, prints seconds per step
//   stencil_halide SIZE float|double STEPS ROWS PLANES FUSED PATH   writes the result of hashed values there instead
//
// FUSED steps are taken in one pass: blocks of ROWS x PLANES slide through z, and what lies between two steps is kept in a
// ring of planes per block. Outside all is zero.
#include <Halide.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace Halide;

template <class T>
int run(int n, int steps, int rows, int planes, int fused, const char* path) {
  ImageParam in(type_of<T>(), 3);
  Var x("x"), y("y"), z("z"), yo("yo"), yi("yi"), zo("zo"), zi("zi"), block("block");
  std::vector<Func> stage(fused);
  for (int s = 0; s < fused; ++s) {
    const auto at = [&](Expr a, Expr b, Expr c) -> Expr {
      return s == 0 ? in(a, b, c) : stage[s - 1](a, b, c);
    };
    const Expr sum = ((at(x - 1, y, z) + at(x + 1, y, z)) + (at(x, y - 1, z) + at(x, y + 1, z))) +
                     (at(x, y, z - 1) + at(x, y, z + 1));
    const Expr value = Expr(T(0.4)) * at(x, y, z) + Expr(T(0.1)) * sum;
    const Expr inside = x >= 0 && x < n && y >= 0 && y < n && z >= 0 && z < n;
    stage[s](x, y, z) = s + 1 < fused ? select(inside, value, Expr(T(0))) : value;
  }
  const int lanes = get_jit_target_from_environment().natural_vector_size(type_of<T>());
  Func& last = stage[fused - 1];
  last.split(y, yo, yi, rows, TailStrategy::ShiftInwards)
      .split(z, zo, zi, planes, TailStrategy::ShiftInwards);
  last.reorder(x, yi, zi, yo, zo).fuse(yo, zo, block).parallel(block).vectorize(x, lanes);
  for (int s = 0; s + 1 < fused; ++s) stage[s].store_at(last, block).compute_at(last, zi).vectorize(x, lanes);

  // A frame of zeros around both arrays; as wide along x as a cache line.
  const auto framed = [n, fused] {
    Buffer<T> b(n + 32, n + 2 * fused, n + 2 * fused);
    b.set_min(-16, -fused, -fused);
    b.fill(0);
    return b;
  };
  Buffer<T> a = framed(), b = framed();
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) a(i, j, k) = T(1 + 0.01 * ((7 * k + 3 * j + i) % 101));
  const auto advance = [&](int passes) {
    for (int pass = 0; pass < passes; ++pass) {
      in.set(a);
      auto inner = *b.get();  // the same memory, without the frame
      inner.crop({{0, n}, {0, n}, {0, n}});
      Buffer<T> to(std::move(inner));
      last.realize(to);
      std::swap(a, b);
    }
  };
  if (path != nullptr) {
    advance(steps / fused);
    FILE* file = std::fopen(path, "wb");
    if (file == nullptr) return 1;
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) std::fwrite(&a(0, j, k), sizeof(T), std::size_t(n), file);
    return std::fclose(file);
  }
  in.set(a);
  last.compile_jit();
  advance(1);
  const auto begin = std::chrono::steady_clock::now();
  advance(steps / fused);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.9g\n", took.count() / (steps / fused * fused));
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  const auto number = [&](int i) { return std::atoi(argv[i]); };
  const auto f = std::strcmp(argv[2], "float") == 0 ? run<float> : run<double>;
  return f(number(1), number(3), number(4), number(5), number(6), argc > 7 ? argv[7] : nullptr);
}
