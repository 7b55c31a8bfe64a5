#pragma once
// What blocks of several levels share: which fields go from level to level, and what lies outside of the grid.
//
//   evolving                  fields that are written
//   read_of[e], output_of[e]  their places among reads and outputs
//   faces[e][6]               z low, z high, y .., x ..: 0 cells outside keep their values, 1 periodic, 2 clamp, 3 reflect,
//                             4 neumann
constexpr int evolving = EVOLVING;
__device__ constexpr int read_of[] = READ_OF, output_of[] = OUTPUT_OF, faces[][6] = FACES;
constexpr bool periodic_z = faces[0][0] == 1, periodic_y = faces[0][2] == 1, periodic_x = faces[0][4] == 1;

// Whether a face mirrors, of any field.
__device__ constexpr bool mirrors(int face) {
  for (int e = 0; e < evolving; ++e)
    if (faces[e][face] > 1) return true;
  return false;
}
constexpr int mirrors_below = mirrors(2), mirrors_above = mirrors(3);

// As in stencil_overlapped.cpp.
struct OverlapWork {
  int depth, tiles_x, tiles_y, levels;  // planes of a block, tiles, levels of this pass
  int lowest[3], highest[3];            // cells that are in memory, axes z, y, x
  double add[2][6];                     // slope of a neumann face
};

template <int value_>
struct Fixed {
  static constexpr int value = value_;
};
// What a plane is near to that a block goes through: no face, faces of x alone that lie between packs of points, or any.
constexpr int to_none = 0, to_sides = 1, to_any = 2;

// advance(what the plane is near to, its parity, plane) for planes k .. end - 1 and, where that is odd, one more. Planes
// that are far from faces have loops of their own, for passes of all levels: the values that are under way stay in their
// registers. Without `sides` a block that is near to some takes all its planes for such that are near to any face.
// `pairs` of planes are printed one after the other: values that move on from plane to plane and from level to level then
// move by change of name, of which one pair, gone through again and again, allows but a part.
template <bool sides = true, int pairs = 1, class Advance>
STENCIL_OP void go_through(int k, int end, int nz, bool has_all_levels, bool is_inner, bool is_beside, const Advance& advance) {
  const auto far = [&](auto near) {
#pragma unroll 1
    while (k > LEVELS && k + 2 * pairs - 1 < nz && k + 2 * pairs - 1 < end) {
#pragma unroll
      for (int i = 0; i < pairs; ++i) {
        advance(near, Fixed<0>{}, k);
        advance(near, Fixed<1>{}, k + 1);
        k += 2;
      }
    }
  };
#pragma unroll 1
  while (k < end) {
    if (has_all_levels && is_inner)
      far(Fixed<to_none>{});
    else if constexpr (sides)
      if (has_all_levels && is_beside) far(Fixed<to_sides>{});
    if (k < end) advance(Fixed<to_any>{}, Fixed<0>{}, k++);
    if (k < end) advance(Fixed<to_any>{}, Fixed<1>{}, k++);
  }
}

// Where cell i of an axis lies: around it, or no further than the halo.
template <bool is_periodic>
STENCIL_OP int place(int i, int n, int lowest, int highest) {
  if constexpr (is_periodic) {
    const int m = i % n;
    return m < 0 ? m + n : m;
  }
  return min(max(i, lowest), highest);
}

// Points of one row next to one another, moved as one.
template <int V>
struct alignas(sizeof(Storage) * V) RowOf {
  Storage at[V];
};

// Bytes on their way into shared memory, past the registers: a load into a register that is renamed, moved or shares a
// counter with another is waited for long before its value is needed. Each thread waits for its own alone.
template <int bytes>
STENCIL_OP void fetch(void* to, const void* from) {
  if constexpr (bytes < 4) {
    *(short*)to = *(const short*)from;
    return;
  }
#if __CUDA_ARCH__ >= 800
  if constexpr (bytes > 16) {
    fetch<16>(to, from);
    fetch<bytes - 16>((char*)to + 16, (const char*)from + 16);
  } else {
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    if constexpr (bytes == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    else if constexpr (bytes >= 4)
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes) : "memory");
  }
