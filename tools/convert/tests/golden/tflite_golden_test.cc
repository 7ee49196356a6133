// Every TFLite model with golden data, converted and run by the reference: what TFLite's builtin
// kernels gave, under arithmetic `tflite`, and what XNNPACK gave, under `xnnpack`. Integers, and
// FLOAT results of models with quantized values, bit for bit; models of FLOAT values within a
// derived bound. QTX_GOLDEN_REPORT=1 prints a line per family, =2 one per set too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "compare.h"
#include "corpus.h"
#include "known_differences.h"
#include "qtx/format/file.h"

namespace qtx::convert::golden {
namespace {

struct Tally {
  int sets = 0, good = 0, listed = 0, missing = 0;
  std::int64_t elements = 0, differing = 0;
  std::map<std::string, int> models;
};

class Report {
 public:
  void Add(const Set& set, const Outcome& outcome, bool listed) {
    Tally& tally =
        tallies_[set.family + (set.kernels == Set::Kernels::kBuiltin ? " builtin" : " xnnpack")];
    ++tally.sets;
    tally.good += outcome.good() ? 1 : 0;
    tally.listed += listed ? 1 : 0;
    tally.missing += outcome.missing.empty() ? 0 : 1;
    tally.elements += outcome.elements;
    tally.differing += outcome.differing;
    ++tally.models[set.model];
    if (Level() > 1) std::cout << set.Name() << ": " << outcome.Text() << "\n";
  }
  void Print() const {
    if (Level() == 0) return;
    for (const auto& [family, t] : tallies_) {
      std::cout << family << ": " << t.models.size() << " models, " << t.sets << " sets, "
                << t.elements << " elements; sets equal " << t.good << ", known to differ "
                << t.listed << ", not run for want of an operator " << t.missing
                << "; elements not bit-equal " << t.differing << "\n";
    }
  }

 private:
  static int Level() {
    const char* level = std::getenv("QTX_GOLDEN_REPORT");
    return level == nullptr ? 0 : std::atoi(level);
  }
  std::map<std::string, Tally> tallies_;
};

TEST(TfliteGolden, EverySetIsEqualOrAKnownDifference) {
  const std::vector<Set> sets = Sets();
  if (sets.empty()) GTEST_SKIP() << "no corpus beside the source tree";
  Report report;
  std::set<std::string> held;
  for (const Set& set : sets) {
    const Outcome outcome = Check(set);
    const KnownDifference* known = FindKnownDifference(set.Name());
    report.Add(set, outcome, known != nullptr);
    if (outcome.good()) held.insert(outcome.op_types.begin(), outcome.op_types.end());
    if (!outcome.missing.empty()) continue;
    if (known == nullptr) {
      EXPECT_TRUE(outcome.good()) << set.Name() << ": " << outcome.Text();
    } else {
      EXPECT_FALSE(outcome.good()) << set.Name() << " is equal now; listed: " << known->why;
    }
  }
  report.Print();
  // `qtx spec coverage` counts the operators of the list as held to others' data.
  std::string lines;
  for (const std::string& op_type : held) lines += op_type + "\n";
  EXPECT_EQ(*format::ReadFile(QTX_SOURCE_DIR "/tools/convert/tests/golden/operators.txt", 1 << 16),
            lines);
}

}  // namespace
}  // namespace qtx::convert::golden
