// What the names of a formula stand for in one node: its tensors, attributes and types.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operand.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/model.h"
#include "qtx/formula/computation.h"
#include "value.h"

namespace qtx::formula {

/// A part of a tensor that has a name.
enum class Part {
  kValue,
  kReal,
  kStored,
  kSign,
  kScale,
  kOffset,
  kBase,
  kFineScale,
  kCoarseScale,
  kFineBase,
  kCoarseBase,
  kMin,
  kMax
};

/// The inputs, outputs and attributes of a node by their places.
class Scope {
 public:
  /// Errors: those of Decode, for a tensor among the attributes.
  static Result<Scope> Make(const Call& call);

  const std::vector<Operand>& operands() const { return operands_; }
  std::span<const Tensors> inputs() const { return inputs_; }
  std::span<const Tensors> outputs() const { return outputs_; }
  /// nullptr where it is not given and has no default.
  const Value* Attribute(std::string_view name) const;
  bool IsAttribute(std::string_view name) const;
  std::int64_t opset() const { return opset_; }
  const std::string& op_type() const { return op_type_; }
  const std::optional<format::Origin>& origin() const { return origin_; }
  /// False where the scales of the tensors are inputs of the node that this one stands for.
  bool has_own_scales() const { return has_own_scales_; }
  void SetDims(std::size_t output, format::Dims dims);

 private:
  template <typename Add>
  Tensors Place(std::size_t i, std::size_t count, bool variadic, const Add& add);
  bool AddInput(const Call& call, std::size_t k);
  void AddInputs(const Call& call);
  void AddOutputs(const Call& call);
  Result<void> AddAttributes(const Call& call);

  std::vector<Operand> operands_;
  std::vector<Tensors> inputs_, outputs_;  // count 0: not given
  std::map<std::string, std::optional<Value>, std::less<>> attributes_;
  std::int64_t opset_ = 0;
  bool has_own_scales_ = true;
  std::string op_type_;
  std::optional<format::Origin> origin_;
};

/// What a formula calls the inputs and outputs of a node, by their places. A name may be "".
struct Names {
  std::vector<std::string> inputs, outputs;
};

}  // namespace qtx::formula
