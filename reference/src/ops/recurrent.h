// What LSTM and GRU share: their inputs and attributes, the numbers they compute in, their outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "enclosed_real.h"
#include "ops/common.h"

namespace qtx::reference {

enum class Activation { kSigmoid, kTanh, kRelu };

struct RecurrentForm {
  std::int64_t gates = 0;
  std::vector<Activation> defaults;  // the activations of one direction
  bool has_cell = false;             // inputs initial_c and P, output Y_c
};

/// Errors: kUnsupported for another function than Sigmoid, Tanh or Relu.
Result<void> SupportsActivations(const format::Node& node, std::int64_t opset);

/// A node's inputs and attributes. Borrows the tensors.
struct RecurrentLayer {
  /// REQUIRES: SupportsActivations.  Errors: kTooLarge for too much work.
  static Result<RecurrentLayer> Make(const Call& call, const RecurrentForm& form);

  std::int64_t gates, steps, batch, directions, input, hidden;
  bool batch_first;
  bool reverse;  // the only direction there is
  Operand x, w, r;
  std::optional<Operand> bias = {}, initial_h = {}, initial_c = {}, peepholes = {};
  std::vector<std::int64_t> lengths = {};    // of each sequence of the batch
  std::vector<Activation> activations = {};  // those of one direction after the other
  std::optional<float> clip = {};

  bool IsBackward(std::int64_t direction) const { return reverse || direction == 1; }
  /// First element of step `t` in X.
  std::int64_t InputAt(std::int64_t t, std::int64_t sequence) const;
  /// First element of a state in initial_h, initial_c, Y_h and Y_c.
  std::int64_t StateAt(std::int64_t direction, std::int64_t sequence) const;
  /// First element of step `t` in Y.
  std::int64_t OutputAt(std::int64_t t, std::int64_t direction, std::int64_t sequence) const;
};

/// binary32, one operation at a time.  Source: float32.S3, float32.S8.
struct FloatMath {
  using Value = float;
  bool fused = false;  // a product is added unrounded

  Value Integer(int value) const { return static_cast<Value>(value); }
  Value Read(const Operand& operand, std::int64_t i) const { return operand.binary32(i); }
  void AddProduct(Value* sum, Value a, Value b) const;
  Value Clip(Value x, float bound) const { return x < -bound ? -bound : x > bound ? bound : x; }
  Value Apply(Activation activation, Value x) const;
  bool Put(Output* output, std::int64_t element, Value x) const;
};

/// Intervals of `bits` bits.  Source: exact.S2, exact.S6.
struct EnclosingMath {
  using Value = EnclosedReal;
  int bits = kFirstBits;

  Value Integer(int value) const { return {ToDyadic(value), bits}; }
  Value Read(const Operand& operand, std::int64_t i) const { return {operand.exact(i), bits}; }
  void AddProduct(Value* sum, Value a, const Value& b) const { *sum += (a *= b); }
  Value Clip(Value x, float bound) const { return Clipped(std::move(x), bound); }
  Value Apply(Activation activation, Value x) const;
  /// False when more bits are needed.
  bool Put(Output* output, std::int64_t element, const Value& x) const;
};

/// Y, Y_h and Y_c as far as they are wanted, and which of their elements have been put.
class RecurrentOutputs {
 public:
  enum Index : std::size_t { kY, kLastH, kLastC };

  static Result<RecurrentOutputs> Make(const Call& call);

  /// What to compute in.
  Domain domain() const { return domain_; }
  /// Puts values at `first` and after it, but for those of an output that is not wanted and those
  /// that have been put.
  template <typename Math>
  void Put(Index i, std::int64_t first, const Math& math,
           const std::vector<typename Math::Value>& values) {
    if (!outputs_[i]) return;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto element = first + static_cast<std::int64_t>(k);
      const auto at = static_cast<std::size_t>(element);
      if (!done_[i][at]) done_[i][at] = math.Put(&*outputs_[i], element, values[k]);
      complete_ = complete_ && done_[i][at];
    }
  }
  /// Whether all that Put was given since the last call has been put.
  bool WasComplete() { return std::exchange(complete_, true); }
  std::vector<format::Tensor> Take();

 private:
  Domain domain_ = Domain::kExact;
  std::vector<std::optional<Output>> outputs_;
  std::vector<std::vector<bool>> done_;
  bool complete_ = true;
};

}  // namespace qtx::reference
