// One element at a time from one type to another, over the reals: requantize, quantize, dequantize,
// with the bounds of Relu and Clip on the way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/exact.h"
#include "engine/fixed_point.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// Stored byte of the input to stored byte of the output.
using ByteTable = std::array<std::uint8_t, 256>;

/// Bounds on the real value between the two types.
struct RealBounds {
  std::optional<Term> low, high;
};

/// What an operator wants of a conversion. Arithmetics have kernels for some; only kMove copies
/// between equal parameters.
enum class Purpose {
  kMove,      // data movement: equal parameters copy (float32.S7)
  kSelect,    // the greatest of MaxPool: between equal parameters exact in every arithmetic
  kQuantize,  // Cast, QuantizeLinear, ...
  kActivate   // Relu, Clip
};

/// How one element becomes one of another type.
struct ChangeRule {
  enum class Kind {
    kExact,            // exact.S1
    kCopy,             // stored values as they are, unclamped; what a bound replaced is exact
    kFloat32,          // float32.S1, float32.S2
    kFloat32HalfAway,  // QUANTIZE of FLOAT: tflite.S9
    kOnce,             // stored - offset times a multiplier: tflite.S9, tflite_single.S1
    kTwice
  };
  Kind kind = Kind::kExact;
  Multiplier multiplier;

  bool copies() const { return kind == Kind::kCopy; }
  bool in_binary32() const { return kind == Kind::kFloat32 || kind == Kind::kFloat32HalfAway; }
  bool in_integers() const { return kind == Kind::kOnce || kind == Kind::kTwice; }
};
/// The rule that changes the type `from` to `to`.
ChangeRule RuleFor(Arithmetic arithmetic, Purpose purpose, const format::Tensor& from,
                   const format::Tensor& to);
/// (stored - offset) of a rule in integers to the output's stored integer.
std::int64_t Rescaled(const ChangeRule& rule, std::int64_t integer, const PerTensor& to);

/// The table from one 8-bit per-tensor type to another.
/// Errors: kUnsupported for other types.
Result<ByteTable> MakeByteTable(const format::Tensor& from, const format::Tensor& to,
                                const RealBounds& bounds = {}, const ChangeRule& rule = {});

/// Input 0 to output 0 by a table.  Errors: as MakeByteTable.
StepResult PrepareByteMap(const NodePlan& node, const RealBounds& bounds, Purpose purpose);

/// Converts elements of any type that holds reals; equal types of any kind are copied. Rounds once,
/// exactly, as RealWriter does, or as the rule says.
class Converter {
 public:
  /// `from` and `to` give types and shapes (equal), not data.
  /// Errors: kUnsupported for other types.
  static Result<Converter> Make(const format::Tensor& from, const format::Tensor& to,
                                const RealBounds& bounds = {}, const ChangeRule& rule = {});
  /// True when stored values need no change.
  bool copies() const { return copies_; }
  /// `from` and `to` hold all elements, packed as their types say.
  void Run(std::span<const std::byte> from, std::span<std::byte> to) const;

 private:
  Converter() = default;
  void RunGeneral(std::span<const std::byte> from, std::span<std::byte> to) const;
  void RunRescaled(std::span<const Term> reals, format::Tensor& target) const;

  bool copies_ = false;
  std::optional<ByteTable> table_;
  RealBounds bounds_;
  ChangeRule rule_;
  format::Tensor from_, to_;  // types and dims
};

/// Rounds element i, the real reals[i], to `to`'s type, exactly or in binary32.
/// REQUIRES: a rule that is not in integers; else as StoreReals.
void StoreChanged(const ChangeRule& rule, std::span<const Term> reals, format::Tensor& to);

}  // namespace qtx::backend::engine
