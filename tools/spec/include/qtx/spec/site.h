// The specification as a static site. Beside every clause stand its cases, the code that implements
// it and the results of backends. The site works offline and has a search. Deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"
#include "qtx/site/folder.h"

namespace qtx::spec {

struct SiteInput {
  std::string spec;                         // folder of the spec
  std::string source;                       // root of the source tree; empty: no code references
  std::string suite;                        // folder of `cases`
  std::vector<conformance::Case> cases;     // of the suite
  std::vector<conformance::Case> examples;  // of the text
  const conformance::Report* results = nullptr;          // results of the suite; nullptr: none
  const conformance::Report* example_results = nullptr;  // results of the examples; nullptr: none
};

inline constexpr std::int64_t kMaxChapters = 10'000;
/// Size limit of one clause or section in the search index.
inline constexpr std::size_t kMaxFindableBytes = 8192;

/// Errors: those of ReadDocument; kInvalid if two chapters map to one page; kTooLarge.
Result<std::vector<site::File>> MakeSite(const SiteInput& input);

}  // namespace qtx::spec
