// The code map: functions and tests that cite each clause.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::spec {

/// A piece of C++ that cites a clause, in a comment before or within it, or in its own text.
struct CodePlace {
  std::string name;  // "Conv", "Output::Make", "Clip.RefusesNan"; empty: the file as a whole
  std::string file;  // below the source tree
  int line = 0;      // of the citation
  bool is_test = false;
};

/// Clause -> places that cite it, each name once per file, ordered by file and line.
using CodeMap = std::map<std::string, std::vector<CodePlace>, std::less<>>;

/// "conv.S1 to conv.S3", "conv.S1 to .S3", "conv.S1 and conv.C2" -> the ids, in this order.
std::vector<std::string> CitedClauses(std::string_view text);

/// Adds the citations of one file.
void ReadCode(std::string_view code, const std::string& file, CodeMap& map);

/// The C++ files of the modules below `source`.  Errors: kUnreadable, kTooLarge.
Result<CodeMap> ReadSourceTree(const std::string& source);

}  // namespace qtx::spec
