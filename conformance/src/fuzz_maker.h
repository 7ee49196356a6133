// Random generation of nodes for fuzzing: sizes, types, parameters, data, attributes.
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

/// Permitted types of an input.
enum class Operand {
  kReal,   // quantized or FLOAT
  kAny,    // kReal or plain integers
  kFloat,  // FLOAT
  kByte,   // plain UINT8 or INT8
};

/// A node under construction, with its constants and inputs.
struct NodeDraft {
  format::Node node;
  std::vector<Datum> data;
  std::size_t outputs = 1;
  std::optional<format::ElementType>
      result;          // a plain type; nullopt: a real type chosen to fit the results
  bool moves = false;  // only moves elements, so the output often keeps the type
};

/// Choices shared by all nodes of a model.
struct ModelTraits {
  std::int64_t opset = 13;
  bool bytes_only = false;  // INT8Q and UINT8Q, which most backends have
};

/// Makes one node. `known` are the outputs of earlier nodes.
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
  /// A size of at most `room`: 1, odd, or near the width of a vector register.
  std::int64_t Size(std::int64_t room);
  format::Dims Shape(std::int64_t lowest_rank, std::int64_t highest_rank);
  std::int64_t Axis(const format::Dims& dims);  // may be negative.  REQUIRES: rank >= 1

  // Inputs: each function adds one to the node and returns it.
  /// An output of an earlier node if one fits, else a new input.
  format::Tensor Value(Operand operand, std::int64_t lowest_rank, std::int64_t highest_rank);
  /// A new input of that shape; `axis` is used if parameters are per axis.
  format::Tensor New(Operand operand, const format::Dims& dims, std::optional<std::int64_t> axis,
                     bool constant);
  /// A bias quantized for x and w as usual; w has its output channels along `axis`.
  void Bias(const format::Tensor& x, const format::Tensor& w, std::int64_t axis,
            std::int64_t channels);
  void Int64s(const std::vector<std::int64_t>& values);
  void Absent() { draft_.node.inputs.emplace_back(); }
  /// Adds scale and zero point as separate inputs, for a tensor of a plain type.
  void ScaleAndZero(format::ElementType type, const format::Dims& dims, float scale);

  // Attributes.
  void Int(std::string name, std::int64_t value);
  void Ints(std::string name, std::vector<std::int64_t> values);
  void Float(std::string name, float value);
  void String(std::string name, std::string value);

  /// A type for an output with exact values `reals`, usually one that clamps a few of them.
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

/// An operator that can be generated.
struct FuzzedOperator {
  std::string_view op_type;
  std::int64_t since;  // opset
  void (*make)(Maker& maker);
};
std::span<const FuzzedOperator> FuzzedOperators();

/// Model `number` of the sequence for `seed`: 1 to 6 nodes with op_types that match `operators`,
/// accepted by the checker and the reference in `arithmetic`. nullopt if no attempt was accepted.
std::optional<TestModel> RandomModel(std::uint64_t seed, std::int64_t number,
                                     const std::string& arithmetic, const std::string& operators);

}  // namespace qtx::conformance
