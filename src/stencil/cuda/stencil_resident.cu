// Many steps in one launch, for grids that fit into the shared memory of all multiprocessors together. Each block keeps a box
// of whole rows there, with a cell around, and advances it in place; what its neighbours need goes through global memory,
// from one array and the other by turns, and is awaited by flags. Blocks are all there at once (a cooperative launch).
// EVOLVING: the read that changes; THREADS x ITEMS packs of POINTS make a plane of a box; PLANES between two barriers.
#include "stencil_values.cuh"

// As in stencil_resident.hpp.
struct ResidentWork {
  int boxes_z, boxes_y, steps, row, plane;  // of a box in shared memory [elements]
  int face[6];                              // code of each face: z low, z high, y low, ..
  double add[6];
  int lowest[3], highest[3];                // cells that the grid holds
  unsigned* done;                           // steps of each block
};
enum Face { kept, periodic, clamped, reflected, sloped };

struct Box {
  int z, y, nz, ny;  // its first point, and how many
};
STENCIL_OP int first_of(int box, int boxes, Index n) { return (int)(box * n / boxes); }
STENCIL_OP Box box_of(const StencilWork& w, const ResidentWork& r, int bz, int by) {
  const int z = first_of(bz, r.boxes_z, w.nz), y = first_of(by, r.boxes_y, w.ny);
  return {z, y, first_of(bz + 1, r.boxes_z, w.nz) - z, first_of(by + 1, r.boxes_y, w.ny) - y};
}

template <class S, class R>
struct Raised {
  static STENCIL_OP S by(S v, double a) { return a == 0 ? v : add(v, (R)a); }
};
template <class R>
struct Raised<Complex<R>, R> {
  static STENCIL_OP Complex<R> by(Complex<R> v, double a) { return a == 0 ? v : add(v, Complex<R>{(R)a, 0}); }
};
template <>
struct Raised<Half, float> {
  static STENCIL_OP Half by(Half v, double a) {
    typedef Convert<float, Half> C;
    return a == 0 ? v : C::narrowed(add(C::widened(v), C::widened(C::narrowed((float)a))));
  }
};

// A point with the six beside it.
struct Point {
  const StencilWork& w;
  Storage near[3][3];  // along z, y, x: before, here, behind
  Index at;
  template <int read, int dz, int dy, int dx>
  STENCIL_OP Value get() const {
    typedef Convert<Value, Storage> C;
    if constexpr (read == EVOLVING)
      return C::widened(dz != 0 ? near[0][dz + 1] : dy != 0 ? near[1][dy + 1] : near[2][dx + 1]);
    else
      return C::widened(((const Storage*)w.in[read])[at + dz * w.plane + dy * w.row + dx]);
  }
};

template <class S>
STENCIL_OP S from_others(const S* p) {  // past the level 1 cache, which knows nothing of other blocks' writes
  union {
    typename Bits<sizeof(S)>::Type bits;
    S value;
  } both = {__ldcg((const typename Bits<sizeof(S)>::Type*)p)};
  return both.value;
}

extern __shared__ int4 shared_bytes[];

struct Resident {
  const StencilWork& w;
  const ResidentWork& r;
  Box b;
  int bz, by;
  Storage* box;

  STENCIL_OP Storage& cell(int z, int y, int x) const { return box[(z + 1) * r.plane + (y + 1) * r.row + POINTS + x]; }
  STENCIL_OP Index place(int z, int y) const { return (b.z + z) * w.plane + (b.y + y) * w.row; }
  // The face's code where this box lies at it, else -1.
  STENCIL_OP int at_face(int side) const {
    const bool is_there = side == 0   ? bz == 0
                          : side == 1 ? bz == r.boxes_z - 1
                          : side == 2 ? by == 0
                                      : by == r.boxes_y - 1;
    return is_there ? r.face[side] : -1;
  }
  STENCIL_OP bool has_neighbour(int side) const {
    const int code = at_face(side);
    return code < 0 || code == periodic;
  }
  STENCIL_OP int neighbour(int side) const {
    const int z = bz + (side == 0 ? r.boxes_z - 1 : side == 1 ? 1 : 0),
              y = by + (side == 2 ? r.boxes_y - 1 : side == 3 ? 1 : 0);
    return z % r.boxes_z * r.boxes_y + y % r.boxes_y;
  }

