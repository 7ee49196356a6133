// What a benchmark found, for people, programs and the eye.
#pragma once

#include <string>
#include <vector>

#include "qtx/bench/machine.h"
#include "qtx/bench/race.h"

namespace qtx::bench {

struct Report {
  Machine machine;
  RaceOptions options;
  Results results;
};

/// The highest measured peak for the row's kind of numbers and threads; nullptr when unknown.
const Peak* PeakOf(const Machine& machine, const Row& row);

/// A line for each row of one race, and each work it left out; before them, what the machine can do
/// and the heads of the columns.
std::string ToText(const Machine& machine);
std::string ToText(const Machine& machine, const Results& results);

/// `rows[]` and the machine; programs may rely on the keys that README names.
std::string ToJson(const Report& report);

/// A roofline for each number of threads, and for integers and floats: GOP/s over operations a
/// byte.
std::string ToSvg(const Report& report);

}  // namespace qtx::bench
