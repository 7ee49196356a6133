// Benchmark reports as text, JSON and SVG.
#pragma once

#include <string>
#include <vector>

#include "qtx/bench/machine.h"
#include "qtx/bench/race.h"
#include "qtx/conformance/provenance.h"
#include "qtx/format/text.h"

namespace qtx::bench {

struct Report {
  conformance::Provenance provenance;
  Machine machine;
  RaceOptions options;
  Results results;
  bool interrupted = false;  // workloads are missing that were to be measured
};

/// The highest measured peak for the row's kind of numbers and threads; nullptr when unknown.
const Peak* PeakOf(const Machine& machine, const Row& row);

/// The machine's peaks and the column headings; then a line for each row and each skipped workload.
format::Printable ToText(const Machine& machine);
format::Printable ToText(const Machine& machine, const Results& results);

/// The document of tools/cli/schema/bench.schema.json.
std::string ToJson(const Report& report);

/// Rooflines (GOP/s over operations per byte), one for each number of threads and for integers and
/// floats.
std::string ToSvg(const Report& report);

}  // namespace qtx::bench
