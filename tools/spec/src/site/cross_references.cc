#include "site/cross_references.h"

#include <algorithm>
#include <cctype>

#include "site/html.h"

namespace qtx::spec {
namespace {

// The end of the word at `at`; a dot within it belongs to it: "conv.S2", and not the one of
// "See S2."
std::size_t EndOfWord(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() &&
         (InWord(text[end]) || (text[end] == '.' && end > at && end + 1 < text.size() &&
                                (text[end + 1] == 'C' || text[end + 1] == 'S')))) {
    ++end;
  }
  return end;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool LooksLikeShortClause(std::string_view word) {
  return word.size() >= 2 && (word[0] == 'C' || word[0] == 'S') &&
         std::ranges::all_of(word.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string CrossReferences::Clause(std::string_view word) const {
  auto found = clauses_.find(word);
  if (found == clauses_.end() && LooksLikeShortClause(word)) {
    found = clauses_.find(stem_ + "." + std::string(word));
  }
  return found == clauses_.end() ? "" : found->second;
}

std::string CrossReferences::Term(std::string_view word) {
  const std::string lower = Lower(word);
  auto found = terms_.find(lower);
  if (found == terms_.end() && lower.ends_with('s')) {
    found = terms_.find(lower.substr(0, lower.size() - 1));
  }
  if (found == terms_.end() || !met_.insert(found->second).second) return "";
  return found->second;
}

std::vector<Piece> CrossReferences::Find(std::string_view text) {
  std::vector<Piece> pieces;
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    if (!InWord(text[at])) {
      plain += text[at++];
      continue;
    }
    std::size_t end = EndOfWord(text, at);
    std::string target = Clause(text.substr(at, end - at));
    if (target.empty() && end + 1 < text.size() && text[end] == ' ') {  // "real operand"
      const std::size_t second = EndOfWord(text, end + 1);
      target = second == end + 1 ? "" : Term(text.substr(at, second - at));
      if (!target.empty()) end = second;
    }
    if (target.empty()) target = Term(text.substr(at, end - at));
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (target.empty()) {
      plain += word;
      continue;
    }
    if (!plain.empty()) pieces.push_back({std::exchange(plain, {}), ""});
    pieces.push_back({std::string(word), std::move(target)});
  }
  if (!plain.empty()) pieces.push_back({std::move(plain), ""});
  return pieces;
}

std::string CrossReferences::Whole(const std::string& text) {
  const std::string clause = Clause(text);
  return clause.empty() ? Term(text) : clause;
}

}  // namespace qtx::spec
