// The page: the text as HTML, everything else as data that its script reads.
#include <algorithm>

#include "markdown_html.h"
#include "qtx/spec/review.h"
#include "review_page.h"

namespace qtx::spec {
namespace {

std::string Escaped(std::string_view text, std::string_view less) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += less;
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string ToHtml(const Review& review) {
  const std::pair<std::string_view, std::string> parts[] = {
      {"@title@", Escaped(review.proposal.text.sections.front().title, "&lt;")},
      {"@text@", MarkdownToHtml(review.proposal.text.markdown)},
      {"@data@", Escaped(ToJson(review), "\\u003c")}};
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
