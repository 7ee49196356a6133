// Makes the files of the site.
#include "qtx/scoreboard/scoreboard.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "pages.h"
#include "qtx/format/text.h"
#include "systems.h"

namespace qtx::scoreboard {
namespace {

struct Page {
  std::string_view path, title;
};
constexpr std::array<Page, 3> kPages = {{{"index.html", "Systems"},
                                         {"differs.html", "What differs"},
                                         {"latitude.html", "What is left open"}}};

// page.html with its parts, in one pass from the left, so that no part is looked for in another.
std::string Frame(const std::string& path, const std::string& title, const std::string& text) {
  const std::string root = path.find('/') == std::string::npos ? "" : "../";
  std::string pages;
  for (const Page& page : kPages) {
    pages += "    <a href=\"" + root + std::string(page.path) + "\"" +
             (page.path == path ? " aria-current=\"page\"" : "") + ">" + std::string(page.title) +
             "</a>\n";
  }
  const std::array<std::pair<std::string_view, std::string>, 4> parts = {
      {{"@title@", format::EscapeXml(title)},
       {"@root@", root},
       {"@pages@", pages},
       {"@text@", text}}};
  std::string html;
  std::string_view rest = kPage;
  for (std::size_t at = rest.find('@'); at != rest.npos; at = rest.find('@')) {
    html += rest.substr(0, at);
    rest.remove_prefix(at);
    const auto part = std::ranges::find_if(
        parts, [&](const auto& candidate) { return rest.starts_with(candidate.first); });
    html += part == parts.end() ? "@" : part->second;
    rest.remove_prefix(part == parts.end() ? 1 : part->first.size());
  }
  html += rest;
  return html;
}

}  // namespace

Result<std::vector<site::File>> MakeScoreboard(std::span<const conformance::Report> reports,
                                               std::span<const Deviation> deviations) {
  QTX_ASSIGN_OR_RETURN(const std::vector<System> systems, FindSystems(reports, deviations));
  std::vector<site::File> files = {{"site.css", std::string(kStyle)}};
  const auto add = [&](const std::string& path, const std::string& title, const std::string& text) {
    files.push_back({path, Frame(path, title, text)});
  };
  add("index.html", "Systems", IndexHtml(systems, deviations));
  add("differs.html", "What differs", DeviationsHtml(systems, deviations, false));
  add("latitude.html", "What is left open", DeviationsHtml(systems, deviations, true));
  for (const System& system : systems) {
    add(system.page, system.description.name + " " + system.description.version,
        SystemHtml(system, systems));
  }
  return files;
}

}  // namespace qtx::scoreboard
