#include "candidate.h"

#include <algorithm>
#include <array>

#include "qtx/conformance/diagnosis.h"

namespace qtx::conformance {
namespace {

constexpr std::array<std::string_view, 3> kCommon = {"exact", "float32", "tflite"};
constexpr std::array<std::string_view, 2> kCommonBases = {"exact", "float32"};

void AddFaults(const reference::Arithmetic* base, std::vector<Candidate>& candidates) {
  for (const std::span<const Fault> faults :
       {NumberFaults(), ParameterFaults(), CodeFaults(), WindowFaults(), PoolFaults(),
        OperatorFaults(), OperandFaults()}) {
    for (const Fault& fault : faults) candidates.push_back({base, &fault});
  }
}

}  // namespace

std::string Name(const Candidate& candidate, std::string_view claimed) {
  if (candidate.fault == nullptr) return std::string(candidate.base->name);
  const std::string fault(candidate.fault->name);
  if (candidate.base->name == claimed) return fault;
  return std::string(candidate.base->name) + " + " + fault;
}

std::string Says(const Candidate& candidate) {
  const std::string base = "`" + std::string(candidate.base->name) + "`";
  if (candidate.fault == nullptr) return "computes " + base;
  return "computes " + base + ", but " + std::string(candidate.fault->says);
}

std::vector<Candidate> Candidates(std::string_view claimed) {
  std::vector<Candidate> candidates;
  const auto own = reference::FindArithmetic(claimed);  // by alias too
  const auto common = [](const reference::Arithmetic& row) {
    return std::ranges::find(kCommon, row.name) != kCommon.end();
  };
  const auto add = [&](bool wanted) {
    for (const reference::Arithmetic& row : reference::Arithmetics()) {
      if ((!own || &row != *own) && common(row) == wanted) candidates.push_back({&row, nullptr});
    }
  };
  add(true);
  if (own) AddFaults(*own, candidates);
  add(false);
  for (const std::string_view name : kCommonBases) {
    const auto base = reference::FindArithmetic(name);
    if (base && (!own || *base != *own)) AddFaults(*base, candidates);
  }
  return candidates;
}

bool SameOutputs(const Outputs& got, const Outputs& tried) {
  if (got.size() != tried.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (Compare("", got[i], tried[i], std::nullopt)) return false;
  }
  return true;
}

bool Explains(const Candidate& candidate, const Question& question, const Outputs& got) {
  const auto tried = Answer(question, *candidate.base, candidate.fault);
  return tried && SameOutputs(got, *tried);
}

}  // namespace qtx::conformance
