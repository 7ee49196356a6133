// The interface of an operator, and the table of all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/catalogue.h"
#include "qtx/format/levels.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/reference/arithmetic.h"

namespace qtx::reference {

/// How values reach a float of at most 8 bits: cast.S9 and cast.S10.
struct SmallFloatRule {
  bool saturate = true;  // beyond the range: the largest finite value, else infinity or NaN
  enum class Power { kUp, kDown, kNearest } power = Power::kUp;  // FLOAT8E8M0 only
};

/// Type of a value that a node produces. The operator derives the shape.
struct OutputType {
  format::ElementType elem_type = format::ElementType::kUndefined;  // kUndefined: omitted output
  std::optional<format::Quantization> quantization = {};  // inline vectors; present when quantized
  SmallFloatRule small_float = {};
};

/// One application of an operator. Everything is borrowed for the duration of the call.
struct Call {
  const format::Node& node;
  const Arithmetic& arithmetic;
  std::int64_t opset = 0;                         // version of ai.onnx; 0: the newest
  std::span<const format::Tensor* const> inputs;  // nullptr: absent optional input
  std::span<const OutputType> outputs;
  Counters* counters = nullptr;
  /// Of each input in node.inputs, where an operator runs another on some of them; empty: in order.
  std::span<const std::size_t> positions = {};
  /// Of each input in node.inputs, whether it is an initializer; nullptr: none is.
  const std::vector<bool>* initializers = nullptr;
  /// Of each input in node.inputs, the factors of its parameters, where the arithmetic has kernels
  /// that multiply by them; nullptr: none has.
  const std::vector<const format::Factors*>* factors = nullptr;
  /// What the catalogue says of the node, which keeps the clauses of its section. RunOperator sets
  /// it.
  const format::Application* facts = nullptr;

  /// The input at `i`, or nullptr when it is absent or not given at all.
  const format::Tensor* Input(std::size_t i) const {
    return i < inputs.size() ? inputs[i] : nullptr;
  }
  bool IsInitializer(std::size_t i) const {
    const std::size_t at = PositionOf(i);
    return initializers != nullptr && at < initializers->size() && (*initializers)[at];
  }
  /// nullptr where nobody read them.
  const format::Factors* FactorsOf(std::size_t i) const {
    const std::size_t at = PositionOf(i);
    return factors != nullptr && at < factors->size() ? (*factors)[at] : nullptr;
  }
  std::size_t PositionOf(std::size_t i) const { return i < positions.size() ? positions[i] : i; }
  /// Attributes of the node, or their defaults in the catalogue.
  std::int64_t Int(std::string_view attribute) const { return facts->Int(attribute); }
  float Float(std::string_view attribute) const { return facts->Float(attribute); }
  std::string String(std::string_view attribute) const { return facts->String(attribute); }
  /// The shape of output `i`, which the catalogue derives.  Errors: kTooLarge.
  Result<format::Dims> OutputDims(std::size_t i = 0) const;
  /// True when output `i` is named, so that somebody may read it.
  bool Wants(std::size_t i) const {
    return i < outputs.size() && outputs[i].elem_type != format::ElementType::kUndefined;
  }
};

/// How the reference computes an operator. Its inputs, outputs, attributes and constraints are in
/// the catalogue (qtx/format/catalogue.h).
struct Operator {
  std::string_view op_type;
  std::string_view domain = {};  // ai.onnx when empty
  /// Computes output 0, of an operator that has no other.
  /// Errors: kUnsupported when the arithmetic has no such operation, kTooLarge past limits.h.
  /// `where` names the input or attribute.
  Result<format::Tensor> (*run)(const Call&) = nullptr;
  /// Instead of `run`, of an operator with several outputs: one tensor for each of call.outputs, an
  /// omitted one left empty.
  Result<std::vector<format::Tensor>> (*run_all)(const Call&) = nullptr;
  /// Whether it computes what the node's attributes ask for; nullptr: whatever they are.
  /// Errors: kUnsupported.
  Result<void> (*supports)(const format::Node& node, std::int64_t opset) = nullptr;
};

/// All operators, sorted by domain, then op_type.
std::span<const Operator* const> Operators();
/// nullptr when there is none. `domain` "" and "ai.onnx" are the same.
const Operator* FindOperator(std::string_view domain, std::string_view op_type);
/// Checks the node against its row of the catalogue, with all shapes and elements known, and runs
/// it.  Errors: kInvalid with the broken clause, kUnsupported without a row, those of the operator.
Result<std::vector<format::Tensor>> RunOperator(const Operator& op, const Call& call);

}  // namespace qtx::reference
