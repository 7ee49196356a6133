// A parsed Markdown file of the specification: sections, clauses, fenced blocks and links, each
// with its line. The parser is cmark-gfm; only document.cc includes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::spec {

inline constexpr std::int64_t kMaxDocumentBytes = std::int64_t{4} << 20;

/// A heading and its section, which ends at the next heading of the same or a higher level.
struct Section {
  std::string title;  // plain text
  int level = 1;      // number of `#`
  int line = 0;       // of the heading, from 1
  int end = 0;        // the line after the section's last
};

/// A fenced block: its info string ("yaml") and text.
struct Fence {
  std::string info;
  std::string text;
  int line = 0;  // of the opening fence
};

struct Link {
  std::string target;  // as written: "format/", "../glossary.md#scale", "https://..."
  int line = 0;
};

/// A clause: a paragraph, list item or table row that begins with its id in bold.
struct StatedClause {
  std::string id;  // "conv.S2"
  int line = 0;
  bool held_by_test = false;  // marked "(tests)"
};

struct Document {
  std::string where;  // the path, for errors
  std::string markdown;
  std::vector<Section> sections;
  std::vector<Fence> fences;
  std::vector<Link> links;
  std::vector<StatedClause> clauses;

  /// The section with this title, of any level; nullptr when there is none.
  const Section* Find(std::string_view title) const;
  /// The id of the last clause stated above a line; "" for none.
  std::string ClauseAbove(int line) const;
  /// The text of a section without its heading.
  std::string_view Text(const Section& section) const;
};

/// Errors: kTooLarge past kMaxDocumentBytes; kInvalid for an unclosed fence.
Result<Document> ParseDocument(std::string markdown, const std::string& where);
/// Errors: as ParseDocument, kUnreadable.
Result<Document> ReadDocument(const std::string& path);

}  // namespace qtx::spec
