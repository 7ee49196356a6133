// Who refers to what: links between Markdown files, and the clauses that code and tests cite.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::spec {

/// A reference to something that there is not.
struct Dangling {
  std::string place;   // "ops/conv.md:12"
  std::string target;  // as written
};

/// Relative links of the Markdown files of `folder`, and of the README.md files below its parent
/// where `with_readmes`, whose file or #heading is not there. Templates, which have places to fill
/// in, are left out.  Errors: as FindFiles and ReadDocument.
Result<std::vector<Dangling>> DanglingLinks(const std::string& folder, bool with_readmes);

/// The anchor that GitHub gives a heading: lower case, blanks as -, other punctuation gone.
std::string AnchorOf(std::string_view title);

/// "reference/src/ops/conv.cc:7" -> the ids that line cites, for all C++ files of the modules below
/// `root` but their tests; or for the tests alone, whose cases cite clauses that there are not,
/// too.
using PlacesCiting = std::map<std::string, std::set<std::string>>;
PlacesCiting Citations(const std::string& root);
PlacesCiting TestCitations(const std::string& root);

/// MatMul -> mat_mul.
std::string SnakeCase(std::string_view op_type);

/// Names without extension of the files with `extension` in `folder`.
std::set<std::string> Stems(const std::string& folder, const std::string& extension);

}  // namespace qtx::spec
