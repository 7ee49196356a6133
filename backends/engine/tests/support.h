// Building one-operator models, and an independent exact rounding: integers only, no expansions, no
// floats.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/kernels.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

/// Every kernel table this machine can run.
std::span<const Kernels* const> KernelsUnderTest();

struct Parameters {
  float scale = 1;
  std::int32_t offset = 0;
};

/// A tensor of the given stored integers, per tensor, or per axis 0 when there are several
/// parameters.
format::Tensor Quantized(format::ElementType type, format::Dims dims,
                         std::vector<Parameters> parameters, std::span<const std::int32_t> stored,
                         std::int64_t axis = 0);
format::Tensor Integers(format::Dims dims, std::span<const std::int64_t> values);
format::Tensor Floats(format::Dims dims, std::span<const float> values);

/// Uniform over the storage's whole range.
std::vector<std::int32_t> Random(format::ElementType type, std::int64_t count,
                                 std::mt19937& random);

struct Argument {
  std::string name;
  format::Tensor tensor;
  bool constant = false;
};

/// A model of one node over `arguments`, with the output "y" of the type of `output`.
format::Model OneNode(const std::string& op_type, const std::vector<Argument>& arguments,
                      const format::Tensor& output, std::vector<format::Attribute> attributes = {});

/// Prepares and runs it; y.
Result<format::Tensor> ComputeOneNode(const Kernels& kernels, const std::string& op_type,
                                      const std::vector<Argument>& arguments,
                                      const format::Tensor& output,
                                      std::vector<format::Attribute> attributes = {},
                                      Path path = Path::kFastest, int threads = 1);
/// The stored integers of its y. Fails the test on an error.
std::vector<std::int32_t> RunOneNode(const Kernels& kernels, const std::string& op_type,
                                     const std::vector<Argument>& arguments,
                                     const format::Tensor& output,
                                     std::vector<format::Attribute> attributes = {});

/// A rational of the form mantissa * 2^exponent, exactly.
struct Dyadic {
  __int128 mantissa = 0;
  int exponent = 0;
};
Dyadic operator*(Dyadic a, Dyadic b);
Dyadic operator+(Dyadic a, Dyadic b);
/// A binary32, or an integer.
Dyadic Exactly(float value);
inline Dyadic Exactly(std::int64_t value) { return {value, 0}; }

/// clamp(roundHalfEven(value / (scale * divisor)) + offset) over integers alone.
/// REQUIRES: everything fits 126 bits.
std::int64_t RoundSlowly(Dyadic value, float scale, std::int32_t offset,
                         format::IntegerRange stored, std::int64_t divisor = 1);

}  // namespace qtx::backend::engine
