#include <gtest/gtest.h>

#include <random>

#include "example_scan.hpp"
#include "io/mrd/header.hpp"
#include "spinloom/core/error.hpp"
#include "temporary_folder.hpp"

namespace spinloom {
namespace {

using namespace testing;

struct Parsed {
  RawScan scan;
  std::string warnings, notes;
};

Parsed parse(const std::string& xml) {
  Parsed parsed;
  mrd::parse_header(xml, parsed.scan, [&](Severity severity, const std::string& text) {
    (severity == Severity::warning ? parsed.warnings : parsed.notes) += text + "\n";
  });
  return parsed;
}

std::string box(const std::string& name, const std::string& x, const std::string& y, const std::string& z,
                const std::string& fov = "220") {
  return "<" + name + "><matrixSize><x>" + x + "</x><y>" + y + "</y><z>" + z +
         "</z></matrixSize><fieldOfView_mm><x>" + fov + "</x><y>" + fov + "</y><z>5</z></fieldOfView_mm></" +
         name + ">";
}

std::string header(const std::string& encoding, const std::string& rest = "") {
  return "<ismrmrdHeader>" + rest + "<encoding>" + encoding + "</encoding></ismrmrdHeader>";
}

TEST(MrdHeader, SurvivesItsOwnRoundTrip) {
  RawScan scan;
  scan.encodings = {example_encoding(33, "goldenangle"), example_encoding(7, "epi")};
  scan.encodings[0].encoded.matrix = {5, 31, 64};
  scan.encodings[0].step_1 = {2, 30, 15, true};
  scan.encodings[0].step_2 = {0, 4, 2, true};
  scan.relative_noise_bandwidth = 0.79;
  scan.larmor_frequency_hz = 123200000;
  scan.echo_times_ms = {2.5, 7.5};
  scan.measurement_id = "me & <you>";
  scan.dependencies = {{"Noise", "41"}};
  const Parsed parsed = parse(mrd::make_header(scan));
  EXPECT_EQ(parsed.warnings, "");
  ASSERT_EQ(parsed.scan.encodings.size(), 2u);
  EXPECT_EQ(parsed.scan.encodings[0].encoded.matrix, (Shape{5, 31, 64}));
  EXPECT_EQ(parsed.scan.encodings[0].encoded.fov_mm, scan.encodings[0].encoded.fov_mm);
  EXPECT_EQ(parsed.scan.encodings[0].trajectory, "goldenangle");
  EXPECT_EQ(parsed.scan.encodings[0].step_1.center, 15);
  EXPECT_EQ(parsed.scan.encodings[0].step_1.minimum, 2);
  EXPECT_EQ(parsed.scan.encodings[0].step_2.maximum, 4);
  EXPECT_FALSE(parsed.scan.encodings[1].step_1.is_known);
  EXPECT_EQ(parsed.scan.encodings[1].trajectory, "epi");
  EXPECT_EQ(parsed.scan.relative_noise_bandwidth, 0.79);
  EXPECT_EQ(parsed.scan.larmor_frequency_hz, 123200000);
  EXPECT_EQ(parsed.scan.echo_times_ms, scan.echo_times_ms);
  EXPECT_EQ(parsed.scan.measurement_id, "me & <you>");
  ASSERT_EQ(parsed.scan.dependencies.size(), 1u);
  EXPECT_EQ(parsed.scan.dependencies[0].measurement_id, "41");
}

TEST(MrdHeader, TakesAnUnknownTrajectoryAsOtherWithAWarning) {
  const Parsed parsed = parse(
      header(box("encodedSpace", "8", "8", "1") + "<foo><bar/></foo><trajectory>propellor</trajectory>"));
  EXPECT_EQ(parsed.scan.encodings[0].trajectory, "other");
  EXPECT_NE(parsed.warnings.find("propellor"), std::string::npos);
}

TEST(MrdHeader, ReadsCapitalsPrefixesAndAByteOrderMark) {
  const Parsed parsed = parse(
      "\xEF\xBB\xBF<m:ismrmrdHeader "
      "xmlns:m=\"http://www.ismrm.org/ISMRMRD\"><m:encoding><m:encodedSpace><m:matrixSize>"
      "<m:x> 12 "
      "</m:x><m:y>+13</m:y><m:z>1</m:z></m:matrixSize></m:encodedSpace><m:trajectory>Cartesian</m:trajectory>"
      "</m:encoding></m:ismrmrdHeader>");
  EXPECT_EQ(parsed.scan.encodings[0].encoded.matrix, (Shape{1, 13, 12}));
  EXPECT_EQ(parsed.scan.encodings[0].trajectory, "cartesian");
}

TEST(MrdHeader, RoundsAMatrixSizeWithAWarning) {
  const Parsed parsed = parse(header(box("encodedSpace", "448", "240", "35.9996")));
  EXPECT_EQ(parsed.scan.encodings[0].encoded.matrix, (Shape{36, 240, 448}));
  EXPECT_NE(parsed.warnings.find("35.9996; taken as 36"), std::string::npos);
}

TEST(MrdHeader, TakesTheEncodedSpaceForAMissingReconSpace) {
  const Parsed parsed = parse(header(box("encodedSpace", "8", "9", "1")));
  EXPECT_EQ(parsed.scan.encodings[0].recon.matrix, (Shape{1, 9, 8}));
  EXPECT_NE(parsed.notes.find("reconSpace"), std::string::npos);
}

TEST(MrdHeader, WarnsOfAFieldOfViewThatIsMissingOrInMetres) {
  EXPECT_NE(parse(header(box("encodedSpace", "8", "8", "1", "0"))).warnings.find("1 mm"), std::string::npos);
  const Parsed metres = parse(header(box("encodedSpace", "8", "8", "1", "0.2323")));
  EXPECT_NE(metres.warnings.find("looks like metres"), std::string::npos);
  EXPECT_EQ(metres.scan.encodings[0].encoded.fov_mm[2], 0.2323);
  EXPECT_EQ(
      parse(header(box("encodedSpace", "8", "8", "1", "220") + "<trajectory>epi</trajectory>")).warnings, "");
}

TEST(MrdHeader, IgnoresEmptyElements) {
  const Parsed parsed = parse(
      header(box("encodedSpace", "8", "8", "1") + "<echoTrainLength/><encodingLimits>"
                                                  "<kspace_encoding_step_1/></encodingLimits><trajectory/>",
             "<userParameters><userParameters><userParameterDouble><name>a</name>"
             "</userParameterDouble></userParameters></userParameters><experimentalConditions>"
             "<H1resonanceFrequency_Hz></H1resonanceFrequency_Hz></experimentalConditions>"));
  EXPECT_FALSE(parsed.scan.encodings[0].step_1.is_known);
  EXPECT_EQ(parsed.scan.larmor_frequency_hz, 0);
}

TEST(MrdHeader, SaysThatAMatrixIsMissing) {
  EXPECT_TRUE(parse(header(box("encodedSpace", "8", "8", ""))).scan.encodings[0].encoded.has_matrix);
  EXPECT_FALSE(parse(header(box("encodedSpace", "", "8", "1"))).scan.encodings[0].encoded.has_matrix);
  EXPECT_FALSE(parse(header(box("encodedSpace", "8", "0", "1"))).scan.encodings[0].encoded.has_matrix);
}

TEST(MrdHeader, NamesWhatIsWrongWithAMatrix) {
  EXPECT_NE(message_of([] {
              parse(header(box("encodedSpace", "eight", "8", "1")));
            }).find("matrix size x is 'eight'"),
            std::string::npos);
  EXPECT_THROW(parse(header(box("encodedSpace", "8", "-8", "1"))), FormatError);
  EXPECT_THROW(parse(header(box("encodedSpace", "8", "1e30", "1"))), FormatError);
  EXPECT_THROW(parse(header(box("encodedSpace", "nan", "8", "1"))), FormatError);
  EXPECT_THROW(parse(header("<trajectory>radial</trajectory>")), FormatError);
  EXPECT_THROW(parse("<ismrmrdHeader/>"), FormatError);
  EXPECT_THROW(parse("<html><body/></html>"), FormatError);
  EXPECT_THROW(parse("<ismrmrdHeader><encoding>"), FormatError);
  EXPECT_THROW(parse(""), FormatError);
}

TEST(MrdHeader, SurvivesDamage) {
  RawScan scan;
  scan.encodings = {example_encoding(33, "radial")};
  const std::string whole = mrd::make_header(scan);
  std::mt19937 bits(3);
  int survived = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string copy = whole.substr(0, round % 2 ? whole.size() : bits() % whole.size());
    if (!copy.empty()) copy[bits() % copy.size()] = static_cast<char>(bits());
    try {
      parse(copy);
      ++survived;
    } catch (const FormatError&) {
    }
  }
  EXPECT_GT(survived, 100);
  EXPECT_LT(survived, 2000);
}

}  // namespace
}  // namespace spinloom
