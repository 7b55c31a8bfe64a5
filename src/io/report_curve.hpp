#pragma once
#include <string>

#include "spinloom/io/report.hpp"

namespace spinloom {

/// `text` made safe between HTML tags and inside quoted attributes.
std::string escaped(const std::string& text);

/// The curve as an inline SVG picture, coloured by the page's style sheet.
std::string to_svg(const Report::Curve& curve);

}  // namespace spinloom