  // Everything at the start; of what lies outside of the grid, the cells that keep their values.
  STENCIL_OP void load(const Storage* from) const {
    const int nx = (int)w.nx, columns = nx + 2, rows = b.ny + 2, count = (b.nz + 2) * rows * columns;
    for (int i = threadIdx.x; i < count; i += THREADS) {
      const int x = i % columns - 1, y = i / columns % rows - 1, z = i / columns / rows - 1;
      const int Z = b.z + z, Y = b.y + y;
      if (Z < r.lowest[0] || Z > r.highest[0] || Y < r.lowest[1] || Y > r.highest[1] || x < r.lowest[2] ||
          x > r.highest[2])
        continue;
      cell(z, y, x) = from_others(from + place(z, y) + x);
    }
  }
  // The neighbours' outermost points: a warp for each row of them, whose end past the grid nobody reads.
  STENCIL_OP void fetch(const Storage* from) const {
    const int packs = ((int)w.nx + POINTS - 1) / POINTS, lane = threadIdx.x % 32;
#pragma unroll
    for (int side = 0; side < 4; ++side) {
      if (!has_neighbour(side)) continue;
      const bool high = side & 1, along_z = side < 2;
      const int rows = along_z ? b.ny : b.nz;
      for (int k = threadIdx.x / 32; k < rows; k += THREADS / 32) {
        const int z = along_z ? (high ? b.nz : -1) : k, y = along_z ? k : (high ? b.ny : -1);
        const Index Z = b.z + z < 0 ? w.nz - 1 : b.z + z == w.nz ? 0 : b.z + z;
        const Index Y = b.y + y < 0 ? w.ny - 1 : b.y + y == w.ny ? 0 : b.y + y;
        const Storage* const source = from + Z * w.plane + Y * w.row;
        for (int i = lane; i < packs; i += 32)
          *(Pack<Storage, POINTS>*)&cell(z, y, i * POINTS) =
              from_others((const Pack<Storage, POINTS>*)(source + i * POINTS));
      }
    }
  }
  STENCIL_OP Storage past_face(int code, Storage here, Storage inner, double slope) const {
    return code == reflected ? inner : code == sloped ? Raised<Storage, Real>::by(here, slope) : here;
  }
  // Cells outside of faces that follow the points inside.
  STENCIL_OP void follow() const {
    const int nx = (int)w.nx;
#pragma unroll
    for (int side = 0; side < 4; ++side) {
      const int code = at_face(side);
      if (code <= periodic) continue;
      const bool high = side & 1, along_z = side < 2;
      const int rows = along_z ? b.ny : b.nz, n = along_z ? b.nz : b.ny;
      const int outside = high ? n : -1, here = high ? n - 1 : 0, inner = n == 1 ? 0 : high ? n - 2 : 1;
      for (int k = threadIdx.x / 32; k < rows; k += THREADS / 32)
        for (int x = threadIdx.x % 32; x < nx; x += 32) {
          const auto at = [&](int j) -> Storage& { return along_z ? cell(j, k, x) : cell(k, j, x); };
          at(outside) = past_face(code, at(here), at(inner), r.add[side]);
        }
    }
#pragma unroll
    for (int side = 4; side < 6; ++side) {
      const int code = r.face[side];
      if (code == kept) continue;
      const bool high = side & 1;
      for (int i = threadIdx.x; i < b.nz * b.ny; i += THREADS) {
        const int y = i % b.ny, z = i / b.ny, here = high ? nx - 1 : 0;
        const Storage v = cell(z, y, here);
        cell(z, y, high ? nx : -1) =
            code == periodic ? cell(z, y, high ? 0 : nx - 1)
                             : past_face(code, v, nx == 1 ? v : cell(z, y, high ? nx - 2 : 1), r.add[side]);
      }
    }
  }
  STENCIL_OP void tell_and_await(unsigned step) const {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(r.done + blockIdx.x), "r"(step) : "memory");
    }
    if (threadIdx.x < 4 && has_neighbour(threadIdx.x)) {
      const unsigned* flag = r.done + neighbour(threadIdx.x);
      unsigned seen;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      } while (seen < step);
    }
    __syncthreads();
  }

  // One step in place. A plane is written when all have read it; the one before, as it was, is kept in registers.
  STENCIL_OP void step(Storage* edges, bool is_last) const {
    const int nx = (int)w.nx, packs = (nx + POINTS - 1) / POINTS, items = b.ny * packs;
    Pack<Storage, POINTS> below[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const int item = threadIdx.x + i * THREADS;
      if (item < items) below[i] = load_pack<POINTS>(&cell(-1, item / packs, item % packs * POINTS));
    }
    for (int z = 0; z < b.nz; z += PLANES) {
      Pack<Storage, POINTS> fresh[ITEMS][PLANES];
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) {
        const int item = threadIdx.x + i * THREADS;
        if (item >= items) continue;
        const int y = item / packs, x = item % packs * POINTS;
        Pack<Storage, POINTS> here[PLANES + 2];
        here[0] = below[i];
#pragma unroll
        for (int k = 0; k <= PLANES; ++k) here[k + 1] = load_pack<POINTS>(&cell(min(z + k, b.nz), y, x));
        below[i] = here[PLANES];
#pragma unroll
        for (int k = 0; k < PLANES; ++k) {
          const int plane = min(z + k, b.nz - 1);
          const Pack<Storage, POINTS> south = load_pack<POINTS>(&cell(plane, y - 1, x)),
                                      north = load_pack<POINTS>(&cell(plane, y + 1, x));
          const Storage left = cell(plane, y, x - 1), right = cell(plane, y, x + POINTS);
#pragma unroll
          for (int l = 0; l < POINTS; ++l) {
            const Point p{w,
                          {{here[k].at[l], here[k + 1].at[l], here[k + 2].at[l]},
                           {south.at[l], here[k + 1].at[l], north.at[l]},
                           {l == 0 ? left : here[k + 1].at[l > 0 ? l - 1 : 0], here[k + 1].at[l],
                            l == POINTS - 1 ? right : here[k + 1].at[l < POINTS - 1 ? l + 1 : l]}},
                          place(plane, y) + min(x + l, nx - 1)};
            Value out[outputs];
            Real reduced[1];
            stencil_point(p, (const Real*)w.params, out, reduced);
            fresh[i][k].at[l] = Convert<Value, Storage>::narrowed(out[0]);
          }
        }
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) {
        const int item = threadIdx.x + i * THREADS;
        if (item >= items) continue;
        const int y = item / packs, x = item % packs * POINTS;
#pragma unroll
        for (int k = 0; k < PLANES; ++k) {
          if (z + k >= b.nz) continue;
          put(&cell(z + k, y, x), fresh[i][k], nx - x);
          if (is_last || z + k == 0 || z + k == b.nz - 1 || y == 0 || y == b.ny - 1)
            put(edges + place(z + k, y) + x, fresh[i][k], nx - x);
        }
      }
    }
  }
  STENCIL_OP void put(Storage* to, const Pack<Storage, POINTS>& v, int count) const {
    if (count >= POINTS) {
      union {
        Pack<Storage, POINTS> pack;
        typename Bits<sizeof(Storage) * POINTS>::Type bits;
      } both = {v};
      *(typename Bits<sizeof(Storage) * POINTS>::Type*)to = both.bits;
    } else {
#pragma unroll
      for (int l = 0; l < POINTS; ++l)
        if (l < count) to[l] = v.at[l];
    }
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    resident(const __grid_constant__ StencilWork w, const __grid_constant__ ResidentWork r) {
  const int bz = blockIdx.x / r.boxes_y, by = blockIdx.x % r.boxes_y;
  const Resident here{w, r, box_of(w, r, bz, by), bz, by, (Storage*)shared_bytes};
  // Edges of step s lie in the array that step s + 2 writes to again; by then all neighbours have read them.
  Storage* const first = (Storage*)w.in[EVOLVING];
  Storage* const second = (Storage*)w.out[0];
  here.load(first);
  const Storage* from = first;
  for (int s = 1; s <= r.steps; ++s) {
    here.fetch(from);
    __syncthreads();
    here.follow();
    __syncthreads();
    if (s == r.steps) break;
    Storage* const to = s & 1 ? second : first;
    here.step(to, false);
    here.tell_and_await(s);
    from = to;
  }
  // The last step writes all its points; nobody reads edges there any more.
  here.tell_and_await(r.steps);
  here.step(second, true);
}
