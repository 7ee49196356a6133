// What MeasureMutants found, as text and as JSON.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "qtx/conformance/mutants.h"
#include "qtx/format/json_writer.h"
#include "qtx/format/print.h"

namespace qtx::conformance {
namespace {

using format::Format;
using format::JsonWriter;
using format::Printable;

std::string_view FateName(Fate fate) {
  switch (fate) {
    case Fate::kUnreached:
      return "unreached";
    case Fate::kSurvived:
      return "survived";
    case Fate::kDeclined:
      return "declined";
    case Fate::kWrong:
      return "wrong";
    case Fate::kCrashed:
      return "crashed";
    case Fate::kHung:
      return "hung";
  }
  return "";
}

bool IsEquivalent(const MutantResult& result) { return *result.mutant.equivalent != '\0'; }

// The mutants of one file, or of all.
struct Tally {
  std::int64_t mutants = 0, equivalent = 0, unreached = 0, declined = 0, killed = 0,
               killed_by_core = 0;

  void Add(const MutantResult& result) {
    ++mutants;
    equivalent += IsEquivalent(result) ? 1 : 0;
    if (IsEquivalent(result)) return;
    unreached += result.fate == Fate::kUnreached ? 1 : 0;
    declined += result.fate == Fate::kDeclined ? 1 : 0;
    killed += IsKilled(result.fate) ? 1 : 0;
    killed_by_core += result.killed_by_core ? 1 : 0;
  }
  double Share(std::int64_t count) const {
    return mutants == equivalent
               ? 1
               : static_cast<double>(count) / static_cast<double>(mutants - equivalent);
  }
};

Printable Row(std::string_view name, const Tally& tally) {
  return Format("{:<50} {:>7} {:>10} {:>9} {:>8} {:>6} {:>5.0f} % {:>5.0f} %\n", name,
                tally.mutants, tally.equivalent, tally.unreached, tally.declined, tally.killed,
                100 * tally.Share(tally.killed), 100 * tally.Share(tally.killed_by_core));
}

Printable Line(const MutantResult& result) {
  const Mutant& mutant = result.mutant;
  return Format("  {}:{} {}: {} -> {} [{}]\n", mutant.file, mutant.line, mutant.rule,
                mutant.original, *mutant.mutated == '\0' ? "(nothing)" : mutant.mutated,
                result.fate == Fate::kSurvived ? "reached by " + std::to_string(result.reached)
                                               : std::string(FateName(result.fate)));
}

void WriteMutant(JsonWriter& writer, const MutantResult& result) {
  const Mutant& mutant = result.mutant;
  writer.BeginObject();
  writer.Field("file", std::string_view(mutant.file));
  writer.Field("line", std::int64_t{mutant.line});
  writer.Field("rule", std::string_view(mutant.rule));
  writer.Field("original", std::string_view(mutant.original));
  writer.Field("mutated", std::string_view(mutant.mutated));
  writer.Field("equivalent", std::string_view(mutant.equivalent));
  writer.Field("fate", FateName(result.fate));
  writer.Field("killed_by", std::string_view(result.killed_by));
  writer.Field("killed_by_core", result.killed_by_core);
  writer.Field("noticed_by", result.noticed_by);
  writer.Field("reached", result.reached);
  writer.EndObject();
}

Tally TallyOf(const MutantReport& report) {
  Tally tally;
  for (const MutantResult& result : report.mutants) tally.Add(result);
  return tally;
}

// The probability of `killed` or fewer of `count` mutants where each is killed with kMutantPower.
double ProbabilityOfSoFew(std::int64_t killed, std::int64_t count) {
  double sum = 0;
  double log_of_choices = 0;  // of the binomial coefficient
  for (std::int64_t k = 0; k <= killed; ++k) {
    const auto hit = static_cast<double>(k);
    const auto missed = static_cast<double>(count - k);
    sum += std::exp(log_of_choices + hit * std::log(kMutantPower) +
                    missed * std::log1p(-kMutantPower));
    log_of_choices += std::log(missed) - std::log1p(hit);
  }
  return sum;
}

bool RefutesProof(const MutantResult& result) {
  return IsEquivalent(result) && IsKilled(result.fate);
}

}  // namespace

double MutantReport::Power() const {
  const Tally tally = TallyOf(*this);
  return tally.Share(tally.killed);
}

bool HasPower(const MutantReport& report) {
  const Tally tally = TallyOf(report);
  const std::int64_t count = tally.mutants - tally.equivalent;
  return ProbabilityOfSoFew(tally.killed, count) >= kChanceOfSample && report.blamed.empty() &&
         std::ranges::none_of(report.mutants, RefutesProof);
}

Printable ToText(const MutantReport& report) {
  std::map<std::string_view, Tally> files;
  for (const MutantResult& result : report.mutants) files[result.mutant.file].Add(result);
  Printable text = Format("{:<50} {:>7} {:>10} {:>9} {:>8} {:>6} {:>7} {:>7}\n", "file", "mutants",
                          "equivalent", "unreached", "declined", "killed", "all", "core");
  for (const auto& [file, tally] : files) text += Row(file, tally);
  text += Row("all", TallyOf(report));
  text += Format("\n{} cases of {}, {:.1f} s\nsurvivors:\n", report.cases, report.suite,
                 report.seconds);
  for (const MutantResult& result : report.mutants) {
    if (!IsKilled(result.fate) && !IsEquivalent(result)) text += Line(result);
  }
  for (const MutantResult& result : report.mutants) {
    if (!RefutesProof(result)) continue;
    text += Format("listed as equivalent, but {} notices:\n", result.killed_by);
    text += Line(result);
  }
  text += Format("fail without a mutant: {}\n", report.blamed.size());
  for (const std::string& name : report.blamed) text += Format("  {}\n", name);
  return text;
}

std::string ToJson(const MutantReport& report) {
  const Tally tally = TallyOf(report);
  JsonWriter writer;
  writer.BeginObject();
  writer.Field("suite", report.suite);
  writer.Field("cases", report.cases);
  writer.Key("mutants");
  writer.BeginArray();
  for (const MutantResult& result : report.mutants) WriteMutant(writer, result);
  writer.EndArray();
  writer.Field("blamed", report.blamed);
  writer.Key("totals");
  writer.BeginObject();
  writer.Field("mutants", tally.mutants);
  writer.Field("equivalent", tally.equivalent);
  writer.Field("unreached", tally.unreached);
  writer.Field("declined", tally.declined);
  writer.Field("killed", tally.killed);
  writer.Field("killed_by_core", tally.killed_by_core);
  writer.EndObject();
  writer.Field("seconds", report.seconds);
  writer.EndObject();
  return writer.Text() + "\n";
}

}  // namespace qtx::conformance
