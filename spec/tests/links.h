// What the text of the specification states, and who cites it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace qtx::spec {

/// "conv.S2" -> the places that state it ("ops/conv.md:12"); exactly one when all is well.
using Clauses = std::map<std::string, std::vector<std::string>>;
Clauses StatedClauses();

/// "reference/src/ops/conv.cc:7" -> the ids that line cites, for all C++ files of the modules but
/// their tests; or for the tests alone, whose cases cite clauses that there are not, too.
using PlacesCiting = std::map<std::string, std::set<std::string>>;
PlacesCiting Citations();
PlacesCiting TestCitations();

/// MatMul -> mat_mul.
std::string SnakeCase(const std::string& op_type);

/// Names without extension of the files with `extension` in `folder`, which is relative to the
/// source tree.
std::set<std::string> Stems(const std::string& folder, const std::string& extension);

}  // namespace qtx::spec
