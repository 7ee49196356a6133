// The pages of the scoreboard, as HTML.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "systems.h"

namespace qtx::scoreboard {

extern const std::string_view kPage;   // page.html
extern const std::string_view kStyle;  // base.css, page.css

std::string IndexHtml(std::span<const System> systems, std::span<const Deviation> deviations);
/// `systems`: all, those of the same name among them.
std::string SystemHtml(const System& system, std::span<const System> systems);
/// The deviations, or with `latitude` what is left open.
std::string DeviationsHtml(std::span<const System> systems, std::span<const Deviation> deviations,
                           bool latitude);

}  // namespace qtx::scoreboard
