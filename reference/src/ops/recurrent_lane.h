// The recurrence of LSTM and GRU along one sequence in one direction, written once for binary32 and
// for intervals.
#pragma once

#include <vector>

#include "ops/recurrent.h"

namespace qtx::reference {

template <typename Value>
struct RecurrentState {
  std::vector<Value> h, c;
};

/// One direction of one sequence, at one step. Borrows the layer.
template <typename Math>
class Lane {
 public:
  using Value = typename Math::Value;
  using Values = std::vector<Value>;

  Lane(const RecurrentLayer& layer, const Math& math, std::int64_t direction, std::int64_t sequence)
      : layer_(&layer), math_(math), direction_(direction), sequence_(sequence) {}

  const Math& math() const { return math_; }
  std::int64_t hidden() const { return layer_->hidden; }
  std::int64_t steps() const { return layer_->lengths[static_cast<std::size_t>(sequence_)]; }
  /// Which step of X comes k-th.
  std::int64_t StepAt(std::int64_t k) const {
    return layer_->IsBackward(direction_) ? steps() - 1 - k : k;
  }
  std::int64_t OutputAt(std::int64_t t) const { return layer_->OutputAt(t, direction_, sequence_); }
  std::int64_t StateAt() const { return layer_->StateAt(direction_, sequence_); }

  /// `initial`, or zeros.
  Values State(const std::optional<Operand>& initial) const {
    Values values;
    for (std::int64_t k = 0; k < hidden(); ++k) {
      values.push_back(initial ? math_.Read(*initial, StateAt() + k) : math_.Integer(0));
    }
    return values;
  }
  RecurrentState<Value> Initial() const {
    return {State(layer_->initial_h), State(layer_->initial_c)};
  }
  void Enter(std::int64_t t) {
    x_.clear();
    const std::int64_t first = layer_->InputAt(t, sequence_);
    for (std::int64_t k = 0; k < layer_->input; ++k) {
      x_.push_back(math_.Read(layer_->x, first + k));
    }
  }

  /// Add to `sum`: x's product with the row of W of a gate's unit; that of h and R's row.
  void AddInput(Value* sum, std::int64_t gate, std::int64_t unit) const {
    AddRow(sum, layer_->w, gate, unit, x_);
  }
  void AddRecurrent(Value* sum, std::int64_t gate, std::int64_t unit, const Values& h) const {
    AddRow(sum, layer_->r, gate, unit, h);
  }
  enum Bias : std::int64_t { kOfW, kOfR };
  void AddBias(Value* sum, Bias which, std::int64_t gate, std::int64_t unit) const {
    if (!layer_->bias) return;
    const std::int64_t half = direction_ * 2 + which;
    *sum += math_.Read(*layer_->bias, (half * layer_->gates + gate) * hidden() + unit);
  }
  void AddPeephole(Value* sum, std::int64_t gate, std::int64_t unit, const Value& c) const {
    if (!layer_->peepholes) return;
    const std::int64_t at = (direction_ * 3 + gate) * hidden() + unit;
    math_.AddProduct(sum, math_.Read(*layer_->peepholes, at), c);
  }
  /// The k-th activation of the direction, of the clipped x.
  Value Activate(std::size_t k, Value x) const {
    const auto direction = static_cast<std::size_t>(direction_);
    const auto directions = static_cast<std::size_t>(layer_->directions);
    const std::size_t each = layer_->activations.size() / directions;
    if (layer_->clip) x = math_.Clip(std::move(x), *layer_->clip);
    return math_.Apply(layer_->activations[direction * each + k], std::move(x));
  }

 private:
  void AddRow(Value* sum, const Operand& matrix, std::int64_t gate, std::int64_t unit,
              const Values& values) const {
    const auto size = static_cast<std::int64_t>(values.size());
    const std::int64_t row = (direction_ * layer_->gates + gate) * hidden() + unit;
    for (std::int64_t k = 0; k < size; ++k) {
      math_.AddProduct(sum, math_.Read(matrix, row * size + k),
                       values[static_cast<std::size_t>(k)]);
    }
  }

  const RecurrentLayer* layer_;
  Math math_;
  std::int64_t direction_, sequence_;
  Values x_;
};

/// Puts all that a lane computes.
template <typename Cell, typename Math>
void Unroll(const RecurrentLayer& layer, const Cell& cell, Lane<Math> lane,
            RecurrentOutputs* outputs) {
  const Math& math = lane.math();
  RecurrentState<typename Math::Value> state = lane.Initial();
  for (std::int64_t k = 0; k < lane.steps(); ++k) {
    const std::int64_t t = lane.StepAt(k);
    lane.Enter(t);
    cell.Step(lane, &state);
    outputs->Put(RecurrentOutputs::kY, lane.OutputAt(t), math, state.h);
  }
  const typename Lane<Math>::Values zeros(state.h.size(), math.Integer(0));
  for (std::int64_t t = lane.steps(); t < layer.steps; ++t) {
    outputs->Put(RecurrentOutputs::kY, lane.OutputAt(t), math, zeros);
  }
  outputs->Put(RecurrentOutputs::kLastH, lane.StateAt(), math, state.h);
  outputs->Put(RecurrentOutputs::kLastC, lane.StateAt(), math, state.c);
}

/// Puts a lane, in binary32 or with as many bits as make every rounding of it certain.
/// Errors: kTooLarge when the last precision leaves a result open that is no tie.
template <typename Cell>
Result<void> PutLane(const Call& call, const RecurrentLayer& layer, const Cell& cell,
                     std::int64_t direction, std::int64_t sequence, RecurrentOutputs* outputs) {
  if (outputs->domain() == Domain::kFloat32) {
    const FloatMath math{call.arithmetic.contraction == Arithmetic::Contraction::kFused};
    Unroll(layer, cell, Lane<FloatMath>(layer, math, direction, sequence), outputs);
    return {};
  }
  for (int bits = kFirstBits; bits <= kLastBits; bits *= 2) {
    const EnclosingMath math{bits};
    Unroll(layer, cell, Lane<EnclosingMath>(layer, math, direction, sequence), outputs);
    if (outputs->WasComplete()) return {};
  }
  return Error{ErrorCode::kTooLarge, "",
               "the recurrence loses so many bits that " + std::to_string(kLastBits) +
                   " do not determine the result"};
}

template <typename Cell>
Result<std::vector<format::Tensor>> RunRecurrent(const Call& call, const RecurrentForm& form,
                                                 const Cell& cell) {
  QTX_ASSIGN_OR_RETURN(const RecurrentLayer layer, RecurrentLayer::Make(call, form));
  QTX_ASSIGN_OR_RETURN(RecurrentOutputs outputs, RecurrentOutputs::Make(call));
  for (std::int64_t direction = 0; direction < layer.directions; ++direction) {
    for (std::int64_t sequence = 0; sequence < layer.batch; ++sequence) {
      QTX_RETURN_IF_ERROR(PutLane(call, layer, cell, direction, sequence, &outputs));
    }
  }
  std::vector<format::Tensor> tensors = outputs.Take();
  tensors.resize(call.outputs.size());
  return tensors;
}

}  // namespace qtx::reference
