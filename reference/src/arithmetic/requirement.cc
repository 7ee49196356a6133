#include "arithmetic/requirement.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace qtx::reference {
namespace {

bool PowersOfTwo(const std::optional<format::Quantization>& quantization) {
  if (!quantization) return true;
  return std::ranges::all_of(quantization->scale, [](float scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5F;
  });
}

Error Refused(const Call& call, std::string where, std::string_view what, std::string_view clause) {
  return {ErrorCode::kInvalid, std::move(where),
          std::string(what) + " under arithmetic '" + std::string(call.arithmetic.name) + "'",
          std::string(clause)};
}

}  // namespace

Result<void> CheckRequirement(const Call& call) {
  const Requirement& requirement = call.arithmetic.requirement;
  if (requirement.kind == Requirement::Kind::kNone) return {};
  constexpr std::string_view kExpected = "expected scales that are powers of two";
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i] == nullptr || PowersOfTwo(call.inputs[i]->quantization)) continue;
    return Refused(call, "input[" + std::to_string(i) + "]", kExpected, requirement.clause);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (PowersOfTwo(call.outputs[i].quantization)) continue;
    return Refused(call, "output[" + std::to_string(i) + "]", kExpected, requirement.clause);
  }
  return {};
}

Result<void> CheckRefusals(const Call& call, std::uint64_t refusals) {
  if (call.counters == nullptr || call.counters->refusals == refusals) return {};
  return Refused(call, "output[0]", "the ratio of the scales has no kernel",
                 call.counters->refused_by);
}

}  // namespace qtx::reference
