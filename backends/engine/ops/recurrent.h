// LSTM and GRU: sequences, directions, activations, and the states, which are never rounded.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/ops/enclosed.h"
#include "engine/ops/estimated.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

struct RecurrentShape {
  std::int64_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 1;
  bool batch_first = false;
  bool reverse = false;  // the only direction
};

/// The operands of one step of one sequence in one direction. T is Enclosed or Estimate.
template <typename T>
struct CellInput {
  std::span<const T> x;     // of the step
  std::span<const T> w, r;  // of the direction, row-major
  std::span<const T> b, p;  // empty: 0
  std::size_t direction = 0;
  // Empty, or the products of each row of w with x plus those of r with the state before the step.
  std::span<const T> products = {};
};
template <typename T>
using State = std::vector<T>;
/// Replaces the states h and c (GRU has no c) by those after the step.
template <typename T>
using CellFunction = std::function<void(const CellInput<T>& input, State<T>& h, State<T>& c)>;
struct Cell {
  CellFunction<Enclosed> enclosed;
  CellFunction<Estimate> estimated;
  CellFunction<Estimate> careful;  // smaller errors, slower
};

struct Activation {
  Enclosed (*enclosed)(const Enclosed&);
  Estimate (*estimated)(const Estimate&);
  Estimate (*careful)(const Estimate&);
  Enclosed operator()(const Enclosed& x) const { return enclosed(x); }
  Estimate operator()(const Estimate& x) const { return estimated(x); }
};
inline constexpr Activation kSigmoid{SigmoidOf, SigmoidOf, CarefulSigmoidOf};
inline constexpr Activation kTanh{TanhOf, TanhOf, CarefulTanhOf};
inline constexpr Activation kRelu{ReluOf, ReluOf, ReluOf};

/// The parts of a recurrent node that do not depend on its cell.
class RecurrentPlan {
 public:
  /// `gates`: rows of W and R for each hidden element.  Errors: kUnsupported.
  static Result<RecurrentPlan> Read(const NodePlan& node, std::int64_t gates);

  const RecurrentShape& shape() const { return shape_; }
  /// The activations that the node names, one direction after the other; `usual` for each direction
  /// if it names none. Errors: kUnsupported for others than Sigmoid, Tanh and Relu.
  Result<std::vector<Activation>> Activations(const NodePlan& node, std::vector<Activation> usual);
  StepResult Make(const NodePlan& node, Cell cell);

 private:
  friend class RecurrentStep;
  RecurrentShape shape_;
  std::int64_t gates_ = 0;
  const Value* x_ = nullptr;
  const Value* w_ = nullptr;
  const Value* r_ = nullptr;
  const Value* b_ = nullptr;        // nullptr: 0, as h_, c_ and p_
  const Value* lengths_ = nullptr;  // nullptr: all steps
  const Value* h_ = nullptr;
  const Value* c_ = nullptr;
  const Value* p_ = nullptr;
  Value* y_ = nullptr;  // nullptr: omitted, as the next two
  Value* y_h_ = nullptr;
  Value* y_c_ = nullptr;
};

/// `sum` plus the dot product of row and vector.
Enclosed Dot(std::span<const Enclosed> row, std::span<const Enclosed> vector, Enclosed sum);

/// The integer `value` as a number of the kind of `like`.
inline Enclosed Constant(long value, const Enclosed& like) {
  return Enclosed(Number::Of(value), like.interval().bits());
}
inline Estimate Constant(long value, const Estimate&) { return {static_cast<double>(value), 0}; }

/// Attribute clip; nullopt if it is absent.
std::optional<mpq_class> ClipOf(const NodePlan& node);

}  // namespace qtx::backend::engine
