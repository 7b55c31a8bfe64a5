#include "spinloom/io/report.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/report_curve.hpp"
#include "spinloom/core/error.hpp"
#include "temporary_folder.hpp"

namespace spinloom {
namespace {

using namespace testing;
constexpr auto refuse = OutputFile::Existing::refuse;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Report, EscapesEveryText) {
  Report report;
  const std::string nasty = "<script>\"a\" & 'b'";
  report.title = report.summary = nasty;
  report.warnings = {nasty};
  report.pictures = {{nasty, "png"}};
  report.curves = {{nasty, nasty, {1, 0.1}}};
  report.tables = {{nasty, {{nasty, nasty}}}};
  const std::string html = to_html(report);
  EXPECT_FALSE(contains(html, "<script>"));
  EXPECT_TRUE(contains(html, "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;"));
}

TEST(Report, KeepsUtf8AndReplacesOtherBytes) {
  EXPECT_EQ(escaped("\xCE\xBB = 0.1"), "\xCE\xBB = 0.1");
  EXPECT_EQ(escaped("a\xFFz\x01"), "a\xEF\xBF\xBDz\xEF\xBF\xBD");
  EXPECT_EQ(escaped("cut\xE2\x82"), "cut\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Report, EmbedsPicturesAsBase64) {
  for (const auto& [bytes, text] : {std::pair<std::string, std::string>{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob\xFF\xFE", "Zm9vYv/+"}}) {
    Report report;
    report.pictures = {{"slice", bytes}};
    EXPECT_TRUE(contains(to_html(report), "data:image/png;base64," + text + "\""));
  }
}

TEST(Report, NeedsNothingFromOutside) {
  Report report;
  report.curves = {{"Convergence", "residual", {1, 0.5, 0.01}}};
  report.pictures = {{"slice", "png"}};
  const std::string html = to_html(report);
  for (const char* link : {"http:", "https:", "//cdn", "<link", "<script", "@import", "url("})
    EXPECT_FALSE(contains(html, link)) << link;
}

std::size_t dots_of(const std::string& svg) {
  std::size_t dots = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1))
    ++dots;
  return dots;
}

TEST(Report, DrawsADotPerDrawableValueAndAGapForOthers) {
  const std::string svg = to_svg({"Convergence", "residual", {1, 0.1, 0, NAN, INFINITY, -1, 0.01, 0.001}});
  EXPECT_EQ(dots_of(svg), 4u);
  const std::size_t path = svg.find(" d=\"");
  ASSERT_NE(path, std::string::npos);
  const std::string d = svg.substr(path + 4, svg.find('"', path + 4) - path - 4);
  EXPECT_EQ(std::count(d.begin(), d.end(), 'M'), 2);
  EXPECT_FALSE(contains(svg, "nan"));
  EXPECT_FALSE(contains(svg, "inf"));
}

TEST(Report, DrawsCurvesOfNoneOneAndEqualValues) {
  EXPECT_TRUE(contains(to_svg({"", "", {}}), "no values"));
  EXPECT_EQ(dots_of(to_svg({"", "", {0.5}})), 1u);
  const std::string flat = to_svg({"", "", {1e-300, 1e-300, 1e-300}});
  EXPECT_EQ(dots_of(flat), 3u);
  EXPECT_FALSE(contains(flat, "nan"));
  EXPECT_EQ(dots_of(to_svg({"", "", std::vector<double>(5000, 0.1)})), 0u);  // too many: the line alone
}

TEST(Report, IsWrittenIntoANewFolder) {
  const TemporaryFolder folder;
  Report report;
  report.title = "A scan";
  const std::string path = write_report((folder / "a/b"), report, refuse);
  EXPECT_EQ(read_bytes(path), to_html(report));
  EXPECT_THROW(write_report((folder / "a/b"), report, refuse), FileError);
  EXPECT_NO_THROW(write_report((folder / "a/b"), report, OutputFile::Existing::replace));
}

TEST(Report, RefusesAFolderThatIsAFile) {
  const TemporaryFolder folder;
  write_bytes((folder / "a"), "x");
  EXPECT_THROW(write_report((folder / "a"), Report(), refuse), FileError);
  EXPECT_THROW(write_report((folder / "a/b"), Report(), refuse), FileError);
}

}  // namespace
}  // namespace spinloom