#else
  for (int i = 0; i < bytes / 4; ++i) ((int*)to)[i] = ((const int*)from)[i];
#endif
}
STENCIL_OP void end_of_fetches() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// All but the last `late` groups have arrived.
template <int late>
STENCIL_OP void await_fetches() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(late) : "memory");
#endif
}

// A count in shared memory that another warp raises once what it wrote there can be read.
STENCIL_OP void set_count(int* count, int value) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(count);
  asm volatile("st.release.cta.shared.s32 [%0], %1;" ::"r"(at), "r"(value) : "memory");
}
STENCIL_OP void await_count(const int* count, int value) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(count);
  asm volatile(
      "{\n.reg .pred p;\n.reg .s32 v;\nAGAIN_%=:\nld.acquire.cta.shared.s32 v, [%0];\nsetp.lt.s32 p, v, %1;\n"
      "@p bra.uni AGAIN_%=;\n}" ::"r"(at),
      "r"(value)
      : "memory");
}

// Where all warps of a block pass once a turn, and are waited for later than that.
struct alignas(8) Turnstile {
  unsigned long long barrier;

  STENCIL_OP unsigned address() { return (unsigned)__cvta_generic_to_shared(&barrier); }
  STENCIL_OP void start(int warps) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(warps) : "memory");
#endif
  }
  // What this warp wrote to shared memory is there for those who wait.
  STENCIL_OP void pass(int lane) {
#if __CUDA_ARCH__ >= 800
    __syncwarp();
    if (lane == 0) asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(address()) : "memory");
#else
    __syncthreads();
#endif
  }
  // All have passed in the last turn, whose parity this is; true before the first one, as if it had parity 1.
  STENCIL_OP void await(int parity) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "{\n.reg .pred p;\nAGAIN_%=:\nmbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n@!p bra.uni AGAIN_%=;\n}" ::"r"(
            address()),
        "r"(parity)
        : "memory");
#endif
  }
};

// What is read a few planes later is fetched into the level 2 cache.
STENCIL_OP void expect(const Storage* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

// A store under a predicate. Doubles that are stored in a branch were a fifth slower, floats were not.
template <int bytes>
STENCIL_OP void store_if(unsigned condition, void* to, const int* words) {
  if constexpr (bytes > 16) {
    store_if<16>(condition, to, words);
    store_if<bytes - 16>(condition, (char*)to + 16, words + 4);
  } else if constexpr (bytes == 16) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %5, 0;\n@p st.global.v4.b32 [%0], {%1, %2, %3, %4};\n}" ::"l"(to),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(condition)
                 : "memory");
  } else if constexpr (bytes == 8) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %3, 0;\n@p st.global.v2.b32 [%0], {%1, %2};\n}" ::"l"(to),
                 "r"(words[0]), "r"(words[1]), "r"(condition)
                 : "memory");
  } else if constexpr (bytes == 2) {
    if (condition) *(short*)to = (short)words[0];
  } else {
    asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %2, 0;\n@p st.global.b32 [%0], %1;\n}" ::"l"(to), "r"(words[0]),
                 "r"(condition)
                 : "memory");
  }
}
template <class Row>
STENCIL_OP void store_if(unsigned condition, Storage* to, const Row& row) {
  union {
    Row row;
    int words[(sizeof(Row) + 3) / 4];
  } both = {row};
  store_if<sizeof(Row)>(condition, to, both.words);
}

// The same place r rows on: one instruction.
template <class P>
STENCIL_OP P* rows_on(P* p, unsigned row_bytes, int r) {
  return (P*)((unsigned long long)p + (unsigned long long)row_bytes * (unsigned)r);
}

// The pointer as it is: kept from being taken apart into one for each row, which would take registers for all of them.
template <class P>
STENCIL_OP P* as_it_is(P* p) {
  asm volatile("" : "+l"(p));
  return p;
}

