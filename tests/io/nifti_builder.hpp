#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace spinloom::testing {

/// A NIfTI file put together byte by byte from the format's own table of offsets, for tests of the reader.
class NiftiBuilder {
 public:
  explicit NiftiBuilder(int version = 1, bool big_endian = false)
      : version_(version), big_(big_endian), bytes_(version == 1 ? 348 : 540, '\0') {
    put<std::int32_t>(0, version == 1 ? 348 : 540);
    magic(true);
    slope(1, 0);
    for (int i = 0; i < 8; ++i) pixdim(i, 1);
    offset(version == 1 ? 352 : 544);
  }
  template <class T>
  NiftiBuilder& put(std::size_t at, T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    if (big_) std::reverse(raw, raw + sizeof(T));
    std::copy(raw, raw + sizeof(T), bytes_.begin() + static_cast<long>(at));
    return *this;
  }
  NiftiBuilder& magic(bool single) {
    if (version_ == 1)
      bytes_.replace(344, 4, single ? std::string("n+1\0", 4) : std::string("ni1\0", 4));
    else
      bytes_.replace(4, 8, single ? std::string("n+2\0\r\n\032\n", 8) : std::string("ni2\0\r\n\032\n", 8));
    return *this;
  }
  NiftiBuilder& dims(const std::vector<std::int64_t>& d) {
    for (std::size_t i = 0; i < 8; ++i)
      dim(i, i == 0 ? std::int64_t(d.size()) : i <= d.size() ? d[i - 1] : 1);
    return *this;
  }
  NiftiBuilder& dim(std::size_t i, std::int64_t n) {
    return version_ == 1 ? put<std::int16_t>(40 + 2 * i, std::int16_t(n)) : put<std::int64_t>(16 + 8 * i, n);
  }
  NiftiBuilder& type(int code, int bits) {
    const std::size_t at = version_ == 1 ? 70 : 12;
    return put<std::int16_t>(at, std::int16_t(code)).put<std::int16_t>(at + 2, std::int16_t(bits));
  }
  NiftiBuilder& slope(double s, double i) { return real(112, 176, s).real(116, 184, i); }
  NiftiBuilder& pixdim(int i, double v) { return real(76 + 4 * std::size_t(i), 104 + 8 * std::size_t(i), v); }
  NiftiBuilder& offset(std::int64_t v) {
    return version_ == 1 ? put<float>(108, float(v)) : put<std::int64_t>(168, v);
  }
  NiftiBuilder& units(int v) { return version_ == 1 ? put<char>(123, char(v)) : put<std::int32_t>(500, v); }
  NiftiBuilder& codes(int qform, int sform) {
    return version_ == 1
               ? put<std::int16_t>(252, std::int16_t(qform)).put<std::int16_t>(254, std::int16_t(sform))
               : put<std::int32_t>(344, qform).put<std::int32_t>(348, sform);
  }
  NiftiBuilder& quaternion(double b, double c, double d) {
    return real(256, 352, b).real(260, 360, c).real(264, 368, d);
  }
  NiftiBuilder& qoffset(double x, double y, double z) {
    return real(268, 376, x).real(272, 384, y).real(276, 392, z);
  }
  NiftiBuilder& srow(std::size_t row, const std::vector<double>& v) {
    for (std::size_t i = 0; i < 4; ++i) real(280 + 16 * row + 4 * i, 400 + 32 * row + 8 * i, v[i]);
    return *this;
  }
  const std::string& header() const { return bytes_; }
  /// Header, four bytes of no extension, voxels.
  template <class T>
  std::string with(const std::vector<T>& voxels) const {
    return bytes_ + std::string(4, '\0') + raw(voxels);
  }
  template <class T>
  std::string raw(const std::vector<T>& voxels) const {
    std::string data(reinterpret_cast<const char*>(voxels.data()), voxels.size() * sizeof(T));
    if (big_)
      for (std::size_t at = 0; at < data.size(); at += sizeof(T))
        std::reverse(data.begin() + long(at), data.begin() + long(at + sizeof(T)));
    return data;
  }

 private:
  NiftiBuilder& real(std::size_t at_1, std::size_t at_2, double v) {
    return version_ == 1 ? put<float>(at_1, float(v)) : put<double>(at_2, v);
  }

  int version_;
  bool big_;
  std::string bytes_;
};

template <class T>
std::vector<T> ramp(std::size_t size) {
  std::vector<T> v(size);
  for (std::size_t i = 0; i < size; ++i) v[i] = T(i);
  return v;
}

}  // namespace spinloom::testing
