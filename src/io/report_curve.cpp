#include "io/report_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace spinloom {
namespace {

constexpr double width = 720, height = 320, left = 78, right = 16, top = 16, bottom = 46;
constexpr std::size_t most_dots = 80;

bool is_drawable(double value) { return std::isfinite(value) && value > 0; }

/// The plot's decades and iterations, and where they fall on the page.
struct Axes {
  int low = 0, high = 1;       ///< powers of ten
  double first = 0, last = 1;  ///< iterations

  double x(double iteration) const {
    return left + (width - left - right) * (iteration - first) / (last - first);
  }
  double y(double value) const {
    return top + (height - top - bottom) * (high - std::log10(value)) / double(high - low);
  }
};

Axes axes_for(const Report::Curve& curve) {
  Axes axes;
  double least = HUGE_VAL, most = 0;
  for (const double value : curve.values)
    if (is_drawable(value)) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
  if (most > 0) {
    axes.low = static_cast<int>(std::floor(std::log10(least)));
    axes.high = static_cast<int>(std::ceil(std::log10(most)));
    if (axes.high == axes.low) ++axes.high;
  }
  axes.first = curve.first;
  axes.last = curve.first + std::max(1.0, double(curve.values.size()) - 1);
  return axes;
}

/// 1, 2 or 5 times a power of ten, so that at most about ten steps fill `span`.
double nice_step(double span) {
  const double rough = std::max(1.0, span / 10);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

std::string grid(const Axes& axes, const std::string& quantity) {
  std::string svg;
  const int every = std::max(1, (axes.high - axes.low + 7) / 8);
  for (int power = axes.low; power <= axes.high; power += every) {
    const double y = axes.y(std::pow(10.0, power));
    svg += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", left,
                       y, width - right, y);
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">10<tspan dy=\"-5\" "
        "font-size=\"9\">{}</tspan></text>\n",
        left - 8, y + 4, power);
  }
  const double step = nice_step(axes.last - axes.first);
  for (double i = std::ceil(axes.first / step) * step; i <= axes.last; i += step)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}</text>\n", axes.x(i),
                       height - bottom + 18, i);
  svg += fmt::format("<line class=\"axis\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\"/>\n",
                     left, height - bottom, width - right);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">iteration</text>\n",
                     (left + width - right) / 2, height - 8);
  svg +=
      fmt::format("<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                  (top + height - bottom) / 2, escaped(quantity));
  return svg;
}

}  // namespace

std::string to_svg(const Report::Curve& curve) {
  const Axes axes = axes_for(curve);
  std::string path, dots;
  bool is_down = false;
  for (std::size_t i = 0; i < curve.values.size(); ++i) {
    if (!is_drawable(curve.values[i])) {
      is_down = false;
      continue;
    }
    const double x = axes.x(curve.first + double(i)), y = axes.y(curve.values[i]);
    path += fmt::format("{}{:.1f} {:.1f}", is_down ? " L" : " M", x, y);
    is_down = true;
    if (curve.values.size() <= most_dots)
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\"><title>iteration {}: {:.4g}</title></circle>\n", x,
          y, curve.first + static_cast<int>(i), curve.values[i]);
  }
  std::string svg = fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">\n", width,
                                height, escaped(curve.title));
  svg += grid(axes, curve.quantity);
  if (path.empty())
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">no values</text>\n", width / 2,
                       height / 2);
  else
    svg += fmt::format("<path class=\"curve\" d=\"{}\"/>\n", path.substr(1));
  return svg + dots + "</svg>\n";
}

}  // namespace spinloom
