// The text of the specification as a site of static pages: every clause with its cases, the code
// that implements it and what the backends make of it beside it. The site works from a folder, asks
// nobody, and is searched by a script of its own. The same input gives the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::spec {

struct SiteInput {
  std::string spec;                              // folder of the text
  std::string source;                            // of the source tree; empty: no code is named
  std::string suite;                             // folder of `cases`
  std::vector<conformance::Case> cases;          // of the suite
  std::vector<conformance::Case> examples;       // of the text
  const conformance::Report* results = nullptr;  // of the suite; nullptr: left out
  const conformance::Report* example_results = nullptr;  // likewise
};

struct SiteFile {
  std::string path;  // below the site's folder
  std::string bytes;
};

inline constexpr std::int64_t kMaxChapters = 10'000;
/// Of one clause or section, in the search.
inline constexpr std::size_t kMaxFindableBytes = 8192;

/// Errors: those of ReadDocument; kInvalid where two chapters would be one page; kTooLarge.
Result<std::vector<SiteFile>> MakeSite(const SiteInput& input);

/// Replaces `folder` as a whole: the files are written to a folder beside it, which then takes its
/// name.
/// Errors: kInvalid, naming a file, when `folder` holds anything that is not of a site written by
/// this; kIo.
Result<void> WriteSite(std::span<const SiteFile> files, const std::string& folder);

}  // namespace qtx::spec
