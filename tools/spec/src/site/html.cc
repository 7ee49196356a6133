#include "site/html.h"

#include <algorithm>
#include <cctype>

namespace qtx::spec {
namespace {

// The end of the quoted text that begins at `at`, on the same line.
std::size_t EndOfQuoted(std::string_view text, std::size_t at) {
  const std::size_t line = std::min(text.find('\n', at), text.size());
  const std::size_t end = text.find(text[at], at + 1);
  return end == std::string_view::npos || end >= line ? line : end + 1;
}

std::size_t EndOfScalar(std::string_view text, std::size_t at) {
  while (at < text.size() && (InWord(text[at]) || text[at] == '.')) ++at;
  return at;
}

// Whether the word that ends at `end` is a key.
bool IsKey(std::string_view text, std::size_t end) {
  return end < text.size() && text[end] == ':' &&
         (end + 1 == text.size() || text[end + 1] == ' ' || text[end + 1] == '\n');
}

std::string Span(const char* name, std::string_view text) {
  return std::string("<span class=\"") + name + "\">" + EscapeXml(text) + "</span>";
}

}  // namespace

bool InWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string Cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  return std::string(text.substr(0, limit)) + "...";
}

std::string Relative(std::string_view page, std::string_view target) {
  const std::size_t hash = target.find('#');
  if (hash != std::string_view::npos && target.substr(0, hash) == page) {
    return std::string(target.substr(hash));
  }
  // Folders that both lie in need not be left.
  std::size_t common = 0;
  for (std::size_t i = 0; i < std::min(page.size(), target.size()) && page[i] == target[i]; ++i) {
    if (page[i] == '/') common = i + 1;
  }
  std::string up;
  for (auto n = std::ranges::count(page.substr(common), '/'); n > 0; --n) up += "../";
  return up.append(target.substr(common));
}

std::string PreHtml(std::string_view html) {
  return "<pre class=\"block\" tabindex=\"0\">" + std::string(html) + "</pre>\n";
}

std::string HighlightYaml(std::string_view yaml) {
  std::string html;
  bool after_blank = true;  // a comment begins after a blank only
  for (std::size_t at = 0; at < yaml.size();) {
    const char c = yaml[at];
    std::size_t end = at + 1;
    const char* kind = nullptr;
    if (c == '#' && after_blank) {
      end = std::min(yaml.find('\n', at), yaml.size());
      kind = "comment";
    } else if ((c == '"' || c == '\'') && (at == 0 || !InWord(yaml[at - 1]))) {
      end = EndOfQuoted(yaml, at);
      kind = "quoted";
    } else if (InWord(c)) {
      end = EndOfScalar(yaml, at);
      if (IsKey(yaml, end)) kind = "key";
    }
    const std::string_view token = yaml.substr(at, end - at);
    html += kind == nullptr ? EscapeXml(token) : Span(kind, token);
    after_blank = token.back() == ' ' || token.back() == '\n';
    at = end;
  }
  return html;
}

}  // namespace qtx::spec
