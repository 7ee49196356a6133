// The random choices of which fuzzing makes nodes: sizes, types, parameters, data, attributes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator.h"
#include "test_model.h"

namespace qtx::conformance {

/// What an input may be.
enum class Operand {
  kReal,   // quantized or FLOAT
  kAny,    // that, or plain integers
  kFloat,  // FLOAT
  kByte,   // plain UINT8 or INT8
};

/// A node being made, with the constants and inputs it brings along.
struct NodeDraft {
  format::Node node;
  std::vector<Datum> data;
  std::size_t outputs = 1;
  std::optional<format::ElementType> result;  // a plain type; else real, chosen by what comes out
  bool moves = false;                         // elements only change places: often keeps its type
};

/// What holds for all nodes of a model.
struct ModelTraits {
  std::int64_t opset = 13;
  bool bytes_only = false;  // INT8Q and UINT8Q, which most backends have
};

/// Makes one node. `known` are the values that earlier nodes gave.
class Maker {
 public:
  Maker(Random& random, const ModelTraits& traits, const std::vector<Datum>& known,
        std::size_t number)
      : random_(random), traits_(traits), known_(known), number_(number) {}

  NodeDraft Take() { return std::move(draft_); }
  NodeDraft& draft() { return draft_; }
  std::int64_t opset() const { return traits_.opset; }

  // Chances.
  bool Chance(std::uint64_t percent) { return random_.Below(100) < percent; }
  std::int64_t Between(std::int64_t low, std::int64_t high);
  std::int64_t OneOf(std::span<const std::int64_t> values);
  /// 1, odd sizes, and those around the widths of vector registers; at most `room`.
  std::int64_t Size(std::int64_t room);
  format::Dims Shape(std::int64_t lowest_rank, std::int64_t highest_rank);
  std::int64_t Axis(const format::Dims& dims);  // of rank 1 or more; negative ones too

  // Inputs: each is added to the node, and given back for its shape and parameters.
  /// A value of an earlier node where one fits, else a new input.
  format::Tensor Value(Operand operand, std::int64_t lowest_rank, std::int64_t highest_rank);
  /// New data of that shape; `axis`: of parameters per axis, if it comes to that.
  format::Tensor New(Operand operand, const format::Dims& dims, std::optional<std::int64_t> axis,
                     bool constant);
  /// A bias as it is usually quantized for x and w, whose output channels lie along `axis`.
  void Bias(const format::Tensor& x, const format::Tensor& w, std::int64_t axis,
            std::int64_t channels);
  void Int64s(const std::vector<std::int64_t>& values);
  void Absent() { draft_.node.inputs.emplace_back(); }
  /// A scale and a zero point as inputs of their own, for a tensor of a plain type.
  void ScaleAndZero(format::ElementType type, const format::Dims& dims, float scale);

  // Attributes.
  void Int(std::string name, std::int64_t value);
  void Ints(std::string name, std::vector<std::int64_t> values);
  void Float(std::string name, float value);
  void String(std::string name, std::string value);

  /// The type of a result whose exact values are `reals`: mostly one that they fit, not quite.
  format::TensorType ResultType(const format::Tensor& reals);

  float Scale();
  format::Quantization Parameters(format::ElementType type, const format::Dims& dims,
                                  std::optional<std::int64_t> axis);

 private:
  format::Tensor Add(format::Tensor tensor, bool constant);
  format::ElementType TypeFor(Operand operand);
  format::Tensor Fill(format::ElementType type, const format::Dims& dims,
                      std::optional<format::Quantization> q);
  std::int32_t Offset(format::ElementType type);

  Random& random_;
  ModelTraits traits_;
  const std::vector<Datum>& known_;
  std::size_t number_;
  NodeDraft draft_;
};

/// How to make one operator.
struct FuzzedOperator {
  std::string_view op_type;
  std::int64_t since;  // opset
  void (*make)(Maker& maker);
};
std::span<const FuzzedOperator> FuzzedOperators();

/// Model `number` of the sequence that `seed` gives: 1 to 6 nodes of operators whose op_type
/// matches `operators`, which the checker and the reference take in `arithmetic`. nullopt where
/// chance gave none.
std::optional<TestModel> RandomModel(std::uint64_t seed, std::int64_t number,
                                     const std::string& arithmetic, const std::string& operators);

}  // namespace qtx::conformance
