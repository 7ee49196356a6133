// Builds models node by node, with weights and scales such that values use the range of their
// types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/bench/shapes.h"
#include "qtx/bench/workload.h"

namespace qtx::bench {

/// SplitMix64, a portable generator.
class Random {
 public:
  explicit Random(std::string_view seed);
  std::uint64_t Next();
  /// Uniform in [low, high].  REQUIRES: high - low < 2^32.
  std::int64_t Between(std::int64_t low, std::int64_t high);
  double Unit();  // uniform in [0, 1)
  /// Nearly normal, within [-1, 1], of standard deviation 0.289.
  double Bell();

 private:
  std::uint64_t state_;
};

/// Distribution of stored weights: uniform, or like trained networks.
enum class Spreading { kEven, kBell };

/// Range of reals that a type must cover.
struct Range {
  double low, high;
};

class Builder {
 public:
  /// A value of the graph with the mean square of its reals.
  struct Value {
    std::string name;
    format::Dims dims;
    double mean_square;
  };

  Builder(std::string_view name, const Types& types, Spreading spreading);

  /// `type` is that of activations, or of weights for a computed second operand.
  Value Input(format::Dims dims, format::ElementType type);
  /// Results have standard deviation `deviation` before they are clamped to `range`.
  Value Conv(const Value& x, const ConvShape& shape, double deviation, Range range);
  Value Gemm(const Value& x, std::int64_t outputs, double deviation);
  /// Product with weights [inner, columns].
  Value MatMul(const Value& x, std::int64_t columns);
  Value MatMul(const Value& a, const Value& b);
  Value AddRelu(const Value& a, const Value& b);
  Value MaxPool(const Value& x);  // 3x3, of stride 2
  Value GlobalAveragePool(const Value& x);
  Value Flatten(const Value& x);

  /// The model with output `y`, and inputs for it.
  Task Finish(const Value& y);

 private:
  format::Quantization TypeFor(format::ElementType type, Range range) const;
  const format::Quantization& TypeOf(const std::string& value) const;
  Value AddNode(format::Node node, format::Dims dims, const format::Quantization& type);
  Value SameType(std::string op, const Value& x, format::Dims dims);
  /// Weights whose sums of `inner` products with `x` have standard deviation `deviation`; `axis` is
  /// that of the output channels.
  std::string Weights(const Value& x, format::Dims dims, std::int64_t axis, std::int64_t inner,
                      double deviation);
  std::string Bias(const Value& x, const std::string& weights, double deviation);
  void AddConstant(const std::string& name, const format::Tensor& tensor);

  Types types_;
  Spreading spreading_;
  Random random_;
  Task task_;
  int next_ = 0;
};

}  // namespace qtx::bench
