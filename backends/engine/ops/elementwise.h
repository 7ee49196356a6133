// Operators that compute each element of y from one element of each input, with broadcasting. Where
// stored values have few bits, a table holds the results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/interval.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// Computes an element of y from the inputs' elements.
using ElementFunction = std::function<Real(std::span<const Number> operands)>;

/// y = function(inputs).  REQUIRES: CheckTypes; inputs broadcast to y.
/// A table of at most 8 bits is computed at preparation; a larger one is filled as elements come.
std::unique_ptr<Step> MakeElementwise(std::vector<const Value*> inputs, Value* y,
                                      ElementFunction function);

/// The same for a function whose results are the stored bits of y.
using CodeFunction = std::function<std::uint64_t(std::span<const Number> operands)>;
std::unique_ptr<Step> MakeCoding(std::vector<const Value*> inputs, Value* y, CodeFunction function);

/// True if output 0, of `dims`, is a function of one byte in exact arithmetic: all of the first
/// `count` inputs are constant elements but one, which is 8-bit and of these dims.
bool IsFunctionOfByte(const NodePlan& node, const format::Dims& dims, std::size_t count = SIZE_MAX);

/// The inputs and the output of an elementwise node. Where the result is a function of one byte, in
/// exact arithmetic, they are those of its table: all 256 bytes of the one computed input.
class ElementwiseOperands {
 public:
  /// The first `count` inputs that are present, or all; the output has `dims`.  Errors: those of
  /// NodePlan::Input and Output.
  static Result<ElementwiseOperands> Of(const NodePlan& node, const format::Dims& dims,
                                        std::size_t count = SIZE_MAX);
  const std::vector<const Value*>& inputs() const { return inputs_; }
  Value* y() const { return y_; }
  /// The step of the node, given one that computes y() from inputs().
  StepResult Finish(const NodePlan& node, std::unique_ptr<Step> step);

 private:
  std::vector<const Value*> inputs_;
  Value* y_ = nullptr;
  std::unique_ptr<Value> bytes_, table_;  // of the byte that `input_` may have
  std::size_t input_ = 0;
};

/// True if elements of y can be looked up: parameters are per tensor, and the stored values of one
/// element of each input have at most 16 bits together.
bool FitsTable(std::span<const Value* const> inputs, const Value* y);

/// All inputs of the node.  Errors: those of NodePlan::Input.
Result<std::vector<const Value*>> AllInputs(const NodePlan& node);

}  // namespace qtx::backend::engine
