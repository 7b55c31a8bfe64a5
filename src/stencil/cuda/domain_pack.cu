// Boxes of several grids of one layout to a message, and back: all boxes and grids of an exchange at once. STORAGE is as wide
// as an element.
typedef STORAGE Storage;
typedef long long Index;

// As in domain_exchange.hpp.
struct PackedBox {
  Index end;  // of its elements in the message, which are those of the grids one after the other
  Index at;   // elements from a grid's origin to its first
  Index planes, rows, columns;
};
struct PackWork {
  PackedBox boxes[26];
  Storage* origins[32];
  Index row, plane;
  int count;
};

template <class N>
__device__ __forceinline__ Storage* place(const PackWork& w, const PackedBox& b, N i) {
  const N columns = (N)b.columns, rows = (N)b.rows, planes = (N)b.planes;
  const N row = i / columns, plane = row / rows, grid = plane / planes;
  return w.origins[grid] + b.at + (plane - grid * planes) * w.plane + (row - plane * rows) * w.row +
         (i - row * columns);
}

__device__ __forceinline__ Storage* place_of(const PackWork& w, Index i) {
  Index begin = 0;
  for (int box = 0; box < w.count; ++box) {
    const PackedBox& b = w.boxes[box];
    if (i < b.end) {
      // Divisions in 32 bits take a fifth of the time.
      return b.end - begin < (Index)1 << 32 ? place(w, b, (unsigned)(i - begin)) : place(w, b, i - begin);
    }
    begin = b.end;
  }
  return nullptr;
}

extern "C" __global__ void __launch_bounds__(256) pack(const __grid_constant__ PackWork w, Storage* message) {
  const Index i = (Index)blockIdx.x * 256 + threadIdx.x;
  if (const Storage* from = place_of(w, i)) message[i] = *from;
}
extern "C" __global__ void __launch_bounds__(256) unpack(const __grid_constant__ PackWork w, const Storage* message) {
  const Index i = (Index)blockIdx.x * 256 + threadIdx.x;
  if (Storage* to = place_of(w, i)) *to = message[i];
}
