// Generators of input data: `generate:` of a case.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// SplitMix64 (Steele, Lea, Flood 2014). Unlike the standard library's distributions, portable.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next();
  /// Uniform in [0, bound), without modulo bias.  REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound);

 private:
  std::uint64_t state_;
};

/// Every kind by its name in a case.
struct GeneratorName {
  std::string_view name;
  GeneratorKind kind;
};
inline constexpr std::array<GeneratorName, 11> kGenerators = {
    {{"uniform", GeneratorKind::kUniform},
     {"normal", GeneratorKind::kNormal},
     {"boundary", GeneratorKind::kBoundary},
     {"ties", GeneratorKind::kTies},
     {"saturate", GeneratorKind::kSaturate},
     {"saturating_pairs", GeneratorKind::kSaturatingPairs},
     {"sparse", GeneratorKind::kSparse},
     {"extreme", GeneratorKind::kExtreme},
     {"ramp", GeneratorKind::kRamp},
     {"one_hot", GeneratorKind::kOneHot},
     {"zero", GeneratorKind::kZero}}};

/// Fills a tensor of `type` and `dims`. Integers stay within quant_min and quant_max; only
/// `boundary` makes infinite or NaN floats. `ties` aims at `target_scale`. Errors: kInvalid for an
/// axis outside the rank; kUnsupported for complex and string types; those of MakeTensor. Source:
/// spec/conformance_cases.md, "Generators".
Result<format::Tensor> Generate(const Generator& generator, const format::TensorType& type,
                                const format::Dims& dims, std::optional<float> target_scale);

/// `count` scales over binary32's positive range: kind `extreme` of a `scale` key.
std::vector<float> ExtremeScales(std::uint64_t seed, std::int64_t count);
/// `count` scales of 1/1024 to 1 times `largest`: kind `uniform` of a `scale` key.
std::vector<float> UniformScales(std::uint64_t seed, std::int64_t count, double largest);
/// `count` offsets from min to max: kind `uniform` of an `offset` key.  REQUIRES: min <= max.
std::vector<std::int32_t> UniformOffsets(std::uint64_t seed, std::int64_t count, std::int32_t min,
                                         std::int32_t max);

}  // namespace qtx::conformance
