// The page: the text as HTML, everything else as data that its script reads.
#include <algorithm>

#include "qtx/format/text.h"
#include "qtx/site/markdown.h"
#include "qtx/spec/review.h"
#include "review_page.h"

namespace qtx::spec {

std::string ToHtml(const Review& review) {
  const std::pair<std::string_view, std::string> parts[] = {
      {"@title@", format::EscapeXml(review.proposal.text.sections.front().title)},
      {"@text@", site::ToHtml(format::PrintableLines(review.proposal.text.markdown))},
      {"@data@", ToJson(review)}};
  // In one pass from the left, in the order of the page, so that no part is looked for in another.
  std::string html;
  std::string_view rest = kReviewPage;
  for (const auto& [name, part] : parts) {
    const std::size_t at = rest.find(name);
    html += rest.substr(0, at);
    html += part;
    rest.remove_prefix(std::min(at + name.size(), rest.size()));
  }
  return html.append(rest);
}

}  // namespace qtx::spec
