// The interface of an operator, and the table of all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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
  std::int64_t opset = 0;                         // version of ai.onnx that the model imports
  std::span<const format::Tensor* const> inputs;  // nullptr: absent optional input
  std::span<const OutputType> outputs;
  Counters* counters = nullptr;
  /// Of each input in node.inputs, where an operator runs another on some of them; empty: in order.
  std::span<const std::size_t> positions = {};
  /// Of each input in node.inputs, whether it is an initializer; nullptr: none is.
  const std::vector<bool>* initializers = nullptr;

  /// The input at `i`, or nullptr when it is absent or not given at all.
  const format::Tensor* Input(std::size_t i) const {
    return i < inputs.size() ? inputs[i] : nullptr;
  }
  bool IsInitializer(std::size_t i) const {
    return initializers != nullptr && i < initializers->size() && (*initializers)[i];
  }
  /// True when output `i` is named, so that somebody may read it.
  bool Wants(std::size_t i) const {
    return i < outputs.size() && outputs[i].elem_type != format::ElementType::kUndefined;
  }
};

struct AttributeRule {
  std::string_view name;
  format::AttributeType type = format::AttributeType::kUndefined;
};

inline constexpr int kVariadic = 1 << 20;

struct Operator {
  std::string_view op_type;
  std::string_view domain = {};  // ai.onnx when empty
  int min_inputs = 0;            // those after it may be absent
  int max_inputs = 0;
  int max_outputs = 1;
  std::span<const std::size_t> optional_inputs = {};  // among the first min_inputs
  std::span<const AttributeRule> attributes;          // all that it understands
  /// Checks attribute values before anything runs; nullptr when their types say all.
  Result<void> (*check)(const format::Node&) = nullptr;
  /// Element type of output `output` where the model does not declare it, from the types of the
  /// inputs (kUndefined: absent); nullptr when every output has the type of input 0.
  format::ElementType (*infer)(const format::Node&, std::span<const format::ElementType> inputs,
                               std::size_t output) = nullptr;
  /// Computes output 0, of an operator that has no other.
  /// Errors: kInvalid when shapes or types do not fit, kUnsupported when the arithmetic has no such
  /// operation, kTooLarge past limits.h. `where` names the input or attribute.
  Result<format::Tensor> (*run)(const Call&) = nullptr;
  /// Instead of `run`, of an operator with several outputs: one tensor for each of call.outputs, an
  /// omitted one left empty.
  Result<std::vector<format::Tensor>> (*run_all)(const Call&) = nullptr;
};

/// All operators, sorted by domain, then op_type.
std::span<const Operator* const> Operators();
/// nullptr when there is none. `domain` "" and "ai.onnx" are the same.
const Operator* FindOperator(std::string_view domain, std::string_view op_type);
/// Runs `run` or `run_all`.  Errors: those of the operator.
Result<std::vector<format::Tensor>> RunOperator(const Operator& op, const Call& call);

}  // namespace qtx::reference
