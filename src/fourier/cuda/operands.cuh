#pragma once
// How the matrix product's operands lie in memory. An operand has rows and a common axis k, in FP16. The k axis is cut
// into blocks of 64: block b of row r are 128 bytes at (b * rows + r) * 128, so that any run of rows of one block is one
// piece. Within a row of 128 bytes the 16-byte pieces are permuted by the row's number modulo 8: this is the layout
// (128-byte swizzle) in which tensor cores read shared memory without bank conflicts, made here once for all readers.
//
// A value v is kept as hi = fp16(v) and, with SPLIT, lo = fp16(v - hi); hi hi + hi lo + lo hi then has about 22 bits.
__device__ inline Index piece_offset(Index rows, Index row, Index k) {
  return ((k >> 6) * rows + row) * 128 + ((((k >> 3) & 7) ^ (row & 7)) << 4);
}

__device__ inline unsigned pack_halves(float low, float high) {
  unsigned packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
__device__ inline float low_half(unsigned packed) {
  float value;
  asm("{ .reg .f16 h, unused; mov.b32 {h, unused}, %1; cvt.f32.f16 %0, h; }" : "=f"(value) : "r"(packed));
  return value;
}
__device__ inline float high_half(unsigned packed) {
  float value;
  asm("{ .reg .f16 h, unused; mov.b32 {unused, h}, %1; cvt.f32.f16 %0, h; }" : "=f"(value) : "r"(packed));
  return value;
}

/// Writes eight consecutive k of one row.
__device__ inline void store_piece(char* hi, char* lo, Index offset, const float (&v)[8]) {
  uint4 h;
  h.x = pack_halves(v[0], v[1]);
  h.y = pack_halves(v[2], v[3]);
  h.z = pack_halves(v[4], v[5]);
  h.w = pack_halves(v[6], v[7]);
  *(uint4*)(hi + offset) = h;
#if SPLIT
  uint4 l;
  l.x = pack_halves(v[0] - low_half(h.x), v[1] - high_half(h.x));
  l.y = pack_halves(v[2] - low_half(h.y), v[3] - high_half(h.y));
  l.z = pack_halves(v[4] - low_half(h.z), v[5] - high_half(h.z));
  l.w = pack_halves(v[6] - low_half(h.w), v[7] - high_half(h.w));
  *(uint4*)(lo + offset) = l;
#endif
}
