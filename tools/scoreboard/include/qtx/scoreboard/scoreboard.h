// The scoreboard: what today's systems compute, from reports of `qtx validate`, as a static site.
// Systems by operators, each cell down to the case; the deviations that people have looked into,
// each with a program that shows it without QTX; and what the text leaves open. Deterministic.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"
#include "qtx/site/folder.h"

namespace qtx::scoreboard {

/// One cause of failures, looked into by people: a file NAME.md.
struct Deviation {
  std::string name;   // of its file: "ort-pairs-saturate"
  std::string title;  // one sentence
  // Globs on the names that backends give themselves; on what the diagnosis says that reproduces an
  // answer and predicted others ("pairs_saturate"); on the ids of failed cases, in any arithmetic
  // or "id @arithmetic". A failure of such a system is explained by either of the latter two.
  std::vector<std::string> systems, candidates, cases;
  std::string issue;         // address of the system's public issue; empty: none is known
  bool is_latitude = false;  // the text, or the system's own, leaves it open: no fault
  std::string markdown;      // what is contradicted, the cause, the second computation
  std::string script;        // Python that shows it without QTX: NAME.py; empty: none
};

inline constexpr std::size_t kMaxDeviations = 1000;

/// The deviations of a folder, by name. A file begins with "# title", then lines "key: value" -
/// `systems`, `candidates` and `cases` (globs, blanks between), `issue`, `kind` (deviation or
/// latitude) - to an empty line. Other files than *.md and *.py are left alone.
/// Errors: kUnreadable; kInvalid at "FILE:LINE"; kTooLarge.
Result<std::vector<Deviation>> ReadDeviations(const std::string& folder);

/// `reports` are of one run each, or merged ones. Rows of a backend (name, version, device) and
/// processor are one system; in the table of operators stands the latest of each name.
/// Errors: kInvalid for a report without provenance.
Result<std::vector<site::File>> MakeScoreboard(std::span<const conformance::Report> reports,
                                               std::span<const Deviation> deviations);

}  // namespace qtx::scoreboard
