#include "spinloom/io/npy.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "io/named_pipe.hpp"
#include "io/streams.hpp"

namespace spinloom {
namespace {

using testing::Pipe;
using testing::refusal;
using testing::TemporaryFolder;

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (std::size_t i = 0; i < (version == 1 ? 2u : 4u); ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 255);
  return file + header + data;
}

std::string dict(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// The same with the bytes of each word of `word` bytes turned round: big-endian.
std::string turned(std::string data, std::size_t word) {
  for (std::size_t at = 0; at + word <= data.size(); at += word)
    std::reverse(data.begin() + long(at), data.begin() + long(at + word));
  return data;
}

Tensor read(const std::string& content) {
  const TemporaryFolder folder;
  return read_npy(folder.write("a.npy", content));
}

std::string refused(const std::string& content) {
  return refusal<FormatError>([&] { read(content); });
}

TEST(Npy, TurnsFortranOrderIntoCOrder) {
  // Sizes around the tile of the transposition, inner axes of one element, one to five axes.
  for (const Shape& shape : {Shape{7}, Shape{3, 5}, Shape{65, 130}, Shape{4, 1, 3}, Shape{5, 66, 67},
                             Shape{2, 3, 4, 5}, Shape{3, 2, 1, 4, 2}}) {
    const Index size = count(shape);
    std::vector<std::int32_t> data(static_cast<std::size_t>(size));
    // Element i in C order has its index written at its place in Fortran order.
    for (Index i = 0; i < size; ++i) {
      Index rest = i, place = 0;
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        Index stride = 1;
        for (std::size_t a = 0; a < axis; ++a) stride *= shape[a];
        place += rest % shape[axis] * stride;
        rest /= shape[axis];
      }
      data[std::size_t(place)] = std::int32_t(i);
    }
    std::string text = to_string(shape);
    text.front() = '(';
    text.back() = ',';
    const Tensor t = read(npy(dict("<i4", text + ")", "True"), bytes_of(data)));
    ASSERT_EQ(t.shape, shape);
    for (Index i = 0; i < size; ++i) ASSERT_EQ(t.as<std::int32_t>()[i], i) << text;
  }
}

TEST(Npy, TurnsEveryElementSizeOfFortranOrder) {
  for (const std::string type : {"|u1", "<u2", "<f4", "<c8", "<c16"}) {
    const std::size_t size = type == "<c16" ? 16 : std::size_t(type.back() - '0');
    std::string data;
    for (std::size_t i = 0; i < 6; ++i) data += std::string(size, char('a' + i));
    const Tensor t = read(npy(dict(type, "(2, 3)", "True"), data));
    const std::string got(reinterpret_cast<const char*>(t.bytes.data()), 6 * size);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(got[i * size], "acebdf"[i]) << type;
  }
}

TEST(Npy, ReadsLongHeadersOfVersionsOneToThree) {
  const auto padded = [](std::size_t length) {
    std::string header = dict("<f4", "(2,)");
    header.insert(header.size() - 1, length - header.size(), ' ');
    return header;
  };
  const std::string data = bytes_of<float>({1.5f, -2});
  for (const auto& [length, version] : {std::pair{400u, 1}, {70000u, 2}, {70000u, 3}}) {
    const Tensor t = read(npy(padded(length), data, version));
    ASSERT_EQ(t.shape, Shape{2});
    EXPECT_EQ(t.as<float>()[1], -2);
  }
}

TEST(Npy, ReadsHeadersWrittenInOtherStyles) {
  const std::string data = bytes_of<float>({1, 2, 3, 4, 5, 6});
  for (const std::string header :
       {"{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}",
        "{ 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , 'descr' : '=f4' , } \n\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L)}           "})
    EXPECT_EQ(read(npy(header, data)).shape, (Shape{2, 3})) << header;
}

TEST(Npy, ReadsBigEndianArraysLikeTheirTwins) {
  const std::string f = bytes_of<float>({1.25f, -3e7f}), c = bytes_of<cfloat>({{1, -2}, {3, 4}}),
                    i = bytes_of<std::int16_t>({-2, 258});
  EXPECT_EQ(read(npy(dict(">f4", "(2,)"), turned(f, 4))).as<float>()[1], -3e7f);
  EXPECT_EQ(read(npy(dict(">c8", "(2,)"), turned(c, 4))).as<cfloat>()[1], cfloat(3, 4));
  EXPECT_EQ(read(npy(dict(">i2", "(2,)"), turned(i, 2))).as<std::int16_t>()[0], -2);
  EXPECT_EQ(read(npy(dict(">c16", "()"), turned(bytes_of<cdouble>({{5, 6}}), 8))).as<cdouble>()[0],
            cdouble(5, 6));
  EXPECT_EQ(read(npy(dict("|u1", "(2,)"), "\x01\xff")).as<std::uint8_t>()[1], 255);
}

TEST(Npy, ReadsHalfPrecision) {
  const std::vector<std::uint16_t> bits{0x3c00, 0xc000, 0x0001};
  const auto values = read(npy(dict("<f2", "(3,)"), bytes_of(bits))).to<float>();
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], -2);
  EXPECT_EQ(values[2], 0x1p-24f);
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  EXPECT_EQ(read(npy(dict("<f8", "()"), bytes_of<double>({2.5}))).shape, Shape{});
  const Tensor empty = read(npy(dict("<f8", "(3, 0, 4)"), ""));
  EXPECT_EQ(empty.shape, (Shape{3, 0, 4}));
  EXPECT_EQ(empty.size(), 0);
  EXPECT_EQ(read(npy(dict("<f8", "(0, 4611686018427387904, 4)", "True"), "")).size(), 0);
}

