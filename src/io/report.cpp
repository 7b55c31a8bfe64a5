#include "spinloom/io/report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "io/report_curve.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom {
namespace {

constexpr const char* style = R"(
:root { color-scheme: light dark; --ink: #1d2125; --soft: #5d6670; --line: #d9dee3; --page: #fdfdfc; --card: #ffffff;
  --accent: #1f6f8b; --warn: #8a5a00; --warn-page: #fff6e0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --soft: #9aa4ae; --line: #353c43; --page: #15181b;
  --card: #1c2024; --accent: #6cc3e0; --warn: #f0c674; --warn-page: #2b2415; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 62rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; }
h1 { margin: 0; font-size: 1.7rem; font-weight: 650; letter-spacing: -0.01em; }
h2 { margin: 2.4rem 0 0.7rem; font-size: 1.08rem; font-weight: 650; }
.summary { margin: 0.3rem 0 0; color: var(--soft); }
.warnings { margin: 1.6rem 0 0; padding: 0.7rem 1rem 0.7rem 2rem; border-left: 3px solid var(--warn);
  background: var(--warn-page); color: var(--warn); border-radius: 0 6px 6px 0; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: 1.2rem; }
figure { margin: 0; padding: 0.8rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
figure img { display: block; width: 100%; height: auto; background: #000; border-radius: 4px; }
figcaption { margin-top: 0.55rem; color: var(--soft); font-size: 0.88rem; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); }
svg .curve { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; } svg circle { fill: var(--accent); }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.93rem; }
th, td { padding: 0.32rem 0.6rem 0.32rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { width: 34%; color: var(--soft); font-weight: 500; }
)";

/// Length of the well-formed UTF-8 character at the start of `rest`; 0 when there is none.
std::size_t character_length(std::string_view rest) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || rest.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return length;
}

std::string base64(const std::string& bytes) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) : 0u;
    };
    const unsigned group = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += letters[group >> 18];
    text += letters[group >> 12 & 63];
    text += i + 1 < bytes.size() ? letters[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? letters[group & 63] : '=';
  }
  return text;
}

std::string table_html(const Report::Table& table) {
  std::string html = fmt::format("<h2>{}</h2>\n<table>\n", escaped(table.title));
  for (const auto& [name, value] : table.rows)
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value));
  return html + "</table>\n";
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(std::string_view(text).substr(i));
    const char c = text[i];
    if (length == 0 || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t'))
      result += "\xEF\xBF\xBD";  // U+FFFD, the replacement character
    else if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\'')
      result += "&#39;";
    else
      result.append(text, i, length);
    i += length == 0 ? 1 : length;
  }
  return result;
}

std::string to_html(const Report& report) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{0}</title>\n<style>{1}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n",
      escaped(report.title), style);
  if (!report.summary.empty()) html += fmt::format("<p class=\"summary\">{}</p>\n", escaped(report.summary));
  if (!report.warnings.empty()) {
    html += "<ul class=\"warnings\">\n";
    for (const std::string& warning : report.warnings) html += fmt::format("<li>{}</li>\n", escaped(warning));
    html += "</ul>\n";
  }
  if (!report.pictures.empty()) {
    html += "<h2>Images</h2>\n<div class=\"pictures\">\n";
    for (const Report::Picture& picture : report.pictures)
      html += fmt::format(
          "<figure><img alt=\"{0}\" "
          "src=\"data:image/png;base64,{1}\"><figcaption>{0}</figcaption></figure>\n",
          escaped(picture.caption), base64(picture.png));
    html += "</div>\n";
  }
  for (const Report::Curve& curve : report.curves)
    html += fmt::format("<h2>{}</h2>\n<figure>\n{}</figure>\n", escaped(curve.title), to_svg(curve));
  for (const Report::Table& table : report.tables) html += table_html(table);
  return html + "</body>\n</html>\n";
}

std::string write_report(const std::string& folder, const Report& report, OutputFile::Existing existing) {
  std::error_code error;
  std::filesystem::create_directories(to_path(folder), error);
  std::error_code ignored;
  if (!std::filesystem::is_directory(to_path(folder), ignored))
    throw FileError(fmt::format("{}: cannot be made as a folder for the report: {}", folder,
                                error ? error.message() : std::string("a file of that name is in the way")));
  OutputFile output(to_name(to_path(folder) / "index.html"), existing);
  output.write(to_html(report));
  output.commit();
  return output.path();
}

}  // namespace spinloom