template <class R>
STENCIL_OP R from_lane_below(R v) {
  return __shfl_up_sync(0xffffffffu, v, 1);
}
template <class R>
STENCIL_OP R from_lane_above(R v) {
  return __shfl_down_sync(0xffffffffu, v, 1);
}
STENCIL_OP Half from_lane_below(Half v) { return {(unsigned short)__shfl_up_sync(0xffffffffu, (unsigned)v.bits, 1)}; }
STENCIL_OP Half from_lane_above(Half v) { return {(unsigned short)__shfl_down_sync(0xffffffffu, (unsigned)v.bits, 1)}; }
template <class R>
STENCIL_OP Complex<R> from_lane_below(Complex<R> v) {
  return {from_lane_below(v.re), from_lane_below(v.im)};
}
template <class R>
STENCIL_OP Complex<R> from_lane_above(Complex<R> v) {
  return {from_lane_above(v.re), from_lane_above(v.im)};
}

__device__ constexpr int evolving_of(int read) {
  for (int e = 0; e < evolving; ++e)
    if (read_of[e] == read) return e;
  return -1;
}

STENCIL_OP float raised(float v, double by) { return by == 0 ? v : add(v, (float)by); }
STENCIL_OP double raised(double v, double by) { return by == 0 ? v : add(v, by); }
STENCIL_OP Half raised(Half v, double by) {
  typedef Convert<float, Half> To;
  return by == 0 ? v : To::narrowed(add(To::widened(v), (float)by));
}
template <class R>
STENCIL_OP Complex<R> raised(Complex<R> v, double by) {
  return by == 0 ? v : add(v, Complex<R>{(R)by, 0});
}

// What lies past a face that mirrors: from the point itself or the one on its other side.
template <int kind>
STENCIL_OP Storage past_face(Storage here, Storage opposite, int n, double slope) {
  if constexpr (kind == 3) return n > 1 ? opposite : here;
  if constexpr (kind == 4) return raised(here, slope);
  return here;
}

// Values of the points around one, of every evolving field: [e][dz + 1][dy + 1][dx + 1]. What a kernel does not set, its
// stencils do not read.
struct Around {
  const StencilWork& w;
  Storage near[evolving][3][3][3];
  Index at = 0;  // of the point, for fields that do not evolve
  STENCIL_OP Around(const StencilWork& work) : w(work) {}

  template <int read, int dz, int dy, int dx>
  STENCIL_OP Value get() const {
    constexpr int e = evolving_of(read);
    if constexpr (e < 0)
      return Convert<Value, Storage>::widened(((const Storage*)w.in[read])[at + dz * w.plane + dy * w.row + dx]);
    else
      return Convert<Value, Storage>::widened(near[e][dz + 1][dy + 1][dx + 1]);
  }

  template <int e, int axis>
  STENCIL_OP void mirror_axis(const OverlapWork& o, int i, int n, Storage& below, Storage& above) const {
    const Storage low = below, high = above;
    if constexpr (faces[e][2 * axis] > 1)
      if (i == 0) below = past_face<faces[e][2 * axis]>(near[e][1][1][1], high, n, o.add[e][2 * axis]);
    if constexpr (faces[e][2 * axis + 1] > 1)
      if (i == n - 1) above = past_face<faces[e][2 * axis + 1]>(near[e][1][1][1], low, n, o.add[e][2 * axis + 1]);
  }
  // Replaces the six neighbours that lie past a face which mirrors.
  template <int e = 0>
  STENCIL_OP void mirror(const OverlapWork& o, int z, int nz, int y, int ny, int x, int nx) {
    mirror_axis<e, 0>(o, z, nz, near[e][0][1][1], near[e][2][1][1]);
    mirror_axis<e, 1>(o, y, ny, near[e][1][0][1], near[e][1][2][1]);
    mirror_axis<e, 2>(o, x, nx, near[e][1][1][0], near[e][1][1][2]);
    if constexpr (e + 1 < evolving) mirror<e + 1>(o, z, nz, y, ny, x, nx);
  }

  STENCIL_OP void compute(Storage* fresh) const {
    Value out[outputs];
    Real reduced[1];
    stencil_point(*this, (const Real*)w.params, out, reduced);
#pragma unroll
    for (int e = 0; e < evolving; ++e) fresh[e] = Convert<Value, Storage>::narrowed(out[output_of[e]]);
  }
};