TEST(Npy, RefusesWhatIsNoNumber) {
  EXPECT_SAYS(refused(npy(dict("|O", "(1,)"), "x")), "Python objects");
  EXPECT_SAYS(refused(npy(dict("<U3", "(1,)"), "x")), "text");
  EXPECT_SAYS(refused(npy(dict("<M8[ns]", "(1,)"), "x")), "dates");
  EXPECT_SAYS(refused(npy(dict("<f16", "(1,)"), "x")), "'<f16'");
  EXPECT_SAYS(refused(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", "abcd")),
              "structured");
}

TEST(Npy, RefusesASizeThatIsNotTheHeaders) {
  const std::string whole = npy(dict("<f8", "(4,)"), std::string(32, 'x'));
  EXPECT_SAYS(refused(whole.substr(0, whole.size() - 8)), "expected 32 bytes of float64 [4], found 24");
  EXPECT_SAYS(refused(whole + "12345678"), "expected 32 bytes of float64 [4], found 40");
  EXPECT_SAYS(refused(whole + whole), "several arrays");
  EXPECT_SAYS(refused(""), "no bytes at all");
  const TemporaryFolder folder;
  EXPECT_SAYS(refusal<FileError>([&] { read_npy(folder / "missing.npy"); }), "No such file");
  EXPECT_SAYS(refusal<FileError>([&] { read_npy(folder / ""); }), "is a folder");
}

TEST(Npy, RefusesEveryTruncationAndNeverCrashes) {
  const std::string whole = npy(dict("<f8", "(1, 2)"), std::string(16, 'x'));
  for (std::size_t length = 0; length < whole.size(); ++length) refused(whole.substr(0, length));
}

TEST(Npy, SurvivesEveryDamagedHeaderByte) {
  const TemporaryFolder folder;
  const std::string whole = npy(dict("<f8", "(1, 2)"), std::string(16, 'x'));
  for (std::size_t at = 0; at < whole.size() - 16; ++at)
    for (const char c : {'\0', '9', '(', ')', '\'', ',', '{', '}', '\xff', '>', 'L', '|'}) {
      std::string damaged = whole;
      damaged[at] = c;
      try {
        EXPECT_LE(read_npy(folder.write("a.npy", damaged)).bytes.size(), 16);
      } catch (const Error&) {
      }
    }
}

TEST(Npy, RefusesSizesThatOverflowWithoutAllocatingThem) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_SAYS(refused(npy(dict("<f8", "(4611686018427387904,)"), "")), "more than 2^64");
  EXPECT_SAYS(refused(npy(dict("<f8", "(4294967296, 4294967296)"), "")), "2^63");
  EXPECT_SAYS(refused(npy(dict("|u1", "(9223372036854775807,)"), "ab")), "found 2");
  EXPECT_SAYS(refused(npy(dict("<f8", "(99999999999999999999,)"), "")), "below 2^63");
  EXPECT_SAYS(refused(npy(dict("<f8", "(-1,)"), "")), "0 or more");
  EXPECT_SAYS(refused(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff{}", 14)),
              "header of 4294967295 bytes, found 2");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Npy, RefusesBrokenHeaders) {
  EXPECT_SAYS(refused(npy("{'descr': '<f4', 'shape': (1,)}", "abcd")), "lacks 'fortran_order'");
  EXPECT_SAYS(refused(npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "abcd")), "True or False");
  EXPECT_SAYS(refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "abcd")),
              "the key 'x'");
  EXPECT_SAYS(refused(npy("{'descr': '<f4', 'descr': '<f4'}", "abcd")), "twice");
  EXPECT_SAYS(refused(npy("{'descr': '<f4", "abcd")), "closing quote");
  EXPECT_SAYS(refused(npy(dict("<f4", "(1 2)"), "abcd")), "end of the shape");
  EXPECT_SAYS(refused(npy(dict("<f4", "(1,)") + "x", "abcd")), "nothing after");
  EXPECT_SAYS(refused(npy(dict("<f4", "(1,)"), "abcd", 4)), "version 4.0 is unknown");
}

