#pragma once
#include <cstdint>
#include <cstring>

#include "spinloom/core/types.hpp"
#include "spinloom/io/tensor.hpp"

namespace spinloom {

template <class Word>
Word reversed(Word v) {
  static_assert(sizeof(Word) == 2 || sizeof(Word) == 4 || sizeof(Word) == 8);
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(v);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(v);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(v);
}

template <class Word>
void swap_words(std::byte* data, Index words) {
  for (Index i = 0; i < words; ++i) {
    Word w;
    std::memcpy(&w, data + i * Index{sizeof(Word)}, sizeof(Word));
    w = reversed(w);
    std::memcpy(data + i * Index{sizeof(Word)}, &w, sizeof(Word));
  }
}

/// Turns the bytes of each element round; of each half of a complex one. Colour and bytes have no order.
inline void swap_byte_order(Tensor& t) {
  if (is_colour(t.dtype)) return;
  const Index unit = is_complex(t.dtype) ? item_size(t.dtype) / 2 : item_size(t.dtype);
  const Index units = t.bytes.size() / unit;
  if (unit == 2) swap_words<std::uint16_t>(t.bytes.data(), units);
  if (unit == 4) swap_words<std::uint32_t>(t.bytes.data(), units);
  if (unit == 8) swap_words<std::uint64_t>(t.bytes.data(), units);
}

}  // namespace spinloom
