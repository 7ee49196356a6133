// References: links between Markdown files, and clauses cited by code and tests.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::spec {

/// A reference whose target does not exist.
struct Dangling {
  std::string place;   // "ops/conv.md:12"
  std::string target;  // as written
};

/// Relative links in the Markdown files of `folder` whose file or #heading does not exist;
/// `with_readmes` includes the README.md files below its parent. Skips templates, which have places
/// to fill in.  Errors: as FindFiles and ReadDocument.
Result<std::vector<Dangling>> DanglingLinks(const std::string& folder, bool with_readmes);

/// The anchor that GitHub gives a heading: lower case, blanks become -, other punctuation is
/// removed.
std::string AnchorOf(std::string_view title);

/// "reference/src/ops/conv.cc:7" -> the ids cited on that line, for the C++ files of all modules
/// below `root`, without tests or for tests only. Tests may also cite clauses that do not exist.
using PlacesCiting = std::map<std::string, std::set<std::string>>;
PlacesCiting Citations(const std::string& root);
PlacesCiting TestCitations(const std::string& root);

/// MatMul -> mat_mul.
std::string SnakeCase(std::string_view op_type);

/// Names without extension of the files with `extension` in `folder`.
std::set<std::string> Stems(const std::string& folder, const std::string& extension);

}  // namespace qtx::spec