TEST(Npy, ReadsAPipeInSmallPieces) {
  const TemporaryFolder folder;
  const Pipe pipe(folder, "pipe", npy(dict("<f4", "(2,)"), bytes_of<float>({3, 4})), 1);
  EXPECT_EQ(read_npy(pipe.path()).as<float>()[1], 4);
}

TEST(Npy, CountsTheBytesOfAShortPipe) {
  const TemporaryFolder folder;
  const Pipe pipe(folder, "pipe",
                  npy(dict("<f8", "(4611686018427387904,)", "True").replace(11, 3, "|u1"), "abc"), 5);
  EXPECT_SAYS(refusal<FormatError>([&] { read_npy(pipe.path()); }), "found 3");
}

TEST(Npy, ReadsBackEveryTypeThatItWrites) {
  const TemporaryFolder folder;
  for (int type = 0; type < static_cast<int>(DType::rgb24); ++type) {
    Tensor t(static_cast<DType>(type), {2, 1, 3});
    for (Index i = 0; i < t.bytes.size(); ++i) t.bytes[i] = std::byte(type == 0 ? i % 2 : 7 * i + 1);
    write_npy(folder / "t.npy", t, OutputFile::Existing::replace);
    const Tensor back = read_npy(folder / "t.npy");
    EXPECT_EQ(back.dtype, t.dtype);
    EXPECT_EQ(back.shape, t.shape);
    EXPECT_TRUE(std::equal(back.bytes.begin(), back.bytes.end(), t.bytes.begin()));
  }
}

TEST(Npy, WritesTheHeaderThatNumpyReads) {
  const TemporaryFolder folder;
  write_npy(folder / "t.npy", Tensor(DType::c64, {5}), OutputFile::Existing::refuse);
  const std::string file = testing::read_bytes(folder / "t.npy");
  EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\0", 8));
  EXPECT_EQ(file.substr(10, 60), "{'descr': '<c8', 'fortran_order': False, 'shape': (5,), }   ");
  EXPECT_EQ(file.size() % 64, 40u);  // the data, 40 bytes, start at a multiple of 64
}

TEST(Npy, RefusesColourAndFilesThatExist) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_npy(folder / "c.npy", Tensor(DType::rgb24, {1}), OutputFile::Existing::refuse),
               ArgumentError);
  folder.write("there.npy", "precious");
  EXPECT_THROW(write_npy(folder / "there.npy", Tensor(DType::u8, {1}), OutputFile::Existing::refuse),
               FileError);
  EXPECT_EQ(testing::read_bytes(folder / "there.npy"), "precious");
  EXPECT_EQ(folder.count(), 1u);
}

}  // namespace
}  // namespace spinloom
